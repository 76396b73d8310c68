"""The files that a trial left: how a report links to them, and which of them are pictures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from bench_core.files import file_inside

CALLS_FILES = ("conversation.jsonl", "proxied_calls.jsonl")
"""Files in which trials keep their models' requests; the first that exists is shown."""
IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
}
"""Suffix to media type of files shown as pictures; no SVG, in which a browser could run scripts."""


class TrialFolder(NamedTuple):
    """The folder of a trial's artifacts, for us and for the page.

    Attributes:
        path: The folder that we read.
        href: The page's link to them.
        linked: The folder that the link leads to; None if that is `path`.
        note: A note about them for the reader.
    """

    path: Path
    href: str
    linked: Collection[str] | None = None
    note: str | None = None

    def links(self, name: str) -> bool:
        """Return whether the page can load a file."""
        return file_inside(self.path, name) if self.linked is None else name in self.linked


def artifact_link(base: str, path: str) -> str:
    """Return a relative link to `path` below `base`; it never starts with a scheme."""
    target = quote(f"{base}/{path}")
    return target if target.startswith((".", "/")) else f"./{target}"
