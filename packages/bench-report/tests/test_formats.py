"""All formats of one report hold the same figures; each is read back by a parser of its own."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bench_core.errors import MissingExtraError
from bench_core.testing import make_tasks
from bench_report.formats.latex import escape

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Builds, Built, Runs

FORMATS = ("html", "md", "json", "latex", "csv", "parquet", "junit")


@pytest.fixture
def built(run: Runs, build: Builds) -> Built:
    settings: dict[str, Any] = {"tasks": 40, "trials": 3}
    return build(
        run("a", seed=1, **settings),
        run("b", seed=2, agent="other_agent", success_rate=0.7, **settings),
        formats=FORMATS,
    )


def csv_rows(built: Built, name: str) -> list[dict[str, str]]:
    with (built.folder / "csv" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def markdown_tables(text: str) -> list[list[list[str]]]:
    """Return all tables as rows of cell texts, head included."""
    tables: list[list[list[str]]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and tables[-1]:
            children = token.children or []
            tables[-1][-1].append("".join(child.content for child in children))
    return tables


def latex_tables(text: str) -> dict[str, list[list[str]]]:
    """Return rows of cell texts by label, head first."""
    tables = {}
    for body in re.findall(r"\\begin\{longtable\}(.*?)\\end\{longtable\}", text, re.DOTALL):
        label = re.search(r"\\label\{tab:([^}]*)\}", body)
        assert label
        lines = [line[: -len(r" \\")] for line in body.splitlines() if " & " in line]
        tables[label.group(1)] = [[_plain(cell) for cell in line.split(" & ")] for line in lines]
    return tables


def _plain(cell: str) -> str:
    for command, text in (
        (r"\textperiodcentered{}", "·"), (r"\ensuremath{-}", "\N{MINUS SIGN}"), ("--", "\N{EN DASH}"),
        (r"\textless{}", "<"), (r"\textgreater{}", ">"), (r"\textasciicircum{}", "^"),
    ):  # fmt: skip
        cell = cell.replace(command, text)
    return re.sub(r"\\([%$&#_{}])", r"\1", cell)


def percent(value: float) -> str:
    return f"{value:.0%}" if value in {0, 1} else f"{value:.1%}"


def points(value: float) -> str:
    return f"{100 * value:+.1f} pp".replace("-", "\N{MINUS SIGN}")


def recomputed(trials: list[dict[str, Any]]) -> float:
    """Return the mean over tasks of the mean over scored trials, by other means than ours."""
    tasks: dict[str, list[bool]] = {}
    for row in trials:
        if row["score"] is not None:
            tasks.setdefault(row["task_id"], []).append(row["score"] >= 1)
    return fmean(map(fmean, tasks.values()))


def test_the_headline_is_one_figure_in_every_format(built: Built) -> None:
    embedded = built.embedded("report-data")["runs"]
    md = next(t for t in markdown_tables(built.markdown) if t[0][:2] == ["Run", "Rate"])
    tex = latex_tables((built.folder / "report.tex").read_text("utf-8"))["success"]
    rates = [
        r for r in csv_rows(built, "rates") if (r["part"], r["reading"]) == ("all", "success rate")
    ]
    suites = ET.parse(built.folder / "junit.xml").getroot()  # noqa: S314  # our own file

    for index, run in enumerate(built.json["runs"]):
        success = run["summary"]["success"]
        value, ends = recomputed(run["trials"]), success["new_tasks"]
        within = f"{percent(ends['low'])} to {percent(ends['high'])}"
        assert success["estimate"] == pytest.approx(value)
        assert embedded[index]["summary"]["success"] == success
        assert md[index + 1][1:3] == [percent(value), within]
        assert tex[index + 1][1:3] == [percent(value), within]
        assert float(rates[index]["estimate"]) == success["estimate"]
        assert [float(rates[index][end]) for end in ("low", "high")] == [ends["low"], ends["high"]]
        stated = suites[index].find("properties/property[@name='success rate']")
        assert stated is not None
        assert stated.get("value", "").startswith(f"{percent(value)} (95% interval {within}")
        assert percent(value) in built.html
        assert within in built.html


def test_slices_are_one_figure_in_every_format(built: Built) -> None:
    tasks = {each["task_id"]: each["groups"] for each in built.json["tasks"]}
    tables = markdown_tables(built.markdown)
    tex = latex_tables((built.folder / "report.tex").read_text("utf-8"))
    rates = csv_rows(built, "rates")

    for group in ("site", "type"):
        (md,) = [t for t in tables if t[0][:2] == ["Value", "Run"] and t[1][0] in rows_of(group)]
        for run in built.json["runs"]:
            for row in run["summary"]["groups"][group]:
                members = {key for key, groups in tasks.items() if row["name"] in groups[group]}
                value = recomputed([r for r in run["trials"] if r["task_id"] in members])
                assert row["success"]["estimate"] == pytest.approx(value)
                named = [row["name"], run["label"]]
                assert [c[2] for c in md if c[:2] == named] == [percent(value)]
                assert [c[2] for c in tex[f"by-{group}"] if c[:2] == named] == [percent(value)]
                (flat,) = [
                    r for r in rates
                    if (r["run"], r["part"], r["value"], r["reading"])
                    == (named[1], group, named[0], "success rate")
                ]  # fmt: skip
                assert float(flat["estimate"]) == row["success"]["estimate"]


def rows_of(group: str) -> set[str]:
    sites = {"gitlab", "map", "reddit", "shopping", "shopping_admin"}
    return sites if group == "site" else {"mutate", "navigate", "retrieve"}


def test_differences_are_one_figure_in_every_format(built: Built) -> None:
    (found,) = built.json["comparison"]["differences"]
    tables = markdown_tables(built.markdown)
    md = next(t for t in tables if t[0][:2] == ["Run", "Difference"])
    tex = latex_tables((built.folder / "report.tex").read_text("utf-8"))["differences"]
    flat = csv_rows(built, "differences")
    within = f"{points(found['low']).removesuffix(' pp')} to {points(found['high'])}"

    assert md[1][1:3] == [points(found["value"]), within]
    assert tex[1][2:4] == [points(found["value"]), within]
    assert float(flat[0]["difference"]) == found["value"]
    assert points(found["value"]) in built.html
    assert within in built.html
    by_slice = {(r["part"], r["value"]): r for r in flat[1:]}
    for each in found["slices"]:
        row = by_slice[each["group"], each["value"]]
        assert float(row["difference"]) == pytest.approx(each["new"] - each["baseline"])
        assert [c[2] for c in tex if c[1] == f"{each['group']} {each['value']}"] == [
            points(each["new"] - each["baseline"])
        ]


def test_trials_are_the_same_in_json_csv_parquet_junit_and_page(built: Built) -> None:
    from pyarrow import parquet  # slow to load

    rows = [(run["label"], row) for run in built.json["runs"] for row in run["trials"]]
    flat = csv_rows(built, "trials")
    stored = parquet.read_table(built.folder / "parquet" / "trials.parquet").to_pylist()
    page = built.table()["trials"]
    cases = ET.parse(built.folder / "junit.xml").getroot().findall("testsuite/testcase")  # noqa: S314

    assert len(rows) == len(flat) == len(stored) == len(page["task"]) == len(cases) == 240
    for place, (label, row) in enumerate(rows):
        assert (stored[place]["run"], stored[place]["task_id"]) == (label, row["task_id"])
        for name in ("trial", "score", "success", "steps", "cost_usd", "time_s", "status"):
            assert stored[place][name] == row[name]
        assert flat[place]["score"] == ("" if row["score"] is None else str(row["score"]))
        assert page["score"][place] == row["score"]
        kind = {True: None, False: "failure", None: "error"}[row["success"]]
        assert [child.tag for child in cases[place] if child.tag != "system-out"] == (
            [kind] if kind else []
        )


def test_totals_and_counts_are_the_same_everywhere(built: Built) -> None:
    effort = csv_rows(built, "effort")
    counts = csv_rows(built, "counts")
    tex = latex_tables((built.folder / "report.tex").read_text("utf-8"))
    for run in built.json["runs"]:
        cost = sum(row["cost_usd"] or 0 for row in run["trials"])
        (whole,) = [
            r for r in effort
            if (r["run"], r["part"], r["quantity"]) == (run["label"], "all", "cost_usd")
        ]  # fmt: skip
        assert float(whole["total"]) == pytest.approx(cost)
        assert f"${cost:,.2f}" in built.html
        assert f"${cost:,.2f}" in built.markdown
        assert f"${cost:,.2f}" in {row[-1] for row in tex["effort"] if row[0] == run["label"]}
        statuses = Counter(row["status"] for row in run["trials"])
        assert statuses == {
            r["name"]: int(r["trials"])
            for r in counts
            if (r["run"], r["kind"]) == (run["label"], "status")
        }


def test_other_readings_are_the_same_everywhere(built: Built) -> None:
    rates = csv_rows(built, "rates")
    tex = latex_tables((built.folder / "report.tex").read_text("utf-8"))["readings"]
    for run in built.json["runs"]:
        for k, name in ((2, "pass@2"), (3, "pass^3")):
            rate = next(each for each in run["summary"]["pass_rates"] if each["k"] == k)
            value = rate["pass_at_k" if "@" in name else "pass_hat_k"]["estimate"]
            (flat,) = [r for r in rates if (r["run"], r["reading"]) == (run["label"], name)]
            assert float(flat["estimate"]) == value
            assert [row[2] for row in tex if row[:2] == [name, run["label"]]] == [percent(value)]
            assert percent(value) in built.markdown
            assert percent(value) in built.html


def test_planned_trials_without_a_result_are_skipped_cases(scored_run: Runs, build: Builds) -> None:
    built = build(scored_run({"a": [1, 0], "b": [1]}), formats=["junit"])

    root = ET.parse(built.folder / "junit.xml").getroot()  # noqa: S314  # our own file
    assert {name: root.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "4",
        "failures": "1",
        "skipped": "1",
    }


def test_latex_has_the_methods_and_their_sources(scored_run: Runs, build: Builds) -> None:
    built = build(scored_run({"a": [1, 0], "b": [1]}), formats=["json", "latex"])
    report = json.loads((built.folder / "report.json").read_text())
    latex = (built.folder / "report.tex").read_text()
    assert r"\paragraph{How this was measured.}" in latex
    assert all(escape(each, 5000) in latex for each in report["methods"])
    assert all(rf"\item {escape(each, 1000)}" in latex for each in report["references"])
    assert report["references"]


@given(st.text())
def test_latex_keeps_every_brace_and_dollar_harmless(text: str) -> None:
    escaped = escape(text)

    bare = re.sub(r"\\([%$&#_{}]|[a-zA-Z]+)", "", escaped)
    assert not re.search(r"[%$&#_^~\\]", bare)
    assert bare.count("{") == bare.count("}")


HOSTILE = [
    "=1+1",
    "+cmd",
    "-2",
    "@SUM(A1)",
    "a\x00b\x1b[31m",
    "]]>&<x>",
    "\ud800",
    '"quoted",\r\nline',
    "x" * 9_000,
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_survive_every_format(text: str, scored_run: Runs, build: Builds) -> None:
    goal = text.encode("utf-8", "replace").decode()
    folder = scored_run({"a": [1], "b": [0], "c": [None]}, goals={"a": goal, "b": goal}, agent=goal)

    built = build(folder, formats=FORMATS, title=goal)

    ET.parse(built.folder / "junit.xml")  # noqa: S314  # our own file
    for name in ("rates", "trials", "counts"):
        for row in csv_rows(built, name):
            assert not any(str(cell).startswith(("=", "+", "@")) for cell in row.values())
    assert latex_tables((built.folder / "report.tex").read_text("utf-8"))["success"]


def test_parquet_without_pyarrow_names_the_extra(
    run: Runs, build: Builds, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    with pytest.raises(MissingExtraError, match=r"bench-report\[parquet\]"):
        build(run(), formats=["parquet"])
    assert not (tmp_path / "report" / "parquet").exists()


ODD_NAMES = (
    "a & b", "50%", "x_y", "~t", "back\\slash", "{brace", "}", "[option]", "*star", "^^M", "# $1",
    "emoji \U0001f600", "\u4e2d\u6587 n\u00e9 \u00df", "bidi \u202e end", "\x1b[31m", "\"q\" `b` 's'",
    "<a>|b|", "\u2212\u2013\u00b7\u2026", "\\input{/etc/passwd}", "\u0416\u03a9\u2192\u2265 \u0127\u0142",
)  # fmt: skip

PAPER = r"""\documentclass{article}
\usepackage[T1]{fontenc}\usepackage{textcomp}\usepackage{booktabs}\usepackage{longtable}
\begin{document}\listoftables\input{report.tex}\end{document}
"""


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on PATH")
def test_latex_sets_a_paper_with_tables_of_any_names(run: Runs, build: Builds) -> None:
    tasks = [
        task.model_copy(update={"groups": {"site & co_%": (name,), **task.groups}})
        for task, name in zip(make_tasks(len(ODD_NAMES)), ODD_NAMES, strict=True)
    ]
    runs = [run(str(n), tasks=tasks, trials=2, agent=f"[{n}] {ODD_NAMES[n]}") for n in (3, 11)]
    folder = build(*runs, formats=["latex"], title="A % {title} \\n ^^M").folder
    (folder / "paper.tex").write_text(PAPER, encoding="utf-8")

    command = [
        str(shutil.which("pdflatex")), "-no-shell-escape", "-interaction=nonstopmode", "paper.tex",
    ]  # fmt: skip
    for _ in range(2):  # the second time with the list of tables
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
        wrong = [line for line in done.stdout.decode("latin-1").splitlines() if line[:1] == "!"]
        assert (done.returncode, wrong) == (0, [])
    assert (folder / "paper.pdf").read_bytes().startswith(b"%PDF-")
