from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import InputError
from bench_core.runs import Purpose, RunOptions
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.options import MultiRealRunOptions
from multireal_harness.preflight import check_apps, origins_of, preflight, reachable_tasks
from multireal_harness.tasks import load_tasks, resolve_tasks_dir

if TYPE_CHECKING:
    from pathlib import Path


class Mine(MultiRealBenchmark):
    """A benchmark built on Multi-REAL's."""


def test_bench_core_prepares_what_our_command_does(
    tmp_path: Path, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = resolve_tasks_dir("built-in") / "calendar-mail-1.json"
    text = definition.read_text(encoding="utf-8")
    for app, url in world.urls.items():
        text = text.replace(f"http://{app}.localhost", url)
    (tmp_path / definition.name).write_text(text, encoding="utf-8")
    monkeypatch.setenv("MULTIREAL_TASKS_DIR", str(tmp_path))
    asked = {"agent": "do-nothing", "out": tmp_path / "run"}
    with (
        Mine.prepare(RunOptions(**asked), Purpose.PLAN) as theirs,
        MultiRealBenchmark.prepare(MultiRealRunOptions(**asked), Purpose.PLAN) as ours,
    ):
        assert type(theirs.benchmark) is Mine
        assert (theirs.spec, theirs.out, theirs.warnings) == (ours.spec, ours.out, ours.warnings)


async def test_apps_that_do_not_answer_are_reported_with_the_reason(world: Any) -> None:
    world.fail("mail", "status", value=451)
    world.fail("dining", "status", "/finish", value=500)
    world.fail("travel", "drop")
    faults = {each.app: each.fault for each in await check_apps(world.urls)}
    assert faults["calendar"] is None
    assert faults["mail"] == "/ answers with status 451 (taken down for legal reasons)"
    assert faults["dining"] == "/finish answers with status 500"
    assert "does not answer" in str(faults["travel"])


def test_run_is_warned_about_tasks_whose_apps_are_gone(world: Any) -> None:
    tasks = load_tasks("built-in")
    assert preflight(tasks, world.urls) == []
    world.fail("mail", "status", value=451)
    warning = preflight(tasks, world.urls)[0]
    assert warning.startswith("8 of 12 tasks will end without a score")
    assert "status 451" in warning


def test_run_none_of_whose_tasks_can_work_is_refused(world: Any) -> None:
    world.fail("mail", "status", value=451)
    tasks = [each for each in load_tasks("built-in") if "mail" in each.groups["app"]]
    with pytest.raises(InputError, match="no task can be run"):
        preflight(tasks, world.urls)


def test_other_origins_replace_those_of_the_tasks() -> None:
    tasks = load_tasks("built-in")
    origins = origins_of(tasks, {"mail": "http://127.0.0.1:9"})
    assert origins["mail"] == "http://127.0.0.1:9"
    assert origins["travel"] == "http://travel.localhost"
    assert len(reachable_tasks(tasks, ["mail"])) == 4
