"""From options to a benchmark and a spec: what the `run` command needs, for scripts too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.cli import run_spec
from bench_core.errors import InputError
from bench_core.planning import select_tasks
from bench_core.protocols import TrialContext
from bench_core.running import Provenance
from waa_client.agents.loading import load_agent
from waa_client.agents.models import model_of
from waa_client.benchmark import WaaBenchmark
from waa_client.demonstrations import Demonstrations
from waa_client.desktop import View
from waa_client.errors import VmError
from waa_client.evaluation import evaluator_url
from waa_client.pool import VmPool, vm_urls
from waa_client.settings import WaaSettings
from waa_client.vm import SyncVmClient, VmOptions, calls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from bench_core.planning import RunSpec
    from bench_core.records import Task, World

__all__ = ["make_benchmark", "make_spec", "preflight", "provenance"]

_OVER_MODELS = frozenset({"computer-use", "vision"})
_SETUP_AND_EVALUATION_S = 1800.0
_VIEWS = frozenset({"elements", "marks", "tree", "windows"})


def make_spec(options: Mapping[str, Any], world: World = "real") -> RunSpec:
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
        {**options, "workers": workers}, world=world, profile=options["profile"], config=config
    )
    # the time limit is the agent's; set-up and evaluation of WAA take minutes of their own
    timeouts = spec.timeouts.model_copy(update={"evaluation_grace_s": _SETUP_AND_EVALUATION_S})
    return spec.model_copy(update={"timeouts": timeouts})


def make_benchmark(tasks: Sequence[Task], options: Mapping[str, Any]) -> WaaBenchmark:
    """Return the benchmark on the VMs of the options.

    Raises:
        InputError: A URL, a demonstration or a pairing makes no sense.
    """
    given = options["evaluators"] or ""
    settings = WaaSettings(
        evaluators=tuple(evaluator_url(each) for each in given.split(",") if each.strip()),
        reset_command=options["reset_command"],
        setup=options["setup"],
        asset_cache=str(options["asset_cache"]) if options["asset_cache"] else None,
    )
    if not options["vms"] and not options["dry_run"]:
        raise InputError("no VM is given: pass --vm URL[,URL...]")
    return WaaBenchmark(
        tasks,
        pool=VmPool(vm_urls(options["vms"])) if options["vms"] else None,
        settings=settings,
        demonstrations=Demonstrations(options["demo_path"]) if options["demo_path"] else None,
    )


def preflight(tasks: Sequence[Task], spec: RunSpec, options: Mapping[str, Any]) -> list[str]:
    """Refuse what would fail in every trial, return warnings about what will fail in some.

    Refused are an agent that does not load or whose options lead nowhere, a model without its key,
    and VMs none of which answers - unless a command restores them before each trial.

    Raises:
        InputError: Says which, and the way out.
    """
    chosen = select_tasks(tasks, spec.tasks, spec.seed)
    agent = load_agent(spec.agent)
    context = TrialContext(run_id="preflight", folder=Path(), model=spec.model, config=spec.config)
    if spec.agent in _OVER_MODELS:
        model_of(spec.agent, context)
    check = getattr(agent, "check", None)
    if callable(check):
        check([task.task_id for task in chosen], context)
    return [] if options["reset_command"] else _silent(vm_urls(options["vms"]))


def _silent(urls: Sequence[str]) -> list[str]:
    """Ask every VM whether it is there.

    Raises:
        InputError: None of them is.
    """
    faults = {url: fault for url in urls if (fault := _fault_of(url))}
    if len(faults) == len(urls):
        raise InputError(
            f"no VM answers ({'; '.join(faults.values())}): `waa-client probe --vm "
            f"{','.join(urls)}` says what to look at"
        )
    return [f"{fault}; the others work while it rests" for fault in faults.values()]


def _fault_of(url: str) -> str | None:
    try:
        with SyncVmClient(url, VmOptions(tries=1)) as vm:
            vm.send(calls.probe())
    except VmError as error:
        return str(error)
    return None


def provenance() -> Provenance:
    """Return what `run.json` says beside the spec."""
    return Provenance(packages=("waa-client", "bench-core", "httpx", "pillow"))


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
