"""Interface of the environments that agents act on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from bench_core.agents.records import Action, ActionResult, Observation

CLASSIC = frozenset(
    {"click", "move", "drag", "scroll", "type", "keys", "wait", "screenshot", "switch_tab", "done", "fail"}
)  # fmt: skip
"""The kinds of actions that an environment is taken to offer where it does not say."""


@runtime_checkable
class Environment(Protocol):
    """Can be observed and acted on: a desktop, a browser, a drawn page."""

    async def observe(self) -> Observation:
        """Return the current observation.

        Raises:
            EnvironmentFaultError: The environment is gone or does not answer.
        """
        ...

    async def act(self, action: Action) -> ActionResult:
        """Carry out one action; the agent's mistakes are in the result, not raised.

        Raises:
            EnvironmentFaultError: The environment is gone or does not answer.
        """
        ...


@runtime_checkable
class Offering(Protocol):
    """An environment that says which actions it offers."""

    async def offers(self) -> frozenset[str]:
        """Return the kinds (`Action.kind`) that `act` carries out.

        Raises:
            EnvironmentFaultError: The environment is gone or does not answer.
        """
        ...


async def offered(environment: Environment) -> frozenset[str]:
    """Return the kinds of actions that an environment offers; `CLASSIC` if it does not say."""
    kinds = await environment.offers() if isinstance(environment, Offering) else CLASSIC
    # the loop itself answers these
    return kinds | {"screenshot", "done", "fail"}
