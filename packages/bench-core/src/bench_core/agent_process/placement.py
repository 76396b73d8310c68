"""Choice of the process in which a run's agent works: its own, or the run's."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from bench_core.agent_process.foreign import ForeignProgram, foreign_program
from bench_core.agent_process.program import is_proctors, survey_agent
from bench_core.agent_process.variables import agent_variables
from bench_core.discovery import load_agent
from bench_core.errors import InputError
from bench_core.files.removal import remove_folder
from bench_core.files.temporary import owned_folder
from bench_core.records import AgentCode
from bench_core.redaction import Redactor
from bench_core.sealing.machine import how_to_seal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bench_core.agent_process.isolated import IsolatedAgent, Isolation
    from bench_core.agent_process.model_calls import ModelProxy
    from bench_core.protocols import Agent
    from bench_core.run_spec import RunSpec
    from bench_core.sealing.files import SealedFiles

AgentProcess = Literal["own", "shared"]
"""The agent's own process, or the run's."""


@contextlib.contextmanager
def opened_agent(
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
    program: ForeignProgram | None = None,
) -> Iterator[tuple[Callable[[], Agent], AgentCode]]:
    """Open the agent `name` for a run: yield the maker of each trial's agent, and the agent's record.

    Args:
        name: An installed agent's, or `module:attribute`.
        process: Its process; by default this one for Proctor's own agents and those that work on the opened
            environment itself, and a separate one for all others.
        model: The run's; an agent in its own process gets the variables of its provider.
        variables: Names of further environment variables for such an agent.
        memory: Bytes its process may write to.
        redactor: Knows the run's secrets; by default those in the environment.
        block_s: Seconds without a sign of life after which its process is ended; None for no limit.
        sealed: The files to hide from its own process, if the machine can.
        model_proxy: Forwards its model calls; any agent then works in its own process, without the key.
        program: The program it runs in, instead of the run's interpreter.

    Raises:
        InputError: It cannot be loaded, or cannot work there.
    """
    if model_proxy is not None:
        if process == "shared":
            raise InputError(
                "--model-proxy keeps the key from an agent, which `--agent-process shared` gives it: leave one out"
            )
        process = "own"
    code, trusted = AgentCode(process="shared"), False
    if program is None:
        found = survey_agent(name)
        trusted = is_proctors(found["place"])
        code = AgentCode(process="shared", **found)
        if process == "shared" or (process is None and trusted):
            yield lambda: load_agent(name), code
            return
    from bench_core.agent_process.isolated import Isolation, SharedOnlyError  # not for shared ones

    isolation = Isolation(
        memory=memory,
        redactor=redactor or Redactor.from_environment(),
        block_s=block_s,
        model_proxy=model_proxy,
        trusted=trusted,
    )
    variables_of_agent = agent_variables(None if model_proxy else model, variables)
    if model_proxy is not None:
        variables_of_agent |= model_proxy.variables
    if program is not None:
        files = program.sealed(sealed)
        with _isolated(name, isolation, variables_of_agent, files, foreign=program) as agent:
            yield lambda: agent, agent.agent_code
        return
    with contextlib.ExitStack() as stack:
        try:
            agent = stack.enter_context(
                _isolated(name, isolation, variables_of_agent, sealed, code=code)
            )
        except SharedOnlyError:
            if process is not None:
                raise
        else:
            yield lambda: agent, agent.agent_code
            return
    yield lambda: load_agent(name), code


@contextlib.contextmanager
def _isolated(
    name: str,
    isolation: Isolation,
    variables: Mapping[str, str],
    sealed: SealedFiles | None,
    *,
    code: AgentCode | None = None,
    foreign: ForeignProgram | None = None,
) -> Iterator[IsolatedAgent]:
    from bench_core.agent_process.isolated import IsolatedAgent  # as above
    from bench_core.agent_process.launcher import launcher_for

    with contextlib.ExitStack() as stack:
        made = None
        if sealed is not None:
            made = owned_folder("proctor-agent")
            stack.callback(remove_folder, made)
            isolation = replace(isolation, folder=made)
        preload = isolation.model_proxy is None
        launcher = launcher_for(
            name, variables, sealed, preload=preload, program=foreign, place=made
        )
        stack.callback(launcher.close)
        way = None if sealed is None else how_to_seal().way
        own = (code or AgentCode()).model_copy(update={"process": "own", "sealed": way})
        yield IsolatedAgent(name, launcher, isolation, own, foreign)


@contextlib.contextmanager
def agent_of(spec: RunSpec) -> Iterator[Agent]:
    """Open a run's agent in the process where it would work, to check that it can.

    Raises:
        InputError: It cannot be loaded, or cannot work there.
    """
    wanted = spec.agent_process
    proxy: ModelProxy | None = None
    if wanted.model_proxy:
        from bench_core.agent_process.model_calls import NO_CALLS  # only there

        proxy = NO_CALLS
    opened = opened_agent(
        spec.agent,
        process=wanted.process,
        model=spec.model,
        variables=wanted.variables,
        model_proxy=proxy,
        program=foreign_program(wanted),
    )
    with opened as (make, _):
        yield make()
