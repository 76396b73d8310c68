"""Runs that may stop early: batch by batch, by a rule that was stored before the first trial.

A rule computes as it likes (`bench_core.statistics.looks` has the one that comes with bench-core);
here it is only asked. A look happens when a batch is complete; the decision follows from stored
results alone, so that a killed run decides the same when it goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bench_core.discovery import load_plugin
from bench_core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.records import Record, RunInfo, Task, TrialKey, TrialResult
    from bench_core.run_folder.folder import RunFolder
    from bench_core.run_spec import LookSpec

_KIND = "kind"


class Decision(Protocol):
    """The decision of a look; a record with these fields."""

    reason: str

    @property
    def stops(self) -> bool:
        """Whether the run stops here."""
        ...


class StoppingRule(Protocol):
    """Decides at looks whether a run stops; knows only the stored results."""

    def plan(
        self, tasks: Sequence[Task], info: RunInfo, against: Path, settings: Mapping[str, JsonValue]
    ) -> dict[str, JsonValue]:
        """Return the record to store; its `kind` is the name of the rule."""
        ...

    def batches(self, rule: Mapping[str, JsonValue]) -> list[frozenset[str]]:
        """Return the tasks of each batch, in order."""
        ...

    def look(
        self,
        rule: Mapping[str, JsonValue],
        number: int,
        results: Iterable[TrialResult],
        pending: int,
    ) -> Record:
        """Look at the first `number` batches, a `Decision`; `pending` of their trials may run again."""
        ...


def with_rule(
    info: RunInfo, asked: LookSpec | None, tasks: Sequence[Task], before: RunInfo | None
) -> RunInfo:
    """Return `info` with the stopping rule that was stored, or else with the one asked for.

    Args:
        info: The description of the run.
        asked: The rule that this command asks for.
        tasks: The run's tasks.
        before: The run that is continued, if it is.

    Raises:
        InputError: The run began without a rule and one is asked for, or with another number of looks.
    """
    if before is not None:
        # The stored rule counts: one chosen after looking at results would void its error rate.
        stored = before.stopping_rule
        looks = len(_rule(stored).batches(stored)) if stored else None
        if (asked and asked.looks) != looks and (asked or stored):
            had = "without looks" if looks is None else f"with {looks} looks"
            raise InputError(
                f"this run began {had}, and when it may stop is fixed before the first trial: "
                "give the same --looks, or another folder"
            )
        return info.model_copy(update={"stopping_rule": stored})
    if asked is None:
        return info
    rule: StoppingRule = load_plugin("stopping_rule", asked.rule)()
    settings = {"looks": asked.looks, **asked.settings}
    return info.model_copy(
        update={"stopping_rule": rule.plan(tasks, info, asked.against, settings)}
    )


def batches_of(info: RunInfo) -> list[frozenset[str]] | None:
    """Return the tasks of each batch of a run that may stop early; `None` for another."""
    return _rule(info.stopping_rule).batches(info.stopping_rule) if info.stopping_rule else None


def decide(folder: RunFolder, number: int, pending: Sequence[TrialKey]) -> Record:
    """Look at the first `number` batches of a run, of which `pending` trials may run again."""
    rule = folder.info.stopping_rule or {}
    return _rule(rule).look(rule, number, folder.results().values(), len(pending))


def _rule(stored: Mapping[str, JsonValue] | None) -> StoppingRule:
    rule: StoppingRule = load_plugin("stopping_rule", str((stored or {})[_KIND]))()
    return rule
