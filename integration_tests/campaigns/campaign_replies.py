"""Whether any of a million hostile replies passes, raises, or lets memory grow.

Replies are drawn by seed: cut, padded, doubled, contradicting, with evidence that is not there or says
nothing, a stream passed on as it came, some larger than any answer. In CI a test draws 20,000 of them.
"""

from __future__ import annotations

import argparse
import random
import resource
from collections import Counter

from test_support.hostile_replies import hostile_replies, outcome_of_reply, passing_reply
from test_support.scripted_judges import criterion_for_value

from llm_judge import prepare, samples

MEGABYTES = 600
PLACE = "/tablely/finalstate/bookings/0"


def main() -> int:
    """Run the campaign and return the exit code: 1 where a reply passes or memory grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    case = samples.case()
    texts = (
        criterion_for_value(f"{PLACE}/time", "8:30 PM"),
        criterion_for_value(f"{PLACE}/guests", 3),
    )
    named = [{"id": f"c{number}", "text": text} for number, text in enumerate(texts)]
    prepared = prepare(type(case).model_validate({**case.model_dump(), "criteria": named}))
    replies = hostile_replies(
        passing_reply(prepared), random.Random(asked.seed)
    )  # not cryptography
    found: Counter[str] = Counter()
    for number in range(asked.times):
        text = next(replies)
        try:
            outcome = outcome_of_reply(prepared, text)
        except Exception as error:  # noqa: BLE001  # any exception at all is what is looked for
            outcome = f"raised {type(error).__name__}"
        if outcome not in {"abstain", "error", "fail", "void"}:
            print(f"reply {number} of seed {asked.seed}: {outcome}: {text[:2_000]!r}")
        found[outcome] += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{asked.times} replies, seed {asked.seed}: {dict(found)}; peak {peak} MB")
    wrong = set(found) - {"abstain", "error", "fail", "void"}
    return 1 if wrong or peak > MEGABYTES else 0


if __name__ == "__main__":
    raise SystemExit(main())
