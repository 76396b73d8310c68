"""What definitions ask for scores 1.0 by the real evaluator, anything else 0.0."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from variants import wrong_variants

from webarena_runner.cli import main
from webarena_runner.config import default_config
from webarena_runner.evaluation import evaluate
from webarena_runner.reference_solutions.examples import example
from webarena_runner.reference_solutions.scorability import (
    dataset_checksum,
    derive_notes,
    shipped_notes,
)
from webarena_runner.reference_solutions.traffic import traffic_for
from webarena_runner.reference_solutions.trials import answer_for, write_trial
from webarena_runner.tasks import load_tasks
from webarena_runner.world import scripted_task_ids

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Task

TASKS = {task.task_id: task for task in load_tasks()}
CONFIG = default_config()
NOTES = shipped_notes()


def noted(kind: str) -> set[int]:
    return {int(note.task_id) for note in NOTES.notes if note.kind == kind}


def test_what_definitions_ask_for_scores_one_and_all_exceptions_are_noted(tmp_path: Path) -> None:
    wrong = {
        int(task_id)
        for task_id, task in TASKS.items()
        if evaluate(task, write_trial(tmp_path / task_id, task, CONFIG)).score != 1.0
    }
    assert wrong == noted("never") | {562, 563, 564, 565, 566}


def test_shipped_notes_are_of_the_installed_data_set() -> None:
    assert NOTES.dataset == dataset_checksum()


def test_tasks_that_cannot_score_are_known() -> None:
    assert noted("never") == {
        319, 429, *range(567, 571), 699, 700, 742, 743, 745, 746, 811
    }  # fmt: skip
    assert noted("no-browser") == {
        423, 430, *range(562, 567), *range(676, 681), *range(737, 742), 759, 760
    }  # fmt: skip
    assert noted("free") == {356, 757, 758, *range(761, 768)}
    assert noted("contact-probe") == {528, 529, 530, *range(689, 694)}
    assert noted("asked-form") == {34, 35}
    assert noted("answer-only") == {491, 790, 805, 807}
    assert noted("visit-only") >= {531, 532, *range(653, 658)}


def test_notes_are_derived_from_definitions(tmp_path: Path) -> None:
    some = [TASKS[each] for each in ("34", "44", "319", "356", "423", "562", "690", "805")]
    derived = derive_notes(some)
    assert derived.notes == tuple(
        note for task in some for note in shipped_notes().of(task.task_id)
    )


_FORUM = CONFIG.site("reddit").url
_FILTER = "?state=opened&label_name%5B%5D=bug"
_READ_ME = "project%5Binitialize_with_readme%5D=0"


@pytest.mark.parametrize(
    ("task_id", "old", "new", "score"),
    [
        ("339", "/-/issues/1", f"/-/issues/{_FILTER}", 1.0),
        ("339", "/-/issues/1", f"/-/issues{_FILTER}", 0.0),
        ("339", "state=opened&", "", 0.0),
        ("475", "", "", 1.0),
        ("475", f"&{_READ_ME}", "", 0.0),
        ("600", f"{_FORUM}/submit", f"{_FORUM}/submit/consoles", 1.0),
        ("600", f"{_FORUM}/submit", f"{_FORUM}/submit/gaming", 0.0),
        ("625", f"{_FORUM}/submit", f"{_FORUM}/submit/deeplearning", 1.0),
        ("625", f"{_FORUM}/submit", f"{_FORUM}/submit/technology", 0.0),
    ],
)
def test_reported_tasks_score_as_their_notes_say(
    tmp_path: Path, task_id: str, old: str, new: str, score: float
) -> None:
    task = TASKS[task_id]
    written = json.dumps(traffic_for(task, CONFIG))
    assert old in written
    entries = json.loads(written.replace(old, new) if old else written)
    assert evaluate(task, write_trial(tmp_path, task, CONFIG, entries=entries)).score == score
    (note,) = (each for each in NOTES.of(task_id) if each.kind == "reported")
    assert note.source == "https://github.com/ServiceNow/webarena-verified/pull/46"


def test_report_about_another_revision_of_a_task_is_left_out() -> None:
    task = TASKS["475"]
    assert derive_notes([task]).notes == NOTES.of("475")
    newer = task.model_copy(update={"config": {**task.config, "revision": 3}})
    assert derive_notes([newer]).notes == ()


def test_notes_are_counted_by_kind() -> None:
    assert NOTES.count(["319", "356", "44"]) == {"never": ["319"], "free": ["356"]}


@pytest.mark.parametrize("task_id", [str(each) for each in scripted_task_ids()])
def test_every_wrong_variant_scores_zero(task_id: str, tmp_path: Path) -> None:
    task = TASKS[task_id]
    scores = scores_of_wrong_variants(task, tmp_path)
    assert scores == dict.fromkeys(scores, 0.0)
    assert {"another status", "another type", "prose"} <= set(scores)


def scores_of_wrong_variants(task: Task, folder: Path) -> dict[str, float | None]:
    right, traffic = answer_for(task), traffic_for(task, CONFIG)
    return {
        variant.name: evaluate(
            task,
            write_trial(
                folder / variant.name,
                task,
                CONFIG,
                answer=variant.answer,
                entries=variant.entries,
            ),
        ).score
        for variant in wrong_variants(task, right, traffic)
    }


PATTERNS = [
    r"^.*toothpaste.* has been added( to your cart)?$",
    r"^.*(?=.*white)(?=.*desk).* has been added to your wish list.*$",
    r"^(?!.*_osm_engine=(?:bicycle|foot)).*$",
    r"^I\s+need[.\s]+Order\s*:\s*#?\s*0*180[-]?[^a-z0-9][a-z0-9-]+x$",
    r"^(update|create)$",
    r"^a{2,3}?\D\S\W$",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("filler", ["", "1"])
def test_an_example_matches_its_pattern(pattern: str, filler: str) -> None:
    assert re.fullmatch(pattern, example(pattern, filler), re.IGNORECASE)


def test_a_pattern_beyond_it_is_refused() -> None:
    with pytest.raises(ValueError, match="no text for"):
        example(r"^(?!$)$")
    with pytest.raises(ValueError, match="does not match"):
        example(r"^[^\d\D]$")


@given(st.text(max_size=20))
def test_the_example_of_an_escaped_text_is_the_text(text: str) -> None:
    assert example(f"^{re.escape(text)}$") == text


def test_scorability_command_shows_and_writes_the_notes(tmp_path: Path) -> None:
    shown = CliRunner().invoke(main, ["scorability", "--task", "319,356,44"])
    assert shown.exit_code == 0, shown.output
    assert "never" in shown.output
    assert "319" in shown.output
    shown = CliRunner().invoke(main, ["scorability", "--derive", "--task", "319,44", "--json"])
    assert [each["task_id"] for each in json.loads(shown.output)["notes"]] == ["319"]
