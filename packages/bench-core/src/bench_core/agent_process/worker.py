"""The agent's side of the process boundary: runs one agent on one task and reports for it.

The agent has its thread and loop to itself; another thread reads the run's messages, so that answers arrive even if
the agent blocks its loop.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import faulthandler
import logging
import os
import pickle  # only the run's own data is unpickled
import signal
import sys
from typing import IO, Any

from pydantic import TypeAdapter

from bench_core.agent_process.connection import (
    Connection,
    Outgoing,
    PipeMeter,
    ReportedLog,
    ReportedProcesses,
)
from bench_core.agent_process.messages import error_line
from bench_core.agent_process.program import survey_agent
from bench_core.budgets import TRIAL_METER
from bench_core.child_process.framing import FrameError, encode_line
from bench_core.child_process.pipes import own_pipes
from bench_core.discovery import load_agent
from bench_core.guides import add_guide
from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
from bench_core.records import AgentOutcome, AgentTask
from bench_core.running_time import RUNNING_TIME, leave_out_gaps
from bench_core.trial.agent_work import awaitable_of, settled

_HANDLE: TypeAdapter[Any] = TypeAdapter(EnvironmentHandle)
_ASKED = ("view", "check", "check_environment", "check_model")


def serve(incoming: IO[bytes], outgoing: Outgoing) -> int:
    """Carry out the run's order, such as to run the agent, and send the outcome; return the exit code.

    An order that fails is an outcome, too; the code is 1 only if the run's messages cannot be read. The caller must
    redirect standard output and error: agents print.
    """
    connection = Connection(incoming, outgoing)
    try:
        order = connection.order()
        if order is None:
            return 0
        connection.send(_carried_out(order, connection))
    except FrameError as error:
        print(f"bench-core agent-process: {error}", file=sys.stderr)  # noqa: T201  # to its log
        return 1
    return 0


def serve_process() -> None:
    """Serve standard input and output, and end the process without waiting for the agent's threads."""
    incoming, outgoing = own_pipes()
    faulthandler.enable()
    if sys.platform != "win32":  # the run sends it to learn where an agent hangs
        faulthandler.register(signal.SIGUSR2, all_threads=True)
    leave(serve(incoming, outgoing))


def leave(code: int) -> None:
    """End the process at once, without waiting for threads and exit handlers of the agent."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _carried_out(order: dict[str, Any], connection: Connection) -> bytes:
    """Carry out the order and return the last line to send."""
    try:
        for guide in order.get("guides") or ():
            add_guide(**guide)
        # before the import, which may change the files
        program = survey_agent(order["agent"]) if order.get("survey") else None
        if program is not None:
            program["git"] = _plain(program.get("git"))
        agent = load_agent(order["agent"])
        if order["type"] == "work":
            # not `asyncio.run`, which waits for tasks and threads that the agent left running
            loop = leave_out_gaps(asyncio.new_event_loop())
            with RUNNING_TIME:
                outcome = loop.run_until_complete(_work(agent, order, connection))
            if isinstance(outcome, AgentOutcome):
                return encode_line("result", value=_plain(outcome))
            kind = type(outcome).__name__
            return error_line(TypeError(f"the agent returned {kind} instead of an AgentOutcome"))
        if order["type"] == "ask":
            context = _with_opener(TrialContext.model_validate(order["context"]), order)
            answer = getattr(agent, order["method"])(*order["arguments"], context)
            return encode_line("result", value=_plain(answer))
        return encode_line("result", value={**_described(agent), "program": program})
    except BaseException as error:  # noqa: BLE001  # whatever an agent raises is recorded
        return error_line(_as_reported(error))


_STOPPING = {getattr(signal, name, None) for name in ("SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU")}


async def _work(agent: Agent, order: dict[str, Any], connection: Connection) -> object:
    task = AgentTask.model_validate(order["task"])
    handle = _HANDLE.validate_python(order["environment"])
    context = TrialContext.model_validate(order["context"])
    meter = PipeMeter(connection)
    context = context.with_meter(meter).with_processes(ReportedProcesses(connection))
    TRIAL_METER.set(context.meter)
    context = _with_opener(context, order)
    logging.basicConfig(level=logging.INFO, handlers=[ReportedLog(connection)], force=True)
    loop, work = asyncio.get_running_loop(), asyncio.current_task()
    assert work is not None  # noqa: S101  # a coroutine runs in one
    connection.listen(
        lambda frame: frame["type"] == "cancel" and loop.call_soon_threadsafe(work.cancel)
    )
    seconds: Any = order.get("sign_s")

    def sign() -> None:
        """Give a sign of life at intervals; a blocked loop cannot."""
        connection.send(encode_line("alive"))
        loop.call_later(seconds, sign)

    if seconds is not None:
        loop.call_later(seconds, sign)

    def note_own_stop(event: str, arguments: tuple[Any, ...]) -> None:
        """Report that the agent sends a stop signal, to any process; if others stop it, its pipe stays silent."""
        if event in {"os.kill", "os.killpg"} and arguments[1] in _STOPPING:
            connection.send(encode_line("stops"))

    sys.addaudithook(note_own_stop)
    try:
        outcome: object = await awaitable_of(agent, agent.run(task, handle, context))
    except GeneratorExit as error:
        raise RuntimeError("the agent raised GeneratorExit") from error  # asyncio swallows it
    if not isinstance(outcome, AgentOutcome):
        return outcome
    ended = settled(outcome, meter.latest)
    if ended.fault is not None:
        raise ended.fault
    return ended.outcome


def _with_opener(context: TrialContext, order: dict[str, Any]) -> TrialContext:
    if not order.get("opener"):
        return context
    opener = pickle.loads(base64.b64decode(order["opener"]))  # noqa: S301  # the run's own
    return context.with_model_opener(opener)


def _as_reported(error: BaseException) -> BaseException:
    """Return an exception that names the agent's act, if its own exception would not."""
    if isinstance(error, SystemExit):
        return _as("SystemExit", f"the agent called sys.exit({error.code!r})", error)
    if isinstance(error, asyncio.CancelledError):
        return _as("CancelledError", "the agent cancelled itself", error)
    return error


def _as(name: str, message: str, error: BaseException) -> BaseException:
    reported: Exception = type(name, (Exception,), {})(message)
    return reported.with_traceback(error.__traceback__)


def _described(agent: Agent) -> dict[str, Any]:
    """Return the attributes of an agent that a benchmark reads before a trial."""
    lists = {name: getattr(agent, name, None) for name in ("environments", "observes")}
    return {
        "name": str(agent.name),
        "in_process": bool(getattr(agent, "in_process", False))
        and not getattr(agent, "any_process", False),
        "asked": [name for name in _ASKED if callable(getattr(agent, name, None))],
        **{name: list(value) for name, value in lists.items() if value is not None},
    }


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else value
