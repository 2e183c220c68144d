#!/usr/bin/env python3
"""Whether `bandscope record` names who made tasks run, held against the kernel's own trace of the same seconds.

    sudo tests/senders.py target/release/bandscope [CPU] [SECONDS]

While text is sent through a terminal, which unbound workers carry, and a process sleeps and works on CPU, bandscope records there; an ftrace
instance of its own records sched_waking, sched_switch and ipi_send_cpu of all CPUs, by the same clock. For each stay of another task on CPU the last wake-up
of that task in the kernel's text is the truth, for each interrupt by another CPU the last that was sent: a task by its name, an interrupt or a softirq by the
flags that ftrace prints. Prints how many agree; exit status 1 if fewer than 99 of 100 stays do, or interrupts.
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
#: Vectors by which CPUs interrupt each other (arch/x86/include/asm/irq_vectors.h).
SENT = {0xFB, 0xFC, 0xFD}
#: Two clocks of the same counter, and ftrace's text resolves a microsecond.
NEAR_NS = 20_000


def put(path, text):
    with open(path, "w") as file:
        file.write(text)


def traced(instance, cpu):
    """Wake-ups by task (time, flags, name of the waker; those of no task are interrupts of `cpu`), and switches to tasks on `cpu` and elsewhere."""
    wakes, here, anywhere = collections.defaultdict(list), [], collections.defaultdict(list)
    with open(f"{instance}/trace", errors="replace") as lines:
        for line in lines:
            found = LINE.match(line)
            if not found:
                continue
            name, _, on, flags, seconds, fraction, event, rest = found.groups()
            time = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
            if event == "sched_waking":
                wakes[int(re.search(r" pid=(\d+)", rest)[1])].append((time, flags, name))
            elif event == "ipi_send_cpu":
                if int(re.search(r"cpu=(\d+)", rest)[1]) == cpu:
                    wakes[None].append((time, flags, name))
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
    """What the kernel's trace says: a kind and a name, or None where the task ran on."""
    before = [wake for wake in wakes.get(stay["task"], []) if wake[0] <= at + 1000]
    if not before:
        return None
    time, flags, name = max(before)
    if any(time < other < at - NEAR_NS for other in anywhere[stay["task"]]):
        return None
    context = flags[2]
    if context in "hHzZ":
        return ("irq", "timer", "tick", "interrupt"), None
    if context == "s":
        return ("softirq", "timer"), None
    return ("idle",) if name == "<idle>" else ("task",), name


def agrees(sender, truth):
    if truth is None or not sender:
        return truth is None and not sender
    kinds, name = truth
    kind, _, rest = sender.partition(":")
    return kind in kinds and (name is None or kind == "idle" or rest == name)


def main():
    program = os.path.abspath(sys.argv[1])
    cpu = int(sys.argv[2]) if len(sys.argv) > 2 else max(os.sched_getaffinity(0))
    seconds = sys.argv[3] if len(sys.argv) > 3 else "10"
    instance = f"{TRACING}/instances/bandscope-senders"
    os.makedirs(instance, exist_ok=True)
    worker, sleeper = cures.Workers(cpu), cures.Tasks(cpu)
    try:
        put(f"{instance}/trace_clock", "mono_raw")
        put(f"{instance}/buffer_size_kb", "65536")
        for event in ["sched/sched_waking", "sched/sched_switch", "ipi/ipi_send_cpu"]:
            if os.path.exists(f"{instance}/events/{event}"):
                put(f"{instance}/events/{event}/enable", "1")
        with tempfile.TemporaryDirectory() as directory:
            words = [program, "record", "--cpus", str(cpu), "--duration", f"{seconds}s", "--output", "run"]
            subprocess.run(words, cwd=directory, check=True, capture_output=True)
            put(f"{instance}/tracing_on", "0")
            words = [program, "export", "run", "--format", "csv", "--what", "events"]
            text = subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True).stdout
        wakes, here, anywhere = traced(instance, cpu)
    finally:
        sleeper.end()
        worker.stop()
        os.rmdir(instance)
    rows = [row | {"start": int(row["start_ns"]), "task": int(row["number"])} for row in csv.DictReader(io.StringIO(text))]
    stays = [row for row in rows if row["kind"] == "task"]
    shift = offset(stays, here)
    sent = [row | {"task": None} for row in rows if row["kind"] == "vector" and row["task"] in SENT]
    failed, what_to_hold = False, [("stays", stays)]
    if wakes[None]:
        what_to_hold.append(("interrupts", sent))
    else:
        print("SKIPPED: interrupts by other CPUs: this kernel has no event ipi_send_cpu, or none was sent")
    for what, events in what_to_hold:
        counts = collections.Counter()
        for event in events:
            truth = wanted(event, event["start"] + shift, wakes, anywhere)
            good = agrees(event["sender"], truth)
            counts[good] += 1
            if not good and counts[False] <= 20:
                print(f"{event['name']} at {event['start'] / 1e9:.6f} s: {event['sender'] or 'nobody'}, the kernel says {truth}")
        known = sum(bool(event["sender"]) for event in events)
        print(f"{counts[True]} of {len(events)} {what} agree with the kernel's trace; {known} have a sender")
        failed |= counts[True] < 0.99 * len(events)
    sys.exit(int(failed or not stays))


if __name__ == "__main__":
    main()
