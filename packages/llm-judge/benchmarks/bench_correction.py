"""Simulate judges of known accuracy: do the corrected rates cover the truth where the judged do not?

Each study judges 150 cases, labels 50 of them at random, and asks `calibrate` for intervals of 95%::

    python packages/llm-judge/benchmarks/bench_correction.py
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

from bench_core.cli.tables import render_table
from bench_core.judging import Verdict
from llm_judge import calibrate

if TYPE_CHECKING:
    from bench_core.statistics.intervals import Interval

STUDIES = 200
CASES, LABELLED = 150, 50
JUDGES = [(0.3, 0.9, 0.8), (0.1, 0.8, 0.95), (0.5, 0.7, 0.7), (0.6, 0.95, 0.9)]
LEVEL = 0.95


def main() -> None:
    """Print one table; exit with 1 if the corrected rates cover less than they say."""
    rng = random.Random(7)  # noqa: S311  # not cryptography
    slack = 3 * math.sqrt(LEVEL * (1 - LEVEL) / STUDIES)
    rows, missed = [], False
    for rate, sensitivity, specificity in JUDGES:
        covered = dict.fromkeys(("judged", "corrected", "Rogan-Gladen", "PPI++"), 0)
        for _ in range(STUDIES):
            for name, interval in study(rng, rate, sensitivity, specificity).items():
                covered[name] += interval is not None and interval.low <= rate <= interval.high
        shares = [f"{count / STUDIES:.1%}" for count in covered.values()]
        rows.append((f"{rate:.0%}", f"{sensitivity:.0%}", f"{specificity:.0%}", *shares))
        missed = missed or covered["corrected"] / STUDIES < LEVEL - slack
    print(f"intervals of 95% that cover the true rate, {STUDIES} studies each\n")
    headers = (
        "truth",
        "sensitivity",
        "specificity",
        "as judged",
        "corrected",
        "Rogan-Gladen",
        "PPI++",
    )
    print(render_table(headers, rows))
    print(f"\nbound: corrected >= {LEVEL - slack:.1%}{': missed' if missed else ''}")
    raise SystemExit(1 if missed else 0)


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
