"""What every export of a run says of it, against report.json: rate, counts, errors and costs.

Each form is read as itself, and in `nox -t interop` by the package that it is for.
"""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
from collections import Counter
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from integration_tests.served_sessions import LATE_S, interpreter

from bench_core.records import Status, TrialResult
from bench_core.testing import make_results, make_run, make_tasks
from bench_report import build_report

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

DATASET = "someone/some-benchmark"
HEADLINE = {"rate", "scored", "unscored", "cost"}
_FAULTS = {Status.COMPLETED: 0.5, Status.AGENT_ERROR: 0.2, Status.ENVIRONMENT_ERROR: 0.3}


def command(*words: object) -> Result:
    """Do what a command of bench-report does, in this process."""
    (script,) = entry_points(group="console_scripts", name="bench-report")
    return CliRunner().invoke(script.load(), [*map(str, words)])


def export(form: str, run: Path, out: Path) -> list[Path]:
    """Export a run and return the files."""
    done = command("export", form, run, "--out", out, "--json", *_options(form))
    assert done.exit_code == 0, done.output
    return [Path(each) for each in json.loads(done.stdout)["files"]]


def _given(path: Path, results: list[TrialResult], trials: int = 1) -> Path:
    planned = make_tasks(12)
    return make_run(path, tasks=planned, trials=trials, results=results)


def _made(trials: int = 1, seed: int = 7) -> list[TrialResult]:
    return list(make_results(make_tasks(12), trials=trials, seed=seed))


def _partial(path: Path) -> Path:
    made = [
        TrialResult.model_validate(
            {**dict(each), "score": 0.25 * (place % 4), "success": place % 4 > 3}
        )
        if each.score == 0.0
        else each
        for place, each in enumerate(_made(2))
    ]
    return _given(path, made, 2)


def _imported(path: Path) -> Path:
    export("inspect", make_run(path / "first", trials=3, seed=3), path / "log.json")
    assert command("import", "inspect", path / "log.json", "--out", path / "run").exit_code == 0
    return path / "run"


def _damaged(path: Path) -> Path:
    run = make_run(path, trials=2, seed=4)
    lines = (run / "results.jsonl").read_bytes().splitlines(keepends=True)
    (run / "results.jsonl").write_bytes(b"".join(lines[:-3]))
    return run


RUNS: dict[str, Callable[[Path], Path]] = {
    "plain": make_run,
    "repeated": lambda path: make_run(path, trials=3, seed=1),
    "unequal": lambda path: _given(path, [r for n, r in enumerate(_made(3)) if n % 5 > 1], 3),
    "unscored": lambda path: make_run(path, trials=2, seed=2, statuses=_FAULTS),
    "faults": lambda path: make_run(path, statuses={Status.ENVIRONMENT_ERROR: 1.0}),
    "agents": lambda path: make_run(path, trials=2, statuses={Status.AGENT_ERROR: 1.0}),
    "partial": _partial,
    "unfinished": lambda path: _given(path, _made(4)[:30], 4),
    "imported": _imported,
    "other benchmark": lambda path: make_run(path, benchmark="other", trials=2, seed=5),
    "without a model": lambda path: make_run(path, model=None, trials=2, seed=6),
    "damaged": _damaged,
}


