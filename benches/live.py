#!/usr/bin/env python3
"""What looking on costs the CPU that is measured: `record` and `live --output` in alternation, on one CPU.

Usage: benches/live.py BANDSCOPE CPU ROUNDS SECONDS     (needs tmux, whose terminal `live` draws on)

Of each recording the share of the CPU's time that was lost (to gaps and to pace; all rates together) and the pace of the band with the most
quanta; their medians with the lowest and the highest, and the median of the differences of the rounds.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

binary, cpu, rounds, seconds = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
work = tempfile.mkdtemp()
socket = os.path.join(work, "tmux")


def measure(command, name):
    """Runs it on a terminal of tmux, both commands alike, and waits for its end."""
    output = os.path.join(work, name)
    done = os.path.join(work, name + ".done")
    words = f"{binary} {command} --cpus {cpu} --duration {seconds}s --output {output}; echo $? >{done}"
    subprocess.run(["tmux", "-S", socket, "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", words], check=True)
    while not os.path.exists(done) or os.path.getsize(done) == 0:
        time.sleep(0.2)
    report = subprocess.run([binary, "report", "--format", "json", output], check=True, capture_output=True)
    series = json.loads(report.stdout)["series"]
    wall = sum(one["ledger"]["wall_ns"] for one in series)
    own = sum(one["ledger"]["work_ns"] + one["ledger"]["measurement_ns"] for one in series)
    bands = [band for one in series for band in one["bands"]]
    main = max(bands, key=lambda band: band["share"])
    gaps = sum(one["gaps"]["number"] for one in series) / (wall / 1e9)
    return 100 * (1 - own / wall), main["ns_per_unit"], gaps


print(f"load {os.getloadavg()}")
seen = {"record": [], "live": []}
for number in range(rounds):
    # Which of them comes first changes, too.
    for command in (("record", "live"), ("live", "record"))[number % 2]:
        seen[command].append(measure(command, f"{command}-{number}.bandscope"))
        print(number, command, *("%.4f" % figure for figure in seen[command][-1]), flush=True)
for index, what in enumerate(("lost, %", "pace of the main band, ns/unit", "gaps a second")):
    for command, figures in seen.items():
        figures = [one[index] for one in figures]
        print(f"{what}: {command} {statistics.median(figures):.4f} ({min(figures):.4f} to {max(figures):.4f})")
    differences = [b[index] - a[index] for a, b in zip(seen["record"], seen["live"])]
    print(f"{what}: live less record, median of the rounds {statistics.median(differences):+.4f} ({min(differences):+.4f} to {max(differences):+.4f})")
print(f"load {os.getloadavg()}")
