"""Signs of attempts to score without doing the task, collected while a trial runs."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from bench_core.records.integrity import Integrity, IntegrityCode, IntegrityFinding
from bench_core.records.trial import Status
from bench_core.run_folder.provenance import PROCTOR_DISTRIBUTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench_core.protocols import Agent
    from bench_core.records import AgentCode
    from bench_core.records.integrity import IntegrityOutcome

_PROCTORS = frozenset(name.replace("-", "_") for name in PROCTOR_DISTRIBUTIONS)
_RANK = {"blocked": 0, "unknown": 1, "succeeded": 2}
_DETAIL = 300
_CLEAN, _UNKNOWN = Integrity(state="clean"), Integrity(state="unknown")
_VOIDS = frozenset({Status.ENVIRONMENT_ERROR, Status.EVALUATION_ERROR})


class IntegrityWatch:
    """Collects findings of one trial, each code once; safe to use from any thread.

    Attributes:
        watched: Whether the agent's acts were looked at, so that no finding means that it made none.

    Example:
        >>> watch = IntegrityWatch(watched=True)
        >>> for each in ("file:///etc/passwd", "file:///home"):
        ...     watch.note(IntegrityCode.LOCAL_PAGE, "blocked", each)
        >>> [(str(each.code), each.count, each.detail) for each in watch.findings]
        [('local_page', 2, 'file:///etc/passwd')]
    """

    def __init__(self, *, watched: bool = False) -> None:
        self.watched = watched
        self._lock = threading.Lock()
        self._found: dict[IntegrityCode, IntegrityFinding] = {}

    def note(
        self, code: IntegrityCode, outcome: IntegrityOutcome = "unknown", detail: str = ""
    ) -> None:
        """Add one time that the agent did something; `detail` of the first time is kept."""
        self.add(IntegrityFinding(code=code, outcome=outcome, detail=detail[:_DETAIL]))

    def note_act(self, code: IntegrityCode, blocked: bool, act: str) -> None:  # the gateway's
        """Add an act of the agent's on its browser that was blocked, or had its effect."""
        self.note(code, "blocked" if blocked else "succeeded", act)

    def add(self, finding: IntegrityFinding) -> None:
        """Add a finding; of two outcomes of one code the worse stands."""
        with self._lock:
            known = self._found.get(finding.code)
            if known is None:
                self._found[finding.code] = finding
                return
            outcome = max(known.outcome, finding.outcome, key=_RANK.__getitem__)
            change = {"count": known.count + finding.count, "outcome": outcome}
            self._found[finding.code] = known.model_copy(update=change)

    @property
    def findings(self) -> tuple[IntegrityFinding, ...]:
        """The findings, in the order of the first time."""
        with self._lock:
            return tuple(self._found.values())


def integrity_of(
    watch: IntegrityWatch, more: Iterable[IntegrityFinding] = (), *, contained: bool
) -> Integrity:
    """Return the integrity of a result: `clean` only if the agent was watched and `contained`.

    Args:
        watch: The findings of the environment.
        more: The findings of the evaluation.
        contained: Whether the agent could not change the harness itself.
    """
    found = (*watch.findings, *more)
    if not found:
        return _CLEAN if watch.watched and contained else _UNKNOWN
    both = IntegrityWatch(watched=watch.watched)
    for each in found:
        both.add(each)
    return Integrity(state="flagged", findings=both.findings)


def is_contained(agent: Agent, code: AgentCode | None) -> bool:
    """Return whether an agent has a process of its own or is Proctor's own code.

    A third party's code in the harness's process can change its watcher; `contained = False` says
    that an agent of Proctor's own stands for one.
    """
    if code is not None and code.process == "own":
        return True
    if not getattr(agent, "contained", True):
        return False
    return type(agent).__module__.partition(".")[0] in _PROCTORS


def void_of(
    status: Status, detail: str, *, found: bool, claimed: bool
) -> tuple[IntegrityFinding, ...]:
    """Return the finding of a trial without a score whose agent may have made it so.

    A fault is not taken for the environment's alone if the agent did an act that no task needs, or if
    only a third party's code in the harness's own process claims it.

    Args:
        status: How the trial ended.
        detail: The event in words.
        found: Whether anything else was found of the agent.
        claimed: Whether the agent itself raised the fault, and is not Proctor's own.
    """
    if status not in _VOIDS or not (found or claimed):
        return ()
    return (
        IntegrityFinding(
            code=IntegrityCode.VOID_SUSPECT, outcome="succeeded", detail=detail[:_DETAIL]
        ),
    )
