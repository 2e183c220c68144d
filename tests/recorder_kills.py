#!/usr/bin/env python3
"""Whether everything is as before after a flight recorder with a priority, a control group and a CPU of its own is killed at a random moment.

    sudo tests/recorder_kills.py target/release/bandscope [TIMES] [SEED]

Compares, after each of TIMES (100) kills (SIGKILL, up to 6 s after the start, of which it takes two to begin), what the recorder could have changed: kernel events that are on and
instances of tracefs, control groups and who is in the one of the test, the scheduling and the CPUs of every thread that lives on, affinities of
interrupts, settings of the kernel. Exit status 1 if anything differs. Prints SKIPPED where there is no control group of CPU time.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from cure_kills import machine, read, threads

NAME = "bandscope-kills"
TRACEFS = "/sys/kernel/tracing"
LIMITS = [f"/proc/sys/kernel/{name}" for name in ("sched_rt_runtime_us", "sched_rt_period_us", "perf_event_paranoid", "kptr_restrict")]


def roots():
    """Where control groups are mounted, those of CPU time first."""
    with open("/proc/mounts") as mounts:
        found = [(words[1], words[3].split(",")) for words in map(str.split, mounts) if words[2].startswith("cgroup")]
    return [path for path, _ in sorted(found, key=lambda one: "cpu" not in one[1])], any("cpu" in options for _, options in found)


def state(groups, group):
    found = machine() | {path: read(path) for path in (*LIMITS, f"{TRACEFS}/set_event", f"{TRACEFS}/events/enable", f"{group}/cgroup.procs")}
    found["instances"] = sorted(os.listdir(f"{TRACEFS}/instances"))
    # Others make groups, too.
    found["groups"] = sorted(path for root in groups for path, *_ in os.walk(root) if "bandscope" in path)
    return found


def scheduled():
    """CPUs and policy of every thread."""
    policies = {}
    for key, cpus in threads().items():
        try:
            policies[key] = (cpus, os.sched_getscheduler(key[0]), os.sched_getparam(key[0]).sched_priority)
        except OSError:
            pass
    return policies


def main():
    program = os.path.abspath(sys.argv[1])
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    first, *_, last = sorted(os.sched_getaffinity(0)) * 2
    groups, has_cpu = roots()
    if not has_cpu:
        print("SKIPPED: no control group of CPU time (version 1) is mounted")
        return 0
    mounted = not os.path.exists(f"{TRACEFS}/set_event")
    if mounted:
        subprocess.run(["mount", "-t", "tracefs", "none", TRACEFS], check=True)
    # So that what was made is taken away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    group = f"{groups[0]}/{NAME}"
    os.makedirs(group, exist_ok=True)
    wrong = kept = 0
    try:
        with open(f"{group}/cpu.rt_runtime_us", "w") as file:
            file.write("500000")
        before, policies = state(groups, group), scheduled()
        for number in range(times):
            with tempfile.TemporaryDirectory() as directory, open(f"{directory}/errors", "w") as errors:
                words = [program, "record", "--cpus", str(last), "--duration", "60s", "--catch", "gap > 50 us", "--priority", "fifo:1",
                         "--housekeeping", str(first), "--cgroup", NAME, "--output", "killed"]
                recorder = subprocess.Popen(words, cwd=directory, stdout=subprocess.DEVNULL, stderr=errors)
                try:
                    time.sleep(random.uniform(0.05, 6))
                finally:
                    recorder.kill()
                    status = recorder.wait()
                if status != -signal.SIGKILL:
                    raise SystemExit(f"it ended before it was killed: {read(f'{directory}/errors')}")
                kept += os.path.exists(f"{directory}/killed")
            time.sleep(0.2)
            now, later = state(groups, group), scheduled()
            differs = [f"{key}: {before.get(key)}, now {now.get(key)}" for key in before.keys() | now.keys() if before.get(key) != now.get(key)]
            differs += [f"{key}: {policies[key]}, now {later[key]}" for key in policies.keys() & later.keys() if policies[key] != later[key]]
            wrong += bool(differs)
            for line in differs:
                print(f"kill {number + 1}: {line[:300]}")
    finally:
        os.rmdir(group)
        if mounted:
            subprocess.run(["umount", TRACEFS], check=True)
    print(f"{times} kills, {kept} of them while it recorded: {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
