#!/usr/bin/env python3
"""Whether `bandscope record --catch` catches disturbances that are made on purpose, and says who made them.

    sudo tests/catches.py target/release/bandscope [task|timer|worker|softirq|ipi|all] [TIMES] [CPU]

Each kind happens TIMES (20) times at random moments, about twice a second, on CPU; its maker runs on another CPU and notes when it was:

* task: a process on CPU is woken through a pipe and works for 200 us;
* timer: a process on CPU sleeps and works for 200 us; the timer that ends its sleep, and that it set, woke it;
* worker: text is written to eight terminals, which unbound kernel workers carry; they may use CPU alone;
* softirq: packets through the loopback device, which the kernel is told to receive on CPU (RPS): the softirq of the maker's CPU interrupts it;
* ipi: a perf event of CPU is switched on and off for 4 ms, an interrupt each time.

Prints for each kind how many were caught, of how many the sender is right, and what else was caught. Exit status 1 if less than all were caught, or
the sender is right in less than 19 of 20. Everything that it changes it puts back.
"""
import array
import contextlib
import ctypes
import fcntl
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time

WORK_S = 200e-6
SLACK_S = 1.5e-3
# A task that is woken may wait for a tick, or two of 100 Hz.
WAIT_S = 20e-3
TERMINALS = 8
PACKETS = 120
STORM_S = 4e-3
LIBC = ctypes.CDLL(None, use_errno=True)


def named(name, cpu):
    """This process has that name, and stays on a CPU."""
    LIBC.prctl(15, name.encode(), 0, 0, 0)
    os.sched_setaffinity(0, {cpu})


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def moments(times):
    """Comes back at random moments."""
    rng = random.Random(7)
    for _ in range(times):
        time.sleep(rng.uniform(0.35, 0.65))
        yield


@contextlib.contextmanager
def setting(path, value):
    """A setting, put back at the end."""
    with open(path) as file:
        before = file.read().strip()
    with open(path, "w") as file:
        file.write(value)
    try:
        yield
    finally:
        with open(path, "w") as file:
            file.write(before)


