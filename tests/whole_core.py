#!/usr/bin/env python3
"""How far bandscope's own work follows a slow pace: 1 where the whole core is slow, 0 where only the work kernel is.

    tests/whole_core.py RECORDING...

Needs pyarrow and numpy. Reads the Parquet files, and nothing of the analysis: the method of crates/analysis/src/pace/whole_core.rs by another
hand. Of the quanta with one gap and the pace of the one before, those within 1.15 of the twentieth fastest are held against those beyond 1.5:
median time per unit, and lower quartile of the time that handling the gap took.

Where kernel events were recorded it also prints how long the timer's interrupt took: its median, by the pace of the quantum around it.
"""

import glob
import json
import sys

import numpy
from pyarrow import concat_tables
from pyarrow.parquet import ParquetFile

FEWEST, FAST, SLOW, SAME_PACE = 20, 1.15, 1.5, 1.05


def read(series):
    table = concat_tables([ParquetFile(part).read() for part in sorted(glob.glob(f"{series}/*.parquet"))])
    return {name: numpy.array(table[name]) for name in table.column_names}


def ratios(quanta):
    units = quanta["count"] - quanta["gaps"]
    there = quanta["end_ticks"] - quanta["start_ticks"] - quanta["gap_ticks"] - quanta["measurement_ticks"]
    pace = there / numpy.maximum(units, 1)
    enough = units >= FEWEST
    before = numpy.roll(pace, 1)
    same = (numpy.maximum(pace, before) < numpy.minimum(pace, before) * SAME_PACE) & numpy.roll(enough, 1)
    usable = enough & same & (quanta["gaps"] == 1) & (quanta["measurement_ticks"] > 0)
    best = numpy.percentile(pace[enough], 5)
    fast, slow = usable & (pace < FAST * best), usable & (pace > SLOW * best)
    if min(fast.sum(), slow.sum()) < FEWEST:
        return None
    handling = [numpy.percentile(quanta["measurement_ticks"][which], 25) for which in (fast, slow)]
    return numpy.median(pace[slow]) / numpy.median(pace[fast]), handling[1] / handling[0], fast.sum(), slow.sum()


def interrupts(recording, series):
    """Median microseconds and number of timer interrupts, by how many times slower than the best the quantum was."""
    cpu = next(part for part in series.split("/") if part.startswith("cpu="))
    if not glob.glob(f"{recording}/events/{cpu}/*.parquet"):
        return
    ticks_per_us = json.load(open(f"{recording}/recording.json"))["clock"]["ticks_per_ns"] * 1000
    events, quanta = read(f"{recording}/events/{cpu}"), read(series)
    units = quanta["count"] - quanta["gaps"]
    there = quanta["end_ticks"] - quanta["start_ticks"] - quanta["gap_ticks"] - quanta["measurement_ticks"]
    enough = units >= FEWEST
    pace = (there / numpy.maximum(units, 1))[enough]
    timer = events["name"] == "local_timer"
    starts, lengths = events["start_ticks"][timer], events["duration_ticks"][timer] / ticks_per_us
    place = numpy.searchsorted(quanta["start_ticks"][enough], starts, side="right") - 1
    within = (place >= 0) & (starts < quanta["end_ticks"][enough][place])
    times = pace[place] / numpy.percentile(pace, 5)
    for least, most in ((0, FAST), (SLOW, 3), (3, 99)):
        of_these = lengths[within & (times >= least) & (times < most)]
        if len(of_these):
            print(f"        timer interrupts at {least} to {most} times: median {numpy.median(of_these):.1f} us of {len(of_these)}")


for recording in sys.argv[1:]:
    for series in sorted(glob.glob(f"{recording}/quanta/*/*/*")):
        found = ratios(read(series))
        if found:
            units, handling, fast, slow = found
            exponent = numpy.log(handling) / numpy.log(units)
            print(f"{exponent:6.2f}  units {units:.2f}, handling {handling:.2f}, {fast} and {slow} quanta  {series}")
            interrupts(recording, series)
