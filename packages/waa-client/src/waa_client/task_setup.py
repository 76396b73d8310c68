"""Vanilla's setup steps over the VM's own API, for runs without an evaluator server that does them.

Failures that vanilla ignores are ignored: a step that the VM refuses is noted, and the next ones run.
Failures on which vanilla abandons a task raise here: a download that fails three times, a browser that
never answers.
Source: `controllers/setup.py` of microsoft/WindowsAgentArena @ 6d39ed8.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import httpx

from bench_core.errors import EnvironmentFaultError, EvaluationError
from waa_client.evaluation import SetupReport, SetupStep
from waa_client.timing import SleepClock
from waa_client.vm import SetupOutcome, VmClient, calls
from waa_client.vm.wire import VmCall

# As vanilla, which then abandons the task.
_TRIES = 3
_DOWNLOAD_S = 120.0
_MOST_BYTES = 512 * 1024 * 1024
# Vanilla's client adds 2 s to the server's own 5 s.
_AFTER_OPEN_S = 2.0
_UNTIL_POLL_S = 0.3  # as vanilla does
_MOST_FAILURES = 5
_MOST_UNTIL_S = 600.0

Parameters = dict[str, Any]


class Preparer:
    """Setup of tasks on one VM.

    Args:
        vm: The VM's API.
        clock: The clock for sleeps.
        cache: Folder that caches downloads under vanilla's own names; by default nothing is cached.
    """

    def __init__(self, vm: VmClient, clock: SleepClock, cache: Path | None = None) -> None:
        self._vm = vm
        self._clock = clock
        self._cache = cache
        self._steps: dict[str, Callable[[Parameters], Awaitable[str | None]]] = {
            "activate_window": partial(self._window, calls.activate_window),
            "close_window": partial(self._window, calls.close_window),
            "change_wallpaper": lambda p: self._do(calls.change_wallpaper(p["path"])),
            "close_all": lambda _: self._do(calls.close_all()),
            "command": self._execute,
            "create_file": lambda p: self._do(calls.create_file(p["path"], p.get("content", ""))),
            "create_folder": lambda p: self._do(calls.create_folder(p["path"])),
            "download": self._download,
            "execute": self._execute,
            "launch": self._launch,
            "open": self._open,
            "recycle_file": lambda p: self._do(calls.recycle(p["path"])),
            "sleep": self._sleep,
        }

    @property
    def known(self) -> frozenset[str]:
        """The types of steps that it can run; others need the evaluator's `POST /setup`."""
        return frozenset(self._steps)

    async def set_up(self, task: Mapping[str, Any]) -> SetupReport:
        """Run the steps of the task's `config`.

        Raises:
            EvaluationError: A step needs the evaluator server, or has an unknown type.
            EnvironmentFaultError: The VM does not answer, or a step fails on which vanilla abandons the task.
        """
        steps = task.get("config") or []
        unknown = sorted({str(_kind(each)) for each in steps} - self.known)
        if unknown:
            raise EvaluationError(
                f"set-up steps {', '.join(unknown)} need an evaluator that runs them: pass "
                f"--evaluate URL of waa-server-ext"
            )
        done = [await self._step(each) for each in steps]
        return SetupReport(ok=all(each.ok for each in done), steps=tuple(done))

    async def _step(self, step: Mapping[str, Any]) -> SetupStep:
        began = time.monotonic()
        kind = str(_kind(step))
        try:
            error = await self._steps[kind](dict(step.get("parameters") or {}))
        except (KeyError, TypeError, ValueError) as problem:
            raise EvaluationError(f"the set-up step {kind} is malformed: {problem!r}") from problem
        seconds = round(time.monotonic() - began, 3)
        return SetupStep(type=kind, ok=error is None, error=error, seconds=seconds)

    async def _do(self, call: Any) -> str | None:
        """Make a call of the VM and return its refusal, which vanilla only logs."""
        outcome: SetupOutcome = await self._vm.send(call)
        return None if outcome.ok else outcome.message or f"HTTP {outcome.status}"

    async def _sleep(self, given: Parameters) -> None:
        await self._clock.sleep(float(given["seconds"]))

    async def _launch(self, given: Parameters) -> str | None:
        # 23 tasks launch `socat`, which Windows does not have; the route succeeds all the same
        command, shell = given["command"], given.get("shell", False)
        # vanilla splits at spaces and ignores quotes
        if isinstance(command, str) and not shell and len(command.split()) > 1:
            command = command.split()
        return await self._do(calls.launch(command, shell=shell))

    async def _open(self, given: Parameters) -> str | None:
        error = await self._do(calls.open_file(given["path"]))
        if error is None:
            await self._clock.sleep(_AFTER_OPEN_S)
        return error

    async def _window(
        self, call: Callable[..., VmCall[SetupOutcome]], given: Parameters
    ) -> str | None:
        strict, by_class = bool(given.get("strict")), bool(given.get("by_class"))
        return await self._do(call(given["window_name"], strict=strict, by_class=by_class))

    async def _execute(self, given: Parameters) -> str | None:
        """Run a command, repeatedly if the step has a condition `until`."""
        until = given.get("until") or {}
        failures, error = 0, None
        end = self._clock.now() + _MOST_UNTIL_S
        while failures < _MOST_FAILURES and self._clock.now() < end:
            call = calls.setup_execute(given["command"], shell=given.get("shell", False))
            outcome = await self._vm.send(call)
            error = None if outcome.started else outcome.error
            failures += error is not None
            if not until or (
                error is None
                and (
                    until.get("returncode", object()) == outcome.returncode
                    or ("stdout" in until and until["stdout"] in outcome.output)
                    or ("stderr" in until and until["stderr"] in outcome.error)
                )
            ):
                return error
            await self._clock.sleep(_UNTIL_POLL_S)
        return error or "the condition it waits for was never met"

    async def _download(self, given: Parameters) -> str | None:
        errors = []
        for each in given["files"]:
            # as vanilla, which downloads here and uploads, instead of using the server's own `/setup/download_file`
            url = each["url"]
            name = PurePosixPath(each["path"].replace("\\", "/")).name
            # vanilla's own name, so that a cache filled by vanilla can be used
            kept = self._cache and self._cache / f"{uuid.uuid5(uuid.NAMESPACE_URL, url)}_{name}"
            if kept and kept.is_file():  # one stat
                data = await asyncio.to_thread(kept.read_bytes)
            else:
                data = await _downloaded(url)
                if kept:
                    await asyncio.to_thread(_keep, kept, data)
            errors.append(await self._do(calls.upload(each["path"], data)))
        return "; ".join(filter(None, errors)) or None


