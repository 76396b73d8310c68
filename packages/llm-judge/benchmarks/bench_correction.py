"""Simulate judges of known accuracy: do the corrected rates cover the truth where the judged do not?

Each study judges 150 cases, labels 50 of them at random, and asks `calibrate` for intervals of 95%; then
40 labels chosen by the verdict. With `--docs FILE` both tables are written between their markers there; those of the
documentation are of more studies::

    python packages/llm-judge/benchmarks/bench_correction.py --studies 600 --docs docs/judge-calibration.md
"""

from __future__ import annotations

import argparse
import math
import random
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.cli import render_table
from bench_core.records.judge import Verdict
from llm_judge import calibrate

if TYPE_CHECKING:
    from bench_core.statistics import Interval

STUDIES = 200
CASES, LABELLED = 150, 50
JUDGES = [(0.3, 0.9, 0.8), (0.1, 0.8, 0.95), (0.5, 0.7, 0.7), (0.6, 0.95, 0.9)]
LEVEL, LEAST, MOST = 0.95, 0.93, 0.97
LEAST_CHOSEN = 0.90
BIASED = {
    "at random": 1.0,
    "passes twice as often": 2.0,
    "passes five times as often": 5.0,
    "passes only": 1e9,
}
CHOSEN_SHARE, UNDECIDED = 0.3, 0.15
MARKERS = "<!-- {} labels: begin -->", "<!-- {} labels: end -->"


def main() -> None:
    """Print two tables; exit with 1 if the corrected rates cover less, or more, than they say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=Path)
    parser.add_argument("--studies", type=int, default=STUDIES)
    asked = parser.parse_args()
    rng = random.Random(7)  # noqa: S311  # not cryptography
    missed = at_random(rng, asked.studies, asked.docs)
    missed = chosen(rng, int(asked.studies * CHOSEN_SHARE), asked.docs) or missed
    raise SystemExit(1 if missed else 0)


def at_random(rng: random.Random, studies: int, docs: Path | None) -> bool:
    """Labels at random: how often is the truth covered? Returns whether a bound is missed."""
    rows, missed = [], False
    for rate, sensitivity, specificity in JUDGES:
        covered = dict.fromkeys(("judged", "corrected", "Rogan-Gladen", "PPI++"), 0)
        for _ in range(studies):
            for name, interval in study(rng, rate, sensitivity, specificity).items():
                covered[name] += interval is not None and interval.low <= rate <= interval.high
        shares = [f"{count / studies:.1%}" for count in covered.values()]
        rows.append((f"{rate:.0%}", f"{sensitivity:.0%}", f"{specificity:.0%}", *shares))
        share = covered["corrected"] / studies
        slack = 3 * math.sqrt(LEVEL * (1 - LEVEL) / studies)
        missed = missed or not LEAST - slack <= share <= MOST + slack
    headers = ("truth", "sensitivity", "specificity", "as judged", "corrected", "Rogan-Gladen", "PPI++")  # fmt: skip
    show(
        "random",
        headers,
        rows,
        docs,
        f"intervals of 95% that cover the true rate, {studies} studies each",
    )
    print(f"bound: corrected {LEAST:.0%} to {MOST:.0%}{': missed' if missed else ''}\n")
    return missed


def chosen(rng: random.Random, studies: int, docs: Path | None) -> bool:
    """Labels chosen by the verdict: covered, or refused? Returns whether a bound is missed."""
    rows, missed = [], False
    for name, weight in BIASED.items():
        for rate, sensitivity, specificity in JUDGES[:3]:
            covered = refused = 0
            for _ in range(studies):
                interval, truth = biased(rng, (rate, sensitivity, specificity), weight)
                refused += interval is None
                covered += interval is not None and interval.low <= truth <= interval.high
            given = studies - refused
            share = covered / given if given else None
            slack = 3 * math.sqrt(LEAST_CHOSEN * (1 - LEAST_CHOSEN) / given) if given else 0.0
            missed = missed or (share is not None and share < LEAST_CHOSEN - slack)
            covered_share = "-" if share is None else f"{share:.0%}"
            judge = (f"{rate:.0%}", f"{sensitivity:.0%}", f"{specificity:.0%}")
            rows.append((name, *judge, f"{refused / studies:.0%}", covered_share))
    headers = (
        "labels",
        "truth",
        "sensitivity",
        "specificity",
        "refused",
        "covered, of those given",
    )
    show("chosen", headers, rows, docs, f"40 labels chosen by the verdict, {studies} studies each")
    print(f"bound: covered at least {LEAST_CHOSEN:.0%}{': missed' if missed else ''}")
    return missed


def show(
    name: str, headers: tuple[str, ...], rows: list[tuple[str, ...]], docs: Path | None, title: str
) -> None:
    """Print a table, and write it between its markers."""
    print(f"{title}\n\n{render_table(headers, rows)}\n")
    if docs is None:
        return
    begin, end = (each.format(name) for each in MARKERS)
    text = docs.read_text(encoding="utf-8")
    lines = [f"| {' | '.join(each)} |" for each in (headers, ("---",) * len(headers), *rows)]
    before, found, rest = text.partition(begin)
    if not found or end not in rest:
        raise SystemExit(f"{docs} has no markers {begin} and {end}")
    table = f"{title[0].upper()}{title[1:]}:\n\n" + "\n".join(lines)
    docs.write_text(f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def biased(
    rng: random.Random, judge: tuple[float, float, float], weight: float
) -> tuple[Interval | None, float]:
    """Judge, label passes `weight` times as often, and correct; returns what is given and what is so."""
    rate, sensitivity, specificity = judge
    verdicts, truths, keys = [], {}, {}
    for number in range(CASES):
        case = f"c{number}"
        truths[case] = rng.random() < rate
        passes = rng.random() < (sensitivity if truths[case] else 1 - specificity)
        outcome = "abstain" if rng.random() < UNDECIDED else "pass" if passes else "fail"
        verdicts.append(
            Verdict.model_validate({"case_id": case, "judge": "simulated", "outcome": outcome})
        )
        keys[case] = rng.random() ** (1 / (weight if outcome == "pass" else 1))
    known = sorted(keys, key=keys.__getitem__, reverse=True)[:40]
    found = calibrate(verdicts, {case: truths[case] for case in known}).corrected
    return (None if found is None else found.these_results), sum(truths.values()) / CASES


def study(
    rng: random.Random, rate: float, sensitivity: float, specificity: float
) -> dict[str, Interval | None]:
    """Judge, label and correct once."""
    verdicts, truths = [], {}
    for number in range(CASES):
        case = f"c{number}"
        truths[case] = rng.random() < rate
        passed = rng.random() < (sensitivity if truths[case] else 1 - specificity)
        outcome = "pass" if passed else "fail"
        verdicts.append(Verdict(case_id=case, judge="simulated", outcome=outcome))
    known = {case: truths[case] for case in rng.sample(sorted(truths), LABELLED)}
    found = calibrate(verdicts, known).corrected
    if found is None:
        return {}
    return {"judged": found.judged, "corrected": found.new_tasks,
            "Rogan-Gladen": found.rogan_gladen, "PPI++": found.ppi}  # fmt: skip


if __name__ == "__main__":
    main()
