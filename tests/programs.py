#!/usr/bin/env python3
"""`bandscope lab -- PROGRAM` held against C programs whose hidden states are known.

    tests/programs.py BANDSCOPE [--only NAME,...] [--compiler gcc|clang] [--cpu N] [--list]

Most programs meet one state of the core, and most of these have a remedy that takes away that state alone. The programs' own times
give the gain of each remedy on this core. `bandscope lab --format json` then has to name the state, and to say whether it costs:

- a gain of 1.2 or more: the state costs;
- a gain of 1.05 or less: it does not;
- between them, or where rounds or remedies disagree: either answer is right, but the state has to be named. So it is where the median of a
  program's repetitions says the opposite of the best: some cores run one loop at two paces.

`placement` is met only where it costs: on a core on which the remedy gains nothing, no answer is right, too.

Controls meet no state on any core. A control is accused if the lab says of a state that it costs, or that it was met but could not be
measured.

Exit status 1: more than 1 in 12 of the programs with a state were named wrong, a control was accused, or nothing was judged. Takes some
7 s a program, and never more than LIMIT_S. What did not run by then is a line that begins with SKIPPED.
"""
import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

sys.dont_write_bytecode = True
import advice

LIMIT_S = 400

# The longest that `bandscope lab` may take with one program.
LAB_LIMIT_S = 30

# How long processes that were killed may take to be gone.
GRACE_S = 1

# Time of a program under the lab, which ends it before: on a shared CPU the sampler alone may take 4 s of it.
LAB_BUDGET_NS = 12e9

# Gains from COSTS are a cost, gains up to FREE are none.
COSTS, FREE = 1.2, 1.05

# The most programs with a state that may be named wrong.
MAX_WRONG_SHARE = 1 / 12

# Rounds of pattern and remedies, before and after the lab: a program of two paces may change its pace between them.
ROUNDS_BEFORE, ROUNDS_AFTER = 4, 3

BEST, MEDIAN = 0, 1

SCHEMA = "bandscope.lab-program/1"
PAIRS = {"base-register", "operand-size", "register-file", "failed-forwarding", "split-access", "4k-aliasing", "denormals", "placement"}


@dataclass
class Program:
    name: str
    source: str  # in tests/advice
    flags: list
    state: str  # of the lab; "" for a control
    remedies: list = field(default_factory=list)  # source, REMEDY, flags that follow those of the pattern
    remedy: int = 0  # REMEDY of the program itself: some controls are remedies
    without: dict = field(default_factory=dict)  # compiler to the reason why its output does not meet the state


def remedies(source, *numbers, flags=()):
    return [(source, number, list(flags)) for number in numbers]


# A loop of a cycle a turn meets the state `placement` where its address is bad, so controls have aligned loops.
ALIGNED = ["-O2", "-falign-functions=64", "-falign-loops=64", "-falign-jumps=64"]

# Vectorized, eight sums are two chains.
SCALAR = [*ALIGNED, "-fno-tree-vectorize", "-fno-tree-slp-vectorize"]

FTQ, FLOAT20 = "../programs/ftq", "../programs/ftq-float20"

