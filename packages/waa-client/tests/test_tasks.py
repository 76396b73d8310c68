from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import InputError, RecordError, UnknownTaskError
from waa_client.tasks import (
    TaskQuery,
    find_examples,
    load_tasks,
    read_index,
    resolve_task_id,
    select_tasks,
)

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Task

DRAFT = "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS"


@pytest.fixture(scope="module")
def tasks(data: Path) -> tuple[Task, ...]:
    return load_tasks(data)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two domains, one of which has an underscore in its name."""
    for domain, stem in (("vs_code", "1f-WOS"), ("vs_code", "1f-2-WOS"), ("vlc", "INF-2a")):
        path = tmp_path / "examples" / domain / f"{stem}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        func = "infeasible" if stem.startswith("INF") else "exact_match"
        task = {
            "id": "1f-WOS",
            "instruction": "Füll es aus",
            "evaluator": {"func": func},
            "config": [],
        }
        path.write_text(json.dumps(task, ensure_ascii=False), encoding="utf-8")
    return tmp_path


def test_all_154_files_are_tasks_of_their_own(tasks: tuple[Task, ...]) -> None:
    assert len({task.task_id for task in tasks}) == 154
    assert Counter(t.groups["domain"][0] for t in tasks)["libreoffice_calc"] == 24


def test_tags_name_what_a_task_needs(tasks: tuple[Task, ...]) -> None:
    tags = Counter(tag for task in tasks for tag in task.tags)
    assert (tags["infeasible"], tags["feasible"]) == (13, 141)
    assert (tags["setup-download"], tags["browser-setup"]) == (67, 9)


def test_both_indexes_are_read_in_their_order(data: Path) -> None:
    assert len(load_tasks(data, index="test_all.json")) == 141
    custom = load_tasks(data, index="test_custom")
    assert (len(custom), custom[0].task_id) == (
        20,
        "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS",
    )


def test_the_benchmarks_own_definition_is_kept_as_it_came(
    data: Path, tasks: tuple[Task, ...]
) -> None:
    task = next(task for task in tasks if task.task_id == DRAFT)
    path = data / "examples" / f"{DRAFT}.json"
    assert task.config == json.loads(path.read_text(encoding="utf-8"))
    assert "config" not in task.for_agent().model_dump()


@pytest.mark.parametrize(
    "text",
    [
        DRAFT,
        "notepad_366de66e-cbae-4d72-b042-26390db2b145-WOS",
        "notepad/366de66e-cbae-4d72-b042-26390db2b145",
        "366DE66E-cbae-4d72-b042-26390db2b145-wos.json",
        "examples\\notepad\\366de66e-cbae-4d72-b042-26390db2b145-WOS.json",
        "notepad_366de66e",
        "366de66e",
    ],
)
def test_a_task_is_found_by_every_usual_spelling(tasks: tuple[Task, ...], text: str) -> None:
    assert resolve_task_id(text, tasks) == DRAFT


def test_every_task_is_found_by_domain_and_stem_joined_by_an_underscore(
    tasks: tuple[Task, ...],
) -> None:
    names = [task.task_id.replace("/", "_", 1) for task in tasks]
    assert [resolve_task_id(name, tasks) for name in names] == [task.task_id for task in tasks]


def test_a_file_name_wins_over_the_same_id_inside_another_file(folder: Path) -> None:
    assert resolve_task_id("1f-WOS", load_tasks(folder)) == "vs_code/1f-WOS"


def test_a_vague_name_is_refused_with_what_it_may_mean(tasks: tuple[Task, ...]) -> None:
    with pytest.raises(InputError, match=r"names 2 tasks: notepad/366de66e.*, notepad/"):
        resolve_task_id("notepad", tasks)


def test_a_misspelt_task_is_refused_with_a_guess(tasks: tuple[Task, ...]) -> None:
    with pytest.raises(UnknownTaskError, match="did you mean 'notepad/366de66e"):
        resolve_task_id("366de66f-cbae-4d72-b042-26390db2b145", tasks)


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (TaskQuery(domains=("clock", "notepad")), 6),
        (TaskQuery(infeasible=True), 13),
        (TaskQuery(infeasible=False), 141),
        (TaskQuery(domains=("vlc",), infeasible=True), 7),
        (TaskQuery(network=False, domains=("notepad",)), 0),
        (TaskQuery(apps=("vlc",)), 21),
    ],
)
def test_filters_take_what_all_of_them_allow(
    tasks: tuple[Task, ...], query: TaskQuery, count: int
) -> None:
    assert len(select_tasks(tasks, query)) == count


def test_an_unknown_domain_is_refused_with_the_known_ones(tasks: tuple[Task, ...]) -> None:
    with pytest.raises(InputError, match="no task has the domain 'gimp': there are chrome, clock"):
        select_tasks(tasks, TaskQuery(domains=("gimp",)))


def test_the_hard_variant_is_upstreams_other_folder(folder: Path) -> None:
    with pytest.raises(InputError, match="no hard tasks"):
        load_tasks(folder, variant="hard")
    (folder / "examples").rename(folder / "examples_noctxt")
    (folder / "examples").mkdir()
    assert {"hard"} <= set(load_tasks(folder, variant="hard")[0].tags)


def test_a_checkout_is_searched_for_its_examples(folder: Path) -> None:
    inside = folder / "checkout/src/win-arena-container/client/evaluation_examples_windows"
    inside.parent.mkdir(parents=True)
    (folder / "examples").rename(folder / "kept")
    inside.mkdir()
    (folder / "kept").rename(inside / "examples")
    assert find_examples(folder / "checkout") == inside


def test_a_folder_of_domains_will_do(folder: Path) -> None:
    assert len(load_tasks(folder / "examples")) == 3
    assert len(load_tasks((folder / "examples").rename(folder / "mine"))) == 3


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no task files"):
        load_tasks(tmp_path / "nothing")


@pytest.mark.parametrize("content", ["{", "[]", '{"id": "x"}', "[" * 100_000])
def test_a_file_that_is_no_task_is_named(folder: Path, content: str) -> None:
    path = folder / "examples/vlc/INF-2a.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(RecordError, match=r"INF-2a\.json"):
        load_tasks(folder)


@pytest.mark.parametrize("content", ["[]", '{"a": 1}', '{"a": [1]}'])
def test_a_file_that_is_no_index_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "i.json").write_text(content, encoding="utf-8")
    with pytest.raises(RecordError, match="is not an index"):
        read_index(tmp_path / "i.json")
