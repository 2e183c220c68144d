#!/usr/bin/env python3
"""Runs every example of README.md, of the pages for readers and of each `--help`, as a shell would: examples.py PROGRAM [PAGE...]

With pages, only theirs. Each page in a directory of its own, its examples one after another: one may read what one before it wrote. Long ones are
shortened by the rules of SHORTER, which are printed where they apply. Files that an example names and none writes are
made first, by INPUTS. An example fails if its exit status is not the documented one, or if it takes more than LIMIT_S.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 90

# Pages whose console sessions are run. Of reference pages `--help` has the examples.
# Without arguments; `.ci/full book` names the other pages for readers.
PAGES = ["README.md", "docs/tutorial.md"]
# What a console session runs; other lines, such as the reader's own programs, only show.
IS_RUN = ("bandscope ", "sudo bandscope ", "jq ")
# Published data and simulated machines print the same everywhere, so their examples are run and compared in full.
SAME_EVERYWHERE = re.compile(r"\bcases/|\bdocs/cpus/|\bsimulated[-:]")

# A recording with its log of disturbances.
DISTURBED = "bandscope inject --period 5ms --length 50us --then record --duration 1s --output evening.bandscope"

# Files that examples read: who writes them.
INPUTS = f"""
{DISTURBED}
bandscope record --cpus 0 --duration 1s --output before.bandscope
bandscope record --cpus 0 --duration 1s --output after.bandscope
bandscope synth x-10khz --output old-ftq-run.dat
bandscope synth tick+flips --duration 1s --output quiet.bandscope
bandscope lab --only base-register --output lab.json
bandscope check --machine simulated:tick --duration 1500ms --runs 3 --save quiet.json
bandscope repeat -n 6 --output runs-main.json -- ./benchmark
bandscope repeat -n 6 --output runs-branch.json -- ./benchmark
cp runs-main.json main.json && cp runs-branch.json branch.json
cp cases/perfstat-good.txt good.txt && cp cases/perfstat-bad.txt bad.txt
cp cases/perfstat-irq-good.txt good-irq.txt && cp cases/perfstat-irq-bad.txt bad-irq.txt
for n in 1 2 3 4 5; do SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURMD_NODENAME=n$n SLURM_NTASKS=5 SLURM_PROCID=$((n - 1)) bandscope record --machine simulated:tick --duration 1s -q -o job.bandscope; done
echo '{{"schema": "bandscope.cures/1", "trial_s": 1, "rate_hz": 10000}}' > evening.cures.json
cp cases/pfmon-good-noisy.tsv pfmon.tsv && cp cases/fwq-smeared.hist cases/fwq-smear-ends.tsv .
"""

# Pattern and replacement, in this order, for what would take too long or asks for more CPUs than a small machine has.
SHORTER = [
    (r"--runs [0-9]+", "--runs 3"),
    # Nothing of the machine is changed, and nobody need be root.
    (r"^sudo ", ""),
    (r" --priority \S+", ""),
    (r"^(bandscope cure\b(?!.*--dry-run)(?!.*--undo).*)", lambda found: found[0].replace(" --keep", "").replace(" --yes", "") + " --dry-run"),
    (r"(bandscope cure\b(?!.*--undo))", r"\1 --trial 200ms"),
    (r"--duration \d+(s|min|h)\b", "--duration 1s"),
    (r"--to 2s", "--to 0.4s"),
    # So short, beside the other examples, a baseline of this machine may be one that nothing could fail, which is refused.
    (r"(bandscope check\b(?=.*--save)(?!.*--machine))", r"\1 --machine simulated:tick"),
    (r"--samples 1000000", "--samples 2000"),
    (r"(^bandscope(?= --cpus)(?!.*--duration))", r"\1 --duration 1s"),
    (r"(^bandscope (record|live)\b(?!.*--duration)(?!.*--samples))", r"\1 --duration 1s"),
    (r"(bandscope inject\b(?!.*--duration)(?!.*--then))", r"\1 --duration 1s"),
    (r"(bandscope histogram\b(?!.*--duration)(?!.*--samples)(?!.*\.(hist|tsv|json)))", r"\1 --duration 1s"),
    (r"(bandscope lab\b(?!.*--only)(?!.*--list)(?! lab\.json)(?!.* -- ))", r"\1 --only base-register,shift-count"),
    (r"(bandscope lab .*-- )\./benchmark", r"\1./loop"),
    (r"(bandscope repeat\b(?!.*-n )(?!.*--from))", r"\1 -n 6"),
    (r"repeat -n \d+", "repeat -n 6"),
    (r"(--then record\b(?!.*--duration))", r"\1 --duration 1s"),
    (r"(bandscope doctor\b(?!.*--duration)(?!.*\.bandscope))", r"\1 --duration 1s"),
    (r"--cpus? [-\d,]+", lambda found: found[0].split()[0] + " 0"),
]

# Exit statuses other than 0 that an example may have: a check that it asks for fails.
MAY_FAIL_A_CHECK = ("--fail-if", "--against")


def examples_of_help(text: str) -> list[str]:
    """The indented lines under `Examples:`, without comments. None is wrapped: help for 80 columns keeps commands whole."""
    lines = []
    inside = False
    for line in text.splitlines():
        if re.match(r"Examples?:$", line):
            inside = True
        elif inside and line.startswith("  "):
            if not line.strip().startswith("#"):
                lines.append(line.strip())
        elif inside:
            inside = False
    return lines


def examples_of_page(text: str) -> list[tuple[str, str]]:
    """The lines after a prompt of each console session, each with what the page shows as its output."""
    examples = []
    for session in re.findall(r"```console\n(.*?)```", text, re.S):
        for part in ("\n" + session).split("\n$ ")[1:]:
            line, _, output = part.partition("\n")
            if line == "bandscope" or line.startswith(IS_RUN):
                examples.append((line, output))
    return examples


def differs(command: str, shown: str, printed: str) -> str:
    """Where the output is not what the page shows; `...` stands for lines left out.

    Of what was measured here, only the headings can be the same.
    """
    if not SAME_EVERYWHERE.search(command):
        headings = [line.split("  ")[0] for line in shown.splitlines() if re.match(r"[A-Z][a-z ]+  ", line)]
        missing = [heading for heading in headings if not re.search("^" + re.escape(heading), printed, re.M)]
        return f"no line begins with {missing[0]!r}" if missing else ""
    wanted = r"\n".join(r"(?:.*\n)*?.*" if line.strip() == "..." else re.escape(line) for line in shown.rstrip().splitlines())
    return "" if re.match(wanted + r"\n*$" if not shown.rstrip().endswith("...") else wanted, printed.rstrip() + "\n") else f"printed:\n{printed}"


def run(command: str, work: Path, place: Path) -> subprocess.CompletedProcess:
    home = work.with_name(f"{work.name}-home")
    (home / ".local/share/bash-completion/completions").mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "PATH": f"{place / 'bin'}:{os.environ['PATH']}", "HOME": str(home), "BANDSCOPE_JOURNALS": f"{home}/journals"}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LIMIT_S,
    )


def examples_of(source: str, examples: list[tuple[str, str]], is_page: bool, place: Path) -> int:
    """Runs the examples of one page or help in a copy of the inputs. Returns how many failed."""
    work = place / re.sub(r"\W+", "-", source)
    shutil.copytree(place / "inputs", work, symlinks=True)
    failed = 0
    for written, shown in examples:
        command = written.split("  #")[0].split(" # ")[0].strip()
        # A page shows what the whole command prints.
        is_whole = is_page and SAME_EVERYWHERE.search(written)
        for pattern, replacement in [] if is_whole else SHORTER:
            command = re.sub(pattern, replacement, command)
        for output in re.findall(r"(?:--output|-o|--save|--keep) ([\w.-]+)", command):
            if (work / output).exists():
                subprocess.run(["rm", "-rf", output, output.replace(".bandscope", ".disturbances.jsonl")], cwd=work, check=True)
        if "--truth" in command:
            run(f"rm -rf evening.bandscope evening.disturbances.jsonl && {DISTURBED}", work, place)
        tools = ["jq"] if command.startswith("jq ") else re.findall(r"\| (\w+)", command)
        lacking = [tool for tool in tools if shutil.which(tool) is None]
        if lacking:
            print(f"SKIPPED: no {', '.join(lacking)}: {written}")
            continue
        try:
            done = run(command, work, place)
            status, said = done.returncode, done.stderr
            wrong = differs(written, shown, done.stdout) if shown else ""
        except subprocess.TimeoutExpired:
            status, said, wrong = "none", f"took more than {LIMIT_S} s", ""
        right = status == 0 or (status == 1 and any(option in command for option in MAY_FAIL_A_CHECK)) or (status == 141 and "| head" in command)
        right = right and not wrong
        failed += not right
        lines = [f"{'ok    ' if right else 'FAILED'} {source}: {written}"]
        if command != written:
            lines.append(f"         as: {command}")
        if not right:
            lines.append(f"         status {status}: {(said + wrong).strip()}")
        print("\n".join(lines))
    return failed


def main() -> int:
    program = Path(sys.argv[1]).resolve()
    pages = sys.argv[2:] or PAGES
    subcommands = [] if sys.argv[2:] else re.findall(r"^  ([a-z]+)  ", subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout, re.M)
    found = [(page, line, output) for page in pages for line, output in examples_of_page((ROOT / page).read_text())]
    for name in [] if sys.argv[2:] else ["", *(name for name in subcommands if name != "help")]:
        text = subprocess.run([program, *name.split(), "--help"], capture_output=True, text=True, check=True).stdout
        found += [(f"{name} --help".strip(), line, "") for line in examples_of_help(text)]
    if len(found) < (1 if sys.argv[2:] else 80):
        print(f"only {len(found)} examples were found")
        return 1
    sources = {}
    for source, written, shown in found:
        sources.setdefault(source, []).append((written, shown))
    with tempfile.TemporaryDirectory(prefix="bandscope-examples-") as directory:
        place = Path(directory)
        (place / "bin").mkdir()
        (place / "bin" / "bandscope").symlink_to(program)
        inputs = place / "inputs"
        inputs.mkdir()
        for name in ("cases", "docs"):
            (inputs / name).symlink_to(ROOT / name)
        benchmark = inputs / "benchmark"
        benchmark.write_text("#!/bin/sh\nsleep 0.01\necho 'speed: 320.5 MB/s'\n")
        benchmark.chmod(0o755)
        loop = inputs / "loop"
        loop.write_text("#!/bin/sh\nwhile :; do :; done\n")
        loop.chmod(0o755)
        for command in filter(None, INPUTS.splitlines()):
            done = run(command, inputs, place)
            if done.returncode:
                print(f"could not prepare: {command}\n{done.stderr}")
                return 1
        # A page's examples read what those before them wrote; two pages know nothing of each other.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            failed = sum(pool.map(lambda source: examples_of(source, sources[source], source in pages, place), sources))
    print(f"{len(found)} examples, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
