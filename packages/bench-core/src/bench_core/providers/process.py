"""Machines that are processes of this computer: built-in worlds, and any server with a command.

A reset ends the process and starts it again in an empty folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, model_validator
from typing_extensions import Self

from bench_core.machines import INITIAL, Found, Health, MachineError, spec_digest
from bench_core.machines.labels import NONCE
from bench_core.providers.machine_folders import FolderBackend, MachineFolders, require_posix
from bench_core.providers.specs import read_spec
from bench_core.records import Record

_MARK = ".proctor-mark"
_CONNECT_S = 2.0


class ProcessSpec(Record):
    """The process to start: a built-in world, or a command.

    Attributes:
        world: The name of a world, or its reference `module:name`.
        options: Arguments of the world's class.
        command: A program and its arguments; `{port}` becomes a free port of this computer.
        urls: Addresses at which a command answers, by name; `{port}` as in `command`.
        env: Variables for the process, in addition to those of this one.
    """

    world: str | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)
    command: tuple[str, ...] = ()
    urls: dict[str, str] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.world is None) == (not self.command):
            raise ValueError("give either `world` or `command`")
        if self.world is not None and self.urls:
            raise ValueError("a world says itself where it answers: leave out `urls`")
        return self


class ProcessBackend(FolderBackend):
    """A `Backend` whose machines are process groups, each with a folder.

    Args:
        folder: Parent of the machines' folders.
        stop_s: How long a process may take to end by itself before it is killed, in seconds.
    """

    name = "process"
    begins_anew = True
    saves = False

    def __init__(self, folder: Path, *, stop_s: float = 10.0) -> None:
        super().__init__(MachineFolders(folder, stop_s=stop_s))

    def check(self, spec: Mapping[str, JsonValue]) -> None:
        """Refuse a specification that cannot be used.

        Raises:
            InputError: The specification cannot be used; the message says why.
        """
        require_posix()
        read_spec(ProcessSpec, spec)

    async def create(
        self, name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]
    ) -> Found:
        """Make the machine's folder and start its process.

        Raises:
            NameTakenError: There is a folder of that name.
            MachineError: The process was not started.
        """
        self._folders.make(name, labels, spec)
        return await self._launch(name)

    async def health(self, name: str) -> Health:
        """Look whether the process lives, and whether all its addresses accept connections."""
        if not self._folders.runs(name):
            return Health(ok=False, reason="its process has ended; its folder has `log.txt`")
        described = self._folders.described(name)
        health = Health(
            ok=True,
            nonce=described.labels.get(NONCE, ""),
            state=spec_digest(described.spec),
            soiled=self._mark(name),
        )
        urls = self._folders.urls(name)
        if urls is None:
            return health.model_copy(update={"ok": False, "reason": "its world is starting"})
        health = health.model_copy(update={"urls": urls})
        for url in urls.values():
            if not await asyncio.to_thread(_accepts, url):
                return health.model_copy(update={"ok": False, "reason": f"{url} does not answer"})
        return health

    async def soil(self, name: str, mark: str) -> None:
        """Write `mark` into the folder in which the process works: a reset that leaves it there did nothing.

        Raises:
            MachineError: The machine is gone, or the disk is full.
        """
        try:
            (self._folders.work(name) / _MARK).write_text(mark, encoding="utf-8")
        except OSError as error:
            raise MachineError(f"{name!r} cannot be written to: {error}") from error

    async def save(self, name: str, tag: str) -> None:
        """Refuse: a process's state cannot be saved.

        Raises:
            MachineError: Always.
        """
        raise MachineError(f"the state of the process {name!r} cannot be saved as {tag!r}")

    async def restore(self, name: str, tag: str) -> Found:
        """End the process, empty its folder, start it again.

        Raises:
            MachineError: It did not end or was not started, or `tag` is not the initial state.
        """
        if tag != INITIAL:
            raise MachineError(f"the process {name!r} has no state {tag!r}")
        await self._folders.end(name)
        await self._folders.empty(name)
        return await self._launch(name)

    async def _launch(self, name: str) -> Found:
        place = self._folders.folder / name
        spec = read_spec(ProcessSpec, self._folders.described(name).spec)
        (place / "urls.json").unlink(missing_ok=True)
        if spec.world is not None:
            command = _world_command(spec, place / "urls.json")
        else:
            port = str(free_port())
            command = [each.replace("{port}", port) for each in spec.command]
            urls = {key: url.replace("{port}", port) for key, url in spec.urls.items()}
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile: `launch` says so
                (place / "urls.json").write_text(json.dumps(urls), encoding="utf-8")
        await self._folders.launch(name, command, spec.env)
        return self._folders.found(name)

    def _mark(self, name: str) -> str | None:
        with contextlib.suppress(OSError):
            return (self._folders.work(name) / _MARK).read_text(encoding="utf-8")
        return None


def _world_command(spec: ProcessSpec, urls: Path) -> list[str]:
    module = "bench_core.providers.world_process"
    return [sys.executable, "-m", module, str(spec.world), str(urls), json.dumps(spec.options)]


def free_port() -> int:
    """Return a port of this computer that nothing listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _accepts(url: str) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or "127.0.0.1"
    # names below .localhost do not resolve everywhere, but they mean this computer
    host = "127.0.0.1" if host.endswith(".localhost") else host
    port = parts.port or {"https": 443}.get(parts.scheme, 80)
    try:
        with socket.create_connection((host, port), timeout=_CONNECT_S):
            return True
    except OSError:
        return False
