from __future__ import annotations

import os
from random import Random

from test_support.random_claims import random_assertion, random_state

from bench_core.records.claims import Claim
from llm_judge.claims.evaluation import States, decide
from llm_judge.claims.witnesses import witness

DRAWS = int(os.environ.get("FUZZED_CLAIMS", "300")) // 3


def test_a_state_is_found_for_nearly_every_claim_that_some_state_meets() -> None:
    satisfiable = found = 0
    for seed in range(DRAWS):
        rng = Random(seed)  # noqa: S311  # not cryptography
        one = Claim(criterion_id="c", criterion="x", assertion=random_assertion(rng, 3))
        start = random_state(rng)
        assert one.assertion is not None
        if not isinstance(start, dict):
            continue
        ends = [start, *(random_state(rng) for _ in range(12))]
        if any(decide(one.assertion, States(end, start)).truth for end in ends):
            satisfiable += 1
            made = witness(one, start)
            assert made is None or decide(one.assertion, made).truth is True
            found += made is not None
    assert satisfiable > DRAWS / 5
    assert found >= 0.95 * satisfiable
