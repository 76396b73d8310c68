"""Runs of the toys into one folder, by workers or in this process, and what is compared of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worker_toys import Toys

from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter, Timeouts
from bench_core.runs import RunEnvironment, RunOutcome, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.workers import PipeTransport, Recipe

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import TrialResult

NAMES = ("quick-1", "quick-2", "wrong-1", "down-1", "bug-1", "large-1")


class Runs:
    """Runs toys into one folder, by workers unless said."""

    def __init__(self, place: Path, variables: dict[str, str]) -> None:
        self.place = place
        self.out = place / "runs" / "toys"
        self._variables = variables

    def arguments(self, *names: str, workers: bool = True, **more: Any) -> dict[str, Any]:
        known = NAMES if set(names) <= set(NAMES) else names
        timeouts = Timeouts(**{"cancel_grace_s": 20.0, **more.pop("timeouts", {})})
        spec = RunSpec(
            agent="do-nothing",
            tasks=TaskFilter(ids=names),
            workers=more.pop("at_once", min(2, len(names))),
            timeouts=timeouts,
            sealing="off",
            **more.pop("spec", {}),
        )
        policy = Policy(
            workers=spec.workers,
            attempts=more.pop("attempts", 2),
            timeouts=timeouts,
            backoff=Backoff(first_s=0.0),
            max_consecutive_faults=None,
        )
        options = {"names": list(known), "place": str(self.place), **more.pop("options", {})}
        with_ = RunEnvironment(
            locks=more.pop("locks", NoLocks()),
            policy=policy,
            recipe=Recipe(prepare="worker_toys:prepare", options=options),
            transport=more.pop("transport", PipeTransport(self._variables)) if workers else None,
            **more,
        )
        benchmark = Toys(tuple(known), self.place)
        return {"benchmark": benchmark, "spec": spec, "out": self.out, "run_environment": with_}

    def run(self, *names: str, **more: Any) -> RunOutcome:
        return run_benchmark_sync(**self.arguments(*names, **more))

    @property
    def results(self) -> dict[str, TrialResult]:
        return {key.task_id: each for key, each in read_run(self.out).results.items()}

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [dict(each.data) for each in read_run(self.out).events if each.kind == kind]

    def sleepers(self) -> list[int]:
        return [int(line) for line in (self.place / "sleepers").read_text().split()]


def comparable(result: TrialResult) -> dict[str, Any]:
    """Return what does not depend on when and by whom a trial was run."""
    fields = result.model_dump(mode="json")
    for name in (
        "started",
        "timings_s",
        "checksum",
        "sequence",
        "previous",
        "attempts",
        "artifacts",
        "details",
    ):
        fields.pop(name)
    if fields["error"]:
        fields["error"].pop("traceback")
    fields["files"] = [each.path for each in result.artifacts if each.path != "log.txt"]
    return fields
