"""Whether a run knows every model call of agents in a language of their own that kill -9 ends somewhere.

Each agent's process makes calls as fast as the run permits them and dies by SIGKILL at a random moment. Its
ledger has a line for each call after the run permitted to go on; the record must have all of them, and
at most one more: the one that was under way.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import spending_agent  # needs the path above

from bench_core.records import Limits, Status, Task, TrialKey  # same
from bench_core.run_folder import read_run  # same
from bench_core.run_spec import AgentProcessSpec, RunSpec  # same
from bench_core.runs import RunEnvironment, run_benchmark_sync  # same
from bench_core.scheduling import NoLocks  # same
from bench_core.trial import Evaluation, TrialEnvironment  # same

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench_core.protocols import Agent, TrialContext
    from bench_core.trial import Evidence

_LEDGER = "SPENDING_LEDGER"
_PER_USD = round(1 / spending_agent.USD)


class Nothing:
    """Tasks in which there is nothing to do."""

    name = "nothing"
    environment = "text"

    def __init__(self, count: int) -> None:
        self._count = count

    def tasks(self) -> Sequence[Task]:
        """Return tasks with numbers for names."""
        limits = Limits(time_limit_s=300)
        return [
            Task(benchmark=self.name, task_id=f"kill-{number}", goal="Spend.", limits=limits)
            for number in range(self._count)
        ]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        """Open nothing."""
        del task, context, agent
        yield TrialEnvironment()

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score zero."""
        del evidence
        return Evaluation(score=0.0)


def main() -> int:
    """Run the campaign and return the exit code: 1 where a call was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        broken = campaign(Path(place), asked.kills, asked.workers)
    for each in broken:
        print(f"broken: {each}")
    return 1 if broken else 0


def campaign(place: Path, kills: int, workers: int) -> list[str]:
    """Return what was lost."""
    ledger = place / "ledger"
    ledger.touch()
    os.environ[_LEDGER] = str(ledger)
    spec = RunSpec(
        agent="spending",
        workers=workers,
        agent_process=AgentProcessSpec(
            command=f"{sys.executable} {spending_agent.__file__}", variables=(_LEDGER,)
        ),
    )
    run_benchmark_sync(
        Nothing(kills), spec, place / "run", run_environment=RunEnvironment(locks=NoLocks())
    )
    permitted = Counter(ledger.read_text(encoding="utf-8").split())
    results = read_run(place / "run").results
    broken = []
    for number in range(kills):
        task = f"kill-{number}"
        broken += _lost(results[TrialKey(task_id=task)], permitted[task])
    recorded = sum(each.usage.requests for each in results.values())
    print(
        f"{kills} kills: {sum(permitted.values())} calls permitted, {recorded} recorded, "
        f"{len(broken)} records wrong"
    )
    return broken


def _lost(result: Any, permitted: int) -> list[str]:
    recorded = result.usage.requests
    cost = round((result.cost_usd or 0.0) * _PER_USD)
    if not permitted <= recorded <= permitted + 1 or cost != recorded:
        return [f"{result.task_id}: {permitted} permitted, {recorded} recorded, ${result.cost_usd}"]
    if result.status is not Status.AGENT_ERROR or "SIGKILL" not in result.error.message:
        return [f"{result.task_id}: {result.status}, {result.error}"]
    return []


if __name__ == "__main__":
    sys.exit(main())
