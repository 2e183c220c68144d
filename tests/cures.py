#!/usr/bin/env python3
"""Whether `bandscope cure` finds what helps, how much it saves, and that it calls nothing a cure.

    sudo tests/cures.py target/release/bandscope tasks|interrupts|workers|sham [TRIALS] [CPU] [SECONDS]

Each trial puts a disturbance on CPU on purpose, and runs the one cure that acts on it. The truth is an account that is not bandscope's:

* tasks: a process pinned to CPU works 6 % of the time; its own account of its CPU time (getrusage) is the truth.
* interrupts: the interrupt of a disk is sent to CPU while the disk is read; what `rtla osnoise` finds on CPU is the truth, with the interrupt there
  and elsewhere, in the same minute. Pass the disk as DISK=/dev/vda and its interrupt's name as IRQ=virtio1-req.0.
* workers: unbound workers may use CPU alone while files are written; their own account of their CPU time (/proc/PID/schedstat) is the truth.
* sham: writes back what stands. Whatever it is said to do is an error.

Prints a line a trial; exit status 1 if a cure does not help, or its saving is off by more than 10 % of the truth, or of shams more than 8 % are
said to do something. A trial takes SECONDS (60) at most; after LIMIT_S it stops, and says how far it came.
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

LIMIT_S = 5400
SHARE = 0.06


def busy(cpu, report):
    """Works SHARE of the time on `cpu` until SIGTERM; writes its CPU time and its time to `report`."""
    os.sched_setaffinity(0, {cpu})
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    begun = time.monotonic()
    while not ended:
        end = time.process_time() + 0.01 * SHARE
        while time.process_time() < end:
            pass
        time.sleep(0.01 * (1 - SHARE))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    os.write(report, json.dumps([usage.ru_utime + usage.ru_stime, time.monotonic() - begun]).encode())
    os._exit(0)


class Tasks:
    cure = "tasks"
    line = "task:python3"

    def __init__(self, cpu):
        self.read, write = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            busy(cpu, write)
        os.close(write)

    def end(self):
        os.kill(self.child, signal.SIGTERM)
        used, seconds = json.loads(os.read(self.read, 4096))
        os.waitpid(self.child, 0)
        return used / seconds


def written(path, value):
    """Writes a setting; what stood there."""
    with open(path) as file:
        before = file.read().strip()
    with open(path, "w") as file:
        file.write(value)
    return before


def osnoise(cpu, seconds):
    """Share of the time that the kernel's own tool finds taken from `cpu`."""
    words = ["rtla", "osnoise", "top", "-c", str(cpu), "-d", f"{seconds}s", "-q"]
    text = subprocess.run(words, capture_output=True, text=True, timeout=seconds + 60, check=True).stdout
    row = next(line.split() for line in reversed(text.splitlines()) if re.match(rf"\s*{cpu}\s+#", line))
    return 1 - float(row[4]) / 100


class Interrupts:
    cure = "interrupts"
    line = None

    def __init__(self, cpu):
        self.cpu = cpu
        name = os.environ["IRQ"]
        with open("/proc/interrupts") as table:
            number = next(line.split(":")[0].strip() for line in table if line.split()[-1] == name)
        self.path = f"/proc/irq/{number}/smp_affinity_list"
        self.before = written(self.path, str(cpu))
        self.other = str(min(os.sched_getaffinity(0) - {cpu}))
        words = ["taskset", "-c", self.other, "dd", f"if={os.environ['DISK']}", "of=/dev/null", "bs=4k", "iflag=direct"]
        self.child = subprocess.Popen(words, stderr=subprocess.DEVNULL)

    def end(self):
        noise = {}
        for _ in range(2):
            for place in [str(self.cpu), self.other]:
                written(self.path, place)
                noise.setdefault(place, []).append(osnoise(self.cpu, 5))
        self.child.terminate()
        self.child.wait()
        written(self.path, self.before)
        return sum(noise[str(self.cpu)]) / 2 - sum(noise[self.other]) / 2


