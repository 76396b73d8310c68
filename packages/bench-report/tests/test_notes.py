"""What people noted on trials, in every form of a report."""

from __future__ import annotations

import csv
import json
import shutil
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from bench_core.errors import InputError
from bench_core.records import Note
from bench_core.run_folder import add_notes, read_info, read_notes, read_run
from bench_report.analysis.labels import labels_of, notes_of
from bench_report.exports import export
from bench_report.note_files import export_notes, import_notes
from bench_report.run_data.sources import read_runs

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Builds, Runs

    from bench_report.model import RunNotes

NOON = datetime(2026, 5, 4, 12, tzinfo=timezone.utc)
HOSTILE = "<script>alert(1)</script>\u202e=cmd|' /C calc'!A0 [x](javascript:1)"


def label(folder: Path, trials: list[Any], label: str | None, by: str = "ana", **more: Any) -> None:
    info = read_info(folder)
    add_notes(
        folder,
        [
            Note(
                run_id=info.run_id, at=NOON, by=by, task_id=each.task_id, trial=each.trial,
                label=label, **{"result": each.sequence, **more},
            )
            for each in trials
        ],
    )  # fmt: skip


def results(folder: Path, *, success: bool) -> list[Any]:
    return [each for each in read_run(folder).latest.in_memory() if each.success is success]


def noted(folder: Path) -> RunNotes:
    runs = read_runs([folder])
    found = notes_of(runs[0], labels_of(runs))
    assert found
    return found


def test_a_label_is_counted_in_the_run_and_its_slices(run: Runs) -> None:
    folder = run(tasks=30, trials=2)
    failed = results(folder, success=False)
    label(folder, failed[:6], "harness fault", seed=1)
    label(folder, failed[6:10], "wrong element", step=2)
    label(folder, results(folder, success=True)[:1], "wrong element")
    found = noted(folder)
    assert (found.labelled, found.labelled_failures, found.drawn_failures) == (11, 10, 6)
    overall = {each.label: each for each in found.labels if not each.group}
    assert overall["harness fault"].trials == 6
    assert overall["harness fault"].failures.interval.estimate == pytest.approx(0.6, abs=0.15)
    assert overall["wrong element"].trials == 5
    sites = [e for e in found.labels if e.group == "site" and e.label == "harness fault"]
    assert sum(each.trials for each in sites) == 6


def test_notes_on_a_result_that_was_replaced_are_listed_and_not_counted(run: Runs) -> None:
    folder = run(tasks=8)
    label(folder, results(folder, success=False)[:2], "x", result=10**6)
    found = noted(folder)
    assert [each.earlier for each in found.notes] == [True, True]
    assert found.labelled == 0


def test_two_people_agree_with_an_interval(run: Runs) -> None:
    folder = run(tasks=30, trials=2)
    failed = results(folder, success=False)
    label(folder, failed[:8], "harness fault", by="ana")
    label(folder, failed[8:12], "wrong element", by="ana")
    label(folder, failed[:6], "harness fault", by="ben")
    label(folder, failed[6:12], "wrong element", by="ben")
    label(folder, failed[:3], "harness fault", by="eve")
    found = noted(folder)
    together = next(e for e in found.agreement if e.label is None and e.second == "ben")
    assert (together.trials, together.alike) == (12, 10)
    assert together.kappa.estimate == pytest.approx(2 / 3)
    assert together.kappa.low < 2 / 3 < together.kappa.high
    eves = [each for each in found.agreement if each.second == "eve" and each.label is None]
    assert all(each.trials == 3 and each.refused for each in eves)


def test_outcomes_correct_the_rate_only_where_both_kinds_are_a_random_choice(run: Runs) -> None:
    folder = run(tasks=40, trials=2)
    passed, failed = results(folder, success=True), results(folder, success=False)
    label(folder, failed[:12], "really failed")
    assert "no random choice" in noted(folder).refused
    label(folder, passed[:9], "really passed")
    label(folder, passed[9:12], "really failed")
    found = noted(folder)
    assert found.outcomes == 24
    assert found.corrected.new_tasks.estimate < found.corrected.judged.estimate
    label(folder, failed[:1], "really passed", by="ben")
    assert (noted(folder).outcomes, noted(folder).disputed) == (23, 1)


def test_an_outcome_of_one_step_says_nothing_about_the_trial(run: Runs) -> None:
    folder = run(tasks=8)
    label(folder, results(folder, success=False)[:2], "really passed", step=1)
    assert noted(folder).outcomes == 0


def test_labels_of_two_runs_are_compared(run: Runs, build: Builds) -> None:
    first, second = run("first", tasks=40), run("second", tasks=40, seed=5)
    for folder, often in ((first, 2), (second, 8)):
        failed = results(folder, success=False)
        label(folder, failed[:often], "harness fault")
        label(folder, failed[often:10], "wrong element")
    built = build(first, second)
    found = {each.label: each for each in built.report.label_differences}
    assert found["harness fault"].value == pytest.approx(0.6)
    assert found["harness fault"].low < 0.6 < found["harness fault"].high <= 1
    assert "Labels compared with the first run" in built.markdown


