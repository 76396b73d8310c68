"""Whether each reply of a provider has one owner, whichever agent meets it, first or late in a conversation.

Every agent meets every reply of `test_support/provider_replies.jsonl` from a real server, through its own client.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from integration_tests.fault_owners import AGENTS, expected_of, trial_of  # noqa: E402
from test_support.provider_replies import REPLIES  # noqa: E402


def main() -> int:
    """Run the campaign and return the exit code: 1 where an owner is another than the table's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="*", choices=AGENTS, default=AGENTS)
    parser.add_argument("--only", default="", help="replies whose name has this in it")
    parser.add_argument(
        "--endless", action="store_true", help="ask again and again until the time limit"
    )
    options = parser.parse_args()
    tried, wrong = 0, 0
    for agent, reply, late in product(options.agents, REPLIES, (False, True)):
        wanted = expected_of(reply, late=late)
        if options.only not in reply.name or (options.endless and not wanted.ask_again):
            continue
        tried += 1
        result = trial_of(agent, reply, late=late, endless=options.endless)
        while result.error is not None and result.error.fault == "clock_gap":  # as a run does
            result = trial_of(agent, reply, late=late, endless=options.endless)
        found = result.error.fault if result.error is not None else None
        if tried % 50 == 0:
            print(f"{tried} trials, now {agent}: {wrong} have another owner", flush=True)
        if (found, result.status) != (wanted.name, wanted.status):
            wrong += 1
            when = "late" if late else "first"
            print(
                f"{agent}, {reply.name}, {when}: {found} and not {wanted.name}: {result.error}",
                flush=True,
            )
    print(
        f"{tried} trials: {f'{wrong} have another owner' if wrong else 'all have the same owner'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