# What each meets is read from the disassembly of gcc 12.2 and clang 14.0, and noted above it.
PROGRAMS = [
    # mov rax,[rbp-x]; add rax,1; mov [rbp-x],rax, and the index at the frame pointer, too: gcc adds to it in memory, clang in a register.
    # Remedy 1 also saves the loads and stores, remedy 2 does not.
    Program("ftq-o0", FTQ, ["-O0", "-DINDEX_IN_MEMORY"], "base-register", remedies(FTQ, 1, 2, flags=["-O1"])),
    # gcc: mov rax,[rsp-8]; add rax,1; mov [rsp-8],rax; sub edx,1; jne. clang: 32 add qword [rsp-8],1 and 31 add qword [rsp-8],-1, with
    # or without UNROLL.
    Program("ftq-o2", FTQ, ["-O2"], "base-register", remedies(FTQ, 1, 2)),
    # gcc: 32 times mov rax,[rsp-8]; add rax,1; mov [rsp-8],rax, 31 times the same with sub.
    Program("ftq-unrolled", FTQ, ["-O2", "-DUNROLL"], "base-register", remedies(FTQ, 1, 2)),
    # movss xmm0,[rbp-8]; mulss xmm0,[rbp-12]; movss [rbp-8],xmm0, 20 times. clang loads the factor, and multiplies by the value in memory.
    Program("ftq-float20-stack", FLOAT20, ["-O0"], "register-file", remedies(FLOAT20, 1, flags=["-O1"])),
    # mov rdx,[rip+length]; lea rcx,[rdx+1]; mov [rip+length],rcx, 64 times. Remedy 2: the same at a pointer.
    Program("base-register", "base-register", ["-O2"], "base-register", remedies("base-register", 2)),
    Program("base-register-16", "base-register", ["-O2", "-DPLACES=16"], "base-register", remedies("base-register", 2)),
    # movzx eax,byte [rdi+8]; add eax,1; mov [rdi+8],al.
    Program("operand-size", "operand-size", ["-O2"], "operand-size", remedies("operand-size", 1)),
    # movsd xmm0,[r8]; addsd xmm0,[rdx+rax*8]; movsd [r8],xmm0, 64 times at one address. Remedy 1 saves the loads and stores; remedy 2
    # leaves a chain through memory whose address clang makes of pointer and index.
    Program("register-file", "register-file", ["-O2"], "register-file", remedies("register-file", 1, 2)),
    # movss xmm1,[rbp-4]; addss xmm0,xmm1; movss [rbp-4],xmm0. clang: addss xmm0,[rbp-20]; movss [rbp-20],xmm0.
    Program("register-file-o0", "chains", ["-O0"], "register-file", remedies("chains", 0, flags=["-Og"])),
    # mov r8,[rax+8]; lea rbp,[r8+1]; mov [rax+8],rbp, four times a turn.
    Program("distance", "distance", ["-O2"], "base-register", remedies("../programs/distance", 0)),
    # movzx; add; cmp; jne: one cycle a turn or two, by the address. clang ignores -falign-jumps and needs no more than -falign-loops.
    Program("placement", "placement", ["-O2"], "placement", remedies("placement", 0, flags=ALIGNED[2:])),
    # mov [rdi],ecx; mov [rdi+4],eax; then imul rax,[rdi] of 8 bytes. Remedy 3: two loads of 4 bytes.
    Program("failed-forwarding", "failed-forwarding", ["-O2"], "failed-forwarding", remedies("failed-forwarding", 3)),
    # add qword [rdi],1; mov [rdi+8],rdx; movdqu xmm0,[rdi].
    Program("failed-forwarding-copy", "failed-forwarding-copy", ["-O2"], "failed-forwarding", remedies("failed-forwarding-copy", 1)),
    # mov [rax+4],edi; mov edx,[rax+0x1004], in the order of the source.
    Program("4k-aliasing-o1", "4k-aliasing", ["-O1"], "4k-aliasing", remedies("4k-aliasing", 1)),
    Program("4k-aliasing-o2", "4k-aliasing", ["-O2"], "4k-aliasing", remedies("4k-aliasing", 1),
            without={"gcc": "gcc schedules the loads before the stores"}),
    # mulss xmm0,xmm2; addss xmm0,[rsi+rax*4] of denormals.
    Program("denormals", "denormals", ["-O2"], "denormals", remedies("denormals", 1)),
    # add rax,[rdi]; add rsi,[rdi+0x40]; ...: 8 bytes at byte 60 of a line.
    Program("split-load", "../programs/split-load", ["-O2"], "split-access", remedies("../programs/split-load", 1)),
    # mov [rdi],rdx; add rdi,64: 8 bytes at byte 60 of a line. clang stores eight times a turn.
    Program("split-store", "../programs/split-store", ["-O2"], "split-access", remedies("../programs/split-store", 1)),
    # Controls; hash, chase, search and gcd are chains of registers.
    Program("sum-int64", "../programs/sum-int64", ALIGNED, ""),
    Program("float-sums", "../programs/float-sums", SCALAR, ""),
    Program("fill", "../programs/fill", ALIGNED, ""),
    Program("hash", "../programs/hash", ALIGNED, ""),
    Program("chase", "../programs/chase", ALIGNED, ""),
    Program("matmul", "../programs/matmul", SCALAR, ""),
    Program("search", "../programs/search", ALIGNED, ""),
    Program("sort", "../programs/sort", ALIGNED, ""),
    Program("scan", "../programs/scan", ALIGNED, ""),
    Program("gcd", "../programs/gcd", ALIGNED, ""),
    # Remedies that leave no state: a position in registers, denormals flushed to zero, a loop at a good address.
    Program("base-register-cured", "base-register", ALIGNED, "", remedy=1),
    Program("denormals-cured", "denormals", ALIGNED, "", remedy=1),
    Program("placement-cured", "placement", ALIGNED, ""),
]


class Unusable(Exception):
    """What the lab printed, or did, that no answer can be read from."""


class OutOfTime(Exception):
    """The lab had less than LAB_LIMIT_S, and did not end."""


def times_of(paths, rounds, cpu):
    """Per round the ns per operation of each program, best and median, one after the other."""
    return [[advice.run_ns(path, cpu) for path in paths] for _ in range(rounds)]


