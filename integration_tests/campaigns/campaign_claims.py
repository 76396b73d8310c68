"""Whether any of a million random claims, on any state, raises, takes long or breaks the laws of three-valued logic.

Claims and states are drawn by seed: deep, wide, cyclic, of wrong types, with patterns that make careless regular
expressions slow. In CI a test draws 300 of them.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections import Counter

from pydantic import TypeAdapter
from test_support.random_claims import random_assertion, random_state

from bench_core.records.claims import Assertion
from llm_judge.claims import States, decide, in_english, states_of

MEGABYTES = 1_000
SECONDS = 20


def main() -> int:
    """Run the campaign and return the exit code: 1 if a claim breaks a law, takes long, or memory grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    read = TypeAdapter(Assertion).validate_python
    found: Counter[str] = Counter()
    longest = 0.0
    for seed in range(asked.seed, asked.seed + asked.times):
        rng = random.Random(seed)  # not cryptography
        one = read(random_assertion(rng))
        end = random_state(rng)
        states = States(end, random_state(rng)) if rng.random() < 0.7 else states_of(end)
        before = time.process_time()
        decided = decide(one, states)
        longest = max(longest, time.process_time() - before)
        found[str(decided.truth)] += 1
        opposite = decide(read({"op": "not", "of": one.model_dump()}), states).truth
        lawful = opposite is (None if decided.truth is None else not decided.truth)
        told = decided.truth is not None or bool(decided.undecided)
        if not (lawful and told and in_english(one)):
            found["unlawful"] += 1
            print(f"seed {seed}: {decided}, its opposite {opposite}")
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{asked.times} claims: {dict(found)}; longest {longest:.2f} s, {megabytes} MB")
    return 1 if found["unlawful"] or megabytes > MEGABYTES or longest > SECONDS else 0


if __name__ == "__main__":
    raise SystemExit(main())