class Reported(NamedTuple):
    """Runs, and their part of report.json."""

    runs: dict[str, Path]
    report: dict[str, Any]
    folder: Path

    def headline(self, name: str) -> dict[str, Any]:
        """Return what report.json says of a run."""
        summary = self.report["runs"][list(self.runs).index(name)]["summary"]
        coverage = summary["coverage"]
        return {
            "rate": summary["success"]["estimate"],
            "scored": coverage["scored"],
            "unscored": coverage["results"] - coverage["scored"],
            "cost": summary["cost_usd"]["total"] or 0.0,
        }


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    folder = tmp_path_factory.mktemp("one-number")
    runs = {name: make(folder / "runs" / name) for name, make in RUNS.items()}
    out = folder / "report"
    build_report(list(runs.values()), out, formats=["json", "csv", "junit"], mix=True)
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return Reported(runs, report, out)


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compare headlines; what a form has no place for is absent from `found`."""
    assert set(found) <= HEADLINE
    for name, value in found.items():
        if expected[name] is None:
            assert value is None, name
        else:
            assert value == pytest.approx(expected[name], abs=1e-6), name


def _inspect(log: dict[str, Any]) -> dict[str, Any]:
    (score, *_), samples = log["results"]["scores"], log["samples"]
    costs = [use["total_cost"] for each in samples for use in each["model_usage"].values()]
    assert all(("error" in each) != ("scores" in each) for each in samples)
    return {
        "rate": score["metrics"].get("accuracy", {}).get("value"),
        "scored": log["results"]["completed_samples"],
        "unscored": sum("error" in each for each in samples),
        "cost": math.fsum(filter(None, costs)),
    }


@pytest.mark.parametrize("name", RUNS)
def test_exports_of_one_run_say_what_its_report_says(
    name: str, reported: Reported, tmp_path: Path
) -> None:
    run, expected = reported.runs[name], reported.headline(name)
    (log,) = export("inspect", run, tmp_path / "logs")
    found = json.loads(log.read_text(encoding="utf-8"))
    same(_inspect(found), expected)
    damage = reported.report["runs"][list(RUNS).index(name)]["damage"]
    assert found["eval"]["metadata"]["damage"] == damage
    trials = [json.loads(each.read_text()) for each in export("atif", run, tmp_path / "atif")]
    rewards = [each["extra"]["reward"] for each in trials]
    costs = [each["final_metrics"].get("total_cost_usd", 0.0) for each in trials]
    unscored = rewards.count(None)
    same({"scored": len(rewards) - unscored, "unscored": unscored, "cost": sum(costs)}, expected)
    assert all(each["extra"].get("damage", []) == damage for each in trials)
    if expected["rate"] is None:
        for form in ("every-eval-ever", "eval-results"):
            refused = command("export", form, run, "--out", tmp_path / form, *_options(form))
            assert (refused.exit_code, "has a score" in refused.output) == (2, True)
        return
    aggregate, rows = export("every-eval-ever", run, tmp_path / "eee")
    (result,) = json.loads(aggregate.read_text())["evaluation_results"]
    details = result["score_details"]["details"]
    counts = {"scored": int(details["scored_trials"]), "unscored": int(details["trials_without_score"])}  # fmt: skip
    same({"rate": result["score_details"]["score"], **counts}, expected)
    assert len(rows.read_text().splitlines()) == expected["scored"]
    (entry,) = export("eval-results", run, tmp_path / "entry.yaml")
    for each in (details.get("damage", ""), entry.read_text()):
        assert all(sentence in each for sentence in damage)


def _options(form: str) -> list[str]:
    return ["--dataset", DATASET] if form == "eval-results" else []


def test_tables_and_junit_say_what_the_report_says(reported: Reported) -> None:
    tables = {
        name: list(
            csv.DictReader(io.StringIO((reported.folder / "csv" / f"{name}.csv").read_text()))
        )
        for name in ("rates", "effort", "counts", "trials")
    }
    suites = ET.parse(reported.folder / "junit.xml").getroot()  # noqa: S314  # our own
    for name, suite, run in zip(reported.runs, suites, reported.report["runs"], strict=True):
        of_run = {
            table: [row for row in rows if row["run"] == run["label"]]
            for table, rows in tables.items()
        }
        (rate,) = (
            row["estimate"]
            for row in of_run["rates"]
            if (row["part"], row["reading"]) == ("all", "success rate")
        )
        (cost,) = (
            row["total"]
            for row in of_run["effort"]
            if (row["part"], row["quantity"]) == ("all", "cost_usd")
        )
        scored = sum(row["success"] != "" for row in of_run["trials"])
        found = {
            "rate": float(rate) if rate else None,
            "scored": scored,
            "unscored": len(of_run["trials"]) - scored,
            "cost": float(cost or 0.0),
        }
        same(found, reported.headline(name))
        kinds = Counter(kind.tag for case in suite.iter("testcase") for kind in case)
        failed = sum(row["success"] == "false" for row in of_run["trials"])
        unscored = reported.headline(name)["unscored"]
        assert (kinds["failure"], kinds["error"]) == (failed, unscored)
        damaged = [row["name"] for row in of_run["counts"] if row["kind"] == "damage"]
        assert damaged == run["damage"]
        assert sum("damaged" in each.get("name", "") for each in suite.iter("property")) == len(damaged)  # fmt: skip


READERS = {
    "inspect": (
        "PROCTOR_INSPECT",
        """
