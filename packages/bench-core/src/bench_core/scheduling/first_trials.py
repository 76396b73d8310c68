"""Whether a run's agent can begin at all, judged by how its first trials end."""

from __future__ import annotations

import re
from typing import Generic, TypeVar

from bench_core.faults import FaultKind, before_acting, lacks_something
from bench_core.records import ErrorInfo, TrialResult
from bench_core.trial.results import kind_fields

_T = TypeVar("_T")
_FEW = 3
_OWN_WORDS = re.compile(r"\S*[\d/\\]\S*")
"""Numbers, ids and paths, which differ from trial to trial in the same failure."""
_SIGNATURE = 200


class FirstTrials(Generic[_T]):
    """Holds back the results of a run's first trials until one shows whether the agent can begin.

    If all end in the same way before any act, that does not measure the agent: none is scored, and the next
    start does them again. As soon as one ends otherwise, those held count as the agent's.

    Args:
        planned: How many trials there are.
        begun: Whether some trial of the run was scored before.
    """

    def __init__(self, planned: int, *, begun: bool) -> None:
        self._enough = min(_FEW, max(planned, 2))
        self._begun = begun
        self._held: list[tuple[_T, TrialResult]] = []

    @property
    def undecided(self) -> bool:
        """Whether enough trials have ended alike that only the running ones may show something else."""
        return len(self._held) >= self._enough

    def ended(self, trial: _T, result: TrialResult) -> list[tuple[_T, TrialResult]]:
        """Return the trials whose results are final now that `trial` has ended, each with its result."""
        kind = None if self._begun else before_acting(result)
        if kind is None and result.score is None:  # tells nothing about the agent
            return [(trial, result)]
        if kind is not None and all(
            _signature(each) == _signature(result) for _, each in self._held
        ):
            self._held.append((trial, result))
            return []
        self._begun = True
        held, self._held = self._held, []
        return [*held, (trial, result)]

    def rest(self, *, cut_short: bool = False) -> list[tuple[_T, TrialResult]]:
        """Return the held results, as no other trial can show anything.

        One trial alone says little: it counts as the agent's, unless a missing part is named.

        Args:
            cut_short: Whether the run was stopped before its other trials could end.
        """
        held, self._held = self._held, []
        kind = before_acting(held[0][1]) if held else None
        alone = len(held) == 1 and not cut_short
        if kind is None or (alone and not lacks_something(held[0][1].error)):
            self._begun = self._begun or bool(held)
            return held
        return [(each, _unscored(result, kind)) for each, result in held]


def _signature(result: TrialResult) -> str:
    error = result.error or ErrorInfo(kind="", message="")
    message = re.sub(rf"(?<!\w){re.escape(result.task_id)}(?!\w)", "#", error.message)
    return f"{error.kind} {_OWN_WORDS.sub('#', message)[:_SIGNATURE]}"


def _unscored(result: TrialResult, kind: FaultKind) -> TrialResult:
    error = result.error or ErrorInfo(kind=result.status.value, message=result.status.value)
    fields = kind_fields(kind, error)
    *before, attempt = result.attempts
    attempt = attempt.model_copy(update={"status": kind.status, "error": fields["error"]})
    nothing = {"success": None, "suspect": (), "checks": (), "method": None, "confidence": None}
    return result.model_copy(
        update={
            **fields,
            **nothing,
            "ending": None,
            "flags": result.flags,
            "attempts": (*before, attempt),
        }
    )
