"""Keeps replies on disk so that the same trial of the same question is paid for once."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pydantic import ValidationError

from bench_core.models.cassettes import request_key
from bench_core.models.records import ModelRequest, Reply

_KEPT = frozenset({"end", "tool_use"})


class ReplyCache:
    """A folder of replies, one file each, named by the content of the request and its trial.

    Refusals and truncated replies are not kept: they are worth another try. A damaged file counts
    as absent.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)

    def find(self, model: str, request: ModelRequest) -> Reply | None:
        """Return the reply kept for this trial of this request."""
        try:
            text = self._path(model, request).read_text(encoding="utf-8")
            return Reply.model_validate_json(text).model_copy(update={"replayed": True})
        except (FileNotFoundError, UnicodeDecodeError, ValidationError):
            return None

    def add(self, model: str, request: ModelRequest, reply: Reply) -> None:
        """Keep a complete reply; written whole or not at all."""
        if reply.stop not in _KEPT or reply.data_error is not None:
            return
        path = self._path(model, request)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(reply.model_dump_json())
        Path(name).replace(path)

    def _path(self, model: str, request: ModelRequest) -> Path:
        key = request_key(model, request)
        return self.folder / key[:2] / f"{key}.json"
