#!/usr/bin/env python3
"""Holds `bandscope scale` against a real job: barrier.py PROGRAM [TRIALS [PHASE_MS ...]]

The job is barrier.c, a rank on each of two CPUs. A disturber of known cost takes one of them (`bandscope inject`), at random times. In each trial both CPUs are recorded,
then the job runs, under the same disturber. Predicted is what `scale` says of two nodes like the two CPUs; measured is how much longer than its work the job took, its waits
taken off. Excess is the slow-down less 1. Prints both for each trial, and the median of their ratios for each length of a phase; fails where that is off by more than 15 %.

Needs two CPUs, mpicc and mpirun. Says SKIPPED and exits with 77 where they lack.
"""

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
# A fifth of one CPU, in pieces shorter and longer than the phases. A task of the scheduler's ordinary kind, to which the job is one as well.
PERIOD, LENGTH, JITTER = "20ms", "4ms", "50%"
MOST_OFF = 0.15
LEAST_EXCESS = 0.20


def main() -> int:
    program = Path(sys.argv[1]).resolve()
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    phases_ms = [float(phase) for phase in sys.argv[3:]] or [1.0, 5.0]
    lacking = [tool for tool in ("mpicc", "mpirun") if shutil.which(tool) is None]
    cpus = sorted(os.sched_getaffinity(0))[:2]
    if lacking or len(cpus) < 2:
        print(f"SKIPPED: {', '.join(lacking) or 'a second CPU'} is not there: no job ran")
        return 77
    with tempfile.TemporaryDirectory(prefix="bandscope-barrier-") as directory:
        job = Path(directory, "barrier")
        subprocess.run(["mpicc", "-O2", "-o", job, HERE / "barrier.c"], check=True)
        found = {phase_ms: [] for phase_ms in phases_ms}
        for trial in range(trials):
            for phase_ms in phases_ms:
                measured, predicted = once(program, job, Path(directory), cpus, phase_ms / 1e3, f"{trial}-{phase_ms}")
                found[phase_ms].append((measured, predicted))
                print(f"phase {phase_ms:g} ms: measured {measured:.3f}, predicted {predicted:.3f}, ratio {predicted / measured:.3f}", flush=True)
    wrong = 0
    for phase_ms, pairs in found.items():
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


def once(program: Path, job: Path, directory: Path, cpus: list[int], phase_s: float, name: str) -> tuple[float, float]:
    """Excess of the job, measured and predicted."""
    recording = directory / f"{name}.bandscope"
    inject = [program, "inject", "--cpu", cpus[1], "--period", PERIOD, "--length", LENGTH, "--jitter", JITTER, "--duration", f"{10 * SECONDS}s"]
    with subprocess.Popen([str(word) for word in [*inject, "--log", directory / f"{name}.jsonl"]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as disturber:
        try:
            # Without kernel events, whose recording makes gaps longer: nobody records any while the job runs.
            record = [program, "record", "--quiet", "--cpus", ",".join(map(str, cpus)), "--buffered", "--trace", "off", "--duration", f"{SECONDS}s", "--output", recording]
            subprocess.run([str(word) for word in record], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_S)
            # One rank a CPU, whatever the machine calls a core.
            launch = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "1", "taskset", "-c", str(cpus[0]), job, phase_s, SECONDS]
            launch += [":", "-n", "1", "taskset", "-c", str(cpus[1]), job, phase_s, SECONDS]
            ran = json.loads(subprocess.run([str(word) for word in launch], check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout)
            is_disturbed = disturber.poll() is None
        finally:
            disturber.terminate()
    if not is_disturbed:
        raise SystemExit("the disturber ended before the job")
    scale = [program, "scale", recording, "--nodes", "2", "--phase", f"{phase_s * 1e3}ms", "--format", "json"]
    said = json.loads(subprocess.run([str(word) for word in scale], check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout)
    cost = said["phases"][0]["cells"][0]["cost"]
    measured = (ran["elapsed_s"] / ran["phases"] - ran["wait_s"]) / ran["phase_s"] - 1
    return measured, cost["longer"]


if __name__ == "__main__":
    sys.exit(main())
