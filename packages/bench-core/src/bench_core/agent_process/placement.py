"""Where the agent of a run works: in a process of its own, or in that of the run."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bench_core.agent_process.isolated import IsolatedAgent, Isolation, SharedOnlyError
from bench_core.agent_process.launcher import launcher_for
from bench_core.agent_process.model_calls import NO_CALLS
from bench_core.agent_process.program import describe_program
from bench_core.agent_process.variables import agent_variables
from bench_core.discovery import load_agent, locate_plugin
from bench_core.errors import InputError
from bench_core.records import AgentCode
from bench_core.redaction import Redactor
from bench_core.run_folder.provenance import PROCTOR_DISTRIBUTIONS
from bench_core.sealing import how_to_seal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench_core.agent_process.model_calls import ModelProxy
    from bench_core.protocols import Agent
    from bench_core.run_spec import RunSpec
    from bench_core.sealing import SealedFiles

__all__ = ["AgentProcess", "agent_of", "opened_agent"]

AgentProcess = Literal["own", "shared"]
"""A process of the agent's own, or that of the run."""

_PROCTORS = frozenset(name.replace("-", "_") for name in PROCTOR_DISTRIBUTIONS)


@contextlib.contextmanager
def opened_agent(  # noqa: PLR0913  # keywords, most with defaults
    name: str,
    *,
    process: AgentProcess | None = None,
    model: str | None = None,
    variables: Sequence[str] = (),
    memory: int | None = None,
    redactor: Redactor | None = None,
    block_s: float | None = None,
    sealed: SealedFiles | None = None,
    model_proxy: ModelProxy | None = None,
) -> Iterator[tuple[Callable[[], Agent], AgentCode]]:
    """Open the agent `name` for the time of a run: yields what makes that of a trial, and its record.

    Args:
        name: An installed agent's, or `module:attribute`.
        process: Where it works; by default Proctor's own agents, and those that work on the opened
            environment itself, in this process and all others in their own.
        model: The run's; an agent in a process of its own gets the variables of its provider.
        variables: Names of further environment variables that such an agent gets.
        memory: Bytes its process may write to.
        redactor: Knows the run's secrets; by default those in the environment.
        block_s: Seconds that its process may give no sign before it is ended; None is no limit.
        sealed: The files that are hidden from a process of its own, on a machine that can do so.
        model_proxy: Passes on its model calls; then any agent works in a process of its own, which has no
            key.

    Raises:
        InputError: It cannot be loaded, or cannot work there.
    """
    offer = locate_plugin("agent", name)
    place = offer.value if offer else name
    trusted = _is_proctors(place)
    code = AgentCode(
        process="shared",
        distribution=f"{offer.distribution}=={offer.version}" if offer else None,
        **describe_program(place, proctors=trusted),
    )
    if model_proxy is not None:
        _refuse_shared(process)
        process = "own"
    if process == "shared" or (process is None and trusted):
        yield lambda: load_agent(name), code
        return
    with contextlib.ExitStack() as stack:
        folder = None
        if sealed is not None:
            made = tempfile.TemporaryDirectory(prefix="proctor-agent-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(made))
        if model_proxy is None:
            given = agent_variables(model, variables)
        else:
            given = {**agent_variables(None, variables), **model_proxy.variables}
        launcher = launcher_for(name, given, sealed, preload=model_proxy is None)
        stack.callback(launcher.close)
        isolation = Isolation(
            memory=memory,
            trusted=trusted,
            redactor=redactor or Redactor.from_environment(),
            block_s=block_s,
            folder=folder,
            model_proxy=model_proxy,
        )
        way = None if sealed is None else how_to_seal().way
        own = code.model_copy(update={"process": "own", "sealed": way})
        try:
            agent = IsolatedAgent(name, launcher, isolation, own)
        except SharedOnlyError:
            if process is not None:
                raise
        else:
            yield lambda: agent, own
            return
    yield lambda: load_agent(name), code


@contextlib.contextmanager
def agent_of(spec: RunSpec) -> Iterator[Agent]:
    """Open the agent of a run to see whether it can work, in the process where it would.

    Raises:
        InputError: It cannot be loaded, or cannot work there.
    """
    wanted = spec.agent_process
    opened = opened_agent(
        spec.agent,
        process=wanted.process,
        model=spec.model,
        variables=wanted.variables,
        model_proxy=NO_CALLS if wanted.model_proxy else None,
    )
    with opened as (make, _):
        yield make()


def _refuse_shared(process: AgentProcess | None) -> None:
    if process == "shared":
        raise InputError(
            "--model-proxy keeps the key from an agent, which `--agent-process shared` gives it: leave one out"
        )


def _is_proctors(place: str) -> bool:
    """Return whether a module is Proctor's own code."""
    return place.partition(":")[0].partition(".")[0] in _PROCTORS
