"""Figures as PDF files of exactly their size, printed by the Chromium of this machine; texts stay texts."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from bench_core.browser import find_chromium
from bench_core.errors import BrowserError
from bench_report.formats.figures import Figure

_PATIENCE_S = 180.0
_PAGE = (
    "<!doctype html><meta charset=utf-8><style>@page {{ size: {width}px {height}px; margin: 0 }} "
    "body {{ margin: 0 }} svg {{ display: block; width: {width}px; height: {height}px }}</style>{svg}"
)


def print_figures(figures: Sequence[Figure]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the PDF document of each figure.

    Raises:
        BrowserError: Chromium is missing, or it does not print.
    """
    chromium = find_chromium()
    with tempfile.TemporaryDirectory(prefix="proctor-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        for each in figures:
            yield each.name, _printed(chromium, each.svg, folder)


def _printed(chromium: Path, svg: str, folder: Path) -> bytes:
    page, document = folder / "figure.html", folder / "figure.pdf"
    # Only drawing is parsed here, ours and written a moment ago.
    *_, width, height = (float(n) for n in ET.fromstring(svg).attrib["viewBox"].split())  # noqa: S314
    page.write_text(_PAGE.format(width=width, height=height, svg=svg), encoding="utf-8")
    document.unlink(missing_ok=True)
    switches = ["--headless", "--disable-gpu", "--no-pdf-header-footer", "--no-first-run"]
    if getattr(os, "geteuid", lambda: 1)() == 0:
        # Chromium has no sandbox for root, and does not start for it without this
        switches.append("--no-sandbox")
    places = [f"--user-data-dir={folder / 'profile'}", f"--print-to-pdf={document}"]
    command = [str(chromium), *switches, *places, page.as_uri()]
    try:
        # The program that the user has or names, with a page that was written above.
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise BrowserError(f"{chromium} did not print a figure within {_PATIENCE_S:g} s") from None
    if not document.is_file():
        errors = done.stderr.decode(errors="replace").strip().splitlines()[-3:]
        raise BrowserError(f"{chromium} does not print: {' '.join(errors)}"[:500])
    return document.read_bytes()
