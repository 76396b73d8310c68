"""Outcomes are told apart without colour: by lightness, for three kinds of colour blindness, and by shape."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from bench_report.html_page.run_charts import heat_map
from bench_report.html_page.svg_plots import TONES, share_bar, tone_class

if TYPE_CHECKING:
    from conftest import Builds, Runs

CSS = files("bench_report.html_page").joinpath("static/report.css").read_text("utf-8")

# Machado, Oliveira and Fernandes 2009 (IEEE TVCG 15:1291), severity 1, on linear RGB.
SIGHTS = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
GREY = ((0.2126, 0.7152, 0.0722),) * 3
"""As a printer without colours shows them."""


def colour(name: str, scheme: int) -> tuple[float, ...]:
    found = re.search(rf"--{name}: light-dark\((#\w{{6}}), (#\w{{6}})\)", CSS)
    assert found, name
    parts = (int(found.group(scheme + 1)[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)


def seen(light: tuple[float, ...], sight: tuple[tuple[float, ...], ...]) -> float:
    """Return the relative luminance of a colour as somebody with this sight sees it."""
    rgb = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, light, strict=True)))) for row in sight]
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]


def contrast(one: float, other: float) -> float:
    low, high = sorted((one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("sight", [*SIGHTS, "grey"])
def test_passed_and_failed_differ_in_lightness_to_every_sight(sight: str, scheme: int) -> None:
    matrix = SIGHTS.get(sight, GREY)
    passed, failed, card = (
        seen(colour(each, scheme), matrix) for each in ("pass-fill", "fail-fill", "card")
    )

    assert contrast(passed, failed) >= 2.5
    assert contrast(passed, card) >= 3
    assert contrast(failed, card) >= 3


def test_parts_of_a_bar_differ_in_height() -> None:
    bar = share_bar([("pass", 3), ("fail", 2), ("void", 1)], label="")

    assert re.findall(r'class="part (\w+)".*?height="(\d+)"', bar) == [
        ("pass", "28"), ("fail", "16"), ("void", "6"),
    ]  # fmt: skip


def test_cells_of_tasks_by_trials_differ_in_height(scored_run: Runs, build: Builds) -> None:
    run = build(scored_run({"a": [1, 0], "b": [0, 0]}), formats=["json"]).report.runs[0]
    found = heat_map(run)

    heights = {
        kind: set(re.findall(r"h\d+v(\d+)h", path))
        for kind, path in re.findall(r'class="part (\w+)".*?d="([^"]+)"', found)
    }
    assert heights == {"pass": {"14"}, "fail": {"7"}}


def test_no_two_of_thirty_two_runs_look_alike() -> None:
    assert len({tone_class(run) for run in range(4 * TONES)}) == 4 * TONES
    for tone in range(TONES):
        assert f".tone-{tone} " in CSS
