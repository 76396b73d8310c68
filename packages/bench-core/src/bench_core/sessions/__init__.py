"""Sessions: reset, step, state, score and close over any benchmark, for learning and for other programs.

::

    from bench_core import sessions

    with sessions.open("waa", task="notepad/save-as") as session:
        seen = session.reset()
        seen = session.step({"kind": "keys", "keys": ["ctrl", "s"]})
        print(session.score().score)

An episode is a trial: `bench_core.trial` opens, captures and scores it, with whoever calls as its agent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.sessions.blocking import Session, SessionGroup, open, open_many  # noqa: A004
    from bench_core.sessions.records import (
        EpisodeError,
        SessionBusyError,
        SessionSettings,
        SessionState,
        SessionStep,
        TaskNote,
    )
    from bench_core.sessions.session import AsyncSession, read_action

__all__ = [
    "AsyncSession",
    "EpisodeError",
    "Session",
    "SessionBusyError",
    "SessionGroup",
    "SessionSettings",
    "SessionState",
    "SessionStep",
    "TaskNote",
    "open",
    "open_many",
    "read_action",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "blocking": ("Session", "SessionGroup", "open", "open_many"),
        "records": (
            "EpisodeError",
            "SessionBusyError",
            "SessionSettings",
            "SessionState",
            "SessionStep",
            "TaskNote",
        ),
        "session": ("AsyncSession", "read_action"),
    },
)
