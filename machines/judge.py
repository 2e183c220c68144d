"""Holds a report against what is true of its recording, by the rules of docs/truth.md."""

import dataclasses

PACE = {"bistable-pace", "alternating-bands", "sub-loop-mixture", "frequency-steps", "moving-edges", "edge-pairs", "smt-neighbour",
        "interrupt-helps", "interrupted-loop", "core-coupling", "warm-up", "migration"}
# A task slept as often as is said, if its count over some seconds is so near: it begins and ends anywhere in a period.
SLEPT_AS_OFTEN = 0.03
RANK = {"possible": 0, "likely": 1, "certain": 2}
# Largest share of the wall time that may be booked to nobody where nobody but the guest can take any.
MAX_UNNAMED = 2e-5
# How far a disturbance may lie from what was caught of it: a worker, or a task, may have to wait for a tick or two.
CAUGHT_WITHIN_S = 0.01
# Of the twenty a scene has, some may lie before the first quantum or behind the last.
LEAST_DISTURBED = 15
# Kinds of verdicts that are about no finding.
CHECKS = ("recall", "ledger", "caught", "doctor", "boot-line", "cure")
# A finding may not say that a cause takes more than the ledger booked to it, by more than this.
MAX_OVER_BOOKED = 1.05


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of one finding or one check. `outcome`: right, wrong, missed, undecidable."""

    what: str
    kind: str
    outcome: str
    certainty: str
    note: str

    @property
    def failure(self):
        """The name under which a failure is known, without figures; None if it is none. What is only `possible` is counted in the tables."""
        if self.outcome == "wrong" and self.certainty == "possible":
            return None
        if self.outcome in ("wrong", "missed"):
            return f"{self.outcome} {self.certainty} {self.what}".replace("  ", " ")
        return "undecidable certain " + self.what if self.outcome == "undecidable" and self.certainty == "certain" else None


def ledger(report, truth, cause=None, series=None):
    """Nanoseconds booked on the measured CPU: to `cause`, or the wall time."""
    total = 0
    for index, one in enumerate(report["series"]):
        if one["cpu"] == truth.cpu and (series is None or index in series):
            lines = one["ledger"]
            total += lines["wall_ns"] if cause is None else sum(ns for key, ns in lines["gaps_ns"].items() if key == cause)
    return total


def judge(report, truth):
    """All verdicts on a report."""
    mine = [finding for finding in report["findings"] if any(report["series"][index]["cpu"] == truth.cpu for index in finding["series"])]
    verdicts = [one_finding(finding, report, truth) for finding in mine]
    verdicts += missed(mine, report, truth)
    verdicts += booked(report, truth)
    return verdicts


def caught(report, wanted, disturbed):
    """What a flight recorder has of each disturbance, one verdict whether it is there and one whether the sender is right."""
    verdicts = []
    if len(disturbed) < LEAST_DISTURBED:
        verdicts.append(Verdict(f"{wanted.cause} caught", "caught", "missed", "", f"only {len(disturbed)} disturbances while it watched"))
    for moment in report["moments"]:
        begin, over = moment["at_s"], moment["at_s"] + moment["length_ns"] / 1e9
        if not any(begin <= end + CAUGHT_WITHIN_S and over >= start - CAUGHT_WITHIN_S for start, end in disturbed):
            verdicts.append(Verdict(f"{wanted.cause} caught besides", "caught", "wrong", "", f"at {begin:.4f} s: {moment['causes'][:3]}"))
    for start, end in disturbed:
        near = [moment for moment in report["moments"]
                if moment["at_s"] <= end + CAUGHT_WITHIN_S and moment["at_s"] + moment["length_ns"] / 1e9 >= start - CAUGHT_WITHIN_S]
        mine = [moment for moment in near if moment["causes"][0]["cause"].startswith(wanted.cause)]
        # First who is behind the main cause.
        behind = [chain for moment in mine for chain in moment["behind"][:1] if moment["causes"][0]["cause"].startswith(chain["cause"])]
        right = any(chain["sender"] == wanted.sender and wanted.function in chain["function"] and chain["set_by"] == wanted.set_by
                    for chain in behind)
        note = f"at {start:.4f} s: {len(near)} moments, behind them {sorted({(chain['cause'], chain['function'], chain['sender'], chain['set_by']) for chain in behind})}"
        verdicts.append(Verdict(f"{wanted.cause} caught", "caught", "right" if mine else "missed", "", note))
        verdicts.append(Verdict(f"{wanted.cause} sender", "caught", "right" if right else "missed", "", note))
    return verdicts


def one_finding(finding, report, truth):
    evidence, kind = finding["evidence"], finding["kind"]
    cause, hz = evidence.get("cause"), evidence.get("frequency_hz")
    what, outcome, note = kind, "undecidable", finding["summary"]
    if kind in ("periodic-interference", "alias") and hz:
        outcome, why = periodic(finding, cause, hz, report, truth)
        what = f"{kind} {cause or 'without a cause'}: {why}"
    elif kind in PACE:
        outcome = "wrong" if truth.constant_pace else "undecidable"
    elif kind == "clock-drift":
        # Quanta are made of the ticks that they are told in.
        outcome = "undecidable" if cause == "calibration" else "wrong"
    elif kind == "stolen-time":
        outcome = "wrong" if truth.alone else "undecidable"
    elif kind == "quantisation":
        # Two neighbouring counts at one pace: true wherever the counts that it names are neighbours.
        low, high = evidence["counts"]
        outcome = "right" if high - low == 1 else "wrong"
    elif cause:
        outcome = away(cause, truth)
        what = f"{kind} {cause}"
    return Verdict(what, kind, outcome, finding["certainty"], note)


def periodic(finding, cause, hz, report, truth):
    """Whether a period is one of the scene's, of the right culprit, and for no more than was booked to it."""
    if cause == "host" and not truth.alone:
        return "undecidable", "of the host"
    if cause == "tick" and not any(cause in train.causes for train in truth.trains):
        return "undecidable", "of a tick whose period is not known"
    near = [train for train in truth.trains if abs(hz / train.hz - 1.0) <= truth.hz_tolerance]
    own = [train for train in truth.trains if cause is not None and cause in train.causes]
    if any(not train.kept for train in own) and not any(train in near for train in own):
        return "undecidable", "of what did not keep its period"
    if not near:
        if cause in truth.aperiodic:
            return "wrong", "has no period"
        if cause is None and not truth.events and any(is_part(hz, train.hz, truth) for train in truth.trains):
            return "undecidable", "each so-many-th event of a train"
        if cause is None and any(abs(hz - own) <= 3 * finding["evidence"]["uncertainty_hz"] for own in truth.kernel_hz):
            return "undecidable", "of the kernel's own work"
        scene = cause is None or cause in ("tick", "host", "unnamed") or any(cause in train.causes for train in truth.trains)
        if scene and (truth.alone or cause in ("tick",)):
            return "wrong", "frequency"
        if scene and cause is not None and cause not in ("host", "unnamed"):
            return "wrong", "frequency"
        if slept(cause, hz, truth):
            return "right", "as often as it slept"
        # The kernel's own workers have periods that nobody here set.
        return "undecidable", "not of the scene"
    if not any(cause in train.causes for train in near):
        return "wrong", "culprit"
    series = finding["series"]
    said = hz * finding["evidence"]["ns_per_event"] * ledger(report, truth, series=series) / 1e9
    # Without a cause, or without kernel events, which give the ledger its causes: what all gaps took.
    taken = ledger(report, truth, cause, series) if cause is not None and truth.events else sum(
        sum(report["series"][index]["ledger"]["gaps_ns"].values()) for index in series if report["series"][index]["cpu"] == truth.cpu)
    if said > MAX_OVER_BOOKED * taken:
        return "wrong", "cost"
    return "right", "frequency and culprit"


