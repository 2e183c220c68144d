#!/usr/bin/env python3
"""Whether `bandscope record` names who made tasks run, held against the kernel's own trace of the same seconds.

    sudo tests/senders.py target/release/bandscope [CPU] [SECONDS]

While text is sent through a terminal, which unbound workers carry, and a process sleeps and works on CPU, bandscope records there; an ftrace
instance of its own records sched_waking, sched_switch, ipi_send_cpu, softirq_raise and timers of all CPUs, by the same clock. For each stay of another task on CPU the last wake-up
of that task in the kernel's text is the truth, or, where that task left a CPU since then in state R, that it ran on; for each interrupt by another CPU the last that was sent: a task by its name, an interrupt or a softirq by the
flags that ftrace prints. Then the same with a flight recorder, which also says from which function of the kernel: ftrace's stack of that wake-up has to hold it. It says who
raised a softirq: ftrace's first softirq_raise on that CPU since it ran last is the truth. And it says who set the timer that woke a task: the truth is the last
hrtimer_start or timer_start, by whom it does not run in, of the timer that ftrace saw expire last on the CPU of the wake-up.
Prints how many agree; exit status 1 if fewer than 99 of 100 stays do, or interrupts, softirqs, setters of timers or functions.
"""
import bisect
import collections
import contextlib
import csv
import io
import os
import re
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cures  # noqa: E402

#: What is said of a task that left a CPU and would have gone on running.
RUNNABLE = "runnable"
TRACING = "/sys/kernel/tracing"
LINE = re.compile(r"^\s*(.*)-(\d+)\s+\[(\d+)\] (\S+)\s+(\d+)\.(\d+): (\w+): (.*)$")
OF_STACK = re.compile(r"^\s*.*-\d+\s+\[(\d+)\] \S+\s+\S+ <stack trace>")
STACK = re.compile(r"^\s*=> (\S+)")
#: What a flight recorder keeps that is to keep nearly everything.
CATCH = ["--catch", "gap > 1 us", "--around", "200ms"]
#: Vectors by which CPUs interrupt each other (arch/x86/include/asm/irq_vectors.h).
SENT = {0xFB, 0xFC, 0xFD}
#: Two clocks of the same counter, and ftrace's text resolves a microsecond.
NEAR_NS = 20_000
#: Tracepoints are on, on all CPUs, so long after the first.
ALL_ON_NS = 100_000_000


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


#: What ftrace records; of a kernel that lacks one nothing is held against it.
EVENTS = ["sched/sched_waking", "sched/sched_switch", "ipi/ipi_send_cpu"]
OF_RECORDERS = ["irq/softirq_raise", "irq/softirq_entry", "timer/hrtimer_start", "timer/timer_start", "timer/hrtimer_expire_entry", "timer/timer_expire_entry"]
Act = collections.namedtuple("Act", "time flags name on stack")


