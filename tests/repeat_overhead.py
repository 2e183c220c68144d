#!/usr/bin/env python3
"""What `bandscope repeat` takes for a run: sessions of `sleep 0.01` in alternation with a shell's loop of the same.

    tests/repeat_overhead.py target/release/bandscope [ROUNDS]

Prints the figures of docs/repeat.md; asserts nothing, as they are times.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 100
COMMAND = ["sleep", "0.01"]
LOOP = f"i=0; while [ $i -lt {RUNS} ]; do {' '.join(COMMAND)}; i=$((i+1)); done"


def seconds(command):
    begun = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10
    more, between = [], []
    with tempfile.TemporaryDirectory() as directory:
        for number in range(rounds):
            file = os.path.join(directory, f"{number}.json")
            session = [program, "repeat", "--warm-up", "0", "--output", file, "-n", str(RUNS), "--", *COMMAND]
            # What a session of one run takes besides is no part of a run.
            alone = [program, "repeat", "--warm-up", "0", "-n", "1", "--", *COMMAND]
            of_session, of_one, of_loop = seconds(session), seconds(alone), seconds(["sh", "-c", LOOP])
            more.append(1e3 * (of_session - of_one - of_loop * (RUNS - 1) / RUNS) / (RUNS - 1))
            with open(file) as text:
                runs = json.load(text)["runs"]
            gaps = [b["at_s"] - a["at_s"] - a["wall_s"] for a, b in zip(runs, runs[1:])]
            between.append(1e3 * statistics.median(gaps))
    print(f"a run takes {statistics.median(more):.2f} ms more than in a shell's loop ({min(more):.2f} to {max(more):.2f}, {rounds} rounds of {RUNS})")
    print(f"of which between two runs {statistics.median(between):.2f} ms")


main()
