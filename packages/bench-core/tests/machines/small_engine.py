"""A container engine for tests: Podman with a storage of its own, an image without a registry, faults.

Needs root, `podman`, `runc` and a static `busybox`, all of Debian.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections import Counter
from typing import TYPE_CHECKING

from bench_core.machines import MachineError
from bench_core.providers.engine import Engine

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

__all__ = ["IMAGE", "FaultyEngine", "small_engine", "why_no_engine"]

IMAGE = "localhost/proctor-stub:1"
PACKAGES = ("podman", "runc", "busybox")
APPLETS = ("sh", "cat", "cp", "httpd", "sleep")
CONFIGURATION = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
_START_S = 60.0


def why_no_engine() -> str | None:
    """Return why no engine can run here; None where one can."""
    if not os.environ.get("REAL_MACHINES"):
        return "asked for by REAL_MACHINES=1"
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs Linux, and root"
    missing = [each for each in PACKAGES if shutil.which(each) is None]
    return f"not installed: {', '.join(missing)}" if missing else None


@contextlib.contextmanager
def small_engine(folder: Path) -> Iterator[Path]:
    """Run Podman's service with a storage in `folder`; give its socket."""
    configuration = folder / "containers.conf"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    podman = ["podman", "--root", str(folder / "storage"), "--runroot", str(folder / "run"),
              "--storage-driver", "vfs"]  # fmt: skip
    env = {**os.environ, "CONTAINERS_CONF": str(configuration)}
    _import_image(folder, podman, env)
    socket = folder / "engine.sock"
    log = (folder / "engine.log").open("wb")
    service = subprocess.Popen(
        [*podman, "system", "service", "--time=0", f"unix://{socket}"],
        env=env, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        _await_answer(socket, service)
        yield socket
    finally:
        for kind in (
            ["rm", "--all", "--force", "--time", "0"],
            ["volume", "rm", "--all", "--force"],
        ):
            subprocess.run([*podman, *kind], env=env, stdout=log, stderr=log, check=False)
        service.terminate()
        service.wait(_START_S)
        log.close()


def _import_image(folder: Path, podman: list[str], env: dict[str, str]) -> None:
    root = folder / "image"
    for each in ("bin", "www/cgi-bin", "data", "tmp"):
        (root / each).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "", root / "bin/busybox")
    for each in APPLETS:
        (root / "bin" / each).symlink_to("busybox")
    (root / "www/index.html").write_text("a site", encoding="utf-8")
    (root / "data/rows").write_text("of the image", encoding="utf-8")
    shown = root / "www/cgi-bin/rows"
    shown.write_text(
        "#!/bin/sh\nprintf 'Content-type: text/plain\\n\\n'; cat /data/rows\n", "utf-8"
    )
    written = root / "www/cgi-bin/write"
    written.write_text(
        "#!/bin/sh\ncat > /data/rows\nprintf 'Content-type: text/plain\\n\\n'\n", "utf-8"
    )
    for each in (shown, written):
        each.chmod(0o755)
    archive = folder / "image.tar"
    with tarfile.open(archive, "w") as packed:
        packed.add(root, ".")
    command = json.dumps(["/bin/httpd", "-f", "-p", "8080", "-h", "/www"])
    subprocess.run(
        [*podman, "import", "--change", f"CMD {command}", str(archive), IMAGE],
        env=env, check=True, capture_output=True,
    )  # fmt: skip


def _await_answer(socket: Path, service: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            asyncio.run(Engine(socket).ask("GET", "/info"))
        except MachineError:  # noqa: PERF203  # it is starting
            if service.poll() is not None or time.monotonic() >= deadline:
                raise
            time.sleep(0.1)
        else:
            return


class FaultyEngine:
    """A way to an engine on which requests that change something go wrong, by chance.

    Args:
        socket: Of the engine.
        chance: Draws.
        rate: Returns how often something goes wrong, from 0 to 1.

    Attributes:
        drawn: How often each fault was drawn, and how often a container was created.
    """

    faults = ("request lost", "answer lost", "409", "500", "503")

    def __init__(self, socket: Path, chance: random.Random, rate: Callable[[], float]) -> None:
        self._socket, self._chance, self._rate = socket, chance, rate
        self.drawn: Counter[str] = Counter()

    @contextlib.asynccontextmanager
    async def listening(self, socket: Path) -> AsyncIterator[None]:
        """Serve at `socket` for the time of the block."""
        server = await asyncio.start_unix_server(self._serve, str(socket))
        try:
            yield
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            request = await _read_request(reader)
            fault = self._draw(request)
            if fault and fault.isdigit():
                text = json.dumps({"message": "a fault"})
                writer.write(
                    f"HTTP/1.1 {fault} Fault\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
                )
            elif fault != "request lost":
                answer = await self._pass_on(request)
                writer.write(b"" if fault else answer)
            await writer.drain()
        writer.close()

    def _draw(self, request: bytes) -> str | None:
        if request.startswith(b"GET ") or self._chance.random() >= self._rate():
            return None
        fault = self._chance.choice(self.faults)
        self.drawn[fault] += 1
        return fault

    async def _pass_on(self, request: bytes) -> bytes:
        self.drawn["/containers/create"] += b"/containers/create" in request[:60]
        reader, writer = await asyncio.open_unix_connection(str(self._socket))
        try:
            # one request for each connection, so that the end of the answer is that of the connection
            writer.write(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            await writer.drain()
            return await reader.read()
        finally:
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    head = b"\r\n".join(
        each for each in head.split(b"\r\n") if not each.lower().startswith(b"connection:")
    )
    lengths = [each for each in head.lower().split(b"\r\n") if each.startswith(b"content-length:")]
    size = int(lengths[0].partition(b":")[2]) if lengths else 0
    return head + await reader.readexactly(size)
