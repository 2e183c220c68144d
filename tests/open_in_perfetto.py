"""Exports a recording as a trace, decodes it by Perfetto's own published schema, and adds it up against the report.

Usage: open_in_perfetto.py BANDSCOPE

Run by .ci/run. The schema is that of the package `perfetto`, generated from its .proto files. With TRACE_PROCESSOR_SHELL in the
environment, the path of trace_processor_shell, the trace is loaded into that as well.
"""

import collections
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

binary = pathlib.Path(sys.argv[1]).resolve()
Event = schema.TrackEvent


def run(*arguments, directory):
    done = subprocess.run([binary, *arguments], cwd=directory, check=True, capture_output=True)
    return done.stdout.decode()


def no_unknown_fields(message):
    """Every field that was written is one of the schema, of the type that it has there."""
    assert not list(UnknownFieldSet(message)), message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for one in value if hasattr(value, "append") or hasattr(value, "add") else [value]:
                no_unknown_fields(one)


def value_of(annotation):
    if annotation.dict_entries:
        return {entry.name: value_of(entry) for entry in annotation.dict_entries}
    return getattr(annotation, annotation.WhichOneof("value"))


def read(path):
    """Slices, instants and counters of a trace by their track, which is the name of its group and its own."""
    trace = schema.Trace()
    trace.ParseFromString(path.read_bytes())
    no_unknown_fields(trace)
    names, annotations = {}, {}
    slices, instants, counters = (collections.defaultdict(list) for _ in range(3))
    open_slices = collections.defaultdict(list)
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("interned_data"):
            assert packet.sequence_flags & schema.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
            annotations = {one.iid: one.name for one in packet.interned_data.debug_annotation_names}
        if packet.HasField("track_descriptor"):
            one = packet.track_descriptor
            assert one.uuid not in names and one.uuid != 0
            own = one.process.process_name if one.HasField("process") else one.name
            names[one.uuid] = f"{names[one.parent_uuid]}/{own}" if one.parent_uuid else own
        if not packet.HasField("track_event"):
            continue
        event, track = packet.track_event, names[packet.track_event.track_uuid]
        if event.debug_annotations:
            assert packet.sequence_flags & schema.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        values = {annotations[one.name_iid]: value_of(one) for one in event.debug_annotations}
        if event.type == Event.TYPE_SLICE_BEGIN:
            if open_slices[track]:
                assert open_slices[track][-1][1] <= packet.timestamp
            open_slices[track].append((event.name, packet.timestamp, values))
        elif event.type == Event.TYPE_SLICE_END:
            name, start, values = open_slices[track].pop()
            assert start <= packet.timestamp
            slices[track].append((name, start, packet.timestamp, values))
        elif event.type == Event.TYPE_INSTANT:
            instants[track].append((event.name, packet.timestamp, values))
        else:
            assert event.type == Event.TYPE_COUNTER
            counters[track].append((packet.timestamp, event.double_counter_value))
    assert not any(open_slices.values())
    return slices, instants, counters


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def check(machine, options, directory):
    name = machine.split("+")[0].split(":")[0]
    record = ["record", "--machine", f"simulated:{machine}", "--duration", "2s", *options]
    run(*record, "--output", f"{name}.bandscope", directory=directory)
    run("export", f"{name}.bandscope", "--format", "perfetto", "--output", f"{name}.pftrace", directory=directory)
    report = json.loads(run("report", f"{name}.bandscope", "--format", "json", directory=directory))
    quanta = rows(run("export", f"{name}.bandscope", "--format", "csv", directory=directory))
    events = rows(run("export", f"{name}.bandscope", "--format", "csv", "--what", "events", directory=directory))
    path = pathlib.Path(directory) / f"{name}.pftrace"
    slices, instants, counters = read(path)
    for series in report["series"]:
        group = f"CPU {series['cpu']} {series['kernel']} {series['rate_hz']:.0f} Hz {name}.bandscope"
        gaps, booked = slices[f"{group}/gaps"], series["gaps"]
        assert len(gaps) == booked["number"] == booked["detailed"]
        # Each end of a slice is rounded to a nanosecond.
        total, wanted = sum(gap[2] - gap[1] for gap in gaps), sum(one["total_ns"] for one in booked["histogram"])
        assert abs(total - wanted) <= len(gaps) + 1, (total, wanted)
        causes, longest = collections.Counter(), collections.Counter()
        for gap in gaps:
            assert gap[0] == gap[3]["cause"] and gap[3]["certainty"] in ("certain", "likely", "possible")
            shares = gap[3]["shares_ns"]
            assert max(shares.values()) == shares[gap[0]]
            assert abs(sum(shares.values()) - (gap[2] - gap[1])) <= len(shares) + 1
            for cause, ns in shares.items():
                causes[cause] += 1
                longest[cause] = max(longest[cause], ns)
        for cause in booked["causes"]:
            assert causes[cause["cause"]] == cause["number"], cause
            assert abs(longest[cause["cause"]] - cause["longest_ns"]) <= 1, cause
        for gap in booked["longest"]:
            close = [one for one in gaps if abs(one[1] / 1e9 - gap["at_s"]) < 2e-9 and one[0] == gap["cause"]]
            assert close and abs(close[0][2] - close[0][1] - gap["ns"]) <= 1, gap
        measured = slices[f"{group}/measured"]
        assert len(measured) == series["segments"]
        wall = sum(one[2] - one[1] for one in measured)
        assert abs(wall - series["ledger"]["wall_ns"]) <= len(measured) + 1
        this = (series["cpu"], series["rate_hz"], series["kernel"])
        own = [row for row in quanta if (int(row["series_cpu"]), float(row["rate_hz"]), row["kernel"]) == this]
        own = [row for row in own if int(row["count"]) > int(row["gaps"])]
        first = min(int(row["start_ns"]) for row in quanta)
        points = counters[f"{group}/pace"]
        assert len(points) == len(own)
        for row, (at, pace) in zip(own, points):
            assert abs(at - (int(row["start_ns"]) - first)) <= 1
            present = int(row["end_ns"]) - int(row["start_ns"]) - int(row["gap_ns"]) - int(row["measurement_ns"])
            units = int(row["count"]) - int(row["gaps"])
            assert math.isclose(pace, present / units, abs_tol=4 / units), (row, pace)
        (about,) = [one[2] for one in instants["bandscope"] if one[0] == group]
        assert about["quanta"] == series["quanta"] and about["gaps"] == len(gaps) and not about["pace_decimated"]
        print(f"{group}: {len(gaps)} gaps of {total} ns, {len(points)} points")
    found = sum(len(ones) for kind in (slices, instants) for track, ones in kind.items() if "kernel events" in track)
    before = sum(one[2].get("kernel_events_before_the_start", 0) for one in instants["bandscope"])
    assert found + before == len(events), (found, before, len(events))
    for kind in (slices, instants):
        for track, ones in kind.items():
            if "kernel events" in track:
                ids = [one[3 if kind is slices else 2] for one in ones]
                assert all(("pid" in one) == (one["kind"] == "task") for one in ids)
    print(f"{len(events)} kernel events")
    if "TRACE_PROCESSOR_SHELL" in os.environ:
        load(path, sum(series["gaps"]["number"] for series in report["series"]))


def load(path, gaps):
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    config = TraceProcessorConfig(bin_path=os.environ["TRACE_PROCESSOR_SHELL"])
    with TraceProcessor(trace=str(path), config=config) as processor:
        query = "select count(*) n from slice s join track t on s.track_id = t.id where t.name = 'gaps'"
        assert next(iter(processor.query(query))).n == gaps
        errors = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
        assert not list(processor.query(errors))


with tempfile.TemporaryDirectory() as directory:
    check("tasks:hz=60,mean=200us+tick:hz=250,cost=8us", ["--trace", "on", "--rate", "10000,7777"], directory)
    check("host-steal:hz=60,cost=150us+tick", ["--trace", "on", "--cpus", "0,1", "--rate", "10000"], directory)
    check("flips+tick", ["--trace", "off"], directory)
if "TRACE_PROCESSOR_SHELL" not in os.environ:
    print("trace_processor_shell is not here: the trace was decoded by the published schema")
