"""Prints what was judged, as Markdown."""

import collections
import re

from judge import CHECKS


def rate(part, whole):
    """`3 of 40`; none of many is below three in so many (the rule of three: a 95 % bound)."""
    if not whole:
        return "-"
    return f"{part} of {whole}" if part else f"0 of {whole} (< 3/{whole})"


def by_kind(verdicts):
    """One row a kind of finding: how often each certainty was said, and wrongly."""
    print("| kind | certain: wrong | likely: wrong | possible: wrong | undecidable |\n|---|---|---|---|---|")
    kinds = collections.defaultdict(list)
    for verdict in verdicts:
        if verdict.kind not in CHECKS:
            kinds[verdict.kind].append(verdict)
    for kind, said in [*sorted(kinds.items()), ("all", [verdict for said in kinds.values() for verdict in said])]:
        cells = []
        for certainty in ("certain", "likely", "possible"):
            decided = [verdict for verdict in said if verdict.certainty == certainty and verdict.outcome != "undecidable"]
            cells.append(rate(sum(verdict.outcome == "wrong" for verdict in decided), len(decided)))
        undecidable = [verdict for verdict in said if verdict.outcome == "undecidable"]
        certain = sum(verdict.certainty == "certain" for verdict in undecidable)
        cells.append(f"{len(undecidable)}, of these {certain} `certain`" if undecidable else "0")
        print(f"| `{kind}` | {' | '.join(cells)} |" if kind != "all" else f"| all | {' | '.join(cells)} |")


def found(verdicts):
    asked = [verdict for verdict in verdicts if verdict.kind == "recall"]
    right = [verdict for verdict in asked if verdict.outcome == "right"]
    certain = sum(verdict.certainty == "certain" for verdict in right)
    return f"{rate(len(right), len(asked))}; `certain`: {rate(certain, len(asked))}"


def recall(verdicts, by_who):
    books = [verdict for verdict in verdicts if verdict.kind == "ledger"]
    print(f"\nCauses that a scene has, said at `likely` or better: {found(verdicts)}.")
    for who, mine in by_who.items():
        print(f"- {who}: {found(mine)}")
    print(f"Checks of the ledger that failed: {rate(sum(verdict.outcome == 'wrong' for verdict in books), len(books))}.\n")


def deterministic(results):
    """One row a scene, then one a kind."""
    print("\n| kernel | scene | findings | wrong: certain, likely, possible | causes missed | ledger checks failed |\n|---|---|---|---|---|---|")
    for kernel, scene, version, _, verdicts in results:
        said = [verdict for verdict in verdicts if verdict.kind not in CHECKS]
        wrong = ", ".join(str(sum(verdict.outcome == "wrong" and verdict.certainty == certainty for verdict in said))
                          for certainty in ("certain", "likely", "possible"))
        missed = [verdict.what for verdict in verdicts if verdict.outcome == "missed"]
        books = [verdict.what.removeprefix("ledger ") for verdict in verdicts if verdict.kind == "ledger" and verdict.outcome == "wrong"]
        print(f"| {version} | {scene.name} | {len(said)} | {wrong} | {', '.join(missed) or '-'} | {', '.join(books) or '-'} |")
    verdicts = [verdict for *_, some in results for verdict in some]
    print()
    by_kind(verdicts)
    recall(verdicts, {})
    caught = [verdict for verdict in verdicts if verdict.kind == "caught"]
    for what in ("caught", "sender"):
        mine = [verdict.outcome == "right" for verdict in caught if verdict.what.endswith(what)]
        print(f"Rare gaps, {'caught' if what == 'caught' else 'their sender right'}: {rate(sum(mine), len(mine))}.")
    for kind, what in (("doctor", "Items that `doctor` has right"), ("boot-line", "Boot lines of which `compare` says what they save"), ("cure", "Checks of cures that passed")):
        mine = [verdict.outcome == "right" for verdict in verdicts if verdict.kind == kind]
        print(f"{what}: {rate(sum(mine), len(mine))}.")


def numbers(text):
    """The numbers of the line of CPU 0 that rtla prints last; none if it printed no such line."""
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    lines = [line for line in text.splitlines() if re.match(r"\s*0 #\d+", line)]
    return [float(word) for word in re.findall(r"[\d.]+", lines[-1])] if lines else []


