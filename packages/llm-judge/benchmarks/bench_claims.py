"""CPU seconds to decide all claims of a task on 1,000 trials, whose end states have 1,000 records.

    python packages/llm-judge/benchmarks/bench_claims.py [--trials 1000] [--records 1000] [--most 20]

Exits with 1 if it takes longer than `--most` seconds.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from typing import Any

from bench_core.records.claims import Claim, TaskClaims
from bench_core.records.judge import JudgeCase
from llm_judge.claims import ClaimFile, task_digest

ORDERED = {
    "op": "and",
    "of": [
        {"op": "created"},
        {"op": "is", "field": "/customer/name", "values": ["Ann Lee"]},
        {"op": "number", "field": "/total", "value": 120, "currency": "USD"},
        {"op": "moment", "field": "/date", "value": "2026-07-18T20:30", "zone": "America/Denver"},
        {"op": "word", "field": "/status", "meaning": "in effect", "accept": ["confirmed"], "reject": ["pending"]},
    ],
}  # fmt: skip
OVER = {"over": "/orders/*"}
ASSERTIONS: list[dict[str, Any]] = [
    {"op": "exactly", **OVER, "where": ORDERED},
    {"op": "none", **OVER, "where": {"op": "and", "of": [{"op": "created"}, {"op": "flag", "field": "/gift", "value": True}]}},
    {"op": "none", **OVER, "where": {"op": "changed", "field": "/status"}},
    {"op": "sum", **OVER, "field": "/quantity", "where": {"op": "created"}, "compare": ">=", "value": 3},
]  # fmt: skip


def main() -> int:
    """Print the seconds and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--most", type=float, default=20.0)
    asked = parser.parse_args()
    seeded = random.Random  # a draw, no secret
    start = {"orders": [order(number, seeded(number)) for number in range(asked.records)]}
    names = [f"c{number}" for number in range(len(ASSERTIONS))]
    case = JudgeCase(
        goal="Order for Ann Lee.",
        criteria=[{"id": name, "text": name} for name in names],
        initial_state=start, timezone="America/Denver", currency="USD",
    )  # fmt: skip
    claims = [
        Claim(criterion_id=name, criterion=name, assertion=one, approved_by="bench")
        for name, one in zip(names, ASSERTIONS, strict=True)
    ]
    task = TaskClaims(task=task_digest(case), case_id="bench", goal=case.goal, claims=claims)
    rule, seconds, decided = ClaimFile([task]), 0.0, 0
    for trial in range(asked.trials):
        end = json.loads(json.dumps(start))  # objects of its own, as read from a file
        rng = seeded(trial)
        made = {"total": "$120.00", "date": "2026-07-19T02:30:00Z", "status": "confirmed"}
        new = {**order(asked.records, rng), **made, "customer": {"name": "Ann Lee"}}
        end["orders"].append(new)
        before = time.process_time()
        decided += len(rule(case, end))
        seconds += time.process_time() - before
    print(
        f"{asked.trials} trials, {asked.records} records, {len(claims)} claims: {decided} decided in {seconds:.1f} CPU s"
    )
    return 1 if seconds > asked.most or decided != asked.trials * len(claims) else 0


def order(number: int, rng: random.Random) -> dict[str, Any]:
    """Draw an order."""
    day = f"2026-{rng.randrange(1, 13):02d}-{rng.randrange(1, 28):02d}"
    return {
        "id": f"o{number}",
        "customer": {"name": f"Customer {number % 97}"},
        "total": f"${rng.randrange(10, 900)}.{rng.randrange(10, 99)}",
        "status": rng.choice(["confirmed", "pending"]),
        "date": f"{day}T{rng.randrange(24):02d}:30:00Z",
        "quantity": rng.randrange(3, 9),
        "gift": False,
    }


if __name__ == "__main__":
    raise SystemExit(main())
