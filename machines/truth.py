"""What is true of a recording, by sources that are not bandscope: what disturbed it, its logs, the kernel's own accounts.

docs/truth.md says what counts as right, wrong and undecidable; `judge.py` applies it.
"""

import collections
import csv
import dataclasses
import itertools
import json
import subprocess

from kernels import OLD

# Share of its periods that a disturber has to keep, by its own log, for a period to be asked for.
KEPT = 0.9


@dataclasses.dataclass(frozen=True)
class Train:
    """Something that comes with a period. `causes`: the keys of the ledger that may have it."""

    hz: float
    causes: frozenset
    # Whether a report has to find it: what is shorter than the gap threshold, or rarer than can be folded, may be said and need not.
    expected: bool = True
    # How sure of it a report has to be.
    least: str = "likely"
    # Whether it kept its period: where it did not, another frequency of it is neither right nor wrong.
    kept: bool = True


@dataclasses.dataclass(frozen=True)
class Booked:
    """What the ledger has to book to `cause`: between `low` and `high` nanoseconds."""

    cause: str
    low: float
    high: float


@dataclasses.dataclass
class Truth:
    """All that is known of one recording."""

    cpu: int
    # Whether nothing but the guest's own instructions takes time (one CPU in instruction time).
    alone: bool
    # Whether the pace is one constant, so that every finding about pace is wrong.
    constant_pace: bool
    # Relative error beyond which a stated frequency is another one.
    hz_tolerance: float
    trains: list = dataclasses.field(default_factory=list)
    booked: list = dataclasses.field(default_factory=list)
    # What must be named at `likely` or better, without a period: of each set one cause.
    named: list = dataclasses.field(default_factory=list)
    # Tasks that are not of the scene: their names, and how often a second each slept, by the kernel's count of its voluntary switches.
    sleepers: list = dataclasses.field(default_factory=list)
    # Causes that run without a period: a frequency that is said of one is wrong.
    aperiodic: frozenset = frozenset()
    # Cause by which the measured thread was kept from running though nobody else wanted the CPU, and for which share of the time.
    throttled: tuple | None = None
    events: bool = True
    # Where the recording has no kernel events: frequencies of the kernel's own work, by the events of the same scene recorded as root.
    kernel_hz: tuple = ()
    # The tasks of a program, and the least and the most nanoseconds that they had together.
    load: tuple | None = None
    # Nanoseconds that the measured thread spent runnable and not running, by its own schedstat.
    waited_ns: float | None = None


def quanta(binary, recording, cpu):
    """Spans of time in nanoseconds since the origin that were measured on `cpu`, one a segment."""
    text = subprocess.run([binary, "export", recording, "--format", "csv", "--cpu", str(cpu)], check=True, text=True, stdout=subprocess.PIPE).stdout
    segments = {}
    for row in csv.DictReader(text.splitlines()):
        start, end = int(row["start_ns"]), int(row["end_ns"])
        first, last = segments.get(row["segment"], (start, end))
        segments[row["segment"]] = (min(first, start), max(last, end))
    return sorted(segments.values())


@dataclasses.dataclass
class Account:
    """What a log of disturb.c says of the time that was measured."""

    rows: int = 0
    # From the first to the last clock read of each row, and what the kernel booked to the threads from row to row, in nanoseconds.
    span_ns: float = 0.0
    cpu_ns: float = 0.0
    hz: float | None = None
    # Share of the periods with a start within a tenth of a period of the grid.
    kept: float = 1.0
    # Whether `cpu_ns` is that of the measured time.
    whole: bool = True