def refuse_abandoned(report: SetupReport, task: Mapping[str, Any]) -> None:
    """Refuse a setup that ended with a raising step: vanilla then abandons the task without a score.

    Raises:
        EnvironmentFaultError: A step raised.
    """
    asked = task.get("config")
    most = len(asked) if isinstance(asked, list) else len(report.steps)
    if report.abandoned or len(report.steps) < most:
        last = report.steps[-1] if report.steps else None
        reason = f"{last.type}: {last.error}" if last else "no step ran"
        raise EnvironmentFaultError(
            f"the set-up ended at step {len(report.steps)} of {most}: {reason}"
        )


def _kind(step: Any) -> object:
    return step.get("type") if isinstance(step, dict) else step


def _keep(path: Path, data: bytes) -> None:
    from bench_core.files import write_atomic  # only with a cache

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, data)


async def _downloaded(url: str) -> bytes:
    """Download a file of a task from the web, through the user's proxy if there is one."""
    problem: Exception | None = None
    async with httpx.AsyncClient(follow_redirects=True, timeout=_DOWNLOAD_S) as http:
        for _ in range(_TRIES):
            try:
                return await _body(http, url)
            except (httpx.HTTPError, httpx.InvalidURL) as error:  # noqa: PERF203  # three tries
                problem = error
    raise EnvironmentFaultError(f"set-up: {url} cannot be downloaded: {problem}")


async def _body(http: httpx.AsyncClient, url: str) -> bytes:
    async with http.stream("GET", url) as answer:
        answer.raise_for_status()
        body = bytearray()
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise EnvironmentFaultError(f"set-up: {url} has more than {_MOST_BYTES} bytes")
        return bytes(body)
