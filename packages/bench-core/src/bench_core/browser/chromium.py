"""Launch Chromium under a supervisor process, wait until it answers, and end it on every way out."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench_core.browser import supervisor
from bench_core.browser.endpoints import websocket_url
from bench_core.browser.executable import find_chromium
from bench_core.browser.options import ChromiumOptions, command_line, temporary_root
from bench_core.child_process import (
    FrameError,
    SpawnedProcess,
    blocking,
    encode_line,
    end_group,
    in_background,
)
from bench_core.errors import BrowserError
from bench_core.files.removal import remove_folder
from bench_core.files.temporary import create_profile, folder_for_sockets, sweep_leftovers
from bench_core.sealing.machine import Ability, how_to_seal, sealed_command

_LOG_LINES = 400
_LOG_TAIL = 8
_SUPERVISOR_EXTRA_S = 10.0
_SOCKET = "org.chromium.Chromium.XXXXXX/SingletonSocket"
"""The longest path that Chromium creates below TMPDIR."""


@asynccontextmanager
async def launch_chromium(options: ChromiumOptions | None = None) -> AsyncIterator[Chromium]:
    """Run a Chromium of our own with a fresh profile; nothing of it is left afterwards.

    However the block is left - normally, by an exception, by cancellation - Chromium is closed,
    its whole process group ended and its profile removed. When this process is killed outright,
    the supervisor process does the same; the next launch removes any leftovers.

    Raises:
        BrowserError: Chromium is missing, or it did not answer in time.
    """
    options = options or ChromiumOptions()
    executable = options.executable or find_chromium()
    root = temporary_root(executable, options)
    await asyncio.to_thread(sweep_leftovers, root)
    profile = create_profile(root)
    folders = [profile]
    try:
        temporary = folder_for_sockets(profile / "t", _SOCKET)
        if temporary.parent != profile:
            folders.append(temporary)
        async with _kept(executable, folders, options, temporary) as chromium:
            yield chromium
    finally:
        for each in folders:
            remove_folder(each)


class Chromium:
    """A running Chromium: its address, state and output.

    Attributes:
        executable: The program.
        profile: Its temporary profile folder.
        cdp_url: `http://127.0.0.1:PORT/SECRET`, for clients that look up the rest. Who does not know the secret
            cannot connect.
        ws_url: The browser's own DevTools websocket.
        pid: The main process, which leads its process group.
        sealed: How files are hidden from it, `user-namespace` or `mount-namespace`; None if none are.
        exit_code: Its exit code (negative: by that signal); None while it runs or when unknown.
    """

    def __init__(self, executable: Path, profile: Path, order: bytes) -> None:
        self.executable = executable
        self.profile = profile
        self.cdp_url = ""
        self.ws_url = ""
        self.pid: int | None = None
        self.sealed: str | None = None
        self.exit_code: int | None = None
        self._lines: deque[str] = deque(maxlen=_LOG_LINES)
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._gone = asyncio.Event()
        self._ready = asyncio.Event()
        self._alive = True
        # Not in this event loop: it works on when that is blocked or closed.
        self._supervisor = blocking(
            SpawnedProcess.start([sys.executable, "-I", "-S", supervisor.__file__])
        )
        self._send(order)
        in_background(self._read())

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._alive

    @property
    def log(self) -> str:
        """The last few hundred lines of its output."""
        return "\n".join(self._lines)

    def check_alive(self) -> None:
        """Raise BrowserError with the end of the log when it is dead."""
        if not self.alive:
            raise BrowserError(self._end_message("died"))

    async def wait_closed(self) -> int | None:
        """Wait until it has ended, for any reason, and return its exit code if known."""
        await self._ended.wait()
        return self.exit_code

    async def close(self, close_s: float = 3.0) -> None:
        """Ask it to close; end its process group if it does not; return when all is gone."""
        self._send(encode_line("close"))
        try:
            await asyncio.wait_for(self._gone.wait(), close_s + _SUPERVISOR_EXTRA_S)
        except asyncio.TimeoutError:
            self._force()

    def kill(self) -> None:
        """End its process group now, without asking; `wait_closed` waits until it is done."""

        async def hang_up() -> None:
            self._supervisor.hang_up()

        in_background(hang_up())

    async def wait_ready(self, startup_s: float) -> None:
        """Wait until it answers.

        Raises:
            BrowserError: It ended before, or `startup_s` passed.
        """
        try:
            await asyncio.wait_for(self._ready.wait(), startup_s)
        except asyncio.TimeoutError:
            why = f"did not answer within {startup_s:g} s"
            raise BrowserError(self._end_message(why)) from None
        if not self.cdp_url:
            raise BrowserError(self._end_message("ended while it started"))
        self.ws_url = await websocket_url(self.cdp_url)

    def _send(self, order: bytes) -> None:
        async def send() -> None:
            self._supervisor.send(order)

        in_background(send())

    async def _read(self) -> None:
        with contextlib.suppress(FrameError):  # it is not the supervisor that speaks: end it
            while (event := await self._supervisor.receive()) is not None:
                self._note(event)
        if self._alive:  # the supervisor itself was killed
            self._force()
            self._lines.extend((await self._supervisor.ended()).output.splitlines())
            self._note({"type": "exited", "code": None})
        await self._supervisor.ended()
        self._set(self._gone)

    def _note(self, event: dict[str, Any]) -> None:
        if event["type"] == "log":
            self._lines.append(event["text"])
        elif event["type"] == "started":
            self.pid = event["pid"]
        elif event["type"] == "ready":
            self.cdp_url = event["url"]
            self._set(self._ready)
        else:
            self.exit_code = event["code"]
            self._alive = False
            self._set(self._ended)
            self._set(self._ready)

    def _set(self, event: asyncio.Event) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, so no one waits
            self._loop.call_soon_threadsafe(event.set)

    def _force(self) -> None:
        if self.pid is not None:
            end_group(self.pid)
        self._supervisor.kill()

    def _end_message(self, what: str) -> str:
        code = "" if self.exit_code is None else f" (exit code {self.exit_code})"
        # Without a desktop bus it complains a dozen times, which is never the reason.
        lines = [line for line in self._lines if line and "dbus/" not in line][-_LOG_TAIL:]
        log = "\n  ".join(["; the end of its log:", *lines]) if lines else "; it printed nothing"
        return f"{self.executable} {what}{code}{log}"


@asynccontextmanager
async def _kept(
    executable: Path, folders: list[Path], options: ChromiumOptions, temporary: Path
) -> AsyncIterator[Chromium]:
    way = await asyncio.to_thread(how_to_seal) if options.hidden else Ability()
    hidden = options.hidden if way.way is not None else ()
    before = sealed_command((), hidden) if hidden else []
    order = encode_line(
        "begin",
        before=before,
        command=command_line(executable, folders[0], options),
        environment=_environment(folders[0], options, temporary),
        folders=[str(each) for each in folders],
        secret=secrets.token_hex(16),
        close_s=options.close_s,
        parent=os.getpid(),
    )
    chromium = Chromium(executable, folders[0], order)
    chromium.sealed = way.way
    try:
        await chromium.wait_ready(options.startup_s)
        yield chromium
    finally:
        await _close(chromium, options.close_s)


async def _close(chromium: Chromium, close_s: float) -> None:
    """Close politely; when cancelled meanwhile, leave the rest to the supervisor."""
    try:
        await chromium.close(close_s)
    finally:
        chromium.kill()


def _environment(profile: Path, options: ChromiumOptions, temporary: Path) -> dict[str, str]:
    """Return variables that put dumps and temporary files inside the profile and set the time zone."""
    variables = {"BREAKPAD_DUMP_LOCATION": str(profile / "dumps"), "TMPDIR": str(temporary)}
    if options.timezone is not None:
        variables["TZ"] = options.timezone
    return variables
