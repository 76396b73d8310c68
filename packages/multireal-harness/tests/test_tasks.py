from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import InputError
from multireal_harness.definitions import Definition, definition_of
from multireal_harness.tasks import (
    TaskQuery,
    load_definitions,
    load_tasks,
    select_tasks,
    task_of,
    task_set_hash,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_all_published_tasks_load(shared_tasks: Path) -> None:
    tasks = load_tasks(shared_tasks)
    assert len(tasks) == len(list(shared_tasks.glob("*.json"))) == 63
    assert tasks[0].task_id == "multi.dashdish-gomail-1"
    assert sum(len(definition_of(task).evals) for task in tasks) == 230


def test_an_answer_is_asked_for_only_where_one_is_graded(
    a_task: Callable[..., dict[str, Any]],
) -> None:
    graded = a_task(evals=[{"type": "jmespath"}, {"type": "llm_boolean", "rubric": "17?"}])
    assert Definition.model_validate(graded).answer_schema["type"] == "string"
    states = Definition.model_validate(a_task(evals=[{"type": "jmespath"}])).answer_schema
    assert states == {"type": "object", "properties": {}}


def test_unknown_keys_are_kept(task_file: Callable[..., Path]) -> None:
    path = task_file(colour="red", evals=[{"query": "a", "mood": "good"}])
    task = load_tasks(path.parent)[0]
    kept = json.loads(task.model_dump_json())["config"]["definition"]
    assert (kept["colour"], kept["evals"][0]["mood"]) == ("red", "good")


def test_tasks_of_one_app_get_the_prefix_of_their_version(
    a_task: Callable[..., dict[str, Any]],
) -> None:
    one = {"website": {"id": "mail", "url": "http://x/"}, "websites": None}
    old = Definition.model_validate(a_task(**one, version="v1"))
    new = Definition.model_validate(a_task(**one, version="v2"))
    assert [task_of(each).task_id for each in (old, new)] == [
        "v1.calendar-mail-1",
        "v2.calendar-mail-1",
    ]


def test_origin_has_no_slash_at_its_end(a_task: Callable[..., dict[str, Any]]) -> None:
    definition = Definition.model_validate(a_task())
    assert [site.origin for site in definition.sites] == [
        "http://127.0.0.1:1",
        "http://127.0.0.1:2",
    ]


def test_source_of_a_script_travels_with_its_task(task_file: Callable[..., Path]) -> None:
    path = task_file(evals=[{"script": "eval_1.py"}])
    (path.parent.parent / "eval_scripts").mkdir()
    (path.parent.parent / "eval_scripts" / "eval_1.py").write_text("print('SUCCESS')")
    task = load_tasks(path.parent)[0]
    assert task.config["eval_scripts"] == {"eval_1.py": "print('SUCCESS')"}


@pytest.mark.parametrize("script", ["missing.py", "../../etc/passwd"])
def test_script_that_is_not_there_is_refused(script: str, task_file: Callable[..., Path]) -> None:
    path = task_file(evals=[{"script": script}])
    with pytest.raises(InputError, match="script"):
        load_tasks(path.parent)


def test_two_files_with_one_id_are_refused_by_name(task_file: Callable[..., Path]) -> None:
    path = task_file()
    (path.parent / "copy.json").write_text(path.read_text())
    with pytest.raises(InputError, match=r"calendar-mail-1\.json and .*copy\.json|copy\.json and"):
        load_definitions(path.parent)


@pytest.mark.parametrize("text", ["not json", "[]", '{"id": "x"}', '{"id": 3, "goal": "g"}'])
def test_file_that_is_no_task_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text(text)
    with pytest.raises(InputError, match=r"broken\.json"):
        load_definitions(tmp_path)


def test_hash_of_the_task_set_changes_with_an_edited_query(task_file: Callable[..., Path]) -> None:
    path = task_file()
    before = task_set_hash(load_tasks(path.parent))
    assert task_set_hash(load_tasks(path.parent)) == before
    path.write_text(path.read_text().replace("`1`", "`2`"))
    assert task_set_hash(load_tasks(path.parent)) != before


def test_filters_narrow_by_app_and_count(shared_tasks: Path) -> None:
    tasks = load_tasks(shared_tasks)
    three = select_tasks(tasks, TaskQuery(apps=("udriver",), min_apps=3))
    assert three == (
        "multi.flyunified-gocalendar-udriver-1",
        "multi.flyunified-gocalendar-udriver-2",
        "multi.gocalendar-opendining-udriver-1",
        "multi.gocalendar-opendining-udriver-2",
    )
    assert len(select_tasks(tasks, TaskQuery(max_apps=2))) == 39


def test_ids_may_go_without_their_prefix(shared_tasks: Path) -> None:
    tasks = load_tasks(shared_tasks)
    assert select_tasks(tasks, TaskQuery(), ["gomail-topwork-3"]) == ("multi.gomail-topwork-3",)


def test_unknown_app_is_refused_with_those_there_are(shared_tasks: Path) -> None:
    with pytest.raises(InputError, match=r"'gmail'.*gomail"):
        select_tasks(load_tasks(shared_tasks), TaskQuery(apps=("gmail",)))
