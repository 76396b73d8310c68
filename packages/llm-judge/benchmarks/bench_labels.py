"""Simulate which cases to label: how much narrower does `label --next` make the interval than a random choice?

Each study has 200 cases; the judge is unsure of 30, passes or fails the others and states a confidence. 40
labels by `label --next` stand beside 40 and 80 at random. With `--docs FILE` the table is written there.
"""

from __future__ import annotations

import argparse
import math
import random
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.cli import render_table
from bench_core.records.judge import CriterionVerdict, Verdict, Vote
from llm_judge import calibrate
from llm_judge.calibration.label_choice import next_to_label

if TYPE_CHECKING:
    from collections.abc import Sequence

CASES, UNSURE, LABELS = 200, 30, 40
JUDGES = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
"""By how many standard deviations what the judge sees differs between right and wrong states."""
RATE = 0.4
BEGIN, END = "<!-- active labels: begin -->", "<!-- active labels: end -->"
HEADERS = (
    "right verdicts", "40 by `--next`: width", "covers", "40 at random: width", "covers", "80 at random: width", "covers",
    "labels needed", "at best",
)  # fmt: skip


def main() -> None:
    """Print the table; exit with 1 if an interval covers less than it says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--studies", type=int, default=40)
    asked = parser.parse_args()
    rows, missed = [], False
    for number, apart in enumerate(JUDGES):
        row, covered = judge(random.Random(100 + number), apart, asked.studies)  # noqa: S311
        rows.append(row)
        missed = missed or covered < 0.93 - 3 * math.sqrt(0.95 * 0.05 / asked.studies)
    title = (
        f"Mean widths of 95% intervals of the rate over {CASES} cases, {asked.studies} studies each"
    )
    print(f"{title}\n\n{render_table(HEADERS, rows)}")
    if asked.docs is not None:
        text = asked.docs.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        lines = [f"| {' | '.join(each)} |" for each in (HEADERS, ("---",) * len(HEADERS), *rows)]
        table = f"{title}:\n\n" + "\n".join(lines)
        asked.docs.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}", "utf-8")
    raise SystemExit(1 if missed else 0)


def judge(rng: random.Random, apart: float, studies: int) -> tuple[tuple[str, ...], float]:
    """Return the row of one judge, and how often the interval by `--next` covers."""
    widths: dict[str, list[float]] = {"next": [], "random": [], "twice": []}
    covered = dict.fromkeys(widths, 0)
    right, best = [], []
    for _ in range(studies):
        verdicts, truth, scores = study(rng, apart)
        decided = [each for each in verdicts if each.passed is not None]
        right.append(sum(each.passed == truth[each.case_id] for each in decided) / len(decided))
        best.append(best_share(truth, scores, verdicts))
        names = sorted(truth)
        for kind, known in (
            ("next", next_to_label(verdicts, {}, LABELS)),
            ("random", rng.sample(names, LABELS)),
            ("twice", rng.sample(names, 2 * LABELS)),
        ):
            labels = {case: truth[case] for case in known}
            found = calibrate(verdicts, labels, by_verdict=kind == "next").corrected
            if found is None:
                continue
            here = found.these_results
            widths[kind].append(here.high - here.low)
            covered[kind] += here.low <= sum(truth.values()) / CASES <= here.high
    mean = {kind: math.fsum(each) / len(each) for kind, each in widths.items()}
    cells = [
        cell
        for kind in widths
        for cell in (f"{mean[kind]:.3f}", f"{covered[kind] / len(widths[kind]):.1%}")
    ]
    # random labels that give that width, where it falls as a power of their number between the two
    power = math.log(mean["twice"] / mean["random"]) / math.log(2)
    needed = (mean["next"] / mean["random"]) ** (-1 / power)
    shares = f"{needed:.0%}", f"{math.fsum(best) / studies:.0%}"
    return (
        f"{math.fsum(right) / studies:.0%}", *cells, *shares,
    ), covered["next"] / studies  # fmt: skip


def study(
    rng: random.Random, apart: float
) -> tuple[list[Verdict], dict[str, bool], dict[str, float]]:
    """Return verdicts, what is so, and the chance of success that a judge who knows itself states."""
    truth = {f"c{number}": rng.random() < RATE for number in range(CASES)}
    seen = {each: rng.gauss(apart / 2 if good else -apart / 2, 1) for each, good in truth.items()}
    prior = math.log(RATE / (1 - RATE))
    scores = {each: 1 / (1 + math.exp(-apart * x - prior)) for each, x in seen.items()}
    unsure = set(sorted(scores, key=lambda each: abs(scores[each] - 0.5))[:UNSURE])
    verdicts = []
    for case, score in scores.items():
        said = "pass" if score > 0.5 else "fail"
        vote = Vote(model="m", verdict=said, confidence=max(score, 1 - score))
        criterion = CriterionVerdict(criterion_id="c1", verdict=said, reason="", votes=(vote,))
        verdicts.append(
            Verdict.model_validate({
                "case_id": case, "judge": "simulated", "criteria": (criterion,),
                "outcome": "abstain" if case in unsure else said,
            })
        )  # fmt: skip
    return verdicts, truth, scores


def best_share(
    truth: dict[str, bool], scores: dict[str, float], verdicts: Sequence[Verdict]
) -> float:
    """Return the share of random labels that 40 are worth, chosen by verdict and thirds of the confidence.

    The choice knows how often each of these parts is right, which none can: it is a bound.
    """
    parts: list[list[bool]] = []
    for outcome in ("pass", "fail", "abstain"):
        cases = [each.case_id for each in verdicts if each.outcome == outcome]
        cases.sort(key=scores.__getitem__)
        cuts = [round(len(cases) * third / 3) for third in range(4)]
        parts += [[truth[each] for each in cases[a:b]] for a, b in pairwise(cuts) if b > a]
    spreads = [_spread(part) for part in parts]
    drawn = [1] * len(parts)
    for _ in range(LABELS - len(parts)):
        gains = [
            len(part) ** 2 * spread * (1 / n - 1 / (n + 1)) if n < len(part) else -1.0
            for part, spread, n in zip(parts, spreads, drawn, strict=True)
        ]
        drawn[gains.index(max(gains))] += 1
    variance = sum(
        len(part) ** 2 * spread * (1 / n - 1 / len(part))
        for part, spread, n in zip(parts, spreads, drawn, strict=True)
    )
    passed = [truth[each.case_id] for each in verdicts if each.outcome == "pass"]
    others = [truth[each.case_id] for each in verdicts if each.outcome != "pass"]
    within = CASES * sum(len(each) * _spread(each) for each in (passed, others))
    # of so many random labels, corrected by what passed and what did not
    return variance / within * LABELS + LABELS / CASES


def _spread(part: Sequence[bool]) -> float:
    rate = sum(part) / len(part)
    return rate * (1 - rate)


if __name__ == "__main__":
    main()
