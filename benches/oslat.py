"""Time in gaps of 2 to 31 us: bandscope beside oslat (rt-tests) on the same CPU, in alternation.

Usage: oslat.py BANDSCOPE CPU [ALTERNATIONS] [SECONDS]     (needs oslat, and duckdb from PyPI)

oslat rounds each latency up to whole microseconds and ends its histogram at 31 us, so its bucket N holds
latencies in (N-1, N] us. What bandscope recorded, a gap's duration less one unit at the best pace, goes
into the same buckets, and both are summed as N us times the number. Nothing is asserted: medians and spreads
are printed.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import duckdb

binary, cpu = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
alternations = int(sys.argv[3]) if len(sys.argv) > 3 else 10
seconds = int(sys.argv[4]) if len(sys.argv) > 4 else 10
BUCKETS = range(2, 32)


def oslat(directory):
    """us in each bucket, per second of oslat's run."""
    out = directory / "oslat.json"
    command = ["oslat", "--cpu-list", str(cpu), "--duration", str(seconds), "--quiet", f"--json={out}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    thread = json.loads(out.read_text())["thread"]["0"]
    histogram = thread["histogram"]
    return {n: n * histogram.get(str(n), 0) / thread["duration"] for n in BUCKETS}


def bandscope(directory, k):
    """us in each bucket, per second of bandscope's run."""
    recording = directory / f"{k}.bandscope"
    command = [binary, "record", "--cpus", str(cpu), "--rate", "10kHz", "--duration", f"{seconds}s"]
    subprocess.run([*command, "--output", recording], check=True, stdout=subprocess.DEVNULL)
    manifest = json.loads((recording / "recording.json").read_text())
    ticks_per_us = manifest["clock"]["ticks_per_ns"] * 1000
    unit = manifest["kernels"][0]["best_ticks_per_unit"] or 0
    rows = duckdb.sql(
        f"""select ceil((duration_ticks - {unit}) / {ticks_per_us})::int as us, count(*)
            from read_parquet('{recording}/gaps/cpu={cpu}/*.parquet')
            where duration_ticks > 0 group by us"""
    ).fetchall()
    counts = dict(rows)
    return {n: n * counts.get(n, 0) / seconds for n in BUCKETS}


def summary(name, runs):
    totals = [sum(run.values()) for run in runs]
    low, high = min(totals), max(totals)
    median = statistics.median(totals)
    print(f"{name:10} median {median:9.1f} us/s   min {low:9.1f}   max {high:9.1f}   of {len(totals)} runs")
    return median


with tempfile.TemporaryDirectory() as temporary:
    temporary = pathlib.Path(temporary)
    theirs, ours = [], []
    for k in range(alternations):
        theirs.append(oslat(temporary))
        ours.append(bandscope(temporary, k))
    print(f"time in gaps of 2 to 31 us on CPU {cpu}, {alternations} alternations of {seconds} s each")
    ratio = summary("bandscope", ours) / summary("oslat", theirs)
    print(f"ratio of the medians {ratio:.3f}")
    print("bucket  bandscope      oslat   (median us/s)")
    for n in BUCKETS:
        pair = [statistics.median(run[n] for run in runs) for runs in (ours, theirs)]
        print(f"{n:6}  {pair[0]:9.2f}  {pair[1]:9.2f}")