def still_running(session, program):
    """Processes of a session, or whose program is this one: all of them were started by one run of the lab."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                state, _, _, of_session = stat.read().rpartition(")")[2].split()[:4]
            exe = os.readlink(f"/proc/{entry}/exe") if state not in "ZX" else ""
        except (OSError, ValueError):
            continue
        if state not in "ZX" and (int(of_session) == session or exe == program):
            found.append(int(entry))
    return found


def end(session, program, grace_s):
    """Ends what a run of the lab left after a time of grace; how many processes that were."""
    until = time.monotonic() + grace_s
    while (left := still_running(session, program)) and time.monotonic() < until:
        time.sleep(0.02)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return len(left)


def lab_of(bandscope, program, limit_s):
    """What the lab says of a program."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        words = [bandscope, "lab", "--format", "json", "--", program]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        status = None
        try:
            status = process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            left = end(process.pid, program, GRACE_S if status is not None else 0)
            process.wait()
        out.seek(0)
        err.seek(0)
        text, errors = (stream.read().decode(errors="replace") for stream in (out, err))
    if status is None and limit_s < LAB_LIMIT_S:
        raise OutOfTime
    if status is None:
        raise Unusable(f"did not end within {limit_s:.0f} s")
    if left:
        raise Unusable(f"left {left} processes running")
    try:
        answer = json.loads(text)
    except json.JSONDecodeError:
        last = (errors.strip().splitlines() or ["nothing on standard error"])[-1]
        raise Unusable(f"no JSON, exit status {status}: {last}") from None
    check_answer(answer)
    if status != 0:
        raise Unusable(f"exit status {status}")
    return answer


def check_answer(answer):
    """That the answer has what is read here, of the types that the docs state."""
    if not isinstance(answer, dict) or answer.get("schema") != SCHEMA:
        raise Unusable(f"schema is not {SCHEMA}")
    if not isinstance(answer.get("verdict"), str) or not isinstance(answer.get("warnings"), list):
        raise Unusable("no verdict or no warnings")
    if "loop" not in answer or not isinstance(answer.get("states"), list):
        raise Unusable("no loop or no states")
    for state in answer["states"]:
        if not isinstance(state, dict) or state.get("pair") not in PAIRS:
            raise Unusable(f"a state of no known pair: {state}")
        if "costs" not in state or not (state["costs"] is None or isinstance(state["costs"], bool)):
            raise Unusable(f"costs of {state['pair']} is not true, false or null")
        ratio = state.get("ratio")
        if ratio is not None and (isinstance(ratio, bool) or not isinstance(ratio, (int, float))):
            raise Unusable(f"ratio of {state['pair']} is not a number")


def must_cost(best, median):
    """Whether the state has to cost, by the gains of the best times in all rounds of each remedy; None: either answer is right.

    Gains of the medians overrule them where they say the opposite: a core with two paces for one loop runs it at both.
    """
    medians = [statistics.median(gains) for gains in best]
    typical = [statistics.median(gains) for gains in median]
    if min(medians) >= COSTS and min(map(min, best)) > FREE and min(typical) > FREE:
        return True
    if max(medians) <= FREE and max(map(max, best)) < COSTS and max(typical) < COSTS:
        return False
    return None


def fault(program, answer, must):
    """Why an answer is wrong; None if it is right."""
    states = answer["states"]
    if not program.state:
        accused = [state["pair"] for state in states if state["costs"] is not False]
        return f"accused of {', '.join(accused)}" if accused else None
    if answer["loop"] is None:
        return "no loop found"
    costs = [state["costs"] for state in states if state["pair"] == program.state]
    if not costs:
        # A place is no more than a place where no other is faster.
        return None if program.state == "placement" and must is False else f"{program.state} not met"
    if must is True and True not in costs:
        return f"{program.state} costs, by the program's own times"
    if must is False and True in costs:
        return f"{program.state} does not cost, by the program's own times"
    return None


def gain_cell(gains):
    return f"{advice.digits(statistics.median(gains))} ({advice.digits(min(gains))}–{advice.digits(max(gains))})"


def cost_cell(state):
    return f"{state['pair']} ({advice.digits(state['ratio'])})" if state.get("ratio") is not None else f"{state['pair']} (no ratio)"


def built(builds, compiler, program):
    """Paths of the program for the lab, of the program, and of its remedies; or why there are none."""
    wanted = [(program.source, program.remedy, [*program.flags, f"-DBUDGET_NS={LAB_BUDGET_NS:.0f}"])]
    if program.remedies:
        wanted.append((program.source, program.remedy, program.flags))
    wanted += [(source, number, [*program.flags, *flags]) for source, number, flags in program.remedies]
    paths = []
    for source, number, flags in wanted:
        path, why_not = builds.path(compiler, source, number, flags)
        if not path:
            return [], why_not
        paths.append(path)
    return paths, None


