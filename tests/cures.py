#!/usr/bin/env python3
"""Whether `bandscope cure` finds what helps, how much it saves, and that it calls nothing a cure.

    sudo tests/cures.py target/release/bandscope tasks|interrupts|workers|sham [TRIALS] [CPU] [SECONDS]

Each trial puts a disturbance on CPU on purpose, and runs the one cure that acts on it. The truth is an account that is not bandscope's:

* tasks: a process pinned to CPU works 6 % of the time; its own account of its CPU time (getrusage) is the truth.
* interrupts: the interrupt of a network card is sent to CPU while a neighbour answers PINGS_S echo requests a second. Pass the neighbour as
  PEER=192.0.2.1 and the interrupt's name as IRQ=virtio2-input.0.
* workers: unbound workers may use CPU alone while text is sent through a terminal, which they carry.
  Of these two what `oslat` (rt-tests) finds on CPU in gaps up to GAP_US is the truth, with them there and elsewhere. A virtual CPU's pace changes from minute to
  minute, and with it what they take: so the cure is tried in TURNS sessions, between which `oslat` looks, and the mean of its savings counts. (The workers' own account is
  no truth: the scheduler begins it when they are woken, up to 13 us before they run.)
* sham: writes back what stands. Whatever it is said to do is an error.

Prints a line a trial: what the cure's lines fell by, and what it says that it saves. Of all that was lost it says that, in which the host scatters. Exit status 1 if a
cure does not help, or the fall of its lines is off by more than 10 % of the truth, or of shams more than 8 % are
said to do something. What `oslat` found in each look is told, and the standard error of their mean. The cures of a trial take SECONDS (120) at most; after LIMIT_S it stops, and says how far it came.
"""
import json
import os
import resource
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

LIMIT_S = 5400
SHARE = 0.06
PINGS_S = 5000
ROUNDS = 6
# Longer ones are the host's: an interrupt and its softirq take some 10 us, a worker's visit some 30.
GAP_US = 200
TURNS = 3
TEXTS_S = 1400
LEVEL = 0.05
PAGE = (b"x" * 63 + b"\n") * 63


def paced(rate_s, apart_s=0):
    """Comes back `rate_s` times a second, as long as the parent lives; where it is late, `apart_s` later at the earliest."""
    due, parent = time.monotonic(), os.getppid()
    while os.getppid() == parent:
        yield
        due += 1 / rate_s
        time.sleep(max(apart_s, due - time.monotonic()))


def type_text(cpu):
    """Types TEXTS_S pages a second into a terminal from `cpu` until SIGTERM: an unbound worker carries each to its reader."""
    os.sched_setaffinity(0, {cpu})
    keyboard, reader = os.openpty()
    modes = termios.tcgetattr(reader)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(reader, termios.TCSANOW, modes)
    os.set_blocking(reader, False)
    # Two pages at once are one longer visit of the worker, and more of them come while something else runs on `cpu`.
    for _ in paced(TEXTS_S, 0.5 / TEXTS_S):
        os.write(keyboard, PAGE)
        try:
            while os.read(reader, len(PAGE)):
                pass
        except BlockingIOError:
            pass


def ping(peer, cpu):
    """Sends PINGS_S echo requests a second to `peer` from `cpu` until SIGTERM, one at a time: each answer is an interrupt."""
    os.sched_setaffinity(0, {cpu})
    line = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    line.setblocking(False)
    head = struct.pack("!BBHHH", 8, 0, 0, 1, 1)
    total = sum(struct.unpack("!4H", head))
    request = struct.pack("!BBHHH", 8, 0, 0xFFFF - total, 1, 1)
    for _ in paced(PINGS_S):
        line.sendto(request, (peer, 0))
        try:
            line.recv(2048)
        except BlockingIOError:
            pass


def busy(cpu, report):
    """Works SHARE of the time on `cpu` until SIGTERM, as long as the parent lives; writes its CPU time and its time to `report`."""
    os.sched_setaffinity(0, {cpu})
    ended, parent = [], os.getppid()
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    begun = time.monotonic()
    while not ended and os.getppid() == parent:
        end = time.process_time() + 0.01 * SHARE
        while time.process_time() < end:
            pass
        time.sleep(0.01 * (1 - SHARE))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    os.write(report, json.dumps([usage.ru_utime + usage.ru_stime, time.monotonic() - begun]).encode())
    os._exit(0)


