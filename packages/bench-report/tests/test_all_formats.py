"""Every number of one report, in JSON, Markdown, LaTeX, CSV, Parquet and on the page."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from bench_report.text import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import Builds, Built

parquet = pytest.importorskip("pyarrow.parquet")

TEXTS = ("html", "markdown", "latex")


class Figure(NamedTuple):
    """What stands in one row of a text: words that name it, and its figures as they are written."""

    words: tuple[str, ...]
    figures: tuple[str, ...]
    formats: tuple[str, ...] = TEXTS


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, report_of_runs: Builds) -> Built:
    """Three runs with partial scores, failed checks, costs, slices and templates."""
    from bench_core.testing import make_run

    place = tmp_path_factory.mktemp("formats")
    agents = [("a", 0.4), ("b", 0.7), ("c", 0.55)]
    made = [
        make_run(place / name, tasks=48, trials=3, seed=seed, agent=name, success_rate=rate)
        for seed, (name, rate) in enumerate(agents)
    ]
    formats = ["html", "md", "json", "latex", "csv", "parquet"]
    return report_of_runs(made, place / "report", formats=formats)


def rate(found: dict[str, Any]) -> tuple[str, ...]:
    ends = found["new_tasks"]
    return numbers.percent(found["estimate"]), ends_of(ends)


def ends_of(found: dict[str, Any] | None) -> str:
    if found is None:
        return numbers.NONE
    return f"{numbers.percent(found['low'])} to {numbers.percent(found['high'])}"


def differences(found: dict[str, Any]) -> tuple[str, ...]:
    return (
        numbers.points_interval(found["low"], found["high"]),
        numbers.p_value(found["p_value"]),
        numbers.points_interval(found["joint_low"], found["joint_high"]),
        numbers.p_value(found["adjusted_p_value"]),
    )


def expected(report: dict[str, Any]) -> Iterator[Figure]:
    """Yield every figure of `report.json` that the texts show, as they write it."""
    for run in report["runs"]:
        yield from of_run(run)
    yield from of_comparisons(report)


def of_run(run: dict[str, Any]) -> Iterator[Figure]:
    label, summary = run["label"], run["summary"]
    yield Figure((label,), rate(summary["success"]))
    for group, rows in {**summary["groups"], "template": summary["templates"]}.items():
        formats = ("html", "markdown") if group == "template" else TEXTS
        for row in rows:
            counts = (str(row["success"]["tasks"]), str(row["success"]["trials"]))
            yield Figure((label, row["name"]), rate(row["success"]) + counts, formats)
    for each in (*summary["statuses"].items(), *summary["failure_modes"].items()):
        yield Figure((each[0].replace("_", " "),), (f"{each[1]:,}",))
    for check in run["failed_checks"]:
        yield Figure((check["criterion"],), (str(check["trials"]), str(check["tasks"])))
    yield Figure((), (numbers.dollars(run["cost"]["mean"]), cost_ends(run["cost"])))
    for name, write in (
        ("steps", numbers.plain), ("tokens", numbers.short), ("cost_usd", numbers.dollars), ("time_s", numbers.duration),
    ):  # fmt: skip
        spread = summary[name]
        values = [spread[each] for each in ("median", "mean", "p90", "largest", "total")]
        yield Figure((), tuple(map(write, values)))


def of_comparisons(report: dict[str, Any]) -> Iterator[Figure]:
    for found in report["comparison"]["differences"]:
        detectable = numbers.points(found["detectable"]).lstrip("+")
        figures = numbers.points(found["value"]), *differences(found), detectable
        yield Figure((found["run"],), (*figures, numbers.p_value(found["p_same_tasks"])))
        for part in found["slices"]:
            change = numbers.points(part["new"] - part["baseline"])
            yield Figure((part["value"],), (change, *differences(part), str(part["shared_tasks"])))
    ranking = report["ranking"]
    for pair in ranking["leaderboard"]["pairs"]:
        figures = (
            numbers.points(pair["difference"]["estimate"]),
            numbers.points_interval(pair["difference"]["low"], pair["difference"]["high"]),
            numbers.p_value(pair["p_value"]),
            numbers.points_interval(pair["joint"]["low"], pair["joint"]["high"]),
            numbers.p_value(pair["p_adjusted"]),
        )
        yield Figure((pair["new"], pair["baseline"]), figures)
    for each in ranking["leaderboard"]["ranks"]:
        yield Figure((each["model"],), (numbers.percent(each["rate"]), str(each["best"])))


def cost_ends(found: dict[str, Any]) -> str:
    return f"{numbers.dollars(found['low'])} to {numbers.dollars(found['high'])}"


class Rows(HTMLParser):
    """The texts of rows, list entries and small blocks of a page; a first cell may span rows."""

    BLOCKS = frozenset({"tr", "li", "p"})
    DIVISIONS = frozenset({"reading", "effort"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[tuple[str, list[str]]] = []
        self._spanning = ""
        self._cell = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        names = set((given.get("class") or "").split())
        if tag in self.BLOCKS or tag == "div":
            self._open.append((tag if tag in self.BLOCKS or names & self.DIVISIONS else "", []))
        if tag == "th" and "rowspan" in given:
            self._spanning = ""
        self._cell = tag if "rowspan" in given else self._cell

    def handle_endtag(self, tag: str) -> None:
        if tag == "th":
            self._cell = ""
        if tag in self.BLOCKS or tag == "div":
            kind, texts = self._open.pop()
            if kind:
                self.found.append(" ".join([*texts, self._spanning if tag == "tr" else ""]))
        if tag == "table":
            self._spanning = ""

    def handle_data(self, data: str) -> None:
        for _, texts in self._open:
            texts.append(data.strip())
        if self._cell == "th":
            self._spanning += data.strip()


def lines_of(built: Built, form: str) -> list[str]:
    if form == "html":
        reader = Rows()
        reader.feed(re.sub(r"<(script|style).*?</\1>", "", built.html, flags=re.DOTALL))
        return [re.sub(r"\s+", " ", each) for each in reader.found]
    if form == "markdown":
        return [re.sub(r"\\(.)", r"\1", each) for each in built.markdown.splitlines()]
    text = (built.folder / "report.tex").read_text("utf-8")
    plain = (
        text.replace(r"\ensuremath{-}", "\N{MINUS SIGN}")
        .replace(r"\textless{}", "<")
        .replace(r"\textgreater{}", ">")
        .replace("--", "\N{EN DASH}")
    )
    plain = re.sub(
        r"\\text(periodcentered|quotesingle)\{\}",
        lambda m: {"periodcentered": "\u00b7"}.get(m[1], "'"),
        plain,
    )
    return [re.sub(r"\\(.)", r"\1", each) for each in plain.splitlines()]


@pytest.mark.parametrize("form", TEXTS)
def test_every_text_has_every_figure_of_the_json_in_its_row(form: str, built: Built) -> None:
    lines = lines_of(built, form)
    wanted = [each for each in expected(built.json) if form in each.formats]

    missing = [
        each
        for each in wanted
        if not any(all(part in line for part in (*each.words, *each.figures)) for line in lines)
    ]

    assert len(wanted) > 90
    assert missing == []


def tables(built: Built, form: str) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of CSV or Parquet with numbers as numbers."""
    if form == "parquet":
        return {
            each.stem: parquet.read_table(each).to_pylist()
            for each in built.folder.rglob("*.parquet")
        }
    return {each.stem: [_typed(row) for row in _rows(each)] for each in built.folder.rglob("*.csv")}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _typed(row: dict[str, str]) -> dict[str, Any]:
    def typed(text: str) -> Any:
        if text in {"", "true", "false"}:
            return {"": None, "true": True, "false": False}[text]
        try:
            return float(text)
        except ValueError:
            return text

    return {name: typed(text) for name, text in row.items()}


