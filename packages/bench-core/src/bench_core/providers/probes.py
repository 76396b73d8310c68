"""HTTP requests that read a machine's state, set its mark and set its clock."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Literal

from bench_core.machines import MachineError
from bench_core.records import Record

_LONGEST = 1_000_000
_SERVER_ERROR = 500
# machines are never behind one
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class _Unredirected(urllib.request.HTTPRedirectHandler):
    """Sites redirect to the host that they think they have."""

    def redirect_request(self, *_: object) -> None:
        return None


_UNREDIRECTED = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Unredirected)


class Probe(Record):
    """One request to a machine.

    Attributes:
        url: With `{port:N}` for the address of the machine's port N.
        method: The HTTP method.
        body: The request's body; `{mark}` and `{now}` become their values.
        headers: In addition to those of every request.
        field: The field of the answer, a JSON object, to read; None for the whole answer.
    """

    url: str
    method: Literal["GET", "POST", "PUT"] = "GET"
    body: str | None = None
    headers: dict[str, str] = {}  # noqa: RUF012  # pydantic copies defaults
    field: str | None = None


async def ask(probe: Probe, values: Mapping[str, str], *, within_s: float) -> str:
    """Return a machine's answer as text, over a connection of its own.

    Args:
        probe: The request; `{name}` becomes the value of that name.
        values: Values by name, such as `port:5000`.
        within_s: For connecting and for each part of the answer, in seconds.

    Raises:
        MachineError: It does not answer with status 200, or with more than 1 MB, or without the field.
    """
    url = filled(probe.url, values)
    body = None if probe.body is None else filled(probe.body, values).encode()
    request = urllib.request.Request(  # noqa: S310  # the user's own machine
        url, data=body, method=probe.method, headers=probe.headers
    )
    answer = await asyncio.to_thread(_answer, request, within_s)
    return answer if probe.field is None else _picked(answer, probe.field, url)


async def answers(url: str, *, within_s: float) -> None:
    """Return if a server answers with a status below 500; a redirect is an answer, too.

    Args:
        url: The URL to request.
        within_s: For connecting and for each part of the answer, in seconds.

    Raises:
        MachineError: It does not answer so.
    """
    status = await asyncio.to_thread(_status, url, within_s)
    if status >= _SERVER_ERROR:
        raise MachineError(f"{url} answers {status}")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with `{name}` replaced by the value of that name; other braces stay."""
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def _picked(answer: str, field: str, url: str) -> str:
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get(field), str | int | float):
        raise MachineError(f"{url} answers without {field!r}: {answer[:200]!r}")
    return str(found[field])


def _status(url: str, within_s: float) -> int:
    try:
        with _UNREDIRECTED.open(url, timeout=within_s) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with contextlib.closing(error):
            return error.code
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise MachineError(f"{url} does not answer: {error}") from error


def _answer(request: urllib.request.Request, within_s: float) -> str:
    try:
        with _DIRECT.open(request, timeout=within_s) as reply:
            found = reply.read(_LONGEST + 1)
    except urllib.error.HTTPError as error:
        with contextlib.closing(error):
            raise MachineError(f"{request.full_url} answers {error.code}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise MachineError(f"{request.full_url} does not answer: {error}") from error
    if len(found) > _LONGEST:
        raise MachineError(f"{request.full_url} answers with more than {_LONGEST} bytes")
    return bytes(found).decode(errors="replace")
