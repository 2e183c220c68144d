#!/usr/bin/env python3
"""Time and peak memory of `bandscope report` by how many tasks of different names took a CPU (docs/figures.md, section 9).

    tests/many_names.py target/release/bandscope [NAMES[xBYTES]]...

Measures a simulated machine for 100 s, on which 1,000,000 runs of a task each take 5 us, and gives these runs so many names and process numbers
in turn, each name padded to so many bytes. Needs pyarrow.
"""
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq

MACHINE = "simulated:timed-task:hz=10000,cost=5us"
TASK = 3
FIRST_NUMBER = 1000
ROW_GROUP = 16_384
USUAL = ["1", "10000", "100000", "300000", "1000000", "1000000x1000"]


def rename(recording, names, size):
    """Gives task after task another name; the parts lose their checksums."""
    task = 0
    for path in sorted(recording.glob("events/cpu=0/*.parquet")):
        table = pq.read_table(path)
        metadata = table.schema.metadata | {b"checksum": b"bandscope-xxh00:0000000000000000"}
        kinds = table["kind"].to_pylist()
        assert set(kinds) == {TASK}, set(kinds)
        turns = [(task + row) % names for row in range(len(kinds))]
        task += len(kinds)
        columns = {name: table[name] for name in table.column_names}
        columns["number"] = pa.array([FIRST_NUMBER + turn for turn in turns], pa.int32())
        columns["name"] = pa.array([f"w{turn}".ljust(size, "x") for turn in turns])
        fields = [pa.field(name, table.schema.field(name).type, nullable=False) for name in columns]
        renamed = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields, metadata))
        pq.write_table(renamed, path, compression="zstd", row_group_size=ROW_GROUP)


def report(program, recording):
    """Seconds of CPU, seconds on the clock, peak MiB, MB of JSON."""
    begun = time.monotonic()
    process = subprocess.Popen([program, "report", recording, "--format", "json"], stdout=subprocess.PIPE)
    size = 0
    while piece := process.stdout.read(1 << 20):
        size += len(piece)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, status
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begun, usage.ru_maxrss / 1024, size / 1e6


def main():
    program = os.path.abspath(sys.argv[1])
    print("names x bytes     CPU s   clock s  peak MiB   JSON MB")
    for wanted in sys.argv[2:] or USUAL:
        names, _, size = wanted.partition("x")
        with tempfile.TemporaryDirectory() as directory:
            recording = pathlib.Path(directory) / "names.bandscope"
            record = [program, "record", "--machine", MACHINE, "--rate", "1000", "--kernel", "mulss80"]
            subprocess.run([*record, "--duration", "100s", "--quiet", "--output", recording], check=True, stdout=subprocess.DEVNULL)
            # A program's peak memory is at least that of whoever starts it, until then.
            renaming = multiprocessing.Process(target=rename, args=(recording, int(names), int(size or 0)))
            renaming.start()
            renaming.join()
            assert renaming.exitcode == 0
            print(f"{wanted:15} {'%9.2f %9.2f %9.0f %9.2f' % report(program, recording)}", flush=True)


if __name__ == "__main__":
    main()