def osnoise(text):
    # CPU, number of periods, runtime, noise, available, longest noise, longest single, hardware, NMI, IRQ, softirq, thread.
    _, _, runtime, noise, _, longest, single, hardware, nmi, irq, softirq, thread = numbers(text)[:12]
    # Of the periods that it printed: the last one is not over when it ends.
    seconds = runtime / 1e6
    return (f"{noise / runtime:.2%} noise, at most {longest:.0f} µs in a period and {single:.0f} µs at once; "
            f"a second: {irq / seconds:.0f} IRQ, {softirq / seconds:.0f} softirq, {thread / seconds:.0f} thread, "
            f"{nmi / seconds:.0f} NMI, {hardware / seconds:.0f} hardware")


def timerlat(text):
    said = numbers(text)
    return f"timer to IRQ {said[4]:.0f} µs, at most {said[5]:.0f}; to thread {said[8]:.0f} µs, at most {said[9]:.0f}"


def oslat(text):
    """The histogram's microseconds, rounded up, of one thread: `NNN (us): COUNT`."""
    buckets = [(int(us), int(number)) for us, number in re.findall(r"^\s*(\d+) \(us\):\s+(\d+)", text, re.MULTILINE)]
    longest = int(re.search(r"Maximum:\s+(\d+)", text)[1])
    gaps = [(us, number) for us, number in buckets if us > 1 and number]
    return f"{sum(number for _, number in gaps)} gaps over 1 µs, at most {longest} µs"


OTHER_TOOLS = {"osnoise": osnoise, "timerlat": timerlat, "oslat": oslat}


def beside_tools(results, report_of):
    """What each tool says of the same scene. `report_of` gives bandscope's own report of a scene by its name, or None."""
    print("\n| scene | `rtla osnoise` | `rtla timerlat` | oslat | bandscope |\n|---|---|---|---|---|")
    cells = collections.defaultdict(dict)
    for _, scene, _, text, _ in results:
        name, tool = scene.name.split("-beside-")
        try:
            cells[name][tool] = OTHER_TOOLS[tool](text)
        except (IndexError, TypeError, ValueError):
            cells[name][tool] = "nothing that could be read"
    for name, said in cells.items():
        print(f"| {name} | {' | '.join(said.get(tool, '-') for tool in OTHER_TOOLS)} | {by_cause(report_of(name))} |")


def by_cause(report):
    """bandscope's account of a scene: the five largest causes, as shares of the wall time."""
    if report is None:
        return "not recorded: `machines/run all` first"
    wall, causes = 0, collections.Counter()
    for one in report["series"]:
        wall += one["ledger"]["wall_ns"]
        causes.update(one["ledger"]["gaps_ns"])
    return ", ".join(f"`{cause}` {ns / wall:.2%}" for cause, ns in causes.most_common(5) if ns)


def real(results):
    """One row a program and user, then one a kind."""
    print("\n| program | as | recordings | findings | wrong: certain, likely, possible | undecidable | causes missed | ledger checks failed |")
    print("|---|---|---|---|---|---|---|---|")
    for name, who in sorted({(name, who) for who, name, _ in results}):
        mine = [verdicts for one, other, verdicts in results if (other, one) == (name, who)]
        verdicts = [verdict for some in mine for verdict in some]
        said = [verdict for verdict in verdicts if verdict.kind not in CHECKS]
        wrong = ", ".join(str(sum(verdict.outcome == "wrong" and verdict.certainty == certainty for verdict in said))
                          for certainty in ("certain", "likely", "possible"))
        asked = [verdict for verdict in verdicts if verdict.kind == "recall"]
        books = [verdict for verdict in verdicts if verdict.kind == "ledger"]
        print(f"| {name} | {who} | {len(mine)} | {len(said)} | {wrong} | {sum(verdict.outcome == 'undecidable' for verdict in said)} | "
              f"{rate(sum(verdict.outcome == 'missed' for verdict in asked), len(asked))} | {rate(sum(verdict.outcome == 'wrong' for verdict in books), len(books))} |")
    verdicts = [verdict for *_, some in results for verdict in some]
    print()
    by_kind(verdicts)
    who = sorted({who for who, *_ in results})
    recall(verdicts, {one: [verdict for other, _, some in results for verdict in some if other == one] for one in who})
