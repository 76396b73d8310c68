"""Copies of sites: addresses, which task uses which, resets of one alone, what a container is asked to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import InputError
from bench_core.providers import DockerSpec, read_spec
from bench_core.records import TrialKey
from bench_core.run_spec import RunSpec, plan_trials
from bench_core.runs import makespan_s
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.config import EnvironmentConfig
from webarena_runner.reset import Resets
from webarena_runner.site_copies import (
    choose_copies,
    copy_config,
    copy_configs,
    copy_spec,
)
from webarena_runner.tasks import load_tasks, task_sites, task_type
from webarena_runner.world.launch import Environment

if TYPE_CHECKING:
    from pathlib import Path


def sites(**given: Any) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate({"sites": given})


def shopping(copies: int | None) -> EnvironmentConfig:
    urls = ["http://shopping.localhost:7770", "http://127.0.0.1:7770"]
    return sites(shopping={"urls": urls, "copies": copies}, reddit="http://reddit.localhost:9999")


def test_copies_have_ports_of_their_own() -> None:
    config = shopping(3)
    assert [each.site("shopping").urls for each in copy_configs(config, "shopping")] == [
        ("http://shopping.localhost:7770", "http://127.0.0.1:7770"),
        ("http://shopping.localhost:7870", "http://127.0.0.1:7870"),
        ("http://shopping.localhost:7970", "http://127.0.0.1:7970"),
    ]
    assert copy_config(config, {"shopping": 1}).site("reddit") == config.site("reddit")
    admin = sites(shopping_admin={"url": "http://[::1]:7780", "copies": 2})
    assert copy_configs(admin, "shopping_admin")[1].site("shopping_admin").url == "http://[::1]:7880/admin"  # fmt: skip


def test_tasks_take_copies_by_turns_apart_for_those_that_change_a_site() -> None:
    tasks = [task for task in load_tasks() if "shopping" in task_sites(task)]
    chosen = choose_copies(tasks, shopping(2))
    for kind in ("MUTATE", "RETRIEVE"):
        numbers = [chosen[each.task_id]["shopping"] for each in tasks if task_type(each) == kind]
        if kind == "MUTATE":
            assert abs(numbers.count(0) - numbers.count(1)) <= 1
        assert {*numbers} == {0, 1}
    assert choose_copies(tasks, shopping(2)) == chosen
    assert choose_copies(tasks, shopping(None)) == {}


@pytest.mark.parametrize(("copies", "at_once"), [(None, 1), (1, 1), (2, 2), (3, 3)])
def test_as_many_trials_change_a_site_at_once_as_it_has_copies(
    copies: int | None, at_once: int
) -> None:
    benchmark = WebArenaBenchmark(Environment(shopping(copies)))
    tasks = [t for t in benchmark.tasks() if task_sites(t) == ("shopping",) and task_type(t) == "MUTATE"]  # fmt: skip
    tasks = tasks[: 6 * at_once]
    assert len(tasks) == 6 * at_once
    keys = [TrialKey(task_id=each.task_id, trial=1) for each in tasks]
    trials = plan_trials(tasks, keys, RunSpec(agent="x"))
    assert makespan_s(trials, 64, lambda _: 1.0) == len(tasks) / at_once
    assert len({each.resources[0].name for each in tasks}) == at_once


def test_the_trial_uses_the_site_that_its_task_holds() -> None:
    benchmark = WebArenaBenchmark(Environment(shopping(2)))
    for task in benchmark.tasks():
        for name, resource in zip(task_sites(task), task.resources, strict=True):
            if name in {"shopping", "reddit"}:
                origin = benchmark.config_of(task).site(name).origin
                assert resource.name == f"webarena:{name}@{origin}"


async def test_copies_are_reset_each_by_itself(tmp_path: Path) -> None:
    config = shopping(2)
    done: list[str] = []

    def do(config: EnvironmentConfig, name: str) -> float:
        done.append(config.site(name).origin)
        return 1.0

    resets = Resets(config, {"shopping": "per-batch"}, batch=2, folder=tmp_path, do=do)
    first, second = copy_configs(config, "shopping")
    for each in (first, first, second, first):
        await resets(["shopping"], each)
    at = "http://shopping.localhost:"
    assert done == [f"{at}7770", f"{at}7870", f"{at}7770"]
    assert [each.url for each in resets.done] == done


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"map": {"url": "http://localhost:3000", "copies": 2}}, "at most `copies: 1`"),
        ({"reddit": {"url": "http://localhost:9999", "copies": 2, "reset_hook": "x"}}, "either"),
        ({"reddit": {"url": "http://localhost:9999", "copies": 0}}, "greater than or equal to 1"),
    ],
)
def test_copies_that_do_not_help_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        sites(**given)


def test_containers_are_those_of_webarena_verified() -> None:
    config = copy_config(shopping(2), {"shopping": 1})
    spec = read_spec(DockerSpec, copy_spec(config, "shopping"))
    assert spec.image == "am1n3e/webarena-verified-shopping"
    assert spec.env == {"WA_ENV_CTRL_EXTERNAL_SITE_URL": "http://shopping.localhost:7870"}
    assert spec.host_ports == {"80": 7870, "8877": 7871}
    assert spec.urls == {"site": "http://127.0.0.1:{port:80}/customer/account/login"}
    gitlab = sites(gitlab={"url": "http://gitlab.localhost:8023", "copies": 2})
    assert copy_spec(gitlab, "gitlab")["shm_mb"] == 2048
    elsewhere = sites(reddit={"url": "http://forum.test:9999", "copies": 2})
    with pytest.raises(InputError, match="on this computer"):
        copy_spec(elsewhere, "reddit")


def test_the_map_has_volumes_of_its_own_beside_its_data() -> None:
    spec = copy_spec(sites(map={"url": "http://localhost:3000", "copies": 1}), "map")
    assert (
        read_spec(DockerSpec, spec).volumes["map-website-db"].path == "/var/lib/postgresql/14/main"
    )
    assert {*spec["volumes"]} == {"map-website-db", "map-tiles", "map-style"}  # type: ignore[misc]  # a mapping
    assert spec["binds"] == [
        f"webarena_verified_map_{each}"
        for each in (
            "tile_db:/data/database", "routing_car:/data/routing/car", "routing_bike:/data/routing/bike",
            "routing_foot:/data/routing/foot", "nominatim_db:/data/nominatim/postgres",
            "nominatim_flatnode:/data/nominatim/flatnode",
        )
    ]  # fmt: skip


def test_wikipedia_reads_the_folder_of_the_configuration(tmp_path: Path) -> None:
    given = {"url": "http://localhost:8888", "copies": 1, "data_dir": tmp_path}
    assert copy_spec(sites(wikipedia=given), "wikipedia")["binds"] == [f"{tmp_path}:/data"]
    del given["data_dir"]
    with pytest.raises(InputError, match="env setup init --site wikipedia"):
        copy_spec(sites(wikipedia=given), "wikipedia")