def test_every_form_has_the_notes_and_nothing_in_them_runs(
    run: Runs, build: Builds, tmp_path: Path
) -> None:
    folder = run(tasks=8)
    label(folder, results(folder, success=False)[:1], HOSTILE[:60], text=HOSTILE, check=HOSTILE)
    built = build(folder, formats=["html", "md", "json", "csv", "parquet"])
    assert built.json["runs"][0]["notes"]["notes"][0]["text"] == HOSTILE
    assert "<script>alert" not in built.html + built.markdown
    ((_, (shown,)),) = built.table()["notes"]
    assert "[U+202E]" in shown["text"]
    rows = list(csv.DictReader((built.folder / "csv/notes.csv").read_text("utf-8").splitlines()))
    assert len(rows) == 1
    assert (built.folder / "parquet/labels.parquet").exists()
    (log,) = export("inspect", [folder], tmp_path / "log.json")
    samples = json.loads(log.read_text())["samples"]
    assert sum("notes" in each["metadata"]["proctor"] for each in samples) == 1


def test_latex_and_junit_have_the_notes_as_text(run: Runs, build: Builds) -> None:
    folder = run(tasks=8)
    (trial, *_) = results(folder, success=False)
    for by, given in (("ana", "harness fault"), ("ben", "wrong element")):
        label(folder, [trial], given, by=by, text="50% of ]]></testcase>\x00", step=2)
    built = build(folder, formats=["latex", "junit"])
    tex = (built.folder / "report.tex").read_text("utf-8")
    assert all(
        text in tex for text in ("What people noted", "wrong element", "How far people agree")
    )
    (tree,) = ET.parse(built.folder / "junit.xml").getroot()  # noqa: S314  # written a moment ago
    (case,) = (
        each for each in tree.iter("testcase") if "Note by" in each.findtext("system-out", "")
    )
    assert case.get("name") == f"{trial.task_id} trial {trial.trial}"
    first, *notes = case.findtext("system-out", "").splitlines()
    assert first.startswith("../") or "trials" in first
    assert [each[:36] for each in notes] == [
        "Note by ana, step 2: harness fault: ",
        "Note by ben, step 2: wrong element: ",
    ]
    assert all("50% of ]]></testcase>" in each for each in notes)


def test_a_damaged_note_is_told(run: Runs, build: Builds) -> None:
    folder = run(tasks=8)
    label(folder, results(folder, success=False)[:2], "x")
    file = folder / "notes.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"x"', b'"y"', 1))
    built = build(folder)
    assert "notes.jsonl, line 1 is damaged" in built.json["runs"][0]["notes"]["problems"][0]
    assert len(built.json["runs"][0]["notes"]["notes"]) == 1


def test_notes_of_a_copy_are_merged_once_and_exported(run: Runs, tmp_path: Path) -> None:
    folder = run(tasks=8)
    failed = results(folder, success=False)
    label(folder, failed[:1], "x")
    shutil.copytree(folder, tmp_path / "copy")
    label(tmp_path / "copy", failed[:2], "y", by="ben")
    assert import_notes(folder, [tmp_path / "copy"]) == 2
    assert import_notes(folder, [tmp_path / "copy"]) == 0
    assert export_notes(folder, tmp_path / "notes.jsonl") == 3
    (folder / "notes.jsonl").unlink()
    assert import_notes(folder, [tmp_path / "notes.jsonl"]) == 3
    assert len(read_notes(folder).records) == 3
    with pytest.raises(InputError, match="of the run"):
        import_notes(
            run("other", seed=3, tasks=8, benchmark="elsewhere"), [tmp_path / "notes.jsonl"]
        )
    with pytest.raises(InputError, match="does not exist"):
        import_notes(folder, [tmp_path / "missing"])
    export_notes(folder, tmp_path / "notes.csv")
    assert len(list(csv.DictReader((tmp_path / "notes.csv").read_text().splitlines()))) == 3


def test_outcomes_are_written_as_labels_of_a_judge(run: Runs, tmp_path: Path) -> None:
    folder = run(tasks=8)
    failed = results(folder, success=False)
    with pytest.raises(InputError, match="really passed"):
        export_notes(folder, tmp_path / "labels.jsonl", outcomes=True)
    label(folder, failed[:1], "really passed")
    label(folder, failed[1:2], "really failed")
    assert export_notes(folder, tmp_path / "labels.jsonl", outcomes=True) == 2
    lines = [json.loads(each) for each in (tmp_path / "labels.jsonl").read_text().splitlines()]
    assert {each["case_id"]: each["passed"] for each in lines} == {
        failed[0].task_id: True,
        failed[1].task_id: False,
    }
