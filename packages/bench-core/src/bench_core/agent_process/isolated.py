"""An agent in its own process, with the same protocol as one in this process."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import pickle  # written here, read by our own worker
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bench_core.agent_process.files import AgentFiles
from bench_core.agent_process.messages import answer_to, checked_hello, error_of_frame, hello
from bench_core.agent_process.model_calls import (
    ModelProxy,
    ReportsOnce,
    without_server,
)
from bench_core.agent_process.program import code_of_foreign, is_proctors
from bench_core.agent_process.silence import Silence, sign_s
from bench_core.child_process.framing import FrameError, decode_line, encode_line
from bench_core.child_process.process import ChildGoneError
from bench_core.errors import (
    BenchError,
    BudgetExceededError,
    EnvironmentFaultError,
    HarnessFaultError,
    InputError,
)
from bench_core.faults import FAULTS
from bench_core.guides import guide_places
from bench_core.processes import is_below
from bench_core.protocols import AgentProcessError, EnvironmentHandle, TrialContext
from bench_core.records import AgentCode, AgentOutcome, AgentTask, ErrorInfo, Record
from bench_core.redaction import Redactor
from bench_core.trial.results import CLAIMS_FAULT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench_core.agent_process.foreign import ForeignProgram
    from bench_core.agent_process.launcher import ForkLauncher, SpawnLauncher
    from bench_core.child_process.process import ChildProcess, Exit

OUTPUT = "agent_output.txt"
"""The output of an agent in its own process."""

_log = logging.getLogger("bench_core.agent_process")
_STOP_S = 2.0
_EXIT_S = 10.0
_MAX_LOGGED = 20_000
_MAX_GROUPS = 256


@dataclass(frozen=True)
class Isolation:
    """How an agent's process is treated.

    Attributes:
        memory: Bytes of memory it may write to; None for no limit.
        stop_s: Seconds it may take to end after it was asked to.
        trusted: Whether it is Proctor's own code, whose attribution of faults is believed.
        redactor: Knows the run's secrets; by default those in the environment.
        block_s: Seconds without a sign of life - a turn of its event loop, a model call, a line of log - after which
            it is ended; None for no limit.
        folder: The place of its files until its part is over; by default the trial's folder.
        model_proxy: Forwards and counts the model calls of its process.
        passes_guides: Whether it gets the guides installed in the run's environment.
    """

    memory: int | None = None
    stop_s: float = _STOP_S
    trusted: bool = False
    redactor: Redactor = field(default_factory=Redactor.from_environment)
    block_s: float | None = None
    folder: Path | None = None
    model_proxy: ModelProxy | None = None
    passes_guides: bool = False


class SharedOnlyError(InputError):
    """The agent works on the opened environment itself, which exists only in this process."""


class IsolatedAgent:
    """Runs the agent `reference` in a new process for each trial.

    A failure of that process affects that trial only: it is the agent's, with the cause in the record. Its files go
    into a separate folder until its part is over.

    Args:
        reference: An installed agent's name, or `module:attribute`.
        launcher: Starts its processes.
        isolation: Their limits and rights.
        code: The record of the program.
        foreign: The program that runs in its processes instead of this interpreter.

    Raises:
        InputError: It cannot be imported or constructed.
        SharedOnlyError: It works on the opened environment itself.
    """

    def __init__(
        self,
        reference: str,
        launcher: ForkLauncher | SpawnLauncher,
        isolation: Isolation | None = None,
        code: AgentCode | None = None,
        foreign: ForeignProgram | None = None,
    ) -> None:
        self.reference = reference
        self.agent_code = code or AgentCode(process="own")
        self._launcher = launcher
        self._isolation = isolation or Isolation()
        described = _description(
            self._ask("describe", **({} if foreign is None else {"survey": True})), reference
        )
        if foreign is not None:
            found = described.program or {}
            self.agent_code = code_of_foreign(self.agent_code, foreign, found)
            trusted = foreign.is_python and is_proctors(str(found.get("place", "")))
            self._isolation = replace(self._isolation, trusted=trusted, passes_guides=trusted)
        if described.in_process:
            raise SharedOnlyError(
                f"the agent {reference!r} works on the opened environment itself (`in_process`), "
                "which no other process has: run it with `--agent-process shared`"
            )
        self.name: str = described.name or reference
        # only attributes that the agent has: to a benchmark, a name that is there has a meaning
        for each in ("environments", "observes"):
            if (value := getattr(described, each)) is not None:
                setattr(self, each, value)
        for each in described.asked:
            setattr(self, each, partial(self._call, each))

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Run the agent on `task` in its own process.

        Raises:
            AgentProcessError: It raised something or broke the protocol, or its process died or had to be ended.
            BudgetExceededError: The budget is spent.
            EnvironmentFaultError: Proctor's own agent reported one.
            HarnessFaultError: The run could not provide the process's folder, a file or a thread.
            InputError: The model cannot be handed to another process, or Proctor's own agent reported one.
        """
        try:
            return await self._metered(task, environment, context)
        except BenchError:
            raise
        except Exception as error:
            # faults of the agent arrive over its pipe or as the end of its process
            raise HarnessFaultError(
                f"the run could not give the agent its process ({type(error).__name__}: {error})"
            ) from error

    async def _metered(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        proxy = self._isolation.model_proxy
        if proxy is None:
            return await self._run(task, environment, context, {})
        calls = proxy.trial(context.meter, context.folder)
        try:
            within = without_server(context).with_meter(ReportsOnce(context.meter, calls))
            return await self._run(task, environment, within, calls.variables)
        finally:
            await calls.close()
            for note in calls.notes:
                _log.warning("%s", note)
            if calls.refused is not None:
                raise BudgetExceededError(calls.refused)

    async def _run(
        self,
        task: AgentTask,
        environment: EnvironmentHandle,
        context: TrialContext,
        variables: Mapping[str, str],
    ) -> AgentOutcome:
        files = AgentFiles(context.folder, self._isolation.redactor, self._isolation.folder)
        inside = context.model_copy(update={"folder": files.make(), "hidden": ()})
        order = encode_line(
            "work",
            agent=self.reference,
            task=task.model_dump(mode="json"),
            environment=environment.model_dump(mode="json"),
            context=inside.model_dump(mode="json"),
            opener=_pickled(context),
            sign_s=sign_s(self._isolation.block_s),
            guides=self._guides(),
        )
        process = await self._launcher.start(self._isolation.memory, variables, files.stage)
        context.afterwards.append(partial(_take_over, process, files, context))
        try:
            return await _Conversation(process, context, self._isolation).run(order)
        except AgentProcessError as error:
            if files.usable:
                raise
            raise HarnessFaultError(
                f"the agent's folder was taken from it, or its disk is full; then it failed: {error}"
            ) from error

    def _guides(self) -> list[dict[str, str]]:
        # other agents do not get them: they are not part of the task
        return guide_places() if self._isolation.passes_guides else []

    def _call(self, method: str, *arguments: Any) -> Any:
        *before, context = arguments
        return self._ask(
            "ask",
            method=method,
            arguments=before,
            context=context.model_dump(mode="json"),
            opener=_pickled(context),
            guides=self._guides(),
        )

    def _ask(self, kind: str, **fields: Any) -> Any:
        """Ask a new process of the agent a question that needs no environment.

        Raises:
            InputError: It raised something or died.
        """
        lines = hello() + encode_line(kind, agent=self.reference, **fields)
        try:
            replies, ended = self._launcher.ask(lines)
        except ChildGoneError as error:
            raise InputError(
                f"the agent {self.reference!r} cannot be loaded: its process {error}: it has to write the line "
                f"`hello` and answer `{kind}`{error.exit.last_lines()}"
            ) from None
        try:
            frames = [decode_line(line) for line in replies]
            checked_hello(frames[0] if frames else None)
        except FrameError as error:
            raise InputError(
                f"the agent {self.reference!r} cannot be loaded: its process {ended.in_words()} "
                f"({error})"
            ) from None
        last = frames[-1]
        if last["type"] == "result":
            return last["value"]
        if last["type"] == "error":
            info, cannot = error_of_frame(last), f"the agent {self.reference!r} cannot be loaded"
            claimed = last.get("claims") == "input"
            raise InputError(info.message if claimed else f"{cannot}: {info.kind}: {info.message}")
        raise InputError(
            f"the agent {self.reference!r} cannot be loaded: its process {ended.in_words()}"
        )


def _pickled(context: TrialContext) -> str | None:
    """Return the run's opener of models, pickled for the other process."""
    if context.model_opener is None:
        return None
    try:
        return base64.b64encode(pickle.dumps(context.model_opener)).decode("ascii")
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise InputError(
            f"the run's model cannot be handed to a process of the agent's own ({error}): run it "
            "with `--agent-process shared`"
        ) from error


class _Description(Record):
    """An agent's description by its own process; a program in another language may leave all of it out."""

    name: str | None = None
    in_process: bool = False
    asked: tuple[str, ...] = ()
    environments: tuple[str, ...] | None = None
    observes: tuple[str, ...] | None = None
    program: dict[str, Any] | None = None


def _description(value: object, reference: str) -> _Description:
    try:
        return _Description.model_validate({} if value is None else value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InputError(
            f"the agent {reference!r} cannot be loaded: its answer to `describe`: {first['msg']} at "
            f"{'.'.join(map(str, first['loc']))}"
        ) from None


async def _take_over(process: ChildProcess, files: AgentFiles, context: TrialContext) -> None:
    await process.ended()
    left_out = await asyncio.to_thread(files.take_over)
    context.left_out.extend(left_out)
    for each in left_out:
        _log.warning(
            "the agent's file %s is left out (%s), and %d more like it",
            each.first, each.why, each.files - 1,
        )  # fmt: skip


class _Conversation:
    """The exchange with one agent's process, from its order to its end."""

    def __init__(self, process: ChildProcess, context: TrialContext, isolation: Isolation) -> None:
        self._process = process
        self._context = context
        self._isolation = isolation
        self._logged = 0
        self._silence = Silence(isolation.block_s, process.kill)
        self._groups: set[int] = set()

    async def run(self, order: bytes) -> AgentOutcome:
        """Return the agent's report; none of its processes is left when this returns or raises."""
        with contextlib.suppress(ValueError):
            self._context.processes.own(self._process.pid)
        try:
            self._process.send(hello() + order)
            with self._silence.watched():
                return await self._listen()
        except asyncio.CancelledError:
            if (hung := await self._stop()) is None:
                raise
            message = "the agent did not end when it was asked to, so its process was ended"
            message += hung.last_lines()
            raise AgentProcessError(_info("AgentHung", message)) from None
        except FrameError as error:
            last = (await self._end()).last_lines()
            raise AgentProcessError(
                _info("AgentProtocol", f"the agent's process broke the protocol: {error}{last}")
            ) from None
        finally:
            await asyncio.to_thread(self._keep, await self._end())
            self._context.processes.disown(self._process.pid)

    async def _listen(self) -> AgentOutcome:
        checked_hello(await self._next())
        while True:
            frame = await self._next()
            kind = frame["type"]
            if kind == "result":
                try:
                    outcome = AgentOutcome.model_validate(frame.get("value"))
                except ValidationError as error:
                    raise FrameError(f"a report that cannot be read: {str(error)[:500]}") from None
                if outcome.error is not None and not self._isolation.trusted:
                    own = outcome.error.model_copy(update={"fault": None})  # not for it to say
                    outcome = outcome.model_copy(update={"error": own})
                await self._process.ends_within(_EXIT_S)
                return outcome
            if kind == "error":
                await self._process.ends_within(_EXIT_S)
                raise self._raised(frame)
            self._handle(kind, frame)
            # an agent that writes without end must not block the other trials
            await asyncio.sleep(0)

    async def _next(self) -> dict[str, Any]:
        frame = await self._process.receive()
        self._silence.end()
        if frame is None and self._silence.too_long:
            last = (await self._end()).last_lines()
            message = f"the agent blocked its event loop and gave no sign for {self._isolation.block_s:g} s"
            raise AgentProcessError(_info("AgentHung", message + last))
        if frame is None:
            hung_up = not await self._process.ends_within(_EXIT_S)
            ended = await self._end()
            how = f"hung up{ended.last_lines()}" if hung_up else ended.in_words()
            raise AgentProcessError(_info("AgentDied", f"the agent's process {how}"))
        return frame

    def _handle(self, kind: str, frame: dict[str, Any]) -> None:
        if kind == "spend":
            self._process.send(answer_to(frame, self._context.meter))
        elif kind in {"own", "disown"}:
            self._group(kind, frame.get("pgid"))
        elif kind == "log":
            self._note(frame)
        elif kind == "stops":
            # it stopped itself, and ends by its limits; if others stop it, the trial is tried again
            self._context.processes.disown(self._process.pid)
        elif kind != "alive":
            raise FrameError(f"unknown message of a worker: {kind[:60]!r}")

    def _group(self, kind: str, pgid: object) -> None:
        """Remember a process group of the agent; groups of other processes are ignored."""
        if not isinstance(pgid, int):
            raise FrameError(f"not a process group: {pgid!r}"[:200])
        if kind == "disown" and pgid in self._groups:
            self._groups.discard(pgid)
            self._context.processes.disown(pgid)
        elif (
            kind == "own" and len(self._groups) < _MAX_GROUPS and is_below(pgid, self._process.pid)
        ):
            self._groups.add(pgid)
            self._context.processes.own(pgid)

    def _note(self, frame: dict[str, Any]) -> None:
        self._logged += 1
        if self._logged > _MAX_LOGGED:
            return
        level, name, text = frame.get("level"), frame.get("name"), frame.get("text")
        level = level if isinstance(level, int) and 0 < level <= logging.CRITICAL else logging.INFO
        record = logging.makeLogRecord(
            {"levelno": level, "levelname": logging.getLevelName(level), "name": str(name)[:200],
             "msg": "%s", "args": (str(text),)}
        )  # fmt: skip
        _log.handle(record)

    def _raised(self, frame: dict[str, Any]) -> Exception:
        """Return the exception of this process for one that the agent reported.

        Only Proctor's own agents are believed if they blame something else.
        """
        info, claims = error_of_frame(frame), frame.get("claims")
        if claims == "budget" and getattr(self._context.meter, "stopped", False):
            return BudgetExceededError(info.message)
        if self._isolation.trusted and claims == "environment":
            fault = EnvironmentFaultError(info.message)
            fault.lasting = frame.get("lasting") is True
            fault.answered = frame.get("answered") is True
            if frame.get("fault") in FAULTS:
                fault.fault = frame["fault"]
            flag = frame.get("flag")
            fault.flag = flag if isinstance(flag, str) else None
            return fault
        if self._isolation.trusted and claims == "input":
            return InputError(info.message)
        flags = (CLAIMS_FAULT,) if claims in {"environment", "input"} else ()
        return AgentProcessError(info, flags)

    async def _stop(self) -> Exit | None:
        """Ask the agent to end; if it does not, end it and return how it ended."""
        self._process.send(encode_line("cancel"))
        answering = asyncio.ensure_future(self._answer_calls())
        obeyed = await self._process.ends_within(self._isolation.stop_s)
        ended = await self._end()
        answering.cancel()
        return None if obeyed else ended

    async def _answer_calls(self) -> None:
        """Answer model calls while the agent cleans up, as their cost counts, too."""
        with contextlib.suppress(FrameError, AgentProcessError):
            while (frame := await self._process.receive()) is not None:
                if frame["type"] in {"result", "error"}:
                    return
                self._handle(frame["type"], frame)

    async def _end(self) -> Exit:
        """End the process if it still runs, and return how it ended."""
        self._process.kill()
        return await self._process.ended()

    def _keep(self, ended: Exit) -> None:
        if ended.left:
            _log.warning("the agent left %d processes running; they were ended", ended.left)
        if ended.output.strip():
            clean = self._isolation.redactor.redact(ended.output)
            path = self._context.folder / OUTPUT
            path.write_text(clean, encoding="utf-8", errors="backslashreplace")


def _info(kind: str, message: str) -> ErrorInfo:
    return ErrorInfo(kind=kind, message=message, phase="agent")
