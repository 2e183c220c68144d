#!/usr/bin/env python3
"""What a barrier that passes messages in steps costs, beside one that needs each rank once: jobs of cluster/barrier.py, simulated.

    cluster/steps.py [--ranks 16] [--phases-ms 1,5] [--trials 5]

Each rank is away as under the disturbers of cluster/barrier.py, each at times of its own. Prints how much longer than its work a phase takes, the median of the trials: `flat`,
all wait for the last; `pairs`, log2(n) steps in which each rank waits for another (dissemination); `tree`, up a binary tree and down again; `rounds`, as many steps as `pairs` in
each of which all wait for the last. A step of a rank that is away waits.
"""

import argparse
import bisect
import random
import statistics

import barrier

STEP_S = 0.5e-6


class Rank:
    """Absences of one rank, in order."""

    def __init__(self, seed: int, scale: float) -> None:
        draw = random.Random(seed)
        period, length = barrier.PERIOD_MS * 1e-3 * scale, barrier.LENGTH_MS * 1e-3 * scale
        jitter = float(barrier.JITTER.strip("%")) / 100 / 2
        self.absences, end = [], -1.0
        for begin in sorted((turn + draw.uniform(-jitter, jitter)) * period for turn in range(int((barrier.SECONDS + 1) / period))):
            end = max(begin, end) + length
            self.absences.append((end - length, end))
        self.ends = [end for _, end in self.absences]

    def done(self, now: float, work: float) -> float:
        """When work that begins now is done."""
        for begin, end in self.absences[bisect.bisect_right(self.ends, now) :]:
            if begin <= now:
                now = end
            elif now + work < begin:
                break
            else:
                work -= begin - now
                now = end
        return now + work


def flat(ranks: list[Rank], arrived: list[float]) -> list[float]:
    return [rank.done(max(arrived), STEP_S) for rank in ranks]


def pairs(ranks: list[Rank], arrived: list[float]) -> list[float]:
    apart = 1
    while apart < len(ranks):
        arrived = [rank.done(max(arrived[place], arrived[place - apart]), STEP_S) for place, rank in enumerate(ranks)]
        apart *= 2
    return arrived


def rounds(ranks: list[Rank], arrived: list[float]) -> list[float]:
    for _ in range((len(ranks) - 1).bit_length()):
        arrived = flat(ranks, arrived)
    return arrived


def tree(ranks: list[Rank], arrived: list[float]) -> list[float]:
    up = arrived[:]
    for place in reversed(range(len(ranks))):
        below = [up[child] for child in (2 * place + 1, 2 * place + 2) if child < len(ranks)]
        up[place] = ranks[place].done(max(up[place], *below, 0.0), STEP_S)
    down = up[:]
    for place in range(1, len(ranks)):
        down[place] = ranks[place].done(max(up[place], down[(place - 1) // 2]), STEP_S)
    return down


def longer(ranks: list[Rank], phase_s: float, wait) -> float:
    now, phases = [0.0] * len(ranks), 0
    while max(now) < barrier.SECONDS:
        now = wait(ranks, [rank.done(since, phase_s) for rank, since in zip(ranks, now)])
        phases += 1
    return max(now) / phases / phase_s - 1


def main() -> None:
    parser = argparse.ArgumentParser(description="What a barrier in steps costs.")
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--phases-ms", type=lambda text: [float(word) for word in text.split(",")], default=[1.0, 5.0])
    parser.add_argument("--trials", type=int, default=5)
    arguments = parser.parse_args()
    middle = (arguments.ranks - 1) / 2
    for phase_ms in arguments.phases_ms:
        for wait in (flat, pairs, tree, rounds):
            found = []
            for trial in range(arguments.trials):
                ranks = [Rank(1000 * trial + place, 1 + barrier.SPREAD * (place - middle)) for place in range(arguments.ranks)]
                found.append(longer(ranks, phase_ms / 1e3, wait))
            print(f"phase {phase_ms:g} ms, {wait.__name__}: longer by {statistics.median(found):.0%} ({min(found):.0%} to {max(found):.0%})", flush=True)


if __name__ == "__main__":
    main()
