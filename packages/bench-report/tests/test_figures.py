"""Figures as SVG files, and tables on the clipboard."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from bench_report.cli import main
from bench_report.formats.figures import figures_of
from bench_report.text.numbers import interval, percent

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Builds, Built, Runs, Visits

TEXT = "{http://www.w3.org/2000/svg}text"


@pytest.fixture
def three(run: Runs, build: Builds) -> Built:
    names = ("a", "b", "c")
    return build(*(run(n, tasks=30, trials=2, seed=i, agent=n) for i, n in enumerate(names)))


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(svg).iter(TEXT)]  # noqa: S314  # ours


def test_every_figure_is_a_document_of_its_own(three: Built) -> None:
    found = {each.name: each.svg for each in figures_of(three.report)}

    assert set(found) == {"rates", "differences", "cost", "steps", "slices-1", "slices-2"}
    for svg in found.values():
        root = ET.fromstring(svg)  # noqa: S314  # ours
        assert root.get("viewBox")
        assert "class=" not in svg  # no style sheet that would be missing elsewhere
        assert not re.search(r"(?:nan|inf|None)\b", svg)


def test_figures_have_the_numbers_of_the_report(three: Built) -> None:
    found = {each.name: texts(each.svg) for each in figures_of(three.report)}

    for run in three.report.runs:
        main_rate = run.summary.success
        assert main_rate.new_tasks is not None
        words = f"{percent(main_rate.estimate)}  {interval(main_rate.new_tasks)}"
        assert words in found["rates"]
        for row in run.summary.groups["site"]:
            assert percent(row.success.estimate) in found["slices-1"]


def test_the_figure_of_costs_says_of_how_many_trials_the_price_is_known(three: Built) -> None:
    words = next(texts(each.svg) for each in figures_of(three.report) if each.name == "cost")
    for run in three.report.runs:
        assert any(
            each.split("  ")[-1].startswith(f"{run.label}:")
            and "price known of all 60 trials" in each
            for each in words
        )


@pytest.mark.browser
def test_figures_are_printed_as_pdf_of_their_size_with_their_texts(
    run: Runs, tmp_path: Path
) -> None:
    folder, out = run("a", tasks=30, agent="café & <co>"), tmp_path / "figures"
    done = CliRunner().invoke(main, ["export", "figures", str(folder), "-o", str(out), "--pdf"])

    assert done.exit_code == 0, done.output
    assert {each.stem for each in out.glob("*.pdf")} == {each.stem for each in out.glob("*.svg")}
    pdf = (out / "rates.pdf").read_bytes()
    root = ET.fromstring((out / "rates.svg").read_text("utf-8"))  # noqa: S314  # ours
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", pdf)
    assert pdf.startswith(b"%PDF-")
    assert len(boxes) == 1  # one page
    assert [float(n) for n in boxes[0]] == pytest.approx([width * 0.75, height * 0.75], abs=1)
    assert b"/Font" in pdf  # words, not outlines


def test_pdf_is_offered_for_figures_alone(run: Runs, tmp_path: Path) -> None:
    command = ["export", "csv", str(run()), "-o", str(tmp_path / "out"), "--pdf"]

    assert CliRunner().invoke(main, command).exit_code == 2


def test_hostile_labels_stay_text(run: Runs, build: Builds) -> None:
    attack = "</text><script>alert(1)</script>\x00\u202e&\"'"
    report = build(run("a", tasks=9, agent=attack), run("b", tasks=9), formats=["json"]).report

    for each in figures_of(report):
        tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(each.svg).iter()}  # noqa: S314
        assert tags <= {"svg", "title", "text", "line", "circle", "rect", "path"}


def test_a_run_without_scores_has_a_figure_without_points(scored_run: Runs, build: Builds) -> None:
    report = build(scored_run({"a": [None]}), formats=["json"]).report

    assert "<circle" not in next(figures_of(report)).svg


def test_the_command_writes_the_files(run: Runs, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    done = CliRunner().invoke(main, ["export", "figures", str(run(tasks=12)), "--out", str(out)])

    assert done.exit_code == 0, done.output
    assert {each.name for each in out.iterdir()} >= {"rates.svg", "steps.svg"}


@pytest.mark.browser
def test_tables_are_copied_in_three_forms(three: Built, visit: Visits) -> None:
    page = visit().open(three)
    page.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.taken = text; }")
    copied = {}
    for form in ("LaTeX", "Markdown", "CSV"):
        page.click(f"#differences .copies >> nth=0 >> text={form}")
        page.wait_for_selector(f"#differences .copies >> nth=0 >> text=copied as {form}")
        copied[form] = page.evaluate("globalThis.taken").splitlines()

    assert copied["LaTeX"][0].startswith("\\begin{tabular}{l")
    assert copied["LaTeX"][4].startswith("b · openai:gpt-5.2 & ")
    assert copied["Markdown"][0].startswith("| Run | Difference |")
    assert copied["Markdown"][2].startswith("| b · openai:gpt-5.2 | ")
    assert copied["CSV"][1].startswith('"b · openai:gpt-5.2","')
    assert len(copied["CSV"]) == 3