def judged_row(program, paths, bandscope, cpu, deadline):
    """The cells of a program, and why its answer is wrong."""
    lab_path, *own_paths = paths
    times = times_of(own_paths, ROUNDS_BEFORE, cpu) if own_paths else []
    answer, unusable = None, None
    try:
        answer = lab_of(bandscope, lab_path, min(LAB_LIMIT_S, max(1, deadline - time.monotonic())))
    except Unusable as error:
        unusable = str(error)
    times += times_of(own_paths, ROUNDS_AFTER, cpu) if own_paths else []
    # A core with two paces for one loop may show another in the median than in the best.
    best, median = ([[pattern[which] / cured[which] for pattern, cured in zip(column(times, 0), column(times, 1 + k))]
                     for k in range(len(program.remedies))] for which in (BEST, MEDIAN))
    gain = "; ".join(" / ".join(map(gain_cell, pair)) for pair in zip(best, median)) or "–"
    if unusable:
        return ["–", "–", gain, f"**wrong**: {unusable}"], unusable
    why = fault(program, answer, must_cost(best, median) if best else None)
    met = ", ".join(state["pair"] for state in answer["states"]) or "none"
    cost = ", ".join(cost_cell(state) for state in answer["states"] if state["costs"]) or "none"
    result = f"**wrong**: {why}" if why else "right, no loop found" if answer["loop"] is None else "right"
    if not why and best and must_cost(best, median) is None:
        result += ", either way"
    if why:
        function = (answer["loop"] or {}).get("function")
        why += f" (loop in {function or 'no function'}): {answer['verdict']}" + "".join(f" Warning: {warning}" for warning in answer["warnings"])
    return [met, cost, gain, result], why


def column(rows, index):
    return [row[index] for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bandscope", nargs="?", help="the program bandscope")
    parser.add_argument("--only", default="", help="names of programs, comma-separated")
    parser.add_argument("--compiler", choices=("gcc", "clang"), default="gcc")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the CPU of the programs' own times; the lab chooses its own")
    parser.add_argument("--list", action="store_true", help="the names of the programs")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{program.name}: {program.state or 'control'}" for program in PROGRAMS))
        return 0
    if not options.bandscope or not os.access(options.bandscope, os.X_OK):
        parser.error("needs the program bandscope")
    only = [name for name in options.only.split(",") if name]
    unknown = set(only) - {program.name for program in PROGRAMS}
    if unknown:
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    if platform.machine() != "x86_64":
        print(f"SKIPPED: the states of these programs are those of x86-64, not of {platform.machine()}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    bandscope, deadline = os.path.abspath(options.bandscope), time.monotonic() + LIMIT_S
    found = advice.compilers()
    if options.compiler not in found:
        return 0
    core, numbers = advice.microarchitecture()
    print(f"Core: {core} ({numbers}). {options.compiler} {found[options.compiler]}. Own gain, of the best time / of the median: median of {ROUNDS_BEFORE + ROUNDS_AFTER} rounds (range).")
    print("\n| program | expected | met | costs (ratio) | own gain | result |")
    print("|---" * 6 + "|")
    skipped, faults, judged, accused, wrong, controls = [], [], 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as directory:
        builds = advice.Builds(os.path.realpath(directory))
        for program in PROGRAMS:
            if only and program.name not in only:
                continue
            expected = f"`{program.state}`" if program.state else "control"
            if options.compiler in program.without:
                print(f"| {program.name} | {expected} | – | – | – | not judged: {program.without[options.compiler]} |", flush=True)
                continue
            why_not = f"{LIMIT_S} s are over"
            if time.monotonic() < deadline:
                paths, why_not = built(builds, options.compiler, program)
            if why_not:
                skipped.append(f"SKIPPED: {program.name}: {why_not}")
                continue
            try:
                cells, why = judged_row(program, paths, bandscope, options.cpu, deadline)
            except OutOfTime:
                skipped.append(f"SKIPPED: {program.name}: {LIMIT_S} s are over")
                continue
            except (subprocess.SubprocessError, ValueError, ZeroDivisionError) as error:
                skipped.append(f"SKIPPED: {program.name}: its own times failed: {error}")
                continue
            judged, controls = judged + bool(program.state), controls + (not program.state)
            if why:
                wrong, accused = wrong + bool(program.state), accused + (not program.state)
                faults.append(f"WRONG: {program.name}: {why}")
            print(f"| {program.name} | {expected} | {' | '.join(cells)} |", flush=True)
    print()
    for line in skipped + faults:
        print(line)
    print(f"Programs with a state: {judged}, named wrong: {wrong}. Controls: {controls}, accused or without an answer: {accused}.")
    return 1 if wrong > judged * MAX_WRONG_SHARE or accused or not judged + controls else 0


if __name__ == "__main__":
    sys.exit(main())
