"""Where the agent of a run works: in a process of its own, or in that of the run."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

from bench_core.agent_process.isolated import IsolatedAgent, Isolation
from bench_core.agent_process.launching import launcher_for
from bench_core.agent_process.surroundings import agent_variables
from bench_core.discovery import find_plugins, load_agent
from bench_core.provenance import PROCTOR_DISTRIBUTIONS
from bench_core.records import AgentCode
from bench_core.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench_core.protocols import Agent

__all__ = ["AgentProcess", "is_proctors", "opened_agent"]

AgentProcess = Literal["own", "shared"]
"""A process of the agent's own, or that of the run."""

_PROCTORS = frozenset(name.replace("-", "_") for name in PROCTOR_DISTRIBUTIONS)


@contextlib.contextmanager
def opened_agent(  # noqa: PLR0913  # keywords, most with defaults
    name: str,
    *,
    process: AgentProcess,
    model: str | None = None,
    variables: Sequence[str] = (),
    memory: int | None = None,
    redactor: Redactor | None = None,
) -> Iterator[tuple[Callable[[], Agent], AgentCode]]:
    """Open the agent `name` for the time of a run: yields what makes that of a trial, and its record.

    Args:
        name: An installed agent's, or `module:attribute`.
        process: Where it works.
        model: The run's; an agent in a process of its own gets the variables of its provider.
        variables: Names of further environment variables that such an agent gets.
        memory: Bytes its process may write to.
        redactor: Knows the run's secrets; by default those in the environment.

    Raises:
        InputError: It cannot be loaded, or cannot work there.
    """
    code = AgentCode(process=process, distribution=_distribution(name))
    if process == "shared":
        yield lambda: load_agent(name), code
        return
    launcher = launcher_for(name, agent_variables(model, variables))
    isolation = Isolation(
        memory=memory,
        trusted=is_proctors(name),
        redactor=redactor or Redactor.from_environment(),
    )
    try:
        agent = IsolatedAgent(name, launcher, isolation, code)
        yield lambda: agent, code
    finally:
        launcher.close()


def is_proctors(name: str) -> bool:
    """Return whether an agent is Proctor's own code, by the place of its module."""
    values = [each.value for each in find_plugins("agent") if each.name == name]
    places = [name] if ":" in name else values
    return bool(places) and all(
        place.partition(":")[0].partition(".")[0] in _PROCTORS for place in places
    )


def _distribution(name: str) -> str | None:
    offers = [each for each in find_plugins("agent") if each.name == name]
    if ":" in name or len(offers) != 1:
        return None
    return f"{offers[0].distribution}=={offers[0].version}"
