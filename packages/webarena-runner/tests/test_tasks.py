from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import InputError, UnknownTaskError
from webarena_runner.evaluator_loader import evaluator_module
from webarena_runner.tasks import (
    TaskQuery,
    load_tasks,
    parse_ids,
    select_tasks,
    task_sites,
    task_type,
)

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Task


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return load_tasks()


def ids_of(tasks: list[Task], ids: str | None = None, **wanted: object) -> list[str]:
    return [task.task_id for task in select_tasks(tasks, TaskQuery.model_validate(wanted), ids)]


def test_all_812_tasks_are_there_in_order(tasks: list[Task]) -> None:
    assert [task.task_id for task in tasks] == [str(number) for number in range(812)]


def test_types_and_templates_are_those_of_the_verified_dataset(tasks: list[Task]) -> None:
    assert Counter(map(task_type, tasks)) == {"MUTATE": 374, "RETRIEVE": 325, "NAVIGATE": 113}
    assert len({task.template for task in tasks}) == 190


def test_sites_are_sorted_whatever_their_order_in_the_dataset(tasks: list[Task]) -> None:
    pairs = Counter(task_sites(task) for task in tasks if len(task_sites(task)) > 1)
    assert pairs[("gitlab", "reddit")] == 18
    assert all(tuple(sorted(pair)) == pair for pair in pairs)


def test_registry_agrees_with_the_official_reader(tasks: list[Task]) -> None:
    for row in evaluator_module("api").WebArenaVerified().get_tasks():
        ours = tasks[row.task_id]
        assert ours.goal == row.intent
        assert ours.template == str(row.intent_template_id)
        assert "-".join(task_sites(ours)) == row.sites_str
        assert task_type(ours) == row.expected_action.upper()
        assert ours.inputs["start_urls"] == list(row.start_urls)


def test_agent_sees_only_what_the_official_agent_input_gives(tasks: list[Task]) -> None:
    seen = tasks[0].for_agent()
    assert set(seen.inputs) == {"sites", "start_urls", "intent_template_id"}
    assert "Quest Lumaflex" not in seen.model_dump_json()


def test_mutating_tasks_hold_their_sites_alone_and_reading_tasks_share_them(
    tasks: list[Task],
) -> None:
    by_id = {task.task_id: task for task in tasks}
    assert [(r.name, r.mode) for r in by_id["399"].resources] == [("webarena:reddit", "exclusive")]
    assert [(r.name, r.mode) for r in by_id["0"].resources] == [
        ("webarena:shopping_admin", "shared")
    ]


def test_tasks_on_several_sites_hold_all_of_them(tasks: list[Task]) -> None:
    several = next(task for task in tasks if task_sites(task) == ("reddit", "shopping"))
    assert [r.name for r in several.resources] == ["webarena:reddit", "webarena:shopping"]


def test_hard_subset_has_258_tasks(tasks: list[Task]) -> None:
    assert len(ids_of(tasks, hard=True)) == 258
    assert len(ids_of(tasks, hard=False)) == 554


def test_filters_must_all_hold(tasks: list[Task]) -> None:
    chosen = ids_of(tasks, ids="0-50", sites=["shopping_admin"], types=["retrieve"])
    assert chosen == [
        "0",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "11",
        "12",
        "13",
        "14",
        "15",
        "41",
        "42",
        "43",
    ]


def test_site_filter_includes_multi_site_tasks_unless_exact(tasks: list[Task]) -> None:
    assert len(ids_of(tasks, sites=["map"])) == 128
    assert len(ids_of(tasks, sites=["map"], exact_sites=True)) == 109
    assert len(ids_of(tasks, sites=["wikipedia", "map"], exact_sites=True)) == 17


def test_template_filter(tasks: list[Task]) -> None:
    assert ids_of(tasks, templates=["279"]) == ["0", "1", "2", "3", "4", "5", "6"]


def test_unknown_id_names_the_nearest(tasks: list[Task]) -> None:
    with pytest.raises(UnknownTaskError, match="no task '812'; did you mean '809', '810', '811'"):
        ids_of(tasks, ids="812")


@pytest.mark.parametrize("text", ["abc", "5-", "-5", "1..3", "٣"])
def test_malformed_id_says_how_ids_look(tasks: list[Task], text: str) -> None:
    with pytest.raises(InputError):
        ids_of(tasks, ids=text)


def test_backward_range_is_refused_with_the_right_one(tasks: list[Task]) -> None:
    with pytest.raises(InputError, match="write '3-9'"):
        ids_of(tasks, ids="9-3")


def test_no_id_at_all_is_refused(tasks: list[Task]) -> None:
    with pytest.raises(InputError, match="names no task"):
        ids_of(tasks, ids=" , ")


def test_filter_that_fits_nothing_is_refused_rather_than_read_as_everything(
    tasks: list[Task],
) -> None:
    with pytest.raises(InputError, match="none of the 812 tasks of webarena fits"):
        ids_of(tasks, ids="0", types=["mutate"])


def test_misspelled_site_lists_the_sites(tasks: list[Task]) -> None:
    with pytest.raises(InputError, match="unknown site 'shoping': choose from gitlab, map"):
        ids_of(tasks, sites=["shoping"])


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1, max_size=5))
def test_law_every_range_selects_exactly_its_numbers_once(ranges: list[tuple[int, int]]) -> None:
    known = [str(number) for number in range(100)]
    spans = [tuple(sorted(pair)) for pair in ranges]
    text = ",".join(f"{low}-{high}" for low, high in spans)
    expected = {str(number) for low, high in spans for number in range(low, high + 1)}
    chosen = parse_ids(text, known)
    assert set(chosen) == expected
    assert len(chosen) == len(expected)


def test_file_that_is_no_dataset_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{"task_id": 1}]))
    with pytest.raises(InputError, match=r"mine\.json"):
        load_tasks(path)


def test_reading_the_tasks_does_not_import_webarena_verified() -> None:
    code = (
        "import sys; from webarena_runner.tasks import load_tasks; load_tasks(); "
        "print('webarena_verified' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "False"


def test_sites_one_does_not_host_can_be_left_out() -> None:
    left = select_tasks(load_tasks(), TaskQuery(without_sites=("wikipedia", "map")))
    assert len(left) == 678
    assert {site for task in left for site in task.groups["site"]} == {
        "gitlab", "reddit", "shopping", "shopping_admin"
    }  # fmt: skip
