#!/usr/bin/env python3
"""Whether `bandscope record` names who made tasks run, held against the kernel's own trace of the same seconds.

    sudo tests/senders.py target/release/bandscope [CPU] [SECONDS]

While text is sent through a terminal, which unbound workers carry, and a process sleeps and works on CPU, bandscope records there; an ftrace
instance of its own records sched_waking, sched_switch and ipi_send_cpu of all CPUs, by the same clock. For each stay of another task on CPU the last wake-up
of that task in the kernel's text is the truth, for each interrupt by another CPU the last that was sent: a task by its name, an interrupt or a softirq by the
flags that ftrace prints. Then the same with a flight recorder, which also says from which function of the kernel: ftrace's stack of that wake-up has to hold it.
Prints how many agree; exit status 1 if fewer than 99 of 100 stays do, or interrupts, or functions.
"""
import bisect
import collections
import csv
import io
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cures  # noqa: E402

TRACING = "/sys/kernel/tracing"
LINE = re.compile(r"^\s*(.*)-(\d+)\s+\[(\d+)\] (\S+)\s+(\d+)\.(\d+): (\w+): (.*)$")
STACK = re.compile(r"^\s*=> (\S+)")
#: What a flight recorder keeps that is to keep nearly everything.
CATCH = ["--catch", "gap > 1 us", "--around", "200ms"]
#: Vectors by which CPUs interrupt each other (arch/x86/include/asm/irq_vectors.h).
SENT = {0xFB, 0xFC, 0xFD}
#: Two clocks of the same counter, and ftrace's text resolves a microsecond.
NEAR_NS = 20_000


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def traced(instance, cpu):
    """Wake-ups by task (time, flags, name and stack of the waker; those of no task are interrupts of `cpu`), and switches to tasks on `cpu` and elsewhere."""
    wakes, here, anywhere = collections.defaultdict(list), [], collections.defaultdict(list)
    stack = []
    with open(f"{instance}/trace", errors="replace") as lines:
        for line in lines:
            if frame := STACK.match(line):
                # Without what the compiler added to a name.
                stack.append(frame[1].split(".")[0])
            found = LINE.match(line)
            # The stack follows as an event of its own.
            if not found or found[7] == "<stack":
                continue
            stack = []
            name, _, on, flags, seconds, fraction, event, rest = found.groups()
            time = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
            if event == "sched_waking":
                wakes[int(re.search(r" pid=(\d+)", rest)[1])].append((time, flags, name, stack))
            elif event == "ipi_send_cpu":
                if int(re.search(r"cpu=(\d+)", rest)[1]) == cpu:
                    wakes[None].append((time, flags, name, stack))
            else:
                task = int(re.search(r"next_pid=(\d+)", rest)[1])
                anywhere[task].append(time)
                if int(on) == cpu:
                    here.append((time, task))
    return wakes, here, anywhere


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


def wanted(stay, at, wakes, anywhere):
    """What the kernel's trace says: kinds, a name and a stack, or None where the task ran on."""
    before = [wake for wake in wakes.get(stay["task"], []) if wake[0] <= at + 1000]
    if not before:
        return None
    time, flags, name, stack = max(before)
    if any(time < other < at - NEAR_NS for other in anywhere[stay["task"]]):
        return None
    context = flags[2]
    if context in "hHzZ":
        return ("irq", "timer", "tick", "interrupt"), None, stack
    if context == "s":
        return ("softirq", "timer"), None, stack
    return ("idle",) if name == "<idle>" else ("task",), name, stack


def agrees(sender, truth):
    if truth is None or not sender:
        return truth is None and not sender
    kinds, name, _ = truth
    kind, _, rest = sender.partition(":")
    return kind in kinds and (name is None or kind == "idle" or rest == name)


def held(program, cpu, seconds, more):
    """One run against the kernel's trace of it; whether enough agree."""
    instance = f"{TRACING}/instances/bandscope-senders"
    os.makedirs(instance, exist_ok=True)
    worker, sleeper = cures.Workers(cpu), cures.Tasks(cpu)
    try:
        put(f"{instance}/trace_clock", "mono_raw")
        put(f"{instance}/buffer_size_kb", "65536")
        put(f"{instance}/options/stacktrace", "1" if more else "0")
        for event in ["sched/sched_waking", "sched/sched_switch", "ipi/ipi_send_cpu"]:
            if os.path.exists(f"{instance}/events/{event}"):
                put(f"{instance}/events/{event}/enable", "1")
        with tempfile.TemporaryDirectory() as directory:
            words = [program, "record", "--cpus", str(cpu), "--duration", f"{seconds}s", "--output", "run", *more]
            subprocess.run(words, cwd=directory, check=True, capture_output=True)
            put(f"{instance}/tracing_on", "0")
            words = [program, "export", "run", "--format", "csv", "--what", "events"]
            text = subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True).stdout
        wakes, here, anywhere = traced(instance, cpu)
    finally:
        sleeper.end()
        worker.stop()
        os.rmdir(instance)
    rows = [row | {"start": int(row["start_ns"]), "task": int(row["number"])} for row in csv.DictReader(io.StringIO(text)) if row["cpu"] == str(cpu)]
    stays = [row for row in rows if row["kind"] == "task"]
    shift = offset(stays, here)
    sent = [row | {"task": None} for row in rows if row["kind"] == "vector" and row["task"] in SENT]
    failed, what_to_hold = not stays, [("stays", stays)]
    if wakes[None]:
        what_to_hold.append(("interrupts", sent))
    else:
        print("SKIPPED: interrupts by other CPUs: this kernel has no event ipi_send_cpu, or none was sent")
    for what, events in what_to_hold:
        counts, places, wrong = collections.Counter(), collections.Counter(), collections.Counter()
        for event in events:
            truth = wanted(event, event["start"] + shift, wakes, anywhere)
            good = agrees(event["sender"], truth)
            counts[good] += 1
            if not good and counts[False] <= 20:
                print(f"{event['name']} at {event['start'] / 1e9:.6f} s: {event['sender'] or 'nobody'}, the kernel says {truth and truth[:2]}")
            if place := event["sender_function"]:
                is_there = truth is not None and place in truth[2]
                places[is_there] += 1
                if not is_there:
                    wrong[place, tuple(truth[2][:6]) if truth else None] += 1
        known = sum(bool(event["sender"]) for event in events)
        print(f"{counts[True]} of {len(events)} {what} agree with the kernel's trace; {known} have a sender")
        failed |= counts[True] < 0.99 * len(events)
        if more:
            print(f"{places[True]} of {sum(places.values())} functions of {what} are in the kernel's stacks")
            failed |= places[True] < 0.99 * sum(places.values())
            for (place, stack), number in wrong.most_common(5):
                print(f"  {number} times {place}, which is not in {stack}")
    return not failed


def main():
    program = os.path.abspath(sys.argv[1])
    cpu = int(sys.argv[2]) if len(sys.argv) > 2 else max(os.sched_getaffinity(0))
    seconds = sys.argv[3] if len(sys.argv) > 3 else "10"
    agree = [held(program, cpu, seconds, more) for more in ([], CATCH)]
    sys.exit(int(not all(agree)))


if __name__ == "__main__":
    main()
