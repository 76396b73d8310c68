from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.discovery import load_agent, load_plugin
from bench_core.errors import InputError
from bench_core.protocols import TrialContext
from bench_core.records import Limits
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import Purpose, RunOptions, prepare_installed
from bench_core.testing import BenchmarkConformance
from bench_core.trial import run_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.config import EnvironmentConfig, default_config
from webarena_runner.options import WebArenaRunOptions
from webarena_runner.preflight import preflight
from webarena_runner.world.launch import Environment, built_in_world, environment_of

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Task, TrialResult
    from bench_core.trial import Benchmark


@pytest.mark.browser
class TestWebArenaConforms(BenchmarkConformance):
    @pytest.fixture
    def benchmark_under_test(self) -> Benchmark:
        return WebArenaBenchmark()

    @pytest.fixture
    def trial(self, tmp_path: Path) -> tuple[Task, TrialResult, Path]:
        with built_in_world() as world:
            benchmark = WebArenaBenchmark(environment_of(world))
            task = benchmark.tasks()[44]
            context = TrialContext(
                run_id="r",
                folder=tmp_path,
                agent="do-nothing",
                world="built-in",
                limits=Limits(time_limit_s=60),
            )
            work = run_trial(benchmark, task, context, load_agent("do-nothing"))
            return task, asyncio.run(work), tmp_path


class Mine(WebArenaBenchmark):
    """A benchmark built on WebArena's."""


@pytest.fixture
def one_site(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith("WEBARENA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("WEBARENA_REDDIT_URL", "http://127.0.0.1:9")


@pytest.mark.usefixtures("one_site")
def test_bench_core_prepares_what_our_command_does() -> None:
    asked = {"agent": "do-nothing", "ids": ("27",)}
    with (
        Mine.prepare(RunOptions(**asked), Purpose.PLAN) as theirs,
        WebArenaBenchmark.prepare(WebArenaRunOptions(**asked), Purpose.PLAN) as ours,
    ):
        assert type(theirs.benchmark) is Mine
        assert (theirs.spec, theirs.out, theirs.warnings) == (ours.spec, ours.out, ours.warnings)
        assert theirs.run_environment.price_of is ours.run_environment.price_of is not None


@pytest.mark.usefixtures("one_site")
def test_bench_core_refuses_a_run_on_sites_that_are_missing() -> None:
    prepared = prepare_installed("webarena")
    with (
        pytest.raises(InputError, match="WEBARENA_SHOPPING_URL"),
        prepared(RunOptions(agent="do-nothing", ids=("21",)), Purpose.PLAN),
    ):
        pass


def sites(**urls: str) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate({"sites": urls})


def spec(ids: str, agent: str = "do-nothing", model: str | None = None, **config: str) -> RunSpec:
    tasks = TaskFilter(ids=tuple(ids.split(",")))
    return RunSpec(tasks=tasks, agent=agent, model=model, config=config)


def test_benchmark_is_found_by_its_name() -> None:
    assert load_plugin("benchmark", "webarena") is WebArenaBenchmark


def test_trials_hold_sites_by_url_so_that_other_sites_do_not_wait() -> None:
    environment = Environment(sites(reddit="http://forum.test:9999/"))
    tasks = WebArenaBenchmark(environment).tasks()
    assert [each.name for each in tasks[399].resources] == [
        "webarena:reddit@http://forum.test:9999"
    ]
    assert [each.name for each in tasks[44].resources] == ["webarena:gitlab"]


def test_tasks_of_a_private_world_do_not_depend_on_its_ports() -> None:
    private = Environment(sites(reddit="http://reddit.localhost:54321"), shared=False)
    assert WebArenaBenchmark(private).tasks() == WebArenaBenchmark().tasks()


@pytest.mark.browser
def test_preflight_warns_of_sites_that_are_down() -> None:
    warnings = preflight(spec("44"), sites(gitlab="http://127.0.0.1:9"))
    assert len(warnings) == 1
    assert "'gitlab' is down" in warnings[0]


@pytest.mark.parametrize(
    ("run", "config", "reason"),
    [
        (spec("0"), sites(gitlab="http://g"), "'shopping_admin' has no URL"),
        (spec("671"), default_config("one.test"), "in task 671"),
        (spec("44", "scripted"), default_config(), "--world built-in"),
        (spec("44", "browser-use"), default_config(), "--model"),
        (spec("44", "browser-use", "nobody:x"), default_config(), "unknown model 'nobody:x'"),
        (spec("44", "absent"), default_config(), "absent"),
        (spec("44", extract="model"), default_config(), "--extract-model"),
        (spec("44", extract="model", extract_model="nobody:x"), default_config(), "nobody"),
    ],
)
def test_preflight_refuses_what_would_fail_in_every_trial(
    run: RunSpec, config: EnvironmentConfig, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        preflight(run, config)


def test_an_evaluator_that_does_not_import_scores_nothing(tmp_path: Path) -> None:
    (tmp_path / "jsonpath_ng.py").write_text("raise ImportError('built for another Python')")
    program = """
from webarena_runner.benchmark import WebArenaBenchmark
print(WebArenaBenchmark().unscored(()))
print(WebArenaBenchmark(evaluator=lambda *_: None).unscored(()))
"""
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    said = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert said.splitlines() == [
        (
            "no trial would have a score, since webarena-verified does not import (ImportError: built for "
            "another Python): `pip install --force-reinstall 'webarena-verified>=1.2.3,<1.3'` mends it"
        ),
        "None",
    ]


def test_an_evaluator_without_memory_is_not_called_a_bad_installation(tmp_path: Path) -> None:
    (tmp_path / "jsonpath_ng.py").write_text("raise MemoryError")
    program = "from webarena_runner.benchmark import WebArenaBenchmark as B; B().unscored(())"
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == "MemoryError"


def test_the_installed_evaluator_scores() -> None:
    assert WebArenaBenchmark().unscored(()) is None