def slept(cause, hz, truth):
    """Whether a task of this name, which is not of the scene, slept as often by the kernel's count."""
    kind, _, name = (cause or "").partition(":")
    rates = [rate for names, rate in truth.sleepers if kind in ("task", "timer") and name in names]
    return any(abs(hz / rate - 1.0) <= SLEPT_AS_OFTEN for rate in rates)


def is_part(hz, of_hz, truth):
    """Whether a frequency is a whole part of another."""
    times = of_hz / hz
    return round(times) > 1 and abs(times / round(times) - 1.0) <= truth.hz_tolerance


def away(cause, truth):
    """Whether a cause that is said to take time can be one of this recording."""
    if cause.startswith("task:swapper"):
        return "wrong"
    if cause.startswith(("throttled:", "stopped", "frozen")):
        return "right" if truth.throttled and truth.throttled[0] == cause else "wrong"
    if cause in ("host", "unnamed"):
        return "wrong" if truth.alone else "undecidable"
    # A kernel event has named it: it was there.
    return "right" if truth.events else "undecidable"


def missed(findings, report, truth):
    """What the recording shows and no finding says at `likely` or better."""
    def said(test, name, least="likely"):
        best = max((finding["certainty"] for finding in findings if test(finding["evidence"], finding)), key=RANK.get, default=None)
        if best is None or RANK[best] < RANK[least]:
            return [Verdict(name, "recall", "missed", best or "", f"{name}: {best or 'not said'}")]
        return [Verdict(name, "recall", "right", best, "")]

    verdicts = []
    for train in truth.trains:
        if train.expected:
            cause = max(filter(None, train.causes), key=lambda cause: (cause.startswith("task:"), cause))
            verdicts += said(lambda evidence, finding: finding["kind"] == "periodic-interference" and train_is(train, evidence, truth),
                             f"period of {cause} ({train.hz:.6g} Hz)", train.least)
    for causes in truth.named if truth.events else []:
        verdicts += said(lambda evidence, finding: evidence.get("cause") in causes, f"cause {' or '.join(sorted(causes))}")
    if truth.throttled:
        verdicts += said(lambda evidence, finding: evidence.get("cause") == truth.throttled[0], f"cause {truth.throttled[0]}")
    return verdicts


