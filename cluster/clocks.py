#!/usr/bin/env python3
"""Holds what bandscope-mpi says of clocks, and of gaps that hit several nodes at once, against what is known: clocks.py PROGRAM [TRIALS]

Two ranks are two nodes of a job here, on two CPUs of one machine. For each of Open MPI and MPICH:

* The second rank has a CLOCK_MONOTONIC that is an hour ahead (a time namespace, which needs root). In TRIALS (20) jobs of a simulated machine both readings must find that
  hour to within their bounds. Both ranks have the same counter, so the lines of their clocks must meet to within those bounds.
* A task on each CPU takes 10 ms every 0.3 s, both at the same time. Its gaps must begin when its own clock says; `bandscope fleet` must tell moments at which both nodes lose time to it: half as many as there were,
  as a busy machine has others that hide them.
* With half a period between the two it must tell none.
* Ranks that write to directories of their own, as to disks of their own, are gathered; of a rank that cannot record the others' report is printed, and the exit status is 2.

Says SKIPPED and exits with 77 for what is not there. Exit status 1 if anything is not so.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from launchers import expect

HERE = Path(__file__).resolve().parent
AHEAD_S = 3600
EVERY_S, TAKES_S = 0.3, 0.01
RECORD_S = 5
# A task of a real-time priority is up by then, also where the host keeps the CPU for a while.
LATE_S = 0.002
LIMIT_S = 120
NAME = "at-once"
LAUNCHERS = {"open-mpi": ("openmpi", ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]), "mpich": ("mpich", ["-bind-to", "none"])}


def disturb(cpu: int, after_s: float, until: float) -> None:
    """Takes the CPU for TAKES_S every EVERY_S, `after_s` after whole multiples of it."""
    ctypes.CDLL(None).prctl(15, NAME.encode(), 0, 0, 0)  # PR_SET_NAME
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
    due = (int(time.monotonic() / EVERY_S) + 1) * EVERY_S + after_s
    while due < until:
        time.sleep(max(0, due - time.monotonic()))
        while time.monotonic() < due + TAKES_S:
            pass
        due += EVERY_S


def job(launch: list[str], built: Path, program: Path, work: Path, output: str, record: list[str], cpus: list[int], ahead_s: int) -> tuple[dict, str]:
    """Runs a job of two nodes, and returns what `fleet` says of it, and what bandscope-mpi printed."""
    command = list(launch)
    for number, cpu in enumerate(cpus):
        shifted = ["unshare", "--fork", "--time", "--monotonic", str(ahead_s)] if ahead_s and number else []
        command += [":"] if number else []
        command += ["-n", "1", "env", f"BANDSCOPE={program}", f"SLURMD_NODENAME=n{number}", "taskset", "-c", str(cpu), *shifted, str(built), *record, "--quiet", "-o", output]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0 or "nodes" not in done.stdout:
        raise SystemExit(f"FAILED: {output} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    said = subprocess.run([program, "fleet", output, "--format", "json"], cwd=work, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return json.loads(said.stdout), done.stdout


def clocks(work: Path, output: str) -> list[list[dict]]:
    return [json.loads((work / output / f"node=n{number}" / f"task={number}" / "clock.json").read_text())["readings"] for number in (0, 1)]


def reference_at(readings: list[dict], ticks: float) -> tuple[float, float]:
    first, last = readings
    share = (ticks - first["ticks"]) / (last["ticks"] - first["ticks"])
    within = abs(1 - share) * first["within_ns"] + abs(share) * last["within_ns"]
    return first["reference_ns"] + share * (last["reference_ns"] - first["reference_ns"]), within


def late_s(work: Path, output: str, number: int) -> list[float]:
    """How long after the whole multiples of EVERY_S, by the first rank's clock, each gap by the disturbers began."""
    directory = work / output / f"node=n{number}" / f"task={number}"
    summary, readings = json.loads((directory / "summary.json").read_text()), clocks(work, output)[number]
    counter = summary["clock"]
    gaps = [gap for cpu in summary["cpus"] for gap in cpu["longest"] if gap["cause"] == f"task:{NAME}"]
    began_s = [reference_at(readings, counter["origin_ticks"] + gap["at_s"] * 1e9 * counter["ticks_per_ns"])[0] / 1e9 for gap in gaps]
    return [(began + EVERY_S / 2) % EVERY_S - EVERY_S / 2 for began in began_s]


def offsets(name: str, launch: list[str], built: Path, program: Path, work: Path, cpus: list[int], trials: int) -> None:
    record = ["--machine", "simulated:tick", "--rate", "1000", "--samples", "1000"]
    held, bounds, errors, apart, shared = 0, [], [], [], 0
    for trial in range(trials):
        output = f"{name}-{trial}"
        job(launch, built, program, work, output, record, cpus, AHEAD_S)
        first, second = clocks(work, output)
        off = [reading["own_ns"] - reading["reference_ns"] - AHEAD_S * 10**9 for reading in second]
        # What is written is whole nanoseconds.
        held += sum(abs(error) <= reading["within_ns"] + 1 for error, reading in zip(off, second))
        errors += [abs(error) for error in off]
        bounds += [reading["within_ns"] for reading in second]
        middle = (second[0]["ticks"] + second[1]["ticks"]) // 2
        (a, within_a), (b, within_b) = reference_at(first, middle), reference_at(second, middle)
        apart.append(abs(a - b))
        shared += abs(a - b) <= within_a + within_b + 1
        shutil.rmtree(work / output)
    expect(
        held == 2 * trials,
        f"{name}: {held} of {2 * trials} readings find the hour to within their bounds: off by {max(errors)} ns at most, bounds {min(bounds):.0f} to {max(bounds):.0f} ns",
    )
    expect(shared == trials, f"{name}: in {shared} of {trials} jobs both clocks meet in the middle to within their bounds: {max(apart):.0f} ns apart at most")


