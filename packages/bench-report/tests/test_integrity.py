"""Reports show what is known of cheating beside the score, and never change the score by it."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.records import ErrorInfo, Integrity, IntegrityFinding, Sealing, Status, TrialResult
from bench_core.testing import make_results, make_run, make_tasks
from bench_report.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLEAN = Integrity(state="clean")
LOCAL = Integrity(
    state="flagged",
    findings=(
        IntegrityFinding(code="local_page", outcome="blocked", count=3, detail="file:///x <b>"),
    ),
)
VOID = Integrity(
    state="flagged",
    findings=(IntegrityFinding(code="void_suspect", outcome="succeeded", detail="Browser.crash"),),
)
OPEN = Sealing(agent="open", browser="hidden")
HIDDEN = Sealing(agent="hidden", browser="hidden")
TASKS = tuple(each.model_copy(update={"template": None}) for each in make_tasks(4))


@pytest.fixture
def integrity_run(tmp_path: Path) -> Callable[..., Path]:
    """Make a run of one trial for each of four tasks: the first succeed, their integrity as given."""

    def maker(
        *states: Integrity | None, sealing: Sealing | None = HIDDEN, name: str = "run"
    ) -> Path:
        made = make_results(TASKS, trials=1, seed=1, statuses={Status.COMPLETED: 1.0})
        results = [_result(each, state, sealing) for each, state in zip(made, states, strict=True)]
        return make_run(tmp_path / name, tasks=TASKS, trials=1, results=results)

    return maker


def _result(each: TrialResult, state: Integrity | None, sealing: Sealing | None) -> TrialResult:
    update: dict[str, Any] = {"integrity": state, "sealing": sealing, "score": 1.0, "success": True}
    update |= {"failure_mode": None, "status": Status.COMPLETED, "error": None}
    if state is VOID:
        update |= {"score": None, "success": None, "status": Status.ENVIRONMENT_ERROR}
        update |= {
            "failure_mode": "environment_error",
            "error": ErrorInfo(kind="X", message="gone"),
        }
    return TrialResult.model_validate({**dict(each), **update})


def _rows(built: Any, table: str) -> list[dict[str, str]]:
    text = (built.folder / "csv" / f"{table}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_every_format_has_the_counts_and_the_reasons(
    integrity_run: Callable[..., Path], build: Callable[..., Any]
) -> None:
    run = integrity_run(CLEAN, LOCAL, None, CLEAN, sealing=OPEN)
    built = build(run, formats=("html", "md", "json", "csv", "latex"))
    found = built.json["runs"][0]["integrity"]
    assert {name: found[name] for name in ("clean", "flagged", "unknown", "unsealed")} == {
        "clean": 2, "flagged": 1, "unknown": 1, "unsealed": 4,
    }  # fmt: skip
    assert found["listed"][0]["findings"][0]["detail"] == "file:///x <b>"
    assert "2 (50.0%) | 1 (25.0%) | 1 (25.0%) | 4 (100%)" in built.markdown
    assert "local page, blocked, 3 times" in built.markdown
    assert "Unsealed" in built.html
    assert "local page, blocked, 3 times: file:///x &lt;b&gt;" in built.html
    assert "integrity: flagged & 1" in (built.folder / "report.tex").read_text("utf-8")
    counts = _rows(built, "counts")
    shown = {row["name"]: row["trials"] for row in counts if row["kind"] == "integrity"}
    assert shown == {"clean": "2", "flagged": "1", "unknown": "1", "unsealed": "4"}
    trials = _rows(built, "trials")
    assert [row["integrity"] for row in trials] == ["clean", "flagged", "", "clean"]
    assert trials[1]["findings"] == "local_page"
    assert {row["sealed"] for row in trials} == {"false"}


def test_flags_do_not_change_the_rate(
    integrity_run: Callable[..., Path], build: Callable[..., Any]
) -> None:
    clean = build(integrity_run(CLEAN, CLEAN, CLEAN, CLEAN, name="a"), name="a").report.runs[0]
    flagged = build(integrity_run(CLEAN, LOCAL, LOCAL, CLEAN, name="b"), name="b").report.runs[0]
    assert flagged.summary == clean.summary
    assert flagged.summary.success.estimate == 1.0
    assert flagged.integrity.clean_successes == 2


def test_voids_count_as_zero_in_a_rate_of_their_own(
    integrity_run: Callable[..., Path], build: Callable[..., Any]
) -> None:
    built = build(integrity_run(CLEAN, VOID, CLEAN, CLEAN), formats=("html", "md", "json", "csv"))
    run = built.report.runs[0]
    assert run.summary.success.estimate == 1.0
    assert run.integrity.voids == 1
    assert run.integrity.voids_as_zero.trials == 4
    assert run.integrity.voids_as_zero.interval.estimate == 0.75
    assert "Voids as zero" in built.html
    assert "Voids as zero" in built.markdown
    rates = _rows(built, "rates")
    assert [row["estimate"] for row in rates if row["reading"] == "voids as zero"] == ["0.75"]


def test_runs_of_before_have_no_such_section(
    run: Callable[..., Path], build: Callable[..., Any]
) -> None:
    built = build(run(), formats=("html", "md", "json"))
    assert built.json["runs"][0]["integrity"] is None
    assert "Integrity" not in built.markdown
    assert 'id="integrity"' not in built.html


@pytest.mark.parametrize(
    ("states", "code", "said"),
    [
        ((CLEAN, CLEAN, CLEAN, CLEAN), 0, ""),
        ((CLEAN, LOCAL, CLEAN, CLEAN), 1, "1 of 4 trials is flagged: local_page (1)"),
        ((CLEAN, None, CLEAN, CLEAN), 3, "of 4 trials, the acts of 1 were not watched"),
    ],
)
def test_gate_can_require_clean_trials(
    integrity_run: Callable[..., Path], states: tuple[Integrity | None, ...], code: int, said: str
) -> None:
    new, old = integrity_run(*states, name="new"), integrity_run(*[CLEAN] * 4, name="old")
    command = ["gate", str(new), "--against", str(old), "--tolerance", "100%"]
    without = CliRunner().invoke(main, command)
    found = CliRunner().invoke(main, [*command, "--require-clean"])
    assert without.exit_code == 0, without.output
    assert found.exit_code == code, found.output
    assert said in found.output
    assert ("NOT CLEAN" in found.output) == bool(said)
    as_json = CliRunner().invoke(main, [*command, "--require-clean", "--json"])
    assert json.loads(as_json.stdout)["integrity"]["trials"] == 4
