#!/usr/bin/env python3
"""What avoids the hidden states of this core, measured: each pattern of tests/advice against its remedies, with gcc and clang.

    tests/advice.py [--levels=-O1,-O2,-O3] [--only STATE,...] [--rounds N] [--cpu N]

Prints the table of docs/lab.md, "What avoids it". A gain is the pattern's time over the remedy's. A round runs both, one after the
other; the table has the median and the range of 7 rounds. A remedy that does not help is printed as any other.

Exit status 1: a remedy has less than half of the gain that the docs state (of 3.0, less than 2.0: half of what lies above 1). That is
judged on a core of the microarchitecture that the docs name, with compilers of the versions that they name. Elsewhere nothing is.
Takes about 20 s a level, and never more than LIMIT_S. What was not run by then is a line that begins with SKIPPED.
"""
import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT_S = 115
HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "docs", "lab.md")

# Gains that the docs state below this are not claims.
CLAIM = 1.1

FREE_ORDER = ["-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"]

# State of the lab, program, pattern, its flags, remedy, REMEDY, its flags.
ROWS = [
    ("base-register", "base-register", "a global position, updated at 64 places of one function", [], "a local copy", 1, []),
    ("base-register", "base-register", "the same", [], "the same memory by way of a pointer parameter", 2, []),
    ("base-register", "base-register", "the same", [], "one place in a loop, not 64", 3, []),
    ("base-register", "base-register", "the same", [], "`-fPIC`", 0, ["-fPIC"]),
    ("base-register", "base-register", "the same at 16 places", ["-DPLACES=16"], "a pointer parameter, at 16 places", 2, ["-DPLACES=16"]),
    ("operand-size", "operand-size", "a ring's index of 8 bits, in a struct", [], "32 bits, and `& 255`", 1, []),
    ("register-file", "register-file", "`totals[account[i]] += amount[i]` of `double`, runs of one account", [], "the run's total in a local variable", 1, []),
    ("register-file", "register-file", "the same", [], "`int64_t` in place of `double`", 2, []),
    ("register-file", "chains", "a sum of `float`, built with `-O0`", ["-O0"], "`-Og`", 0, ["-Og"]),
    ("distance", "distance", "`b->data[b->length++] = byte` in a loop", [], "a local copy of `*b`, written back at the end", 1, []),
    ("placement", "placement", "a loop of a cycle a turn, at the slowest of 64 addresses", [], "`-falign-loops=64`", 0, ["-falign-loops=64"]),
    ("placement", "placement", "the same", [], "`-falign-loops=64 -falign-jumps=64`", 0, ["-falign-loops=64", "-falign-jumps=64"]),
    ("failed-forwarding", "failed-forwarding", "two fields of 4 bytes stored, hashed as 8 bytes", [], "both joined in a register, and stored at once", 1, []),
    ("failed-forwarding", "failed-forwarding", "the same", [], "two loads, joined in a register", 2, []),
    ("failed-forwarding", "failed-forwarding", "the same", [], "two `volatile` loads, joined in a register", 3, []),
    ("failed-forwarding", "failed-forwarding-copy", "two fields of 8 bytes stored, then the struct assigned", [], "assigned field by field", 1, []),
    ("4k-aliasing", "4k-aliasing", "`line[k] = x; y = line[k + 1024]` of `int32_t` at 32 places", [], "`line[k + 1040]`: a cache line more", 1, []),
    ("4k-aliasing", "4k-aliasing", "the same", [], "one place in a loop, not 32", 2, []),
    ("4k-aliasing", "4k-aliasing", "the same, built with `-O1`", ["-O1"], "`-fschedule-insns2`", 0, ["-O1", "-fschedule-insns2"]),
    ("denormals", "denormals", "a recursive filter after its input has ended", [], "flush to zero: `_mm_setcsr(_mm_getcsr() \\| 0x8040)`", 1, []),
    ("denormals", "denormals", "the same", [], "1e-20 added to the input", 2, []),
    ("denormals", "denormals", "the same", [], "`-ffast-math`", 0, ["-ffast-math"]),
    ("chains", "chains", "a sum of `float`", [], "four sums", 1, []),
    ("chains", "chains", "the same", [], f"`{' '.join(FREE_ORDER)}`", 0, FREE_ORDER),
]


