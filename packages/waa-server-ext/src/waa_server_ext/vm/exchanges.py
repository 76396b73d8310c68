"""Calls over HTTP and the bodies of their answers, as records."""

from __future__ import annotations

import base64
import hashlib
from typing import Literal

from pydantic import Field, JsonValue, NonNegativeFloat, NonNegativeInt, model_validator
from typing_extensions import Self

from bench_core.records import Record


class Body(Record):
    """The body of an answer; large ones are stored separately, named by their digest.

    An inline body that does not match its digest and size is invalid.

    Attributes:
        content_type: As the server names it; decides how text is decoded.
        text: The body itself if it is short UTF-8 text.
        b64: The body itself if it is short and not UTF-8.
        file: Its name in the folder of bodies if it is stored separately; all three are empty if it
            was not kept.
    """

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: NonNegativeInt
    content_type: str = ""
    text: str | None = None
    b64: str | None = None
    file: str | None = None

    @property
    def inline(self) -> bytes | None:
        """The body, if it is stored inline."""
        if self.text is not None:
            return self.text.encode("utf-8")
        return None if self.b64 is None else base64.b64decode(self.b64, validate=True)

    @model_validator(mode="after")
    def _is_what_it_says(self) -> Self:
        if self.text is not None and self.b64 is not None:
            raise ValueError("a body is text or b64, not both")
        try:
            held = self.inline
        except ValueError as error:
            raise ValueError(f"the body cannot be decoded: {error}") from error
        if held is None:
            return self
        if len(held) != self.size or hashlib.sha256(held).hexdigest() != self.sha256:
            raise ValueError("the body is not the one of its sha256 and size")
        return self


class VmExchange(Record):
    """One call over HTTP.

    Attributes:
        target: The VM, its browser over the debugging port, or another host (gold and setup files).
        path: With the query for the VM, the whole URL for the web, `/browser/` and the getter for a
            browser, whose answer is the getter's result.
        request: `{"json": ...}`, `{"form": {...}}` or `{"sha256": ..., "size": ...}`; `None` without a
            body. Uploaded files are given by digest and size inside `form`.
        status: Three digits; `None` when no answer came.
        error: The reason for a missing answer: a failed transport, a refused host, too large an answer.
    """

    target: Literal["vm", "browser", "web"] = "vm"
    method: str
    path: str
    request: JsonValue = None
    status: int | None = Field(default=None, ge=100, le=999)
    body: Body | None = None
    seconds: NonNegativeFloat = 0.0
    error: str | None = None
