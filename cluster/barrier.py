#!/usr/bin/env python3
"""Holds `bandscope scale` against a real job.

    cluster/barrier.py PROGRAM [--trials 20] [--phases-ms 1,5] [--ranks 2] [--disturb none|one|all] [--job BUILT]

The job is barrier.c, a rank on each of some CPUs. A disturber of known cost takes one of them, each of them or none (`bandscope inject`), at random times. In each trial the
CPUs are recorded, then the job runs, under the same disturbers. Predicted is what `scale` says of nodes like these CPUs; measured is how much longer than its work the job
took, its waits taken off. Excess is the slow-down less 1. Prints both for each trial, and the median of their ratios for each length of a phase; fails where that is off by
more than 15 %.

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
        found = {phase_ms: [] for phase_ms in phases_ms}
        for trial in range(arguments.trials):
            for phase_ms in phases_ms:
                measured, predicted = once(program, job, Path(directory), cpus, disturbed, phase_ms / 1e3, f"{trial}-{phase_ms}")
                if predicted is None:
                    print(f"phase {phase_ms:g} ms: measured {measured:.3f}, predicted nothing", flush=True)
                    continue
                found[phase_ms].append((measured, predicted))
                print(f"phase {phase_ms:g} ms: measured {measured:.3f}, predicted {predicted:.3f}", flush=True)
    wrong = 0
    for phase_ms, pairs in found.items():
        if not pairs:
            print(f"FAILED phases of {phase_ms:g} ms: nothing was predicted")
            wrong += 1
            continue
        if not disturbed:
            print(f"phases of {phase_ms:g} ms: the machine's own noise, which no two minutes have alike; nothing is judged")
            continue
        ratios = sorted(predicted / measured for measured, predicted in pairs)
        excess = statistics.median(measured for measured, _ in pairs)
        middle = statistics.median(ratios)
        is_wrong = abs(middle - 1) > MOST_OFF
        is_wrong |= excess < LEAST_EXCESS
        wrong += is_wrong
        print(
            f"{'FAILED' if is_wrong else 'ok    '} phases of {phase_ms:g} ms: excess {excess:.3f} in the median of {len(pairs)};"
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
    parser.add_argument("--job", type=Path, help="barrier.c, already built")
    return parser.parse_args()


def launcher() -> list[str]:
    """mpirun of Open MPI or MPICH, with one rank a CPU, whatever the machine calls a core."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, timeout=LIMIT_S).stdout
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"] if "Open MPI" in version else ["mpirun", "-bind-to", "none"]


def once(program: Path, job: Path, directory: Path, cpus: list[int], disturbed: list[int], phase_s: float, name: str) -> tuple[float, float | None]:
    """Excess of the job, measured and predicted; None where `scale` refuses."""
    recording = directory / f"{name}.bandscope"
    disturbers = []
    try:
        for number, cpu in enumerate(disturbed):
            scale = 1 + SPREAD * (number - (len(disturbed) - 1) / 2)
            inject = [program, "inject", "--cpu", cpu, "--period", f"{PERIOD_MS * scale}ms", "--length", f"{LENGTH_MS * scale}ms", "--jitter", JITTER]
            inject += ["--seed", number, "--duration", f"{10 * SECONDS}s", "--log", directory / f"{name}-{cpu}.jsonl"]
            disturbers.append(subprocess.Popen([str(word) for word in inject], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        # Without kernel events, whose recording makes gaps longer: nobody records any while the job runs.
        record = [program, "record", "--quiet", "--cpus", ",".join(map(str, cpus)), "--buffered", "--trace", "off", "--duration", f"{SECONDS}s", "--output", recording]
        subprocess.run([str(word) for word in record], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_S)
        launch = launcher()
        for rank, cpu in enumerate(cpus):
            launch += [*([":"] if rank else []), "-n", "1", "taskset", "-c", str(cpu), job, phase_s, SECONDS]
        ran = json.loads(subprocess.run([str(word) for word in launch], check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout)
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
    cost = said["phases"][0]["cells"][0]["cost"]
    measured = (ran["elapsed_s"] / ran["phases"] - ran["wait_s"]) / ran["phase_s"] - 1
    return measured, cost["longer"] if cost else None


if __name__ == "__main__":
    sys.exit(main())