def microarchitecture():
    """The core's name as in docs/lab.md, else its numbers."""
    fields = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                key, _, value = line.partition(":")
                fields.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    vendor, family, model = (fields.get(key, "") for key in ("vendor_id", "cpu family", "model"))
    numbers = f"{vendor or platform.machine()} family {family or '?'} model {model or '?'}"
    if vendor == "AuthenticAMD" and family == "25" and model.isdigit():
        # AMD's revision guides: 10h-1Fh, 60h-7Fh and A0h-AFh of family 19h are Zen 4, the others Zen 3.
        return ("Zen 4" if int(model) >> 4 in (1, 6, 7, 10) else "Zen 3"), numbers
    if vendor == "AuthenticAMD" and family == "26" and model.isdigit() and int(model) >> 4 in (0, 1, 2, 4, 6, 7):
        # By Linux, arch/x86/kernel/cpu/amd.c; the others are Zen 6, or not known.
        return "Zen 5", numbers
    if vendor == "GenuineIntel" and (family, model) == ("6", "207"):
        return "Raptor Cove", numbers
    return numbers, numbers


def compilers():
    """Name to version, major and minor, of those that are here."""
    found = {}
    for name in ("gcc", "clang"):
        if not shutil.which(name):
            print(f"SKIPPED: {name}: not installed")
            continue
        text = subprocess.run([name, "-dumpfullversion" if name == "gcc" else "--version"], capture_output=True, text=True).stdout
        version = re.search(r"\d+\.\d+", text)
        if not version or (name == "gcc" and "clang" in subprocess.run([name, "--version"], capture_output=True, text=True).stdout):
            print(f"SKIPPED: {name}: not what its name says")
            continue
        found[name] = version.group()
    return found


class Builds:
    """Programs, each built once."""

    def __init__(self, directory):
        self.directory, self.built, self.why_not = directory, {}, {}

    def path(self, compiler, program, remedy, flags):
        """A built program; None if the compiler refuses, then `why_not` has the reason."""
        key = (compiler, program, remedy, *flags)
        if key not in self.built:
            path = os.path.join(self.directory, str(len(self.built)))
            words = [compiler, *flags, f"-DREMEDY={remedy}", os.path.join(HERE, "advice", program + ".c"), "-o", path]
            done = subprocess.run(words, capture_output=True, text=True)
            self.built[key] = path if done.returncode == 0 else None
            self.why_not[key] = next((line for line in done.stderr.splitlines() if "error" in line), "the compiler failed")
        return self.built[key], self.why_not[key]


