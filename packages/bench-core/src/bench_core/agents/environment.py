"""What agents act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bench_core.agents.records import Action, ActionResult, Observation

__all__ = ["Environment"]


@runtime_checkable
class Environment(Protocol):
    """Can be observed and acted on: a desktop, a browser, a drawn page."""

    async def observe(self) -> Observation:
        """Return what there is to see now.

        Raises:
            EnvironmentFaultError: The environment is gone or does not answer.
        """
        ...

    async def act(self, action: Action) -> ActionResult:
        """Do one thing; what the agent got wrong is in the result, not raised.

        Raises:
            EnvironmentFaultError: The environment is gone or does not answer.
        """
        ...