def only(rows: list[dict[str, Any]], wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the one row of these names; an empty name is nothing in CSV, one of digits a number."""
    names = {name: str(value) for name, value in wanted.items()}
    (found,) = [row for row in rows if all(_name(row[n]) == v for n, v in names.items())]
    return found


def _name(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


Exact = tuple[str, dict[str, Any], dict[str, Any]]
"""A table, what names a row of it, and the row's figures."""


def exact_of_run(run: dict[str, Any]) -> Iterator[Exact]:
    label, summary = run["label"], run["summary"]
    parts = [("all", "", summary["success"])]
    parts += [(g, r["name"], r["success"]) for g, rows in summary["groups"].items() for r in rows]
    parts += [("template", row["name"], row["success"]) for row in summary["templates"]]
    for part, value, each in parts:
        ends = each["new_tasks"] or {"low": None, "high": None}
        where = {"run": label, "part": part, "value": value, "reading": "success rate"}
        counts = {name: each[name] for name in ("estimate", "tasks", "trials", "clusters")}
        yield "rates", where, counts | {"low": ends["low"], "high": ends["high"]}
    for name in ("steps", "tokens", "cost_usd", "time_s"):
        yield "effort", {"run": label, "part": "all", "quantity": name}, summary[name]
    yield (
        "effort",
        {"run": label, "quantity": "cost_usd of a scored trial"},
        {name: run["cost"][name] for name in ("mean", "low", "high", "known")},
    )
    for kind, counts in (
        ("status", summary["statuses"]),
        ("failure mode", summary["failure_modes"]),
    ):
        for name, number in counts.items():
            yield "counts", {"run": label, "kind": kind, "name": name}, {"trials": number}
    for check in run["failed_checks"]:
        figures = {
            "trials": check["trials"],
            "tasks": check["tasks"],
            "example_trial": check["example"]["trial"],
        }
        yield "checks", {"run": label, "criterion": check["criterion"]}, figures
    for trial in run["trials"]:
        where = {"run": label, "task_id": trial["task_id"], "trial": trial["trial"]}
        names = ("score", "success", "steps", "cost_usd", "time_s", "input_tokens", "output_tokens")
        yield "trials", where, {name: trial[name] for name in names}


def exact_of_comparisons(report: dict[str, Any]) -> Iterator[Exact]:
    names = (
        "low", "high", "p_value", "joint_low", "joint_high", "adjusted_p_value", "shared_tasks",
    )  # fmt: skip
    for each in report["comparison"]["differences"]:
        whole = {name: each[name] for name in (*names, "p_sign_flip", "p_same_tasks", "detectable")}
        yield (
            "differences",
            {"run": each["run"], "part": "all"},
            whole | {"difference": each["value"]},
        )
        for part in each["slices"]:
            where = {"run": each["run"], "part": part["group"], "value": part["value"]}
            yield "differences", where, {name: part[name] for name in names}
    ranking = report["ranking"]
    for pair in ranking["leaderboard"]["pairs"]:
        figures = {
            "difference": pair["difference"]["estimate"], "low": pair["difference"]["low"],
            "high": pair["difference"]["high"], "joint_low": pair["joint"]["low"], "joint_high": pair["joint"]["high"],
            "p_value": pair["p_value"], "adjusted_p_value": pair["p_adjusted"], "p_sign_flip": pair["p_sign_flip"],
            "p_same_tasks": pair["p_same_tasks"], "detectable": pair["detectable"],
        }  # fmt: skip
        yield "pairs", {"run": pair["new"], "baseline": pair["baseline"]}, figures


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_every_table_has_every_figure_of_the_json_exactly(form: str, built: Built) -> None:
    found, report = tables(built, form), built.json
    wanted = [each for run in report["runs"] for each in exact_of_run(run)]
    wanted += exact_of_comparisons(report)

    for table, where, figures in wanted:
        row = only(found[table], where)
        assert {name: row[name] for name in figures} == figures, (table, where)

    assert sum(len(figures) for *_, figures in wanted) > 2_000