def at_once(name: str, launch: list[str], built: Path, program: Path, work: Path, cpus: list[int]) -> None:
    # Before all ordinary tasks, and after the disturbers: whatever else runs here does not hide these among longer gaps.
    record = ["--trace", "on", "--priority", "fifo:1", "--duration", f"{RECORD_S}s"]
    for after_s, what in ((0, "together"), (EVERY_S / 2, "apart")):
        until = time.monotonic() + LIMIT_S
        disturbers = []
        for number, cpu in enumerate(cpus):
            pid = os.fork()
            if pid == 0:
                try:
                    disturb(cpu, number * after_s, until)
                except BaseException as error:  # The parent's handlers are not this process's.
                    print(error, file=sys.stderr, flush=True)
                finally:
                    os._exit(1)
            disturbers.append(pid)
        try:
            said, printed = job(launch, built, program, work, f"{name}-{what}", record, cpus, 0)
        finally:
            for pid in disturbers:
                os.kill(pid, 9)
                os.waitpid(pid, 0)
        said = said["at_once"]
        moments = [one for one in said["moments"] if one["cause"] == f"task:{NAME}"]
        if after_s:
            expect(not moments, f"{name}: of tasks that run apart none is told", said)
            continue
        late = [one for number in (0, 1) for one in late_s(work, f"{name}-{what}", number)]
        in_time = sum(-1e-4 <= one <= LATE_S for one in late)
        expect(in_time >= 0.9 * len(late) > 0, f"{name}: {in_time} of {len(late)} gaps began when the tasks' own clock says, or up to {LATE_S * 1e3:g} ms later", late)
        most = int(said["common_s"] / EVERY_S) + 1
        found = moments[0] if moments else {"number": 0, "nodes": 0, "longest_s": 0}
        expect(
            found["nodes"] == 2 and most / 2 <= found["number"] <= most and found["longest_s"] >= TAKES_S,
            f"{name}: tasks that run at once are told: {found['number']} moments of {most} at most",
            said,
        )
        print(printed)


def gathered(name: str, launch: list[str], built: Path, program: Path, work: Path) -> None:
    record = ["--machine", "simulated:tick", "--rate", "1000", "--samples", "1000", "--quiet", "-o", f"{name}-gathered"]
    for recorder, what in ((program, "own"), ("/nonexistent", "failed")):
        command = list(launch)
        for number, own in enumerate((program, recorder)):
            directory = work / f"{name}-{what}-{number}"
            directory.mkdir()
            command += [":"] if number else []
            command += ["-n", "1", "-wdir", str(directory), "env", f"BANDSCOPE={own}", f"SLURMD_NODENAME=n{number}", str(built), *record]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=LIMIT_S)
        if what == "own":
            part = work / f"{name}-own-0" / f"{name}-gathered" / "node=n1" / "task=1"
            came = sorted(path.name for path in part.iterdir()) if part.exists() else []
            is_so = done.returncode == 0 and "2 nodes, 2 CPUs" in done.stdout and came == ["clock.json", "summary.json"]
            expect(is_so, f"{name}: what a rank wrote elsewhere is gathered", came, done.stdout, done.stderr)
        else:
            is_so = done.returncode == 2 and "1 node, 1 CPU" in done.stdout and "1 of 2 ranks failed to record" in done.stderr
            expect(is_so, f"{name}: of a rank that cannot record the others are reported", done.stdout, done.stderr)


def main() -> int:
    program = Path(sys.argv[1]).resolve()
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    # So that disturbers end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if len(cpus) < 2 or os.geteuid() != 0:
        print(f"SKIPPED: {'not root' if len(cpus) == 2 else 'one CPU'}: no clocks were compared")
        return 77
    has_run = False
    with tempfile.TemporaryDirectory(prefix="bandscope-clocks-") as directory:
        work = Path(directory)
        for name, (kind, options) in LAUNCHERS.items():
            if shutil.which(f"mpicc.{kind}") is None or shutil.which(f"mpirun.{kind}") is None:
                print(f"SKIPPED: no mpicc.{kind} and mpirun.{kind}: {name} compared no clocks")
                continue
            built = work / f"bandscope-mpi-{kind}"
            subprocess.run([f"mpicc.{kind}", "-O2", "-Wall", "-Wextra", "-Werror", "-o", built, HERE / "bandscope-mpi.c"], check=True)
            launch = [f"mpirun.{kind}", *options]
            offsets(name, launch, built, program, work, cpus, trials)
            at_once(name, launch, built, program, work, cpus)
            gathered(name, launch, built, program, work)
            has_run = True
    return 0 if has_run else 77


if __name__ == "__main__":
    sys.exit(main())
