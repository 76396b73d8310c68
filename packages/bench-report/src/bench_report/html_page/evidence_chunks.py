"""Evidence in chunks: inside the page up to a limit, in side files beyond it."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from bench_core.files import read_inside
from bench_report.html_page.evidence import evidence_of
from bench_report.html_page.steps import StepReader
from bench_report.html_page.table_data import as_json, pack
from bench_report.run_data.artifacts import IMAGE_TYPES, TrialFolder
from bench_report.run_data.sources import Source
from bench_report.run_data.stored_files import stored_trial

# The page unpacks a whole chunk to open one trial: small ones open at once, large ones pack better.
_CHUNK_TRIALS = 256
_CHUNK_CHARS = 400_000

Screenshots = Literal["auto", "embed", "link", "none"]
"""Whether the page contains screenshots, links to them or shows none; `auto` embeds a few."""


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
class PackedEvidence:
    """All evidence of a report: the first row of each chunk, and the chunks in the page and in side files."""

    starts: list[int] = field(default_factory=list)
    inline: list[Chunk] = field(default_factory=list)
    side_files: list[Chunk] = field(default_factory=list)
    images: list[Image] = field(default_factory=list)


class Pictures:
    """Decides for every picture whether the page embeds it, links to it or leaves it out."""

    def __init__(self, mode: Screenshots) -> None:
        self._mode = mode
        self._images: dict[str, Image] = {}

    @property
    def embeds(self) -> bool:
        """Whether the page contains them."""
        return self._mode == "embed"

    @property
    def images(self) -> list[Image]:
        """The pictures to embed, each once."""
        return list(self._images.values())

    def source(self, file: Path, href: str) -> str:
        """Return the source by which the page loads `file`: its link, or the name of an embedded picture."""
        if self._mode == "none":
            return ""
        if self._mode == "link":
            return href
        data = read_inside(file.parent, file.name)
        # Named by content: agents often take the same picture several times, which is embedded once.
        name = f"picture-{hashlib.sha256(data).hexdigest()[:16]}"
        text = base64.b64encode(data).decode("ascii")
        self._images.setdefault(name, Image(name, IMAGE_TYPES[file.suffix.lower()], text))
        return f"#{name}"


def collect_evidence(
    runs: Sequence[Source],
    out: Path,
    *,
    pictures: Pictures,
    limit: int,
    known: dict[str, bytes] | None = None,
) -> PackedEvidence:
    """Read and pack the evidence of all trials, in the order of the table's rows.

    Args:
        runs: The runs, in the order of the report.
        out: The folder of the page.
        pictures: Decides how pictures are shown.
        limit: How many packed characters the page may contain; the rest goes to side files.
        known: Keeps the evidence that came from object stores for the next page.
    """
    found = PackedEvidence()
    packed = 0
    for start, trials in _chunked(_all_evidence(runs, out, pictures, known)):
        chunk = Chunk(len(found.starts), pack(b"[%b]" % b",".join(trials)))
        found.starts.append(start)
        packed += len(chunk.text)
        (found.inline if packed <= limit else found.side_files).append(chunk)
    found.images = pictures.images
    return found


def _all_evidence(
    runs: Sequence[Source], out: Path, pictures: Pictures, known: dict[str, bytes] | None
) -> Iterator[bytes]:
    reader = StepReader(pictures.source)
    for run in runs:
        base = run.relative_to(out)
        after = {
            key: dict(zip(each.steps, each.passed, strict=False))
            for key, each in run.step_scores.items()
        }
        for result, name in zip(run.results, run.folders, strict=True):
            if result.stored is None:
                folder = (
                    None if name is None else TrialFolder(run.view.path / name, f"{base}/{name}")
                )
                yield as_json(evidence_of(result, folder, reader, after.get(result.key)))
                continue
            url = result.stored.url
            if known is not None and url in known:
                yield zlib.decompress(known[url])
                continue
            with stored_trial(run, result, base, pictures=pictures.embeds) as stored:
                evidence = as_json(evidence_of(result, stored, reader, after.get(result.key)))
            if known is not None and run.store_problem is None:
                known[url] = zlib.compress(evidence)
            yield evidence


def _chunked(trials: Iterator[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield groups of trials small enough to unpack at once, with the row each starts at."""
    start, size = 0, 0
    chunk: list[bytes] = []
    for row, text in enumerate(trials):
        chunk.append(text)
        size += len(text)
        if len(chunk) >= _CHUNK_TRIALS or size >= _CHUNK_CHARS:
            yield start, chunk
            start, size, chunk = row + 1, 0, []
    if chunk:
        yield start, chunk
