#!/usr/bin/env python3
"""Kills `record`, with and without `--catch`, `repeat --output` and `lab --output` at random moments, and checks that what ended before is kept and read.

    tests/kills.py target/debug/bandscope [KILLS] [SEED]

Four programs run at a time, one of each kind, and each is killed (SIGKILL) 30 ms to 15 s after its start, at moments uniform in the
logarithm. 1,000 kills take some half an hour on two cores. What must hold:

* A recording opens. It lacks at most the last 5 s, as its report says, and what had not been handed to the writer.
* A file of runs holds every run that had ended.
* A file of the lab opens, with the passes that had ended.
* What was killed before it kept anything says so in one line, with exit status 2.
* What is killed later than KEEPS_AFTER_S kept something, and so did some of FEW kills of a program. None had failed before its kill.
"""
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

# As `max_loss_s` in recording.json.
MAX_LOSS_S = 5.0
# A machine that does other work lets the writer wait for so long.
SLACK_S = 2.0
RATE_HZ = 1000
# Beside builds, what was killed after 2.1 s had kept something (docs/figures.md).
KEEPS_AFTER_S = 8.0
# A third of kills comes that late: that none of so many does is one in a thousand.
FEW = 20


class Wrong(Exception):
    pass


def read(program, directory, *arguments):
    """The JSON of a command; None if it refuses in one line."""
    done = subprocess.run([program, *arguments, "--format", "json"], cwd=directory, capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if done.returncode != 2 or len(done.stderr.splitlines()) != 1:
        raise Wrong(f"{arguments}: exit status {done.returncode}: {done.stderr}")
    return None


def is_empty(path):
    return not os.path.exists(path) or os.path.getsize(path) == 0


class Record:
    """Kept: seconds. Lost: seconds."""

    arguments = ["record", "--rate", str(RATE_HZ), "--start-delay", "0", "--duration", "600s", "--output", "it.bandscope"]

    def check(self, program, directory, killed):
        report = read(program, directory, "report", "it.bandscope")
        manifest = os.path.join(directory, "it.bandscope/recording.json")
        if report is None:
            if os.path.exists(manifest):
                raise Wrong("a recording that does not open")
            return None
        with open(manifest) as text:
            about = json.load(text)
        kept = sum(series["quanta"] for series in report["series"]) / RATE_HZ
        lost = killed - about["clock"]["origin_unix_ns"] / 1e9 - kept
        if not about["settings"]["buffered"] and lost > MAX_LOSS_S + SLACK_S:
            raise Wrong(f"{lost:.1f} s were lost, and {kept:.1f} s kept")
        return kept, max(lost, 0.0)


class Catch:
    """A flight recorder. Kept: moments. Lost: not known."""

    arguments = ["record", "--rate", str(RATE_HZ), "--start-delay", "0", "--duration", "600s", "--catch", "gap > 20 us", "--output", "it.bandscope"]

    def check(self, program, directory, killed):
        report = read(program, directory, "report", "it.bandscope")
        if report is None:
            if os.path.exists(os.path.join(directory, "it.bandscope/recording.json")):
                raise Wrong("a recording that does not open")
            return None
        if any(moment["ns"] <= 20e3 for moment in report["moments"]):
            raise Wrong("a moment that meets no condition")
        return len(report["moments"]), 0


class Repeat:
    """Kept: runs. Lost: runs."""

    arguments = ["repeat", "-n", "10000", "--output", "runs.json", "--", "sh", "-c", "echo x >> count; echo 5"]

    def check(self, program, directory, killed):
        count = os.path.join(directory, "count")
        begun = os.path.getsize(count) // 2 if os.path.exists(count) else 0
        if is_empty(os.path.join(directory, "runs.json")):
            if begun > 1:
                raise Wrong(f"{begun} runs began, and there is no file")
            return None
        result = read(program, directory, "repeat", "--from", "runs.json")
        if result is None:
            raise Wrong("a file of runs that does not open")
        kept = result["runs"]["plain"] + result["runs"]["warm_up"]
        # The last may have been under way.
        if kept < begun - 1:
            raise Wrong(f"{begun} runs began, and {kept} were kept")
        return kept, begun - kept


class Lab:
    """Kept: passes and loops. Lost: not known."""

    arguments = ["lab", "--output", "lab.json"]

    def check(self, program, directory, killed):
        path = os.path.join(directory, "lab.json")
        if is_empty(path):
            return None
        if read(program, directory, "lab", "lab.json") is None:
            raise Wrong("a file of the lab that does not open")
        with open(path) as text:
            experiments = json.load(text)
        passes = max((len(level["passes"]) for pair in experiments["pairs"] for level in pair["levels"]), default=0)
        return passes + len(experiments["switching"]), 0


def start(program, kind, directory):
    return subprocess.Popen([program, *kind.arguments], cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def round_of(program, kinds, draw):
    """Starts one of each kind, kills each, and gives (kind, milliseconds, what was kept, why that is wrong)."""
    with tempfile.TemporaryDirectory() as root:
        moments = sorted((math.exp(draw.uniform(math.log(0.03), math.log(15))), index) for index in range(len(kinds)))
        directories, children, killed = [], [], {}
        try:
            for kind in kinds:
                directories.append(os.path.join(root, type(kind).__name__))
                os.mkdir(directories[-1])
                children.append(start(program, kind, directories[-1]))
            begun = time.monotonic()
            for moment, index in moments:
                time.sleep(max(0.0, begun + moment - time.monotonic()))
                killed[index] = time.time()
                children[index].send_signal(signal.SIGKILL)
                children[index].wait()
        finally:
            for child in children:
                child.kill()
                child.wait()
        for moment, index in moments:
            kept, wrong = None, None
            try:
                # `repeat` and `lab` may be done.
                if (status := children[index].returncode) not in (-signal.SIGKILL, 0):
                    raise Wrong(f"it had ended with exit status {status}")
                kept = kinds[index].check(program, directories[index], killed[index])
                if kept is None and moment > KEEPS_AFTER_S:
                    raise Wrong("nothing was kept")
            except Wrong as error:
                wrong = str(error)
            yield kinds[index], moment, kept, wrong


def main():
    program = os.path.abspath(sys.argv[1])
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10**6)
    print(f"{kills} kills, seed {seed}", flush=True)
    draw, kinds = random.Random(seed), [Record(), Catch(), Repeat(), Lab()]
    results = {type(kind).__name__: [] for kind in kinds}
    failures = done = 0
    while done < kills:
        for kind, moment, kept, wrong in round_of(program, kinds[: kills - done], draw):
            name = type(kind).__name__
            done += 1
            if wrong is not None:
                failures += 1
                print(f"WRONG: {name}, killed after {moment:.3f} s: {wrong}", flush=True)
            results[name].append(kept)
    for name, all_kept in results.items():
        some = [kept for kept in all_kept if kept is not None]
        most = max((kept for kept, _ in some), default=0)
        worst = max((lost for _, lost in some), default=0)
        print(f"{name.lower():7}{len(all_kept):5} kills, {len(some):5} kept something: up to {most:.0f}; lost up to {worst:.1f}")
        if not some and len(all_kept) >= FEW:
            failures += 1
            print(f"WRONG: {name} never kept anything")
    print(f"{failures} of {done} wrong")
    sys.exit(1 if failures else 0)


main()