def run_ns(path, cpu):
    """ns per operation, as the program itself measures them: the best of its repetitions, and their median."""
    done = subprocess.run([path], capture_output=True, text=True, timeout=20, check=True, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    best, median = map(float, done.stdout.split())
    return best, median


def code_bytes(path):
    """Bytes of machine code and constants of a program; None without `size`."""
    try:
        return int(subprocess.run(["size", path], capture_output=True, text=True, check=True).stdout.splitlines()[1].split()[0])
    except (OSError, subprocess.CalledProcessError, IndexError, ValueError):
        return None


def claims():
    """From the table of the docs: per core, per (state, program's remedy, compiler and level) the gain. Columns are `CORE: COMPILER LEVEL`."""
    with open(PAGE, encoding="utf-8") as page:
        text = page.read()
    section = re.search(r"^## What avoids it\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not section:
        return {}
    gains, columns = {}, None
    for line in section.group(1).splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) < 4 or set(cells[0]) <= set("-: ") and cells[0]:
            continue
        if cells[0] == "state":
            columns = cells[3:]
            continue
        if not columns:
            continue
        for column, cell in zip(columns, cells[3:]):
            number = re.match(r"\d+(\.\d+)?", cell)
            core, _, head = column.partition(": ")
            if number:
                gains.setdefault(core, {})[cells[0].strip("`"), cells[2], head] = float(number.group())
    return gains


def gain_of(builds, row, compiler, level, rounds, cpu, deadline):
    """Gains of all rounds, the sizes of both programs, and why not if there are none."""
    _, program, _, pattern_flags, _, remedy, remedy_flags = row
    if time.monotonic() > deadline:
        return [], None, f"{LIMIT_S} s are over"
    paths = []
    for number, flags in ((0, pattern_flags), (remedy, remedy_flags)):
        path, why_not = builds.path(compiler, program, number, [level, *flags])
        if not path:
            return [], None, why_not
        paths.append(path)
    gains, times = [], []
    for _ in range(rounds):
        if time.monotonic() > deadline:
            return [], None, f"{LIMIT_S} s are over"
        pattern, cure = (run_ns(path, cpu)[0] for path in paths)
        gains.append(pattern / cure)
        times.append((pattern, cure))
    best = tuple(min(column) for column in zip(*times))
    return gains, (best, [code_bytes(path) for path in paths]), None


def digits(gain):
    """Three significant digits."""
    return f"{gain:.1f}" if gain >= 9.95 else f"{gain:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", default="-O2", help="optimization levels, written --levels=-O1,-O2")
    parser.add_argument("--only", default="", help="states, comma-separated")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--times", action="store_true", help="also ns per operation and bytes of each program, to standard error")
    options = parser.parse_args()
    deadline = time.monotonic() + LIMIT_S
    only = [name for name in options.only.split(",") if name]
    unknown = set(only) - {row[0] for row in ROWS}
    if unknown:
        parser.error(f"no such state here: {', '.join(sorted(unknown))}")
    assert len({(row[0], row[4]) for row in ROWS}) == len(ROWS), "the docs' claims are found by state and remedy"
    core, numbers = microarchitecture()
    found = compilers()
    if not found:
        return 0
    columns = [(name, level) for name in found for level in options.levels.split(",")]
    heads = [f"{name} {found[name]} {level}" for name, level in columns]
    claimed_cores = claims()
    claimed, same_core = claimed_cores.get(core, {}), core in claimed_cores
    print(f"Core: {core} ({numbers}), CPU {options.cpu}. Gain: median of {options.rounds} rounds (range).")
    print(f"\n| state | in a program | what avoids it | {' | '.join(heads)} |")
    print("|---" * (3 + len(heads)) + "|")
    skipped, judged, failed = [], 0, []
    with tempfile.TemporaryDirectory() as directory:
        builds = Builds(directory)
        for row in ROWS:
            state, _, pattern, _, remedy, _, _ = row
            if only and state not in only:
                continue
            cells = []
            for (compiler, level), head in zip(columns, heads):
                gains, more, why_not = gain_of(builds, row, compiler, level, options.rounds, options.cpu, deadline)
                if why_not:
                    skipped.append(f"SKIPPED: {state}, {remedy}, {head}: {why_not}")
                    cells.append("–")
                    continue
                median = statistics.median(gains)
                cells.append(f"{digits(median)} ({digits(min(gains))}–{digits(max(gains))})")
                if options.times:
                    (before, after), (bytes_before, bytes_after) = more
                    print(f"{state}, {remedy}, {head}: {before} to {after} ns, {bytes_before} to {bytes_after} bytes", file=sys.stderr)
                claim = claimed.get((state, remedy, head), 0)
                if same_core and claim >= CLAIM:
                    judged += 1
                    if median < 1 + (claim - 1) / 2:
                        failed.append(f"FAILED: {state}, {remedy}, {head}: gain {digits(median)}, the docs state {digits(claim)}")
            print(f"| `{state}` | {pattern} | {remedy} | {' | '.join(cells)} |", flush=True)
    if same_core and not only and not judged and any(head in heads for _, _, head in claimed):
        failed.append("FAILED: no gain of docs/lab.md was held against anything: its rows or heads have other names")
    print()
    for line in skipped + failed:
        print(line)
    if not same_core:
        print(f"The docs have gains of {' and '.join(claimed_cores) or 'no core'}; this core is another, so none was judged.")
    else:
        print(f"Gains held against docs/lab.md: {judged}; failed: {len(failed)}. Columns of other versions or levels are not judged.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