class Traced:
    """What ftrace saw, in order of time."""

    def __init__(self, instance, cpu):
        #: Acts by the task that is woken; those of no task are interrupts of `cpu`.
        self.wakes = collections.defaultdict(list)
        #: Switches on `cpu`, and of all tasks.
        self.here, self.anywhere = [], collections.defaultdict(list)
        #: When tasks left a CPU, and whether they would have gone on running.
        self.left = collections.defaultdict(list)
        #: Acts by softirq of `cpu`, and by timer.
        self.raises, self.sets = collections.defaultdict(list), collections.defaultdict(list)
        #: Softirqs of `cpu` that are to run.
        self.raised = set()
        #: Times and timers by CPU.
        self.expired = collections.defaultdict(list)
        stack, last = [], collections.defaultdict(list)
        with open(f"{instance}/trace", errors="replace") as lines:
            for line in lines:
                if frame := STACK.match(line):
                    # Without what the compiler added to a name.
                    stack.append(frame[1].split(".")[0])
                elif begun := OF_STACK.match(line):
                    # An event of its own, between which and the one that it belongs to those of other CPUs may come.
                    stack = last[begun[1]]
                elif found := LINE.match(line):
                    name, _, on, flags, seconds, fraction, event, rest = found.groups()
                    last[on] = []
                    act = Act(int(seconds) * 10**9 + int(fraction.ljust(9, "0")), flags, name, int(on), last[on])
                    self.take(act, event, rest, cpu)

    def take(self, act, event, rest, cpu):
        number = lambda field: int(re.search(rf"\b{field}=(\d+)", rest)[1])
        timer = re.match(r"(?:hr)?timer=(\S+)", rest)
        if event == "sched_waking":
            self.wakes[number("pid")].append(act)
        elif event == "ipi_send_cpu":
            if number("cpu") == cpu:
                self.wakes[None].append(act)
        elif event == "softirq_raise":
            # Raised again, it changes nothing.
            if act.on == cpu and number("vec") not in self.raised:
                self.raised.add(number("vec"))
                self.raises[number("vec")].append(act)
        elif event == "softirq_entry":
            if act.on == cpu:
                self.raised.discard(number("vec"))
        elif event.endswith("_expire_entry"):
            self.expired[act.on].append((act.time, timer[1]))
        elif event.endswith("timer_start"):
            # One that goes on by itself is still that of who set it first.
            last = self.expired[act.on][-1:]
            if act.flags[2] == "." or not last or last[0][1] != timer[1]:
                self.sets[timer[1]].append(act)
        elif event == "sched_switch":
            task = number("next_pid")
            self.anywhere[task].append(act.time)
            self.left[number("prev_pid")].append((act, re.search(r"\bprev_state=(\S)", rest)[1] == "R"))
            if act.on == cpu:
                self.here.append((act.time, task))

    def setter(self, wake):
        """Who set the timer that a wake-up came from; None where that is not known."""
        expired = self.expired[wake.on]
        place = bisect.bisect(expired, (wake.time, chr(0x10FFFF)))
        if not place:
            return None
        time, timer = expired[place - 1]
        return max((act for act in self.sets[timer] if act.time <= time), default=None, key=lambda act: act.time)


def offset(stays, here):
    """What to add to a stay's time to have the kernel's: where most of the first stays begin with a switch to their task."""
    times = collections.defaultdict(list)
    for time, task in here:
        times[task].append(time)

    def agree(shift):
        near = 0
        for stay in stays[:200]:
            at = times[stay["task"]]
            place = bisect.bisect(at, stay["start"] + shift)
            near += any(abs(time - stay["start"] - shift) < NEAR_NS for time in at[max(0, place - 1) : place + 1])
        return near

    rare = min(stays[:200], key=lambda stay: len(times[stay["task"]]) or 10**9)
    return max((time - rare["start"] for time in times[rare["task"]]), key=agree)


def before(acts, at):
    """The last of them up to a time of a stay."""
    return max((act for act in acts if act.time <= at + 1000), default=None, key=lambda act: act.time)


def who(act):
    """Kinds and a name of what did it, and its stack; of nobody None."""
    if act is None:
        return None
    context = act.flags[2]
    if context in "hHzZ":
        return ("irq", "timer", "tick", "interrupt"), None, act.stack
    if context == "s":
        return ("softirq", "timer"), None, act.stack
    # Of some tasks ftrace has forgotten the name.
    name = None if act.name == "<...>" else act.name
    return ("idle",) if name == "<idle>" else ("task",), name, act.stack


def wanted(stay, at, traced):
    """What the kernel's trace says, and the act; of a task that ran on that it was runnable, where the trace saw it leave."""
    if stay["kind"] == "softirq":
        act = before(traced.raises[stay["task"]], at)
        return who(act), act
    act = before(traced.wakes.get(stay["task"], []), at)
    if stay["task"] is not None:
        left = [one for one in traced.left[stay["task"]] if one[0].time <= at + 1000]
        if left and left[-1][1] and (act is None or left[-1][0].time > act.time):
            return ((RUNNABLE,), None, []), left[-1][0]
        if act and any(act.time < other < at - NEAR_NS for other in traced.anywhere[stay["task"]]):
            act = None
    return who(act), act


def agrees(sender, truth):
    if truth is None or not sender:
        return truth is None and not sender
    kinds, name, _ = truth
    kind, _, rest = sender.partition(":")
    return kind in kinds and (name is None or kind == "idle" or rest == name)


class Count:
    """How many of something agree, and the first that do not."""

    def __init__(self, what):
        self.what, self.good, self.all = what, 0, 0

    def take(self, good, told):
        self.good, self.all = self.good + good, self.all + 1
        if not good and self.all - self.good <= 10:
            print(f"  {self.what}: {told}")

    def failed(self):
        print(f"{self.good} of {self.all} {self.what} agree with the kernel's trace")
        return self.good < 0.99 * self.all


