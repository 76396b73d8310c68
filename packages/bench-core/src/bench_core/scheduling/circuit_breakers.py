"""Circuit breakers: a thing for which every trial fails is tried once more, and then left alone.

Several attempts in a row that end in the same fault of one thing - a site, a VM, the model, the
evaluator - say that the thing is out of order, not the trials. Those that need it wait then; after a
while one of them tries it, and either all go on or they are left for a later session.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.faults import recorded_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.records import TrialResult
    from bench_core.scheduling.resources import Claim

_SHARED = ("the model", "the evaluator", "the harness", "the environment")
"""Things every trial needs besides its claims; the last stands for the claims if there are none."""
_NUMBERS = re.compile(r"\d+")
_SIGNATURE = 120


@dataclass
class _Breaker:
    """The state of one thing: the fault its trials ended in, how often in a row, what follows.

    Attributes:
        probe_at: When one trial may try it; None while trials may use it as they like.
        probing: Whether one does.
        dead: Whether the trial that tried it met the same fault.
    """

    fault: str = ""
    message: str = ""
    streak: int = 0
    probe_at: float | None = None
    probing: bool = False
    dead: bool = False


@dataclass(frozen=True)
class Trip:
    """A change of a thing's state: `opened`, `closed` (it works again) or `dead`."""

    thing: str
    became: str
    streak: int
    message: str

    def __str__(self) -> str:
        if self.became == "closed":
            return f"{self.thing} works again: its trials go on"
        text = f"{self.thing}: {self.streak} attempts in a row ended with {self.message!r}"
        if self.became == "opened":
            return f"{text}; one trial tries it again before the others go on"
        return text


class CircuitBreakers:
    """Notes how attempts ended and decides which trials may start.

    Args:
        limit: How many equal faults in a row open a circuit; None for never.
        patience_s: How long after that one trial may try again.
    """

    def __init__(self, limit: int | None, patience_s: float) -> None:
        self._limit = limit
        self._patience_s = patience_s
        self._breakers: dict[str, _Breaker] = {}

    def may_start(self, claim: Claim, now: float) -> bool:
        """Whether a trial with this claim may start: all it needs works, or it may try the broken thing."""
        return all(
            not each.dead and not each.probing and now >= each.probe_at
            for _, each in self._open(claim)
            if each.probe_at is not None
        )

    def started(self, claim: Claim) -> None:
        """Note that a trial started, which may try a broken thing."""
        for _, each in self._open(claim):
            each.probing = True

    @property
    def waits(self) -> bool:
        """Whether a broken thing waits for its probe, or is being tried."""
        return any(each.probe_at is not None and not each.dead for each in self._breakers.values())

    def is_dead(self, claim: Claim) -> bool:
        """Whether a need of the trial was tried again and met the same fault."""
        return any(each.dead for _, each in self._open(claim))

    def is_open(self, claim: Claim) -> bool:
        """Whether a need of the trial is broken."""
        return any(True for _ in self._open(claim))

    def ended(self, claim: Claim, result: TrialResult, now: float, *, probe: bool) -> list[Trip]:
        """Note how an attempt ended; return the changes this caused.

        Args:
            claim: The needs of its trial.
            result: Its result.
            now: In seconds of a clock that only grows.
            probe: Whether it was started to try a broken thing.
        """
        if self._limit is None:
            return []
        if result.score is not None:
            return list(self._works(claim)) if self._breakers else []
        return list(self._fails(claim, result, now, probe=probe))

    def _open(self, claim: Claim) -> Iterator[tuple[str, _Breaker]]:
        if not self._breakers:  # asked four times for each trial, and nearly always so
            return
        for thing in _needs(claim):
            breaker = self._breakers.get(thing)
            if breaker is not None and breaker.probe_at is not None:
                yield thing, breaker

    def _works(self, claim: Claim) -> Iterator[Trip]:
        for thing in _needs(claim):
            breaker = self._breakers.pop(thing, None)
            if breaker is not None and breaker.probe_at is not None and not breaker.dead:
                yield Trip(thing, "closed", breaker.streak, breaker.message)

    def _fails(
        self, claim: Claim, result: TrialResult, now: float, *, probe: bool
    ) -> Iterator[Trip]:
        blamed = _blamed(claim, result)
        fault, message = _fault_of(result)
        for thing in blamed:
            breaker = self._breakers.setdefault(thing, _Breaker())
            breaker.streak = breaker.streak + 1 if breaker.fault == fault else 1
            breaker.fault, breaker.message = fault, message
            if breaker.probe_at is None and breaker.streak >= (self._limit or 0):
                breaker.probe_at = now + self._patience_s
                yield Trip(thing, "opened", breaker.streak, message)
            elif breaker.probing and probe:
                breaker.dead = True
                yield Trip(thing, "dead", breaker.streak, message)
        if probe:
            for _, breaker in self._open(claim):
                breaker.probing = False


def _needs(claim: Claim) -> list[str]:
    return [*sorted(claim.names), *_SHARED]


def _blamed(claim: Claim, result: TrialResult) -> list[str]:
    """Return the things that are broken according to an attempt without a score; empty if unknown."""
    kind = recorded_fault(result)
    if kind is None or kind.breaker is None or result.error is None:
        return []
    return [kind.breaker] if kind.breaker != "claimed" else sorted(claim.names) or [_SHARED[-1]]


def _fault_of(result: TrialResult) -> tuple[str, str]:
    """Return the key by which two faults are the same, and its message; numbers are those of one trial."""
    error = result.error
    if error is None:
        return "", ""
    message = error.message[:_SIGNATURE]
    # Ports, process ids and times differ from trial to trial in the same fault.
    return f"{error.phase} {error.kind} {_NUMBERS.sub('#', message)}", message
