"""Evidence in chunks: inside the page up to a limit, in side files beyond it."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from bench_report.evidence import PICTURES, TrialFolder, evidence_of
from bench_report.payload import as_json, pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bench_report.sources import Source

__all__ = ["Chunk", "Evidence", "Image", "Pictures", "Screenshots", "collect_evidence"]

_CHUNK_TRIALS = 256
_CHUNK_CHARS = 400_000

Screenshots = Literal["auto", "embed", "link", "none"]
"""Whether the page holds screenshots, links to them or shows none; `auto` holds a few."""


class Chunk(NamedTuple):
    """The packed evidence of consecutive trials."""

    number: int
    text: str


class Image(NamedTuple):
    """A picture inside the page."""

    name: str
    type: str
    text: str


@dataclass
class Evidence:
    """All evidence of a report: where each chunk starts and where it is kept."""

    starts: list[int] = field(default_factory=list)
    inline: list[Chunk] = field(default_factory=list)
    side_files: list[Chunk] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)


class Pictures:
    """Decides for every picture whether the page holds it, links to it or leaves it out."""

    def __init__(self, mode: Screenshots) -> None:
        self._mode = mode
        self._images: dict[str, Image] = {}

    @property
    def images(self) -> list[Image]:
        """The pictures to embed, each once."""
        return list(self._images.values())

    def source(self, file: Path, href: str) -> str:
        """Return what the page loads for `file`: its link, or the name of an embedded picture."""
        if self._mode == "none":
            return ""
        if self._mode == "link":
            return href
        data = file.read_bytes()
        name = f"picture-{hashlib.sha256(data).hexdigest()[:16]}"
        text = base64.b64encode(data).decode("ascii")
        self._images.setdefault(name, Image(name, PICTURES[file.suffix.lower()], text))
        return f"#{name}"


def collect_evidence(
    runs: Sequence[Source], out: Path, *, pictures: Pictures, limit: int
) -> Evidence:
    """Read and pack the evidence of all trials, in the order of the table's rows.

    Args:
        runs: The runs, in the order of the report.
        out: The folder of the page.
        pictures: Decides how pictures are shown.
        limit: How many packed characters the page may hold; what is beyond goes to side files.
    """
    found = Evidence()
    held = 0
    for start, trials in _chunked(map(as_json, _all_evidence(runs, out, pictures))):
        chunk = Chunk(len(found.starts), pack(b"[%b]" % b",".join(trials)))
        found.starts.append(start)
        held += len(chunk.text)
        (found.inline if held <= limit else found.side_files).append(chunk)
    found.images = pictures.images
    return found


def _all_evidence(
    runs: Sequence[Source], out: Path, pictures: Pictures
) -> Iterator[dict[str, Any]]:
    for run in runs:
        base = run.seen_from(out)
        for result, kept in zip(run.results, run.folders, strict=True):
            folder = None if kept is None else TrialFolder(run.view.path / kept, f"{base}/{kept}")
            yield evidence_of(result, folder, pictures.source)


def _chunked(trials: Iterator[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield groups of trials small enough to unpack at once, with the row each starts at."""
    start, size = 0, 0
    held: list[bytes] = []
    for row, text in enumerate(trials):
        held.append(text)
        size += len(text)
        if len(held) >= _CHUNK_TRIALS or size >= _CHUNK_CHARS:
            yield start, held
            start, size, held = row + 1, 0, []
    if held:
        yield start, held