import json, os, sys
from inspect_ai.log import list_eval_logs, read_eval_log, recompute_metrics
for path in sys.argv[1:]:
    assert [each.name for each in list_eval_logs(os.path.dirname(path))], path
    log = read_eval_log(path)
    ours, reductions = log.results.model_copy(deep=True), log.reductions
    recompute_metrics(log)
    for mine, theirs in zip(ours.scores, log.results.scores, strict=True):
        counts = lambda score: (score.name, score.reducer, score.scored_samples, score.unscored_samples)
        assert counts(mine) == counts(theirs), (counts(mine), counts(theirs))
        for name, metric in mine.metrics.items():
            assert abs(metric.value - theirs.metrics[name].value) < 1e-9, name
    reduced = lambda all: [{each.sample_id: each.value for each in some.samples} for some in all]
    assert reduced(reductions) == reduced(log.reductions)
    costs = [use.total_cost for each in log.samples for use in each.model_usage.values()]
    score = ours.scores[0] if ours.scores else None
    print(json.dumps({
        "rate": score.metrics["accuracy"].value if score and score.metrics else None,
        "scored": sum(bool(each.scores) for each in log.samples),
        "unscored": sum(each.error is not None for each in log.samples),
        "cost": sum(filter(None, costs)),
    }))
""",
    ),
    "atif": (
        "PROCTOR_ATIF",
        """
import json, pathlib, sys
from atif import Trajectory
for folder in sys.argv[1:]:
    all = [Trajectory.model_validate_json(each.read_text()) for each in pathlib.Path(folder).iterdir()]
    unscored = sum(each.extra["reward"] is None for each in all)
    print(json.dumps({
        "scored": len(all) - unscored, "unscored": unscored,
        "cost": sum(each.final_metrics.total_cost_usd or 0.0 for each in all),
    }))
""",
    ),
    "eval-results": (
        "PROCTOR_HUGGINGFACE_HUB",
        """
import json, sys, huggingface_hub as hub, yaml
for path in sys.argv[1:]:
    rows = yaml.safe_load(open(path))
    (entry,) = hub.parse_eval_result_entries(rows)
    assert hub.eval_result_entries_to_yaml([entry]) == rows
    assert entry.dataset_id == "someone/some-benchmark"
    print(json.dumps({"rate": entry.value}))
""",
    ),
    "every-eval-ever": (
        "PROCTOR_EVERY_EVAL_EVER",
        """
import json, pathlib, sys
from every_eval_ever.eval_types import EvaluationLog
for folder in sys.argv[1:]:
    (path,) = pathlib.Path(folder).rglob("*.json")
    (found,) = EvaluationLog.model_validate_json(path.read_text()).evaluation_results
    details = found.score_details.details
    print(json.dumps({
        "rate": found.score_details.score, "scored": int(details["scored_trials"]),
        "unscored": int(details["trials_without_score"]),
    }))
""",
    ),
}
"""Of each form: the variable with the interpreter that has its package, and how the package reads it."""


@pytest.mark.parametrize("form", READERS)
def test_the_package_of_a_form_reads_the_numbers_of_the_report(
    form: str, reported: Reported, tmp_path: Path
) -> None:
    variable, program = READERS[form]
    python = interpreter(variable)
    named = form in {"atif", "every-eval-ever"}
    asked, paths = [], []
    for name, run in reported.runs.items():
        if reported.headline(name)["rate"] is None and form in {"every-eval-ever", "eval-results"}:
            continue
        out = tmp_path / name / ("entry.yaml" if form == "eval-results" else form)
        files = export(form, run, out)
        asked.append(name)
        paths.append(out if named else files[0])
    done = subprocess.run(
        [python, "-c", program, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=LATE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name, line in zip(asked, done.stdout.splitlines(), strict=True):
        same(json.loads(line), reported.headline(name))
