"""Requests to a container engine over its socket: Docker's Engine API, which Podman speaks, too.

The API: https://docs.docker.com/reference/api/engine/. Each request has a connection of its own, so that
an engine may restart between two.

Docker's own library would take the place of `Engine` alone, some hundred lines, and blocks a thread for each
request; the requests, and the handling of lost answers, would stay here.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.errors import MissingExtraError
from bench_core.machines import MachineError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx
    from pydantic import JsonValue

_ANSWER_S = 120.0
_CONNECT_S = 10.0
_NOT_FOUND = 404


class EngineRefusedError(MachineError):
    """The engine answered a request with an error.

    Attributes:
        status: The status of its answer.
        message: The engine's error message.
    """

    def __init__(self, what: str, status: int, message: str) -> None:
        self.status = status
        self.message = message
        super().__init__(f"the container engine answers {status} to {what}: {message}")


def engine_socket(environ: Mapping[str, str] | None = None) -> Path:
    """Return the socket of this user's engine: that of `$DOCKER_HOST`, or the first that is there.

    Raises:
        MachineError: There is none, or `$DOCKER_HOST` is not a socket of this computer.
    """
    known = os.environ if environ is None else environ
    given = known.get("DOCKER_HOST", "")
    if given:
        if not given.startswith("unix://"):
            raise MachineError(
                f"DOCKER_HOST is {given!r}: the provider `docker` uses unix:///PATH alone; "
                f"`ssh -L /tmp/docker.sock:/var/run/docker.sock HOST` brings another computer's here"
            )
        return Path(given.removeprefix("unix://"))
    own = known.get("XDG_RUNTIME_DIR", "/run/user/0")
    usual = ("/var/run/docker.sock", f"{own}/docker.sock", "/run/podman/podman.sock",
             f"{own}/podman/podman.sock")  # fmt: skip
    for each in usual:
        if Path(each).exists():
            return Path(each)
    raise MachineError(
        f"no container engine runs here: none of {', '.join(usual)} is there; start Docker, or "
        f"`podman system service --time=0`, or set DOCKER_HOST=unix:///PATH"
    )


class Engine:
    """A container engine of this computer.

    Args:
        socket: Its socket; by default the one that `engine_socket` finds.
    """

    def __init__(self, socket: Path | None = None) -> None:
        self._socket = socket
        self._version: str | None = None

    async def ask(self, method: str, path: str, /, *, body: object = None, **query: Any) -> Any:
        """Return the answer to a request, read as JSON; None for an empty one.

        Args:
            method: The HTTP method.
            path: Path of the API, without the version.
            body: Sent as JSON.
            query: Parameters of the address; values other than text are written as JSON.

        Raises:
            EngineRefusedError: The answer is an error.
            MachineError: No answer came; the request may have taken effect or not.
        """
        content = None if body is None else json.dumps(body).encode()
        answer = await self.send(method, path, content=content, **query)
        if not answer:
            return None
        try:
            return json.loads(answer)
        except ValueError as error:
            raise MachineError(f"the container engine answers no JSON to {path}") from error

    async def send(
        self,
        method: str,
        path: str,
        /,
        *,
        content: bytes | None = None,
        kind: str = "application/json",
        **query: object,
    ) -> bytes:
        """Return the answer to a request.

        Raises:
            EngineRefusedError: The answer is an error.
            MachineError: No answer came; the request may have taken effect or not.
        """
        if self._version is None:
            # engines refuse API versions that they consider too old or too new
            found = json.loads(await self._ask("GET", "/version", None, "", {}))
            self._version = str(found["ApiVersion"])
        return await self._ask(method, f"/v{self._version}{path}", content, kind, query)

    async def missing(self, path: str) -> bool:
        """Whether the engine knows nothing at `path`.

        Raises:
            MachineError: It does not say.
        """
        try:
            await self.send("GET", path)
        except EngineRefusedError as error:
            if error.status == _NOT_FOUND:
                return True
            raise
        return False

    async def write_file(self, container: str, folder: str, name: str, text: str) -> None:
        """Write a text as a file into a folder of a container, which may have ended.

        Raises:
            EngineRefusedError: The folder does not exist or is not writable.
            MachineError: No answer came; the file may have been written or not.
        """
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w") as archive:
            data = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        await self.send(
            "PUT", f"/containers/{container}/archive", path=folder, content=content.getvalue(),
            kind="application/x-tar",
        )  # fmt: skip

    async def read_file(self, container: str, path: str) -> str:
        """Return a file of a container as text; empty if it is not a regular file.

        Raises:
            EngineRefusedError: There is nothing at `path`: the status is 404.
            MachineError: No answer came, or it is not an archive.
        """
        packed = await self.send("GET", f"/containers/{container}/archive", path=path)
        try:
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                for member in archive:
                    if (data := archive.extractfile(member)) is not None:
                        return data.read().decode(errors="replace")
        except tarfile.TarError as error:
            raise MachineError(f"the engine gave no archive of {path}: {error}") from error
        return ""

    async def _ask(
        self, method: str, path: str, content: bytes | None, kind: str,
        query: Mapping[str, object],
    ) -> bytes:  # fmt: skip
        httpx = _httpx()
        socket = self._socket or engine_socket()
        params = {
            key: value if isinstance(value, str) else json.dumps(value)
            for key, value in query.items()
        }
        headers = {} if content is None else {"content-type": kind}
        try:
            # reading all certificates for a socket without TLS would take 50 ms of a processor for each request
            transport = httpx.AsyncHTTPTransport(uds=str(socket), verify=False)
            async with httpx.AsyncClient(
                transport=transport,
                timeout=httpx.Timeout(_ANSWER_S, connect=_CONNECT_S),
                base_url="http://engine",
                # proxies of the environment are for networks, and would not reach a socket of this machine
                trust_env=False,
            ) as client:
                answer = await client.request(
                    method, path, params=params, content=content, headers=headers
                )
        except httpx.HTTPError as error:
            raise MachineError(
                f"the container engine at {socket} did not answer {method} {path}: {error!r}"
            ) from error
        if answer.is_error:
            raise EngineRefusedError(f"{method} {path}", answer.status_code, _message(answer))
        return bytes(answer.content)


def _message(answer: httpx.Response) -> str:
    try:
        found: JsonValue = answer.json()
    except ValueError:
        return answer.text[:300]
    return str(found.get("message", found)) if isinstance(found, dict) else str(found)


def _httpx() -> Any:
    try:
        import httpx  # an optional dependency
    except ImportError as error:
        raise MissingExtraError("containers", "httpx", "bench-core", "docker") from error
    return httpx
