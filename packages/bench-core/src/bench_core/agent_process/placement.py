"""Where the agent of a run works: in a process of its own, or in that of the run."""

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
"""A process of the agent's own, or that of the run."""


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
        program: What it runs in, instead of the interpreter of the run.

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
    """Open the agent of a run to see whether it can work, in the process where it would.

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
