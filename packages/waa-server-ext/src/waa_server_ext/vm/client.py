"""The only way to the VM: HTTP with bounds, recording every call.

The VM is untrusted and may die at any moment: an answer is bounded in size, a call in time, and
a failed transport raises `VmTransportError` and is recorded with its `error`.
"""

from __future__ import annotations

import base64
import hashlib
import json as json_codec
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench_core.closing import Closing
from bench_core.errors import EnvironmentFaultError
from bench_core.files import write_atomic
from bench_core.serving import token_for
from waa_server_ext.vm.access import VM_TOKEN_VARIABLE
from waa_server_ext.vm.exchanges import Body, VmExchange

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import httpx

VM_PORT = 5000
"""The port of WAA's server; vanilla has it hard-coded."""

_INLINE_BYTES = 4096
_NO_HOST = re.compile(r"[\s/?#@\\]")


class VmTransportError(EnvironmentFaultError):
    """The VM did not answer, or not in time, or with too much."""

    def __init__(self, method: str, path: str, reason: str) -> None:
        self.method = method
        self.path = path
        self.reason = reason
        super().__init__(f"{method} {path}: {reason}")


@dataclass(frozen=True)
class VmResponse:
    """An answer; any status."""

    status: int
    body: bytes
    content_type: str = ""

    @property
    def text(self) -> str:
        """The body as text, in the character set it names or UTF-8."""
        _, _, charset = self.content_type.partition("charset=")
        try:
            return self.body.decode(charset.split(";")[0].strip(" \"'") or "utf-8", "replace")
        except LookupError:  # the VM may name any character set
            return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ValueError: It is not JSON.
        """
        return json_codec.loads(self.body)


@dataclass
class BodyStore:
    """Storage for the bodies of a transcript: short ones inline, the rest in `folder` if there is one."""

    folder: Path | None = None

    def keep(self, data: bytes, content_type: str = "") -> Body:
        """Return the record of a body."""
        digest = hashlib.sha256(data).hexdigest()
        text = b64 = file = None
        if len(data) > _INLINE_BYTES:
            if self.folder is not None:
                self.folder.mkdir(parents=True, exist_ok=True)
                path = self.folder / digest
                if not path.exists() or path.stat().st_size != len(data):
                    write_atomic(path, data)
                file = digest
        else:
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                b64 = base64.b64encode(data).decode("ascii")
        return Body(
            sha256=digest, size=len(data), content_type=content_type, text=text, b64=b64, file=file
        )

    def load(self, body: Body) -> bytes | None:
        """Return the body of a record; None if it was not kept, or is damaged."""
        if (held := body.inline) is not None:
            return held
        path = self.folder / body.sha256 if self.folder and body.file else None
        if path is None or not path.is_file():
            return None
        data = path.read_bytes()
        return data if hashlib.sha256(data).hexdigest() == body.sha256 else None


@dataclass
class VmHttp(Closing):
    """A client of one VM; a context manager. Nothing of the environment (proxies) is used.

    Attributes:
        vm: `host` or `host:port`.
        timeout_s: Longest wait for one whole answer.
        deadline: An instant of `time.monotonic()` after which every call fails.
        record: Gets one `VmExchange` per call, including failed ones.
        bodies: Stores the bodies of the record.
        token: Sent as bearer token; by default that of a VM which this user simulates.
    """

    vm: str
    timeout_s: float = 120.0
    deadline: float | None = None
    max_bytes: int = 256 * 1024 * 1024
    record: list[VmExchange] = field(default_factory=list)
    bodies: BodyStore = field(default_factory=BodyStore)
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        import httpx  # slow to import

        host, port = vm_address(self.vm)
        # ignore the environment: users of V2 set HTTPS_PROXY, which would swallow calls to the VM
        url = f"http://{host}:{port}"
        token = self.token or token_for(url, VM_TOKEN_VARIABLE)
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            trust_env=False,
            # the agent controls the VM, which must not direct our requests to other hosts
            follow_redirects=False,
            verify=False,  # noqa: S501  # plain HTTP: loading certificates takes 30 ms a client
        )

    def get(
        self, path: str, params: Mapping[str, str] | None = None, *, timeout_s: float | None = None
    ) -> VmResponse:
        """Ask with GET."""
        return self.request("GET", path, params=params, timeout_s=timeout_s)

    def post(
        self,
        path: str,
        *,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        files: Mapping[str, tuple[str, bytes]] | None = None,
        timeout_s: float | None = None,
    ) -> VmResponse:
        """Ask with POST; `files` maps a field to file name and content."""
        return self.request("POST", path, json=json, form=form, files=files, timeout_s=timeout_s)

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        json: Any = None,
        form: Mapping[str, str] | None = None,
        files: Mapping[str, tuple[str, bytes]] | None = None,
        timeout_s: float | None = None,
    ) -> VmResponse:
        """Send the VM a request and record it.

        Raises:
            VmTransportError: No whole answer came in time.
        """
        import httpx  # slow to import

        request = self._client.build_request(
            method, path, params=params, json=json, data=form, files=files
        )
        noted = _noted(json, form, files)
        started = time.monotonic()
        response, fault = None, None
        try:
            response = self._send(request, started + (timeout_s or self.timeout_s))
        except httpx.TimeoutException:
            fault = f"no answer within {time.monotonic() - started:.1f} s"
        except (httpx.HTTPError, _RefusedAnswerError) as error:
            fault = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        self.record.append(
            VmExchange(
                method=request.method,
                path=request.url.raw_path.decode("ascii"),
                request=noted,
                status=response.status if response else None,
                body=self.bodies.keep(response.body, response.content_type) if response else None,
                seconds=round(time.monotonic() - started, 6),
                error=fault,
            )
        )
        if response is None:
            raise VmTransportError(method, path, fault or "no answer")
        return response

    def record_browser(self, getter: str, request: Any, status: int, answer: Any) -> None:
        """Record a getter's result from the VM's browser, as a call that a replay answers."""
        self.record.append(
            VmExchange(
                target="browser",
                method="POST",
                path=browser_path(getter),
                request={"json": request},
                status=status,
                body=self.bodies.keep(json_codec.dumps(answer).encode(), "application/json"),
            )
        )

    def close(self) -> None:
        """Close the connections; safe to call twice."""
        self._client.close()

    def _send(self, request: httpx.Request, until: float) -> VmResponse:
        import httpx  # slow to import

        until = min(until, self.deadline) if self.deadline is not None else until
        left = until - time.monotonic()
        if left <= 0:
            raise _RefusedAnswerError("the time for the whole evaluation is used up")
        request.extensions["timeout"] = httpx.Timeout(left, connect=min(left, 10.0)).as_dict()
        response = self._client.send(request, stream=True)
        try:
            body = self._read(response, until)
        finally:
            response.close()
        return VmResponse(response.status_code, body, response.headers.get("content-type", ""))

    def _read(self, response: httpx.Response, until: float) -> bytes:
        """Read the whole answer; a server that drips bytes cannot block us."""
        import httpx  # slow to import

        pieces, size = [], 0
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            # counted on arrival: a length that the VM declares proves nothing
            if size > self.max_bytes:
                raise _RefusedAnswerError(f"the answer has more than {self.max_bytes} bytes")
            if time.monotonic() > until:
                raise httpx.ReadTimeout("the answer took too long", request=response.request)
        return b"".join(pieces)


class _RefusedAnswerError(Exception):
    pass


def browser_path(getter: str) -> str:
    """Return the path of a getter's browser results in transcripts."""
    return f"/browser/{getter}"


def vm_address(vm: str) -> tuple[str, int]:
    """Return host and port of `host`, `host:port` or `[v6]:port`, with or without `http://`.

    >>> vm_address("192.168.1.7"), vm_address("http://192.168.1.7:5001/")
    (('192.168.1.7', 5000), ('192.168.1.7', 5001))

    Raises:
        ValueError: It is not an address of these forms.
    """
    place = vm.removeprefix("http://").removesuffix("/") if vm.startswith("http://") else vm
    host, colon, port = place.rpartition(":")
    if not colon or place.endswith("]"):
        host, port = place, str(VM_PORT)
    is_port = port.isascii() and port.isdecimal() and 0 < int(port[:9]) <= 65535  # TCP
    if not is_port or not host or _NO_HOST.search(host):
        raise ValueError(f"{vm!r} is not host or host:port, nor http:// and one of these")
    return host, int(port)


def _noted(
    json: Any, form: Mapping[str, str] | None, files: Mapping[str, tuple[str, bytes]] | None
) -> Any:
    if json is not None:
        return {"json": json}
    if form is None and files is None:
        return None
    uploads = {
        name: {"name": file, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        for name, (file, data) in (files or {}).items()
    }
    return {"form": {**(form or {}), **uploads}}
