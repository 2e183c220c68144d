#!/usr/bin/env python3
"""Whether `bandscope cure` gives a thread its CPUs back where something else changes them, or ends the cure.

    sudo tests/cure_places.py target/release/bandscope [CPU]

A thread of its own is moved from CPU (the last one) by `cure tasks --only`, and then:

* its cpuset loses CPU while it is moved, and gets it back after the cure;
* `cure --undo` is refused beside it, and a signal ends the cure;
* the cure is killed in a PID namespace of its own: `cure --undo` outside keeps the journal, as the thread has another number there, until the namespace is gone; inside
  it puts back.

Nothing here waits for a time to pass: it looks until a state is reached. Ends at the first difference, with exit status 1; with 77 where nothing can be tried.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NAME = "cure-places"
JOURNALS = pathlib.Path("/run/bandscope")
LIMIT_S = 120


def reached(state, what):
    """Looks until `state` holds."""
    end = time.monotonic() + LIMIT_S
    while not (found := state()):
        if time.monotonic() > end:
            sys.exit(f"not within {LIMIT_S} s: {what}")
        time.sleep(0.01)
    return found


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: found {found}, expected {expected}")


def journals():
    return sorted(path.name for path in JOURNALS.glob("*") if path.name != "lock")


class Cpuset:
    """A cpuset of its own, of version 1 or 2 of control groups."""

    def __init__(self):
        mounts = [line.split() for line in pathlib.Path("/proc/mounts").read_text().splitlines()]
        first = next((mount[1] for mount in mounts if mount[2] == "cgroup" and "cpuset" in mount[3].split(",")), None)
        second = next((mount[1] for mount in mounts if mount[2] == "cgroup2"), None)
        if first:
            self.path, self.members = pathlib.Path(first, NAME), "tasks"
            self.path.mkdir()
            self.write("cpuset.mems", pathlib.Path(first, "cpuset.mems").read_text())
        elif second and "cpuset" in pathlib.Path(second, "cgroup.controllers").read_text().split():
            pathlib.Path(second, "cgroup.subtree_control").write_text("+cpuset")
            self.path, self.members = pathlib.Path(second, NAME), "cgroup.procs"
            self.path.mkdir()
        else:
            raise FileNotFoundError("no cpusets")

    def write(self, name, value):
        (self.path / name).write_text(value)

    def has(self, cpus):
        self.write("cpuset.cpus", ",".join(map(str, sorted(cpus))))

    def end(self):
        reached(lambda: not (self.path / self.members).read_text(), "an empty cpuset")
        self.path.rmdir()


class Trial:
    def __init__(self, program, cpu, directory):
        self.program, self.cpu, self.all = program, cpu, os.sched_getaffinity(0)
        self.others = self.all - {cpu}
        self.sleeper = str(shutil.copy("/bin/sleep", pathlib.Path(directory, NAME)))
        self.cure = [program, "cure", "tasks", "--only", NAME, "--cpus", str(cpu), "--trial", "0.2s", "--budget", "60s", "--yes"]
        self.directory = directory

    @contextlib.contextmanager
    def thread(self):
        """What is moved."""
        sleeper = subprocess.Popen([self.sleeper, "600"])
        try:
            # Until it has its own name, it has this program's.
            reached(lambda: pathlib.Path(f"/proc/{sleeper.pid}/comm").read_text().strip() == NAME, "its name")
            yield sleeper.pid
        finally:
            sleeper.kill()
            sleeper.wait()

    def begin(self):
        return subprocess.Popen(self.cure, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def is_moved(self, thread):
        return os.sched_getaffinity(thread) == self.others

    def narrowed(self):
        cpuset = Cpuset()
        try:
            cpuset.has(self.all)
            with self.thread() as thread:
                cpuset.write(cpuset.members, str(thread))
                cure = self.begin()
                reached(lambda: self.is_moved(thread) or cure.poll() is not None, "a moved thread")
                cpuset.has(self.others)
                _, said = cure.communicate(timeout=LIMIT_S)
                expect(cure.returncode, 0, f"exit status of the cure ({said.strip()})")
                expect(os.sched_getaffinity(thread), self.others, "CPUs in the narrower cpuset")
                cpuset.has(self.all)
                expect(os.sched_getaffinity(thread), self.all, "CPUs in the wider cpuset")
        finally:
            cpuset.end()

    def ended_by(self, number):
        with self.thread() as thread:
            cure = self.begin()
            reached(lambda: self.is_moved(thread), "a moved thread")
            undo = subprocess.run([self.program, "cure", "--undo"], capture_output=True, text=True)
            expect((undo.returncode, f"(process {cure.pid})" in undo.stderr), (2, True), f"exit status of cure --undo beside it, and its process told ({undo.stderr.strip()})")
            cure.send_signal(number)
            cure.communicate(timeout=LIMIT_S)
            expect(os.sched_getaffinity(thread), self.all, f"CPUs after {number.name}")

    def elsewhere(self, is_to_end):
        inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", '"$0" 600 & "$@" & wait', self.sleeper, *self.cure]
        space = subprocess.Popen(inside, cwd=self.directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            def named(words):
                """The process of the namespace that was started with these words."""
                init = children(space.pid)[:1]
                return next((one for parent in init for one in children(parent) if words_of(one)[:len(words)] == words), None)

            thread = reached(lambda: named([self.sleeper]), "a thread in the namespace")
            cure = reached(lambda: named(self.cure[:2]), "a cure in the namespace")
            reached(lambda: self.is_moved(thread), "a moved thread in the namespace")
            os.kill(cure, signal.SIGSTOP)
            # Stopped, nothing moves any more: what is seen now is what a kill leaves.
            reached(lambda: state_of(cure) == "T", "a stopped cure")
            was_moved = self.is_moved(thread)
            os.kill(cure, signal.SIGKILL)
            if not was_moved:
                return False
            # Threads of it that have not ended yet hold the journal, and are waited for.
            undo = [self.program, "cure", "--undo"]
            outside = subprocess.run(undo, capture_output=True, text=True)
            expect((outside.returncode, len(journals())), (2, 1), f"exit status and journals outside ({outside.stderr.strip()})")
            expect(os.sched_getaffinity(thread), self.others, "CPUs after cure --undo outside")
            if is_to_end:
                space.kill()
                reached(lambda: subprocess.run(undo, capture_output=True).returncode == 0, "cure --undo outside, once the namespace is gone")
                return True
            enter = ["nsenter", "--target", str(thread), "--pid", "--mount"]
            within = subprocess.run(enter + undo, capture_output=True, text=True)
            expect(within.returncode, 0, f"exit status inside ({within.stderr.strip()})")
            expect(os.sched_getaffinity(thread), self.all, "CPUs after cure --undo inside")
            return True
        finally:
            space.kill()
            space.wait()


def children(process):
    try:
        return [int(one) for one in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def words_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except OSError:
        return []


def state_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def main():
    program = os.path.abspath(sys.argv[1])
    cpu = int(sys.argv[2]) if len(sys.argv) > 2 else max(os.sched_getaffinity(0))
    if os.geteuid() != 0 or len(os.sched_getaffinity(0)) < 2:
        print("SKIPPED: needs root and two CPUs")
        sys.exit(77)
    # So that what was changed is put back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    expect(journals(), [], "journals before")
    with tempfile.TemporaryDirectory() as directory:
        trial = Trial(program, cpu, directory)
        try:
            trial.narrowed()
            expect(journals(), [], "journals after a narrower cpuset")
            print("a narrower cpuset: as before")
        except FileNotFoundError as error:
            print(f"SKIPPED: a narrower cpuset: {error}")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            trial.ended_by(number)
            expect(journals(), [], f"journals after {number.name}")
            print(f"{number.name}: as before")
        # Where it was stopped between two trials, there was nothing to put back.
        reached(lambda: trial.elsewhere(False), "a cure killed while the thread was moved")
        expect(journals(), [], "journals after cure --undo inside")
        print("another PID namespace: as before")
        reached(lambda: trial.elsewhere(True), "a cure killed while the thread was moved")
        expect(journals(), [], "journals after cure --undo outside")
        print("a PID namespace that is gone: no journal is left of it")


if __name__ == "__main__":
    main()
