#!/usr/bin/env python3
"""Holds `bandscope scale` against a real job.

    cluster/barrier.py PROGRAM [--trials 20] [--phases-ms 1,5] [--ranks 2] [--disturb none|one|all] [--barriers mpi,flat] [--job BUILT]

The job is barrier.c, a rank on each of some CPUs. A disturber of known cost takes one of them, each of them or none (`bandscope inject`), at random times. In each trial the
CPUs are recorded, then the job runs, under the same disturbers. Predicted is what `scale` says of nodes like these CPUs; measured is how much longer than its work the job
took, its waits taken off. Excess is the slow-down less 1. Prints both for each trial, and the median of their ratios for each length of a phase; fails where that is off by
more than 15 %. `flat` is a barrier that needs each rank once, as `scale` takes them all to be; MPI's need each once a step.

Needs a CPU for each rank, mpicc and mpirun, of Open MPI or MPICH. Says SKIPPED and exits with 77 where they lack.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 5
LIMIT_S = 120
# A fifth of a CPU, in pieces shorter and longer than the phases. A task of the scheduler's ordinary kind, to which the job is one as well.
PERIOD_MS, LENGTH_MS, JITTER = 20.0, 4.0, "75%"
# Disturbers of one period would keep step with each other, and a job would wait once for all of them.
SPREAD = 0.02
MOST_OFF = 0.15
LEAST_EXCESS = 0.20


def main() -> int:
    arguments = parse()
    program = arguments.program.resolve()
    mpicc = [] if arguments.job else ["mpicc"]
    lacking = [tool for tool in (*mpicc, "mpirun") if shutil.which(tool) is None]
    cpus = sorted(os.sched_getaffinity(0))[: arguments.ranks]
    if lacking or len(cpus) < arguments.ranks:
        print(f"SKIPPED: {', '.join(lacking) or f'a CPU for each of {arguments.ranks} ranks'} is not there: no job ran")
        return 77
    disturbed = {"none": [], "one": cpus[-1:], "all": cpus}[arguments.disturb]
    phases_ms = arguments.phases_ms
    with tempfile.TemporaryDirectory(prefix="bandscope-barrier-") as directory:
        job = arguments.job or Path(directory, "barrier")
        if not arguments.job:
            subprocess.run(["mpicc", "-O2", "-o", job, HERE / "barrier.c"], check=True)
        found = {(phase_ms, barrier): [] for phase_ms in phases_ms for barrier in arguments.barriers}
        for trial in range(arguments.trials):
            for phase_ms in phases_ms:
                excesses, predicted, together = once(program, job, arguments.barriers, Path(directory), cpus, disturbed, phase_ms / 1e3, f"{trial}-{phase_ms}")
                for barrier, measured in excesses.items():
                    said = ["nothing" if one is None else f"{one:.3f}" for one in (predicted, together)]
                    print(f"phase {phase_ms:g} ms, {barrier}: measured {measured:.3f}, predicted {said[0]}, by these CPUs together {said[1]}", flush=True)
                    if predicted is not None:
                        found[phase_ms, barrier].append((measured, predicted))
    wrong = 0
    for (phase_ms, barrier), pairs in found.items():
        if not pairs:
            print(f"FAILED phases of {phase_ms:g} ms, {barrier}: nothing was predicted")
            wrong += 1
            continue
        if not disturbed:
            print(f"phases of {phase_ms:g} ms, {barrier}: the machine's own noise, which no two minutes have alike; nothing is judged")
            continue
        ratios = sorted(predicted / measured for measured, predicted in pairs)
        excess = statistics.median(measured for measured, _ in pairs)
        middle = statistics.median(ratios)
        is_wrong = abs(middle - 1) > MOST_OFF
        is_wrong |= excess < LEAST_EXCESS
        wrong += is_wrong
        print(
            f"{'FAILED' if is_wrong else 'ok    '} phases of {phase_ms:g} ms, {barrier}: excess {excess:.3f} in the median of {len(pairs)};"
            f" predicted over measured {middle:.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        )
    return 1 if wrong else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Holds `bandscope scale` against a real job.")
    parser.add_argument("program", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--phases-ms", type=lambda text: [float(word) for word in text.split(",")], default=[1.0, 5.0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--disturb", choices=["none", "one", "all"], default="one", help="no CPU, the last, or each of them")
    parser.add_argument("--barriers", type=lambda text: text.split(","), default=["mpi"], help="mpi, flat or both: each trial runs a job of each")
    parser.add_argument("--job", type=Path, help="barrier.c, already built")
    return parser.parse_args()


def launcher() -> list[str]:
    """mpirun of Open MPI or MPICH, with one rank a CPU, whatever the machine calls a core."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, timeout=LIMIT_S).stdout
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"] if "Open MPI" in version else ["mpirun", "-bind-to", "none"]


def once(
    program: Path, job: Path, barriers: list[str], directory: Path, cpus: list[int], disturbed: list[int], phase_s: float, name: str
) -> tuple[dict[str, float], float | None, float | None]:
    """Excess of the job, measured with each barrier, predicted, and that of the CPUs together; None where `scale` refuses."""
    recording = directory / f"{name}.bandscope"
    disturbers = []
    try:
        for number, cpu in enumerate(disturbed):
            scale = 1 + SPREAD * (number - (len(disturbed) - 1) / 2)
            inject = [program, "inject", "--cpu", cpu, "--period", f"{PERIOD_MS * scale}ms", "--length", f"{LENGTH_MS * scale}ms", "--jitter", JITTER]
            inject += ["--seed", number, "--duration", f"{30 * SECONDS}s", "--log", directory / f"{name}-{cpu}.jsonl"]
            disturbers.append(subprocess.Popen([str(word) for word in inject], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        # Without kernel events, whose recording makes gaps longer: nobody records any while the job runs.
        record = [program, "record", "--quiet", "--cpus", ",".join(map(str, cpus)), "--buffered", "--trace", "off", "--duration", f"{SECONDS}s", "--output", recording]
        subprocess.run([str(word) for word in record], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_S)
        excesses = {barrier: excess_of(job, barrier, cpus, phase_s) for barrier in barriers}
        are_disturbed = all(disturber.poll() is None for disturber in disturbers)
    finally:
        for disturber in disturbers:
            disturber.terminate()
        for disturber in disturbers:
            disturber.wait()
    if not are_disturbed:
        raise SystemExit("a disturber ended before the job")
    scale = [program, "scale", recording, "--nodes", str(len(cpus)), "--phase", f"{phase_s * 1e3}ms", "--format", "json"]
    said = json.loads(subprocess.run([str(word) for word in scale], check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout)
    phase = said["phases"][0]
    cost, together = phase["cells"][0]["cost"], phase["together"]
    return excesses, cost["longer"] if cost else None, together["longer"] if together else None


def excess_of(job: Path, barrier: str, cpus: list[int], phase_s: float) -> float:
    launch = launcher()
    for rank, cpu in enumerate(cpus):
        launch += [*([":"] if rank else []), "-n", "1", "taskset", "-c", cpu, job, phase_s, SECONDS, barrier]
    ran = json.loads(subprocess.run([str(word) for word in launch], check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout)
    return (ran["elapsed_s"] / ran["phases"] - ran["wait_s"]) / ran["phase_s"] - 1


if __name__ == "__main__":
    sys.exit(main())