def train_is(train, evidence, truth):
    """Whether it is this train: by its frequency, and where kernel events can name it, by its culprit."""
    named = evidence.get("cause") in train.causes - {None, "unnamed", "preempted", "irq:local_timer"}
    return abs(evidence["frequency_hz"] / train.hz - 1.0) <= truth.hz_tolerance and (named or not truth.events)


def booked(report, truth):
    """The ledger against the logs."""
    wall = ledger(report, truth)
    verdicts = []

    def check(what, good, note):
        verdicts.append(Verdict(what, "ledger", "right" if good else "wrong", "", note))

    closes = all(one["ledger"]["wall_ns"] == one["ledger"]["work_ns"] + sum(one["ledger"]["pace_ns"].values()) + sum(one["ledger"]["gaps_ns"].values())
                 + one["ledger"]["measurement_ns"] + one["ledger"]["unexplained_ns"] for one in report["series"])
    check("ledger closes", closes, "wall time = work + every loss")
    if truth.alone and truth.events:
        nobody = ledger(report, truth, "host") + ledger(report, truth, "unnamed")
        check("ledger host and unnamed", nobody <= MAX_UNNAMED * wall, f"{nobody / wall:.6%} of the wall time, at most {MAX_UNNAMED:.3%}")
    for one in truth.booked if truth.events else []:
        ns = ledger(report, truth, one.cause)
        check(f"ledger {one.cause}", one.low <= ns <= one.high, f"{ns / 1e6:.3f} ms, true {one.low / 1e6:.3f} to {one.high / 1e6:.3f} ms")
    if truth.load and truth.events:
        names, low, high = truth.load
        ns = sum(ledger(report, truth, name) for name in names)
        check("ledger of the program", low <= ns <= high, f"{ns / 1e6:.3f} ms, true {low / 1e6:.3f} to {high / 1e6:.3f} ms")
    if truth.waited_ns is not None and truth.events:
        def sums(*prefixes):
            return sum(ns for one in report["series"] if one["cpu"] == truth.cpu for key, ns in one["ledger"]["gaps_ns"].items() if key.startswith(prefixes))

        # A softirq, and the timers in it, may run in a thread of its own, which is then waited for, or in an interrupt, which is not.
        tasks, softirqs, edges = sums("task:", "throttled:", "preempted"), sums("softirq:", "timer:"), 0.001 * wall
        check("ledger of all tasks", 0.97 * tasks - edges <= truth.waited_ns <= 1.03 * (tasks + softirqs) + edges,
              f"{tasks / 1e6:.3f} ms and {softirqs / 1e6:.3f} ms of softirqs and timers, its time on the run queue {truth.waited_ns / 1e6:.3f} ms")
    if truth.throttled and truth.throttled[1] is not None and truth.events:
        cause, share = truth.throttled
        ns, edges = ledger(report, truth, cause), 0.03 * max(share, 0.4)
        others = sum(ns for one in report["series"] if one["cpu"] == truth.cpu for key, ns in one["ledger"]["gaps_ns"].items() if key.startswith("task:"))
        check(f"ledger {cause}", share - others / wall - edges <= ns / wall <= share + edges,
              f"{ns / wall:.2%} of the wall time, true {share:.2%}, others had {others / wall:.2%}")
    return verdicts
