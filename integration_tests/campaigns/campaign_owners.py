"""Whether each reply of a provider has one owner, whichever agent meets it, first or late in a conversation.

Every agent meets every reply of `test_support/provider_replies.jsonl`, or a share that is drawn, from a real server,
through its own client: on a picture, or with `--worlds` in the built-in worlds of the three benchmarks, whose commands
run them.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from integration_tests.fault_owners import AGENTS, expected_of, in_world, trial_of  # noqa: E402
from test_support.provider_replies import REPLIES, ProviderReply  # noqa: E402


def main() -> int:
    """Run the campaign and return the exit code: 1 where an owner is another than the table's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", nargs="*", choices=AGENTS, default=AGENTS)
    parser.add_argument("--only", default="", help="replies whose name has this in it")
    parser.add_argument(
        "--endless", action="store_true", help="ask again and again until the time limit"
    )
    parser.add_argument("--share", type=float, default=1.0, help="part of all cases, drawn by seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worlds", nargs="*", choices=WORLDS, help="instead of a picture")
    options = parser.parse_args()
    if options.worlds is not None:
        return worlds(options.worlds or list(WORLDS), options.seed)
    drawn = random.Random(options.seed)
    tried, wrong = 0, 0
    for agent, reply, late in product(options.agents, REPLIES, (False, True)):
        wanted = expected_of(reply, late=late)
        if options.only not in reply.name or (options.endless and not wanted.ask_again):
            continue
        if drawn.random() >= options.share:
            continue
        tried += 1
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


WORLDS = {
    "multireal-harness": ("tool-calling", "computer-use", "browser-use"),
    "webarena-runner": ("tool-calling", "computer-use", "browser-use"),
    "waa-client": ("tool-calling", "computer-use"),
}
"""The command of each benchmark, and agents that work in its world."""


def worlds(commands: list[str], seed: int) -> int:
    """Run a trial of each world with replies of every kind that does not stop the run, drawn by seed."""
    drawn = random.Random(seed)
    kinds: dict[str, list[ProviderReply]] = {}
    for each in drawn.sample(REPLIES, len(REPLIES)):
        if not expected_of(each, late=True).stops_run:
            kinds.setdefault(each.kind, []).append(each)
    tried, wrong = 0, 0
    for command, agent in ((each, agent) for each in commands for agent in WORLDS[each]):
        replies = [drawn.choice(each) for each in kinds.values()]
        with tempfile.TemporaryDirectory() as folder:
            results = in_world(command, agent, replies, Path(folder) / "run")
        wrong += not results
        for reply, result in results:
            wanted = expected_of(reply, late=True)
            found = result.error.fault if result.error is not None else None
            same = (found, result.status) == (wanted.name, wanted.status)
            tried, wrong = tried + 1, wrong + (not same)
            print(
                f"{command}, {agent}, {reply.name}: {found}"
                + ("" if same else f" and not {wanted.name}: {result.error}"),
                flush=True,
            )
    print(
        f"{tried} trials: {f'{wrong} have another owner' if wrong else 'all have the same owner'}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