class Workers:
    cure = "workers"
    line = None
    mask = "/sys/devices/virtual/workqueue/cpumask"

    def __init__(self, cpu):
        self.before = written(self.mask, f"{1 << cpu:x}")
        other = str(min(os.sched_getaffinity(0) - {cpu}))
        self.place = tempfile.TemporaryDirectory(dir=os.environ.get("PLACE"))
        loop = "while :; do dd if=/dev/zero of=file bs=64k count=200 conv=fsync; sleep 0.05; done"
        self.child = subprocess.Popen(["taskset", "-c", other, "sh", "-c", loop], cwd=self.place.name, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(1)

    @staticmethod
    def used():
        """CPU time of all unbound workers, in seconds."""
        used = 0
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/comm") as comm, open(f"/proc/{name}/schedstat") as statistics:
                    used += int(statistics.read().split()[0]) if comm.read().startswith("kworker/u") else 0
            except (OSError, ValueError):
                pass
        return used / 1e9

    def end(self):
        # All unbound workers are on CPU alone now: what they use is what it loses.
        used, begun = self.used(), time.monotonic()
        time.sleep(10)
        truth = (self.used() - used) / (time.monotonic() - begun)
        os.killpg(self.child.pid, signal.SIGTERM)
        self.child.wait()
        written(self.mask, self.before)
        self.place.cleanup()
        return truth


class Sham:
    cure = "sham"
    line = None

    def __init__(self, cpu):
        pass

    def end(self):
        return 0


def main():
    program, kind = os.path.abspath(sys.argv[1]), sys.argv[2]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    cpu = int(sys.argv[4]) if len(sys.argv) > 4 else max(os.sched_getaffinity(0))
    seconds = sys.argv[5] if len(sys.argv) > 5 else "60"
    trial = "0.2s" if kind == "sham" else "1s"
    begun, wrong, done = time.monotonic(), 0, 0
    for trial_number in range(number):
        if time.monotonic() - begun > LIMIT_S:
            print(f"after {LIMIT_S} s: {done} of {number} trials were made")
            break
        with tempfile.TemporaryDirectory() as directory:
            disturbance = {"tasks": Tasks, "interrupts": Interrupts, "workers": Workers, "sham": Sham}[kind](cpu)
            words = [program, "cure", disturbance.cure, "--cpus", str(cpu), "--budget", f"{seconds}s", "--trial", trial, "--yes", "-f", "json"]
            run = subprocess.run(words, cwd=directory, capture_output=True, text=True, timeout=600)
            truth = disturbance.end()
        if run.returncode != 0:
            raise SystemExit(f"exit status {run.returncode}: {run.stderr}")
        cure = next(one for one in json.loads(run.stdout)["cures"] if one["name"] == disturbance.cure)
        saved, own = cure["saved"] or {}, cure["own"] or cure["saved"] or {}
        if disturbance.line:
            # Others may run there too: what the disturbance took has a line of its own.
            line = next((one["share"] for one in cure["lines"] if one["line"] == disturbance.line), {})
            interval = line.get("interval") or [0, 0]
            own = {"share": -line.get("difference", 0), "interval": [-end for end in reversed(interval)]}
        share = own.get("share") or 0
        if kind == "sham":
            good = cure["verdict"] in ("does-nothing", "not-tried")
            print(f"{trial_number + 1}: {cure['verdict']}, {cure['pairs']} pairs, p {saved.get('p_value')}", flush=True)
        else:
            ratio = share / truth if truth else float("nan")
            good = cure["verdict"] == "helps" and 0.9 <= ratio <= 1.1
            low, high = (100 * end for end in own.get("interval", [0, 0]))
            all_saved = 100 * (saved.get("share") or 0)
            print(f"{trial_number + 1}: {cure['verdict']}, {cure['pairs']} pairs, its lines {100 * share:.3f} ({low:.3f} to {high:.3f}) points, truth {100 * truth:.3f}, ratio {ratio:.3f}, all {all_saved:.3f}", flush=True)
        done += 1
        wrong += not good
    print(f"{kind}: {done - wrong} of {done} right")
    sys.exit(int(wrong > (0.08 * done if kind == "sham" else 0)))


if __name__ == "__main__":
    main()
