"""From options to a benchmark and a spec: what the `run` command needs, for scripts too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.cli import run_spec
from bench_core.errors import InputError
from bench_core.planning import select_tasks
from bench_core.protocols import TrialContext
from bench_core.running import Provenance, Surroundings
from bench_core.trial import refuse_misfit
from waa_client.agents.loading import load_agent
from waa_client.agents.models import model_of
from waa_client.benchmark import WaaBenchmark
from waa_client.demonstrations import Demonstrations
from waa_client.desktop import View
from waa_client.evaluation import evaluator_url
from waa_client.pool import VmPool, vm_urls
from waa_client.settings import WaaSettings
from waa_client.worlds import BuiltInDesktops, look_around

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from bench_core.planning import RunSpec
    from bench_core.records import Task, World
    from waa_client.pool import Machines
    from waa_client.worlds import Found

__all__ = ["make_benchmark", "make_spec", "preflight", "surroundings"]

_OVER_MODELS = frozenset({"computer-use", "vision"})
_SETUP_AND_EVALUATION_S = 1800.0
_VIEWS = frozenset({"elements", "marks", "tree", "windows"})


def make_spec(options: Mapping[str, Any]) -> RunSpec:
    """Return the spec of a run; what is in its `config` tells one run from another.

    Raises:
        InputError: An option makes no sense.
    """
    config: dict[str, JsonValue] = {"setup": options["setup"], "variant": options["variant"]}
    if options["agent_options"]:
        config["agent_options"] = dict(_named(options["agent_options"]))
    if options["observe"]:
        config["view"] = _view(options["observe"]).model_dump(mode="json")
    if options["demo_path"]:
        config["demonstrations"] = Demonstrations(options["demo_path"]).sha256
    if options["reset_command"]:
        config["reset_command"] = options["reset_command"]
    vms = len(vm_urls(options["vms"])) if options["vms"] else 1
    workers = max(options["workers"], vms)
    spec = run_spec(
        {**options, "workers": workers},
        world=options["world"],
        timing=options["timing"],
        config=config,
    )
    # the time limit is the agent's; set-up and evaluation of WAA take minutes of their own
    timeouts = spec.timeouts.model_copy(update={"evaluation_grace_s": _SETUP_AND_EVALUATION_S})
    return spec.model_copy(update={"timeouts": timeouts})


def make_benchmark(tasks: Sequence[Task], options: Mapping[str, Any]) -> WaaBenchmark:
    """Return the benchmark on the VMs of the options, or on desktops of its own.

    Raises:
        InputError: A URL, a demonstration or a pairing makes no sense.
    """
    settings = WaaSettings(
        reset_command=options["reset_command"],
        setup=options["setup"],
        asset_cache=str(options["asset_cache"]) if options["asset_cache"] else None,
    )
    return WaaBenchmark(
        tasks,
        pool=_machines(options),
        settings=settings,
        demonstrations=Demonstrations(options["demo_path"]) if options["demo_path"] else None,
    )


def preflight(
    tasks: Sequence[Task], spec: RunSpec, options: Mapping[str, Any]
) -> tuple[RunSpec, list[str]]:
    """Refuse what would fail in every trial, return warnings about what will fail in some.

    Refused are an agent that does not load or whose options lead nowhere, a model without its key,
    VMs none of which answers - unless a command restores them before each trial - and simulations
    beside real VMs. The spec that is returned has the world that the VMs say they are.

    Raises:
        InputError: Says which, and the way out.
    """
    chosen = select_tasks(tasks, spec.tasks, spec.seed)
    agent = load_agent(spec.agent)
    refuse_misfit(WaaBenchmark(tasks), agent)
    context = TrialContext(run_id="preflight", folder=Path(), model=spec.model, config=spec.config)
    if spec.agent in _OVER_MODELS:
        model_of(spec.agent, context)
    world, warnings = _look_around(spec.world, options)
    check = getattr(agent, "check", None)
    if callable(check):
        check([task.task_id for task in chosen], context.model_copy(update={"world": world}))
    return spec.model_copy(update={"world": world}), warnings


def surroundings(**more: Any) -> Surroundings:
    """Return what runs of this benchmark work with: its agents by name, and what `run.json` says."""
    return Surroundings(
        provenance=Provenance(packages=("waa-client", "bench-core", "httpx", "pillow")),
        agent_for=lambda _, context: load_agent(context.agent),
        **more,
    )


def _machines(options: Mapping[str, Any]) -> Machines | None:
    """Return where trials get their VMs; null where nothing is to run."""
    if options["vms"]:
        return VmPool(vm_urls(options["vms"]), evaluators=_evaluators(options))
    if options["world"] == "built-in":
        for name, given in (("--evaluate", "evaluators"), ("--reset-command", "reset_command")):
            if options[given]:
                raise InputError(
                    f"{name} goes with --vm: --world built-in without it starts a desktop and its "
                    f"evaluator for each trial"
                )
        return BuiltInDesktops()
    if not options["dry_run"]:
        raise InputError("no VM is given: pass --vm URL[,URL...], or --world built-in")
    return None


def _evaluators(options: Mapping[str, Any]) -> tuple[str, ...]:
    given = options["evaluators"] or ""
    return tuple(evaluator_url(each) for each in given.split(",") if each.strip())


def _look_around(asked: World, options: Mapping[str, Any]) -> tuple[World, list[str]]:
    """Return the run's world and warnings, from what VMs and evaluators say."""
    if not options["vms"]:
        return asked, []
    urls = vm_urls(options["vms"])
    found = look_around(urls, _evaluators(options))
    silent = [] if options["reset_command"] else _silent(urls, found)
    world, corrected = _world(found, asked)
    return world, [*corrected, *silent]


def _silent(urls: Sequence[str], found: Found) -> list[str]:
    """Return warnings about the VMs that do not answer.

    Raises:
        InputError: None of them does.
    """
    if len(found.faults) == len(urls):
        raise InputError(
            f"no VM answers ({'; '.join(found.faults.values())}): `waa-client probe --vm "
            f"{','.join(urls)}` says what to look at"
        )
    return [f"{fault}; the others work while it rests" for fault in found.faults.values()]


def _world(found: Found, asked: World) -> tuple[World, list[str]]:
    """Return the world of a run, which what answers knows better than any option, and warnings.

    Raises:
        InputError: Some are simulations and some are not.
    """
    simulated = [url for url, world in found.worlds.items() if world == "built-in"]
    if not simulated and asked == "built-in" and found.worlds:
        raise InputError(
            f"{', '.join(found.worlds)} do not say that they are simulations: leave --world built-in "
            f"out, or --vm"
        )
    if not simulated:
        return asked, []
    if real := [url for url in found.worlds if url not in simulated]:
        raise InputError(
            f"{', '.join(simulated)} are simulations and {', '.join(real)} are not: a run is on one "
            f"world, give one kind of VM"
        )
    told = f"{', '.join(simulated)} simulate a desktop: the run is recorded as built-in"
    return "built-in", [] if asked == "built-in" else [told]


def _named(given: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for each in given:
        name, separator, value = each.partition("=")
        if not (name and separator):
            raise InputError(f"{each!r} is not of the form NAME=VALUE, e.g. images=5")
        pairs.append((name, value))
    return pairs


def _view(text: str) -> View:
    wanted = {each.strip() for each in text.split(",") if each.strip()} - {"none"}
    unknown = wanted - _VIEWS
    if unknown:
        raise InputError(
            f"--observe takes {', '.join(sorted(_VIEWS))} or none, not {min(unknown)!r}"
        )
    return View(**dict.fromkeys(wanted, True))
