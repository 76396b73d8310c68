"""The checks of `multireal-harness doctor`, each with a way to fix its findings."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from bench_core.browser import browser_checks
from bench_core.cli.doctor import (
    Check,
    CheckResult,
    agent_checks,
    failed,
    installed,
    ok,
    sealing_checks,
    warned,
)
from bench_core.discovery import find_plugins
from bench_core.errors import BenchError, InputError, pip_install
from bench_core.models import Model, paid_checks, price_checks
from bench_core.play import play_checks
from bench_core.records import Task
from bench_core.run_folder import package_versions
from multireal_harness.lint import lint_tasks
from multireal_harness.models import load_config
from multireal_harness.preflight import AppStatus, check_apps, origins_of, reachable_tasks
from multireal_harness.provenance import PACKAGES
from multireal_harness.states.schemas import shipped_schemas
from multireal_harness.tasks import load_definitions, load_tasks, resolve_tasks_dir, task_set_hash
from multireal_harness.world.launch import built_in_world

_OPTIONAL = {"browser-use": "multireal-harness[browser-use]", "llm-judge": "llm-judge"}


def checks(
    *,
    tasks_dir: str | None = None,
    world: str = "real",
    agent: str | None = None,
    model: str | None = None,
    models_dir: Path | None = None,
    paid: bool = False,
    play: bool = False,
    apps: bool = True,
) -> list[Check]:
    """Return the checks for runs of these tasks by this agent and model; with `apps`, of all their apps."""
    if world == "built-in":
        tasks_dir = tasks_dir or "built-in"
    found = [
        Check("packages", partial(installed, PACKAGES, _OPTIONAL)),
        Check("jmespath", _jmespath),
        *browser_checks(),
        Check("judge", _judge),
        *sealing_checks(),
        Check("built-in apps", _built_in),
        *agent_checks(agent, model),
        *price_checks(model),
    ]
    if model is not None:
        found.append(Check(f"model {model}", partial(_model, model, models_dir)))

    def opened() -> Model:
        return load_config(str(model), models_dir).open()

    found += paid_checks(model, paid=paid, open_model=opened)
    found += play_checks(model, agent, wanted=play, open_model=opened)
    try:
        folder = resolve_tasks_dir(tasks_dir)
        tasks = load_tasks(folder)
    except InputError as error:
        return [*found, Check("tasks", partial(_no_tasks, str(error)))]
    found += [Check("tasks", partial(_tasks, tasks)), Check("queries", partial(_queries, folder))]
    return [*found, *_app_checks(tasks)] if apps and str(tasks_dir) != "built-in" else found


def _jmespath() -> CheckResult:
    """Refuse jmespath-community, which installs its own module over jmespath's and evaluates differently."""
    versions = package_versions(["jmespath", "jmespath-community"])
    if "jmespath-community" in versions:
        return failed(
            "jmespath-community has overwritten the jmespath module",
            "pip uninstall -y jmespath-community && pip install --force-reinstall jmespath",
        )
    return ok(f"jmespath {versions['jmespath']}")


def _judge() -> CheckResult:
    names = [plugin.name for plugin in find_plugins("judge")]
    if not names:
        return warned("none is installed; queries alone decide", pip_install("llm-judge"))
    return ok(", ".join(names))


def _built_in() -> CheckResult:
    with built_in_world() as world:
        statuses = asyncio.run(check_apps(world.urls))
    down = [f"{each.app}: {each.fault}" for each in statuses if each.fault]
    if down:
        return failed("; ".join(down), "check whether a firewall blocks 127.0.0.1")
    return ok(", ".join(each.app for each in statuses))


def _model(name: str, folder: Path | None) -> CheckResult:
    try:
        config = load_config(name, folder)
        config.open()
    except BenchError as error:
        return failed(str(error), "set the key's variable, or install the SDK the message names")
    if config.note:
        return warned(f"{config.model} with the agent {config.agent!r}: {config.note}")
    return ok(f"{config.model} with the agent {config.agent!r}")


def _no_tasks(reason: str) -> CheckResult:
    return failed(reason, "pass --tasks-dir with the folder that holds the tasks' JSON files")


def _tasks(tasks: list[Task]) -> CheckResult:
    return ok(f"{len(tasks)} tasks, task set {task_set_hash(tasks)[:12]}")


def _queries(folder: Path) -> CheckResult:
    report = lint_tasks(load_definitions(folder), shipped_schemas())
    if report.fatal_evals:
        return warned(
            f"{report.fatal_evals} of {report.evals} evals are fatally defective",
            "`multireal-harness lint --fix` shows them; `run --queries fixed` scores by rewritten ones",
        )
    return ok(f"{report.evals} evals, none fatally defective")


def _app_checks(tasks: list[Task]) -> list[Check]:
    # all at once: one app that does not answer takes 20 s
    statuses = asyncio.run(check_apps(origins_of(tasks)))
    return [Check(f"app {each.app}", partial(_app, tasks, each)) for each in statuses]


def _app(tasks: list[Task], status: AppStatus) -> CheckResult:
    if status.fault is None:
        return ok(status.url)
    lost = len(tasks) - len(reachable_tasks(tasks, [status.app]))
    return failed(
        f"{status.url}{status.fault}",
        f"{lost} tasks need it: leave them out with --skip-unreachable",
    )