def account(log, recording, spans, hz=None):
    """Holds a log against the measured spans, by raw ticks of the clock that both read; `hz`: of the grid of its starts."""
    clock = json.loads((recording / "recording.json").read_text())["clock"]
    threads = {}
    with open(log) as file:
        for row in csv.DictReader(file, delimiter="\t"):
            threads.setdefault(row["thread"], []).append({key: int(value) for key, value in row.items()})
    result = Account()
    first = last = None
    starts = kept = 0
    for rows in threads.values():
        before = 0
        for row in rows:
            start, end = ((row[key] - clock["origin_ticks"]) / clock["ticks_per_ns"] for key in ("tick_from", "tick_to"))
            shared = sum(max(0.0, min(end, to) - max(start, begin)) for begin, to in spans)
            if shared > 0:
                share = shared / max(end - start, 1.0)
                # What computes all the time has one row, and no account of when in it it had the CPU.
                result.whole &= share > 0.999 or len(rows) > 1
                result.rows += 1
                result.span_ns += shared
                result.cpu_ns += (row["cpu_ns"] - before) * min(share, 1.0)
                first, last, starts = min(first or row["ns_from"], row["ns_from"]), max(last or 0, row["ns_from"]), starts + 1
                # The first start is the first of a whole second.
                kept += bool(hz) and abs(((row["ns_from"] - rows[0]["ns_from"] // 10**9 * 10**9) * 1e-9 * hz + 0.5) % 1.0 - 0.5) < 0.1
            before = row["cpu_ns"]
    if starts > 2 * len(threads) and last > first:
        # Starts follow a fixed grid; those that were skipped are in the time, not in the number.
        result.hz = (starts - len(threads)) / (last - first) * 1e9
        result.kept = kept / ((last - first) * 1e-9 * hz + 1) if hz else 1.0
    return result


def disturbed(log, recording, spans):
    """When a disturber was at it while bandscope watched, in seconds since the first quantum: the begin and the end of each row of its log."""
    manifest = json.loads((recording / "recording.json").read_text())
    clock = manifest["clock"]
    watched_s = manifest["watched"][0]["wall_ticks"] / clock["ticks_per_ns"] / 1e9
    # The first quantum of a run is always kept.
    first = clock["origin_ticks"] / clock["ticks_per_ns"] + spans[0][0]
    with open(log) as file:
        rows = [[(int(row[key]) / clock["ticks_per_ns"] - first) / 1e9 for key in ("tick_from", "tick_to")] for row in csv.DictReader(file, delimiter="\t")]
    return [(start, end) for start, end in rows if start >= 0 and end <= watched_s]


def kernel_hz(binary, recording):
    """Frequencies of whatever is in the events of a recording: intervals of one name that fill a quarter of the time."""
    text = subprocess.run([binary, "export", recording, "--format", "csv", "--what", "events"], check=True, text=True, stdout=subprocess.PIPE).stdout
    starts = collections.defaultdict(list)
    for row in csv.DictReader(text.splitlines()):
        starts[row["kind"], row["name"]].append(int(row["start_ns"]))
    found = set()
    for times in starts.values():
        # To a tenth of a millisecond: no worker is more punctual. Eight of them, as single long intervals are no period.
        intervals = collections.Counter(round((later - time) / 1e5) for time, later in itertools.pairwise(times))
        span = (times[-1] - times[0]) / 1e5
        found |= {1e4 / interval for interval, number in intervals.items() if number >= 8 and interval * number >= 0.25 * span}
    return tuple(sorted(found))


def of_scene(scene, kernel, folder, binary):
    """The truth of a scene of `scenes.py`, from its data and its logs."""
    recording = folder / "it.bandscope"
    spans = quanta(binary, recording, scene.measured)
    manifest = json.loads((recording / "recording.json").read_text())
    truth = Truth(cpu=scene.measured, alone=scene.cpus == 1, constant_pace=True, hz_tolerance=1e-5,
                  events=manifest["events"]["state"] == "on")
    twin = folder.with_name(folder.name.removesuffix("-unprivileged")) / "it.bandscope"
    if not truth.events and twin.is_dir():
        truth.kernel_hz = kernel_hz(binary, twin)
    isolated = "nohz_full" in scene.boot_line
    # On two CPUs the tick, too, waits for its CPU's turn.
    # All of Debian's kernels of `kernels.py` have CONFIG_HZ=250.
    # Without kernel events a tick at which tasks are switched is the begin or the end of their slices.
    hidden = isolated or (not truth.events and any(disturber.mode == "hog" for disturber in scene.disturbers))
    truth.trains.append(Train(250.0, frozenset({"tick", None}), expected=not hidden, least="likely" if truth.alone else "possible"))
    aperiodic = set()
    for disturber in scene.disturbers:
        task = f"task:{disturber.name}"
        log = account(folder / f"{disturber.name}.tsv", recording, spans, disturber.hz if disturber.period else None)
        # Where two CPUs run in turn a timer waits for its CPU's turn.
        kept = truth.alone or log.kept >= KEPT
        own = {task, f"timer:{disturber.name}", None, "unnamed", "preempted", "irq:local_timer"}
        if disturber.mode == "timer":
            # A real-time kernel expires an ordinary task's timer there.
            own.add("softirq:HRTIMER")
        if disturber.mode == "hog":
            aperiodic.add(task)
            # It may have ended before the measuring thread came to run: where two CPUs run in turn one waits for seconds.
            if log.rows:
                truth.named.append({task})
        elif disturber.mode == "ipi":
            truth.trains.append(Train(disturber.hz, frozenset({"irq:call_function_single", None}), expected=False, kept=kept))
            truth.named.append({"irq:call_function_single"})
            continue
        elif disturber.threads > 1:
            truth.named.append({task})
            truth.trains.append(Train(disturber.hz, frozenset(own), expected=False))
        else:
            softirqs = {"net": "softirq:NET_RX", "block": "softirq:BLOCK"}
            if disturber.mode in softirqs:
                own.add(softirqs[disturber.mode])
            truth.trains.append(Train(disturber.hz, frozenset(own), expected=kept, kept=kept))
        if log.cpu_ns and disturber.mode in ("spin", "hog") and truth.alone and log.whole:
            # The kernel books a thread from its wake-up on, early in the timer's interrupt; the events begin at the switch. So what is
            # booked lies between the logged spans and the CPU time.
            low = log.span_ns if disturber.mode == "spin" else log.cpu_ns
            truth.booked.append(Booked(task, 0.97 * low, 1.03 * log.cpu_ns))
    truth.aperiodic = frozenset(aperiodic)
    if truth.alone:
        truth.waited_ns = next((one["wait_ns"] for one in manifest.get("schedstat", []) if one["cpu"] == scene.measured), None)
    if scene.quota:
        truth.throttled = ("throttled:quota", 1.0 - scene.quota)
    if scene.stopped:
        truth.throttled = ("stopped", None)
    if scene.priority and kernel == OLD:
        # Before 6.12 the real-time limit (950 ms of each second) idles the CPU; from 6.12 on the fair server gives the rest to ordinary tasks.
        truth.throttled = ("throttled:realtime", 0.05)
    return truth