def forked(work, *arguments):
    """A process that does this and nothing else; its number."""
    child = os.fork()
    if child == 0:
        try:
            work(*arguments)
        except Exception as error:
            print(f"{work.__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(1)
    return child


class Disturbance:
    line = None
    turns = 1
    looks = ()

    def look(self):
        """At the truth, where another tool tells it."""


class Tasks(Disturbance):
    cure = "tasks"
    line = "task:python3"

    def __init__(self, cpu):
        self.read, write = os.pipe()
        self.child = forked(busy, cpu, write)
        os.close(write)

    def end(self):
        os.kill(self.child, signal.SIGTERM)
        used, seconds = json.loads(os.read(self.read, 4096))
        os.waitpid(self.child, 0)
        return used / seconds, 0.0


def written(path, value):
    """Writes a setting; what stood there."""
    with open(path) as file:
        before = file.read().strip()
    with open(path, "w") as file:
        file.write(value)
    return before


def oslat(cpu, seconds):
    """Share of the time that another tool finds taken from `cpu` in gaps up to GAP_US: bucket N of its histogram holds gaps of N-1 to N us."""
    with tempfile.NamedTemporaryFile() as out:
        words = ["oslat", "--cpu-list", str(cpu), "--duration", str(seconds), "--quiet", "--bucket-size=1024", f"--json={out.name}"]
        subprocess.run(words, stdout=subprocess.DEVNULL, timeout=seconds + 60, check=True)
        thread = json.load(open(out.name))["thread"]["0"]
    return sum((int(us) - 0.5) * number for us, number in thread["histogram"].items() if 1 < int(us) <= GAP_US) / 1e6 / thread["duration"]


def taken(path, here, elsewhere, cpu):
    """What `cpu` loses more by oslat where the setting at `path` is `here` rather than `elsewhere`, in pairs of 3 s."""
    def lost(place):
        written(path, place)
        return oslat(cpu, 3)

    return [lost(here) - lost(elsewhere) for _ in range(ROUNDS)]


class Interrupts(Disturbance):
    cure = "interrupts"
    turns = TURNS

    def __init__(self, cpu):
        name, peer = os.environ["IRQ"], os.environ["PEER"]
        with open("/proc/interrupts") as table:
            number = next(line.split(":")[0].strip() for line in table if line.split()[-1] == name)
        self.path = f"/proc/irq/{number}/smp_affinity_list"
        other = min(os.sched_getaffinity(0) - {cpu})
        self.begin(cpu, str(cpu), str(other), True, ping, peer, other)

    def begin(self, cpu, here, elsewhere, looks, work, *arguments):
        self.cpu, self.here, self.elsewhere, self.looks = cpu, here, elsewhere, []
        self.before = written(self.path, self.here)
        self.child = forked(work, *arguments)
        try:
            time.sleep(1)
            if looks:
                self.look()
        except BaseException:
            # Nobody else has it yet to stop it.
            self.stop()
            raise

    def look(self):
        self.looks.append(statistics.mean(taken(self.path, self.here, self.elsewhere, self.cpu)))
        written(self.path, self.here)

    def end(self):
        self.stop()
        # A mean, as a cure's saving is one: a median of what is skewed is less. What lies between the looks is minutes, so its scatter is in the error.
        return statistics.mean(self.looks), statistics.stdev(self.looks) / len(self.looks) ** 0.5

    def stop(self):
        os.kill(self.child, signal.SIGTERM)
        os.waitpid(self.child, 0)
        written(self.path, self.before)


class Workers(Interrupts):
    cure = "workers"
    path = "/sys/devices/virtual/workqueue/cpumask"

    def __init__(self, cpu, looks=True):
        other = min(os.sched_getaffinity(0) - {cpu})
        self.begin(cpu, f"{1 << cpu:x}", f"{1 << other:x}", looks, type_text, other)


class Sham(Disturbance):
    cure = "sham"

    def __init__(self, cpu):
        pass

    def end(self):
        return 0.0, 0.0


def tried(program, disturbance, cpu, seconds, trial):
    """What one session says of the cure, and how much longer it says that kernel events made each part of a gap."""
    words = [program, "cure", disturbance.cure, "--cpus", str(cpu), "--budget", f"{seconds}s", "--trial", trial, "--yes", "-f", "json"]
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.Popen(words, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, said = run.communicate(timeout=600)
        except BaseException:
            # It puts back what it changed: killed, it would not.
            run.terminate()
            run.communicate()
            raise
    if run.returncode != 0:
        raise SystemExit(f"exit status {run.returncode}: {said}")
    found = json.loads(out)
    cure = next(one for one in found["cures"] if one["name"] == disturbance.cure)
    return {**cure, "events_added_ns": found["events_added_ns"]}


def own_share(cure, line):
    """What it saves on its own lines; others may run there too, so a disturbance may have a line of its own."""
    if line:
        return -next((one["share"]["difference"] for one in cure["lines"] if one["line"] == line), 0)
    return (cure["own"] or cure["saved"] or {}).get("share") or 0


def saving(cure):
    """What it is said to save: of all that was lost, or of its own lines where that alone is certain."""
    certain = [one for one in (cure["saved"], cure["own"]) if one and one["share"] > 0 and one["p_value"] <= LEVEL]
    return certain[0]["share"] if certain else 0.0


def main():
    program, kind = os.path.abspath(sys.argv[1]), sys.argv[2]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    cpu = int(sys.argv[4]) if len(sys.argv) > 4 else max(os.sched_getaffinity(0))
    seconds = int(sys.argv[5]) if len(sys.argv) > 5 else 120
    trial = "0.2s" if kind == "sham" else "1s"
    # So that what was changed is put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    begun, wrong, done = time.monotonic(), 0, 0
    for trial_number in range(1, number + 1):
        if time.monotonic() - begun > LIMIT_S:
            print(f"after {LIMIT_S} s: {done} of {number} trials were made")
            break
        disturbance = {"tasks": Tasks, "interrupts": Interrupts, "workers": Workers, "sham": Sham}[kind](cpu)
        cures = []
        try:
            for _ in range(disturbance.turns):
                cures.append(tried(program, disturbance, cpu, seconds // disturbance.turns, trial))
                disturbance.look()
        finally:
            # Whatever became of it, what was set for it goes back.
            truth, error = disturbance.end()
        verdicts, pairs = [cure["verdict"] for cure in cures], sum(cure["pairs"] for cure in cures)
        if kind == "sham":
            if not pairs:
                raise SystemExit(f"sham: {verdicts[0]} in {seconds} s: nothing was judged")
            good = verdicts[0] in ("does-nothing", "too-small")
            print(f"{trial_number}: {verdicts[0]}, {pairs} pairs, p {(cures[0]['saved'] or {}).get('p_value')}", flush=True)
        else:
            shares = [own_share(cure, disturbance.line) for cure in cures]
            share, said = statistics.mean(shares), statistics.mean(saving(cure) for cure in cures)
            ratio, ratio_said = (one / truth if truth else float("nan") for one in (share, said))
            good = set(verdicts) == {"helps"} and 0.9 <= ratio <= 1.1
            each, seen = (", ".join(f"{100 * share:.3f}" for share in some) for some in (shares, disturbance.looks))
            added = ", ".join(f"{cure['events_added_ns']:.0f}" for cure in cures)
            print(f"{trial_number}: {', '.join(verdicts)}, {pairs} pairs, events {added} ns, its lines {100 * share:.3f} points ({each}), truth {100 * truth:.3f} +- {100 * error:.3f} ({seen}), ratio {ratio:.3f}; it says {100 * said:.3f}, ratio {ratio_said:.3f}", flush=True)
        done += 1
        wrong += not good
    print(f"{kind}: {done - wrong} of {done} right")
    sys.exit(int(wrong > (0.08 * done if kind == "sham" else 0)))


if __name__ == "__main__":
    main()
