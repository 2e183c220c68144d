#!/usr/bin/env python3
"""Whether everything is as before after `bandscope cure` is killed at a random moment and `bandscope cure --undo` puts back.

    sudo tests/cure_kills.py target/release/bandscope [TIMES] [CPU]

Compares what cures change, before and after: affinities of all threads that live through it and of those born meanwhile, affinities of interrupts,
the mask of work queues, settings of the kernel. Ends at the first difference, with exit status 1. Where an interrupt comes to is no setting: one that has not come since
it was sent back is counted, and no difference.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SETTINGS = [
    "/sys/devices/virtual/workqueue/cpumask",
    "/proc/sys/vm/stat_interval",
    "/proc/sys/kernel/watchdog",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/numa_balancing",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
]


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return None


def threads():
    """The CPUs of every thread of the machine, by its number and its start."""
    found = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            ids = os.listdir(f"/proc/{process}/task")
        except OSError:
            continue
        for thread in ids:
            try:
                stat = read(f"/proc/{process}/task/{thread}/stat")
                started = stat.rsplit(")", 1)[1].split()[19]
                found[int(thread), started, stat.split(" ", 1)[1].rsplit(")", 1)[0]] = sorted(os.sched_getaffinity(int(thread)))
            except (OSError, AttributeError, IndexError):
                pass
    return found


def machine():
    state = {path: read(path) for path in SETTINGS}
    for number in filter(str.isdigit, os.listdir("/proc/irq")):
        path = f"/proc/irq/{number}/smp_affinity_list"
        state[path] = read(path)
    return state


def places():
    """Where interrupts come to."""
    return {number: read(f"/proc/irq/{number}/effective_affinity_list") for number in filter(str.isdigit, os.listdir("/proc/irq"))}


def main():
    program = os.path.abspath(sys.argv[1])
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    cpu = sys.argv[3] if len(sys.argv) > 3 else str(max(os.sched_getaffinity(0)))
    left = elsewhere = 0
    random.seed(1)
    # So that what was changed is put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # Born and ending all the time: children of what is moved.
    shell = subprocess.Popen(["sh", "-c", "while :; do sleep 0.3 & sleep 0.1; done"], start_new_session=True)
    try:
        for number in range(times):
            before, had, where = machine(), threads(), places()
            with tempfile.TemporaryDirectory() as directory:
                words = ["cure", "tasks", "interrupts", "workers", "housekeeping", "--cpus", cpu, "--trial", "0.1s", "--yes", "--seed", str(number)]
                child = subprocess.Popen([program, *words], cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                try:
                    time.sleep(random.uniform(0.4, 6.0))
                finally:
                    child.kill()
                    child.wait()
                    undone = subprocess.run([program, "cure", "--undo"], cwd=directory, capture_output=True, text=True, timeout=60)
            left += "are put back" in undone.stderr
            after, has, there = machine(), threads(), places()
            elsewhere += sum(place != there.get(number) for number, place in where.items())
            wrong = {path: (before[path], after.get(path)) for path in before if before[path] != after.get(path)}
            wrong |= {thread: (cpus, has[thread]) for thread, cpus in had.items() if thread in has and has[thread] != cpus}
            # Children of the shell have what it has.
            wrong |= {thread: has[thread] for thread in has if thread not in had and thread[2].startswith("(sleep") and len(has[thread]) < len(os.sched_getaffinity(shell.pid))}
            if undone.returncode or wrong:
                print(f"kill {number + 1}: exit status {undone.returncode}, {undone.stderr.strip()}; not as before: {wrong}")
                sys.exit(1)
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        shell.wait()
    print(f"{times} kills, {left} of them with something to put back: everything as before; {elsewhere} interrupts come elsewhere")
    sys.exit(int(left == 0))


if __name__ == "__main__":
    main()