@contextlib.contextmanager
def child(work):
    """A process that works until it is ended."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class Task:
    condition, cause, sender, function = "gap > 150 us", "task:spinner", "task:maker", ""

    def make(self, cpu, times):
        read, write = os.pipe()

        def work():
            named("spinner", cpu)
            while os.read(read, 1):
                spin(WORK_S)

        with child(work):
            for _ in moments(times):
                begun = time.time()
                os.write(write, b"x")
                yield begun


class Timer:
    condition, cause, sender, function = "gap > 150 us", "task:sleeper", "timer:hrtimer_wakeup", ""
    set_by = "task:sleeper"

    def make(self, cpu, times):
        read, write = os.pipe()

        def work():
            named("sleeper", cpu)
            for _ in moments(times):
                os.write(write, struct.pack("d", time.time()))
                spin(WORK_S)
            time.sleep(60)

        with child(work):
            for _ in range(times):
                yield struct.unpack("d", os.read(read, 8))[0]


class Worker:
    condition, cause, sender, function = "gap > 100 us", "task:kworker/", "task:maker", "flush_to_ldisc"

    def make(self, cpu, times):
        pairs = [os.openpty() for _ in range(TERMINALS)]
        for keyboard, reader in pairs:
            modes = termios.tcgetattr(reader)
            modes[3] &= ~termios.ECHO
            termios.tcsetattr(reader, termios.TCSANOW, modes)
            os.set_blocking(reader, False)
        with setting("/sys/devices/virtual/workqueue/cpumask", f"{1 << cpu:x}"):
            for _ in moments(times):
                begun = time.time()
                for keyboard, _ in pairs:
                    os.write(keyboard, (b"x" * 63 + b"\n") * 63)
                time.sleep(0.05)
                for _, reader in pairs:
                    with contextlib.suppress(BlockingIOError):
                        while os.read(reader, 4096):
                            pass
                yield begun


class Softirq:
    condition, cause, sender, function = "worst 1 ms < 85 %", "softirq:NET_RX", "softirq:NET_RX", "rps_trigger_softirq"

    def make(self, cpu, times):
        line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        line.bind(("127.0.0.1", 0))
        here = line.getsockname()
        line.setblocking(False)
        with setting("/sys/class/net/lo/queues/rx-0/rps_cpus", f"{1 << cpu:x}"):
            for _ in moments(times):
                begun = time.time()
                for _ in range(PACKETS):
                    line.sendto(b"x" * 1000, here)
                yield begun
                time.sleep(0.05)
                with contextlib.suppress(BlockingIOError):
                    while line.recv(2000):
                        pass


class Ipi:
    condition, cause, sender, function = "worst 1 ms < 85 %", "irq:call_function_single", "task:maker", ""

    def make(self, cpu, times):
        # A software event (type 1, config 9: dummy) of all tasks on CPU: struct perf_event_attr of 64 bytes, switched off.
        attribute = array.array("B", struct.pack("IIQQQQQIIQ", 1, 64, 9, 0, 0, 0, 1, 0, 0, 0))
        address, _ = attribute.buffer_info()
        number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
        event = LIBC.syscall(number, ctypes.c_void_p(address), -1, cpu, -1, 0)
        if event < 0:
            raise SystemExit(f"perf_event_open: {os.strerror(ctypes.get_errno())}")
        for _ in moments(times):
            begun = time.time()
            end = time.perf_counter() + STORM_S
            while time.perf_counter() < end:
                fcntl.ioctl(event, 0x2400, 0)
                fcntl.ioctl(event, 0x2401, 0)
            yield begun
        os.close(event)


KINDS = {"task": Task, "timer": Timer, "worker": Worker, "softirq": Softirq, "ipi": Ipi}


def is_behind(chain, kind):
    """Whether a chain names the maker."""
    return chain["sender"] == kind.sender and kind.function in chain["function"] and chain["set_by"] == getattr(kind, "set_by", chain["set_by"])


def judge(begun, found, kind):
    """Whether a disturbance was caught, and its sender is right."""
    near = [one for one in found if one["unix_s"] <= begun + STORM_S + WAIT_S and one["unix_s"] + one["length_ns"] / 1e9 >= begun - SLACK_S]
    mine = [one for one in near if any(part["cause"].startswith(kind.cause) for part in one["causes"])]
    right = [one for one in mine if any(is_behind(chain, kind) for chain in one["behind"])]
    return bool(mine), bool(right)


def hold(program, name, times, cpu):
    """One kind; whether all were caught and 19 of 20 have their sender."""
    kind = KINDS[name]
    with tempfile.TemporaryDirectory() as directory:
        words = [program, "record", "--cpus", str(cpu), "--duration", "600s", "--catch", kind.condition, "--trace", "on", "-o", "it.bandscope"]
        run = subprocess.Popen(words, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            while not os.path.isdir(os.path.join(directory, "it.bandscope")) and run.poll() is None:
                time.sleep(0.1)
            time.sleep(1)
            made = list(kind().make(cpu, times))
            time.sleep(1)
            run.send_signal(signal.SIGINT)
            _, said = run.communicate(timeout=60)
        finally:
            run.kill()
            run.wait()
        if not os.path.isdir(os.path.join(directory, "it.bandscope")):
            raise SystemExit(said)
        report = subprocess.run([program, "report", "it.bandscope", "-f", "json"], cwd=directory, capture_output=True, text=True, check=True)
        found = json.loads(report.stdout)
    watched = found["recording"]["watched"][0]
    judged = [judge(begun, found["moments"], kind) for begun in made]
    caught, right = (sum(one[place] for one in judged) for place in (0, 1))
    print(f"{name}: {caught} of {times} caught, the sender right in {right}; the condition was met {watched['met']} times, {watched['kept']} of them were kept", flush=True)
    return caught == times and right >= 0.95 * times


def main():
    program = os.path.abspath(sys.argv[1])
    asked = sys.argv[2] if len(sys.argv) > 2 else "all"
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    cpu = int(sys.argv[4]) if len(sys.argv) > 4 else max(os.sched_getaffinity(0))
    others = os.sched_getaffinity(0) - {cpu}
    if not others:
        print("SKIPPED: the maker needs another CPU")
        return
    # So that what was changed is put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    named("maker", min(others))
    kinds = list(KINDS) if asked == "all" else [asked]
    good = [hold(program, kind, times, cpu) for kind in kinds]
    sys.exit(int(not all(good)))


if __name__ == "__main__":
    main()
