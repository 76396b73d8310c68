"""Errors of models' providers and servers, as they write them: `provider_replies.jsonl`, with sources.

The bodies are written after what each documents, or what its users reported.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["REPLIES", "ProviderReply"]


@dataclass(frozen=True)
class ProviderReply:
    """An error, and what it means.

    Attributes:
        status: HTTP status.
        kind: What it means, an `ErrorKind`.
        body: JSON as read, or a text.
        source: Where it is documented or was seen.
    """

    provider: str
    status: int
    kind: str
    body: Any
    source: str
    number: int

    @property
    def name(self) -> str:
        """What tests call it."""
        return f"{self.number}-{self.provider}-{self.status}-{self.kind}"

    @property
    def raw(self) -> str:
        """The body as it is sent."""
        return self.body if isinstance(self.body, str) else json.dumps(self.body)


REPLIES = tuple(
    ProviderReply(**json.loads(line), number=number)
    for number, line in enumerate(
        Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines(), 1
    )
)
"""All of them, in the order of the file."""
