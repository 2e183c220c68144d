#!/usr/bin/env python3
"""Holds the ledger against a pace that was changed on purpose: store bypass, forbidden in every other segment.

    bandscope record --kernel mulss80,ftq-o2 --store-bypass alternate --duration 8s --output NAME.bandscope
    tests/store_bypass.py BANDSCOPE RECORDING...

True is what `ftq-o2` lost without bypass: the time of those quanta, by their pace against the median with bypass. The schedule in recording.json says which they are. Prints for
each recording both paces, the true share, and what is booked to the core's state (of `ftq-o2`, and of `mulss80`, whose chain of registers has no such state).

Exit status 1: less than half or more than one and a half of the truth is booked, or more than 0.1 % of the chain. Needs a core whose threads may set their own.
"""

import csv
import io
import json
import statistics
import subprocess
import sys
from pathlib import Path

LEAST, MOST, MOST_OF_CHAIN = 0.5, 1.5, 0.001


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def forbidden(manifest: dict, start_ns: int) -> bool:
    ticks = start_ns * manifest["clock"]["ticks_per_ns"]
    before = [change for change in manifest["store_bypass"] if change["ticks"] <= ticks]
    return bool(before) and not before[-1]["allowed"]


def paces(bandscope: str, recording: str) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
    """Pace and length of the quanta of ftq-o2 with bypass, and without."""
    manifest = json.loads(Path(recording, "recording.json").read_text())
    fast, slow = [], []
    for quantum in csv.DictReader(io.StringIO(output(bandscope, "export", "--what", "quanta", "--format", "csv", recording))):
        if quantum["kernel"] == "ftq-o2" and quantum["pace_ns_per_unit"]:
            start, length = int(quantum["start_ns"]), int(quantum["end_ns"]) - int(quantum["start_ns"]) - int(quantum["gap_ns"])
            (slow if forbidden(manifest, start) else fast).append((float(quantum["pace_ns_per_unit"]), length))
    return fast, slow


def booked(report: dict, kernel: str) -> float:
    ledgers = [series["ledger"] for series in report["series"] if series["kernel"] == kernel]
    return sum(ledger["pace_ns"]["microarchitecture"] for ledger in ledgers) / sum(ledger["wall_ns"] for ledger in ledgers)


def main() -> int:
    bandscope, recordings = sys.argv[1], sys.argv[2:]
    ratios = []
    wrong = not recordings
    for recording in recordings:
        fast, slow = paces(bandscope, recording)
        report = json.loads(output(bandscope, "report", "--format", "json", recording))
        allowed = statistics.median(pace for pace, _ in fast)
        lost = sum(length * max(0.0, 1 - allowed / pace) for pace, length in slow)
        true = lost / sum(length for _, length in fast + slow)
        ours, chain = booked(report, "ftq-o2"), booked(report, "mulss80")
        ratios.append(ours / true)
        wrong |= not LEAST <= ratios[-1] <= MOST or chain > MOST_OF_CHAIN
        print(
            f"{recording}: {allowed:.1f} ns a unit, without bypass {statistics.median(pace for pace, _ in slow):.1f};"
            f" lost by it {true:.1%}, booked {ours:.1%} ({ratios[-1]:.2f}), of mulss80 {chain:.2%}"
        )
    if ratios:
        print(f"booked over true: {min(ratios):.2f} to {max(ratios):.2f}, median {statistics.median(ratios):.2f}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
