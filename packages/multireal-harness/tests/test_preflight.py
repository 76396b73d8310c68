from __future__ import annotations

from typing import Any

import pytest

from bench_core.errors import InputError
from multireal_harness.preflight import check_apps, origins_of, preflight, reachable_tasks
from multireal_harness.tasks import load_tasks


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