def compare(rows, what, shift, traced, begun):
    """Whether what is said of `rows` is what the kernel says, too; of timers that were set after the recording had `begun`."""
    acts, places, setters = Count(what), Count(f"functions of {what}"), Count(f"setters of timers of {what}")
    ran_on = Count(f"{what} that ran on")
    for row in rows:
        truth, act = wanted(row, row["start"] + shift, traced)
        at = f"{row['name']} at {row['start'] / 1e9:.6f} s"
        if RUNNABLE in (row["sender"], truth and truth[0][0]):
            agree = agrees(row["sender"], truth) and row["sender_cpu"] == str(act.on)
            ran_on.take(agree, f"{at}: {row['sender'] or 'nobody'} on CPU {row['sender_cpu']}, the kernel says {truth and truth[:2]}")
        acts.take(agrees(row["sender"], truth), f"{at}: {row['sender'] or 'nobody'}, the kernel says {truth and truth[:2]}")
        if act and row["sender"].startswith("timer:"):
            setter = traced.setter(act)
            truth = who(setter)
            if setter and setter.time > begun + shift:
                setters.take(agrees(row["set_by"], truth), f"{at}: set by {row['set_by'] or 'nobody'}, the kernel says {truth[:2]}")
        if place := row["sender_function"]:
            places.take(truth is not None and place in truth[2], f"{at}: {place}, which is not in {truth and truth[2][:6]}")
    return acts, places, setters, ran_on


def held(program, cpu, seconds, more):
    """One run against the kernel's trace of it; whether enough agree."""
    instance = f"{TRACING}/instances/bandscope-senders"
    os.makedirs(instance, exist_ok=True)
    with contextlib.ExitStack() as made:
        made.callback(os.rmdir, instance)
        made.callback(cures.Workers(cpu, looks=False).stop)
        made.callback(cures.Tasks(cpu).end)
        put(f"{instance}/trace_clock", "mono_raw")
        put(f"{instance}/buffer_size_kb", "131072")
        put(f"{instance}/options/stacktrace", "1" if more else "0")
        for event in EVENTS + (OF_RECORDERS if more else []):
            if os.path.exists(f"{instance}/events/{event}"):
                put(f"{instance}/events/{event}/enable", "1")
        with tempfile.TemporaryDirectory() as directory:
            words = [program, "record", "--cpus", str(cpu), "--duration", f"{seconds}s", "--output", "run", *more]
            subprocess.run(words, cwd=directory, check=True, capture_output=True)
            put(f"{instance}/tracing_on", "0")
            words = [program, "export", "run", "--format", "csv", "--what", "events"]
            text = subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True).stdout
        traced = Traced(instance, cpu)
    rows = [row | {"start": int(row["start_ns"]), "task": int(row["number"])} for row in csv.DictReader(io.StringIO(text)) if row["cpu"] == str(cpu)]
    stays = [row for row in rows if row["kind"] == "task"]
    shift = offset(stays, traced.here)
    what_to_hold = {"stays": stays}
    if traced.wakes[None]:
        what_to_hold["interrupts"] = [row | {"task": None} for row in rows if row["kind"] == "vector" and row["task"] in SENT]
    else:
        print("SKIPPED: interrupts by other CPUs: this kernel has no event ipi_send_cpu, or none was sent")
    if more:
        what_to_hold["softirqs"] = [row for row in rows if row["kind"] == "softirq"]
    failed = not stays
    for what, events in what_to_hold.items():
        # The CPUs are switched on one after the other, and until the last is, some senders are not recorded.
        events = [event for event in events if event["start"] > rows[0]["start"] + ALL_ON_NS]
        for count in compare(events, what, shift, traced, rows[0]["start"]):
            if count.all:
                failed |= count.failed()
            elif more:
                print(f"SKIPPED: {count.what}: this kernel records none, or none came")
    return not failed


def main():
    program = os.path.abspath(sys.argv[1])
    cpu = int(sys.argv[2]) if len(sys.argv) > 2 else max(os.sched_getaffinity(0))
    seconds = sys.argv[3] if len(sys.argv) > 3 else "10"
    # So that what was changed is put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    agree = [held(program, cpu, seconds, more) for more in ([], CATCH)]
    sys.exit(int(not all(agree)))


if __name__ == "__main__":
    main()
