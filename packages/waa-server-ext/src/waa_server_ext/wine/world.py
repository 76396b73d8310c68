"""The world `waa-wine`: WAA's own server under Wine, and the server that scores on it, started together."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.files import user_cache
from bench_core.protocols import WorldInfo
from waa_server_ext.built_in.world import built_in_tasks, native_service, reference_files
from waa_server_ext.evaluation.asset_fetch import hosts_of, needed_urls
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.tasks import TaskFolder
from waa_server_ext.vm.client import VM_PORT, VmHttp, VmTransportError
from waa_server_ext.wine.building import RECORD
from waa_server_ext.wine.sandbox import desktop_command, require_programs

BROWSER_PORT = 9222
_STARTUP_S = 180.0  # Wine takes some 20 s on an idle machine
_STOP_S = 10.0
_TRIES = 200
_ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")
_starts = itertools.count()


class WineDesktopWorld:
    """A machine built by `waa-server-ext wine build`, on its own loopback address, and an evaluator for it.

    Changes to the machine are kept in memory and lost when it stops: each start begins with the built
    state. Results carry the world `wine`, and are never a WAA score.

    Args:
        machine: The folder of the machine.
        tasks: The folder of the tasks to score, whose reference files are fetched; without it the
            built-in tasks, with reference files made for them.
        scored: Whether there is an evaluator.
    """

    name = "waa-wine"

    def __init__(
        self, machine: str | Path, *, tasks: str | Path | None = None, scored: bool = True
    ) -> None:
        self._machine = Path(machine).expanduser().resolve()
        self._tasks = None if tasks is None else TaskFolder(Path(tasks).expanduser().resolve())
        self._scored = scored
        self._desktop: subprocess.Popen[bytes] | None = None
        self._open = contextlib.ExitStack()

    async def start(self, seed: int = 0, task: str | Mapping[str, Any] | None = None) -> WorldInfo:
        """Start the machine and its evaluator, and say where they answer.

        Args:
            seed: Not used: the machine's randomness cannot be seeded.
            task: A task (or its `domain/stem`) whose reference files are made, besides those of built-in tasks.

        Raises:
            InputError: The folder is not a machine, programs are missing, or WAA's server does not start.
        """
        del seed
        began = time.perf_counter()
        if not (self._machine / RECORD).is_file():
            raise InputError(
                f"{self._machine} is not a Wine machine: make one with `waa-server-ext wine build CHECKOUT "
                f"--out FOLDER`"
            )
        require_programs()
        with self._open:
            # short, as the path of a socket has at most 107 bytes
            sockets = Path(
                self._open.enter_context(tempfile.TemporaryDirectory(prefix="waa-wine-"))
            )
            # not in a thread that may end: the machine ends with the thread that started it
            self._desktop = self._started(desktop_command(sockets), sockets / "log.txt")
            host = _free_host()
            for port in (VM_PORT, BROWSER_PORT):
                listen = f"TCP-LISTEN:{port},bind={host},reuseaddr,fork"
                self._started(
                    [*_ENDS_WITH_US, "socat", listen, f"UNIX-CONNECT:{sockets / str(port)}"]
                )
            await asyncio.to_thread(self._wait, host, sockets / "log.txt")
            urls = {"vm": f"http://{host}:{VM_PORT}"}
            if self._scored:
                scoring = self._scoring(host, task)
                urls["evaluate"] = await asyncio.to_thread(self._open.enter_context, scoring)
            self._open = self._open.pop_all()
        return WorldInfo(name=self.name, urls=urls, startup_s=time.perf_counter() - began)

    async def stop(self) -> None:
        """Stop both; safe to call twice."""
        await asyncio.to_thread(self._open.close)

    @property
    def runs(self) -> bool:
        """Whether the machine was started and has not ended."""
        return self._desktop is not None and self._desktop.poll() is None

    @contextlib.contextmanager
    def _scoring(self, host: str, task: str | Mapping[str, Any] | None) -> Iterator[str]:
        with contextlib.ExitStack() as stack:
            made = stack.enter_context(tempfile.TemporaryDirectory(prefix="waa-evaluations-"))
            cache, tasks = Path(made), self._tasks
            if tasks is None:
                store, tasks = stack.enter_context(reference_files(task)), built_in_tasks()
                settings = EvaluatorSettings(cache=cache, assets=store.folder, offline=True)
            else:
                tasks.require_tasks()
                settings = EvaluatorSettings(
                    cache=cache,
                    assets=user_cache() / "waa-assets",
                    allow_hosts=hosts_of(needed_urls(tasks)),
                )
            yield stack.enter_context(native_service(host, settings, tasks))

    def _started(self, command: list[str], log: Path = Path(os.devnull)) -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603  # our own command
                command, cwd=self._machine, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        self._open.callback(process.wait, _STOP_S)
        self._open.callback(process.kill)  # bubblewrap takes everything inside with it
        return process

    def _wait(self, host: str, log: Path) -> None:
        """Wait until WAA's server answers.

        Raises:
            InputError: The machine ends, or it does not answer in time.
        """
        until = time.monotonic() + _STARTUP_S
        with VmHttp(f"{host}:{VM_PORT}", timeout_s=5, max_bytes=65536) as http:
            while time.monotonic() < until:
                if not self.runs:
                    said = log.read_text(encoding="utf-8", errors="replace").strip()[-500:]
                    raise InputError(f"the Wine machine ended while it started: {said}")
                with contextlib.suppress(VmTransportError):
                    if http.get("/probe").status == 200:  # HTTP
                        return
                time.sleep(0.5)
        raise InputError(f"WAA's server did not answer within {_STARTUP_S:g} s under Wine")


def _free_host() -> str:
    """Return a loopback address on which both ports are free."""
    for _ in range(_TRIES):
        # worlds that start together in several processes begin their search at different addresses
        number = (os.getpid() * 7919 + next(_starts)) % (254 * 254)
        host = f"127.89.{number // 254 + 1}.{number % 254 + 1}"
        with contextlib.suppress(OSError), socket.socket() as one, socket.socket() as other:
            one.bind((host, VM_PORT))
            other.bind((host, BROWSER_PORT))
            return host
    raise InputError(f"none of {_TRIES} loopback addresses has the ports 5000 and 9222 free")
