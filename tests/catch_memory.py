#!/usr/bin/env python3
"""How much memory a flight recorder takes where a measured CPU is held while very much happens.

    sudo tests/catch_memory.py target/release/bandscope [SECONDS] [CPU] [OTHER]

For SECONDS (40) `bandscope record --catch 'gap > 1 ms'` watches CPU (1). There a program is stepped through by ptrace(2), an instruction at a time, under a
real-time priority: 0.9 s in which the measuring thread is held, then 0.6 s of rest. On OTHER (0) the same goes on without a priority and without a rest.
Each step is some switches of tasks, which make events that wait until the gap is over.

Prints the resident memory at the beginning and at most, in MiB, how many steps there were a second on CPU, and the longest gap. Exit status 1 if it
was more than 128 MiB, or if nothing was held: without kernel events, or without a gap of LONG_S.
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

MOST_MIB = 128
PULSE_S = (0.9, 0.6)
PRIORITY = 5
# Of the 0.9 s that the thread is held at once, the kernel's limit for real-time tasks may take some.
LONG_S = 0.5
TRACEME, SINGLESTEP = 0, 9
PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


def step_through(cpu, seconds, on_s, off_s, priority):
    """Steps through a child on `cpu` in pulses; returns the number of steps."""
    os.sched_setaffinity(0, {cpu})
    if priority:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        # A loop of a real-time priority must not outlive who steps through it.
        LIBC.prctl(PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        LIBC.ptrace(TRACEME, 0, None, None)
        os.kill(os.getpid(), signal.SIGSTOP)
        while True:
            pass
    os.waitpid(child, 0)
    steps, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        pulse_ends = time.monotonic() + on_s
        while time.monotonic() < pulse_ends:
            LIBC.ptrace(SINGLESTEP, child, None, None)
            os.waitpid(child, 0)
            steps += 1
        time.sleep(off_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return steps


def stepper(*arguments):
    """The same in a process of its own; its standard output is the number of steps."""
    command = [sys.executable, __file__, "step", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def resident_kib(pid):
    """Resident memory of a process that runs; 0 of one that has ended."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmRSS")), 0)
    except FileNotFoundError:
        return 0


def main():
    program, seconds = os.path.abspath(sys.argv[1]), float((sys.argv + ["40"])[2])
    cpu, other = (int(text) for text in (sys.argv[3:5] + ["1", "0"][len(sys.argv[3:5]) :]))
    with tempfile.TemporaryDirectory() as directory:
        command = [program, "record", "--cpus", str(cpu), "--duration", f"{seconds}s"]
        command += ["--catch", "gap > 1 ms", "--output", "watched.bandscope"]
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        recorder = subprocess.Popen(command, cwd=directory, text=True, **pipes)
        time.sleep(4)
        first = most = resident_kib(recorder.pid)
        storms = [stepper(cpu, seconds - 8, *PULSE_S, PRIORITY), stepper(other, seconds - 8, seconds, 0, 0)]
        while recorder.poll() is None:
            most = max(most, resident_kib(recorder.pid))
            time.sleep(0.1)
        steps = [int(storm.communicate()[0]) for storm in storms]
        if recorder.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit status {recorder.returncode}\n{recorder.stderr.read()}")
        with open(os.path.join(directory, "watched.bandscope", "recording.json")) as file:
            manifest = json.load(file)
    longest_s = manifest["watched"][0]["longest_ticks"] / manifest["clock"]["ticks_per_ns"] / 1e9
    rate = steps[0] / (seconds - 8)
    print(f"{first / 1024:.0f} MiB at first, {most / 1024:.0f} MiB at most; {rate:.0f} steps a second; longest gap {longest_s:.2f} s")
    if manifest["events"]["state"] != "on" or longest_s < LONG_S:
        sys.exit(f"nothing was held: kernel events are {manifest['events']['state']}")
    sys.exit(most > MOST_MIB * 1024)


if __name__ == "__main__":
    if sys.argv[1:2] == ["step"]:
        cpu, seconds, on_s, off_s, priority = sys.argv[2:]
        print(step_through(int(cpu), float(seconds), float(on_s), float(off_s), int(priority)))
    elif len(sys.argv) < 2:
        sys.exit(__doc__)
    else:
        main()
