"""The files that a trial left: how a report links to them, and which of them are pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["IMAGE_TYPES", "TrialFolder", "artifact_link"]

IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
}
"""Suffix to media type of files shown as pictures; no SVG, in which a browser could run scripts."""


class TrialFolder(NamedTuple):
    """Where a trial's artifacts are, for us and for the page."""

    path: Path
    href: str


def artifact_link(base: str, path: str) -> str:
    """Return a relative link to `path` below `base`; it never starts with a scheme."""
    target = quote(f"{base}/{path}")
    return target if target.startswith((".", "/")) else f"./{target}"
