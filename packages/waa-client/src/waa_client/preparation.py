"""Preparation of a run from its options: benchmark, spec, folder and VMs."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, get_args

from bench_core.errors import InputError
from bench_core.machines import INITIAL, spec_digest
from bench_core.models import price_row
from bench_core.records import World
from bench_core.run_spec import RunSpec
from bench_core.runs import PreparedRun, Purpose, RunEnvironment, RunOptions
from bench_core.workers import Recipe
from waa_client.demonstrations import Demonstrations
from waa_client.desktop import View
from waa_client.evaluation import EVALUATORS_VARIABLE
from waa_client.options import WaaRunOptions
from waa_client.pool import VmPool, VmSource, vm_resource
from waa_client.preflight import preflight
from waa_client.provenance import provenance
from waa_client.provided import ProvidedVms, read_vm_spec
from waa_client.tasks import BENCHMARK
from waa_client.vm.calls import Backend
from waa_client.world.launch import BuiltInDesktops

VMS_VARIABLE = "WAA_VM"
"""The environment variable with the VMs' addresses, separated by commas, for `bench-core run waa`, which
has no option for them."""

_SETUP_AND_EVALUATION_S = 1800.0
_ASKED_IN_SESSIONS = 10
_HELD_IN_SESSIONS_S = 20.0
_WINE = "waa-wine"  # the world of a VM specification
_VIEWS = frozenset({"elements", "marks", "tree", "windows"})


@contextmanager
def prepared_run(
    make: Callable[..., Any], given: RunOptions | Mapping[str, Any], purpose: Purpose
) -> Iterator[PreparedRun]:
    """Prepare a run as `WaaBenchmark.prepare` does, for that class or a subclass.

    Raises:
        InputError: An option does not exist, options contradict each other, or every trial would fail.
    """
    asked = run_options(given)
    checked, kept = purpose is not Purpose.TASKS, purpose is Purpose.SESSION
    known = asked.known()
    chosen = asked.with_ids(known)
    demonstrations = chosen.demonstrations()
    spec = _spec(chosen, demonstrations)
    settings = chosen.settings()
    if kept:
        # half a minute: clients of sessions give up a call after a minute and consider the session lost
        settings = settings.model_copy(update={"ask_times": _ASKED_IN_SESSIONS})
    pool = _machines(chosen, needed=checked, kept=kept)
    benchmark = make(
        known,
        pool=pool,
        settings=settings,
        demonstrations=demonstrations,
        folder=chosen.tasks_dir,
    )
    warnings: list[str] = []
    if checked:
        world, warnings = preflight(
            benchmark,
            spec,
            chosen.urls(),
            chosen.evaluator_urls(),
            restored=chosen.reset_command is not None,
        )
        spec = spec.model_copy(update={"world": world})
    try:
        yield PreparedRun(
            benchmark,
            spec,
            chosen.folder(BENCHMARK, spec),
            RunEnvironment(
                provenance=provenance(),
                price_of=price_row,
                recipe=_recipe(chosen),
                event_sources=(pool.keep_events,) if isinstance(pool, ProvidedVms) else (),
            ),
            tuple(warnings),
        )
    finally:
        if isinstance(pool, ProvidedVms):
            pool.stop()


def run_options(given: RunOptions | Mapping[str, Any]) -> WaaRunOptions:
    """Return the options; for those of another command, environment variables name the VMs and evaluators."""
    if isinstance(given, WaaRunOptions):
        return given
    options = dict(given)
    if options.get("world", "real") == "real":
        for name, variable in (("vms", VMS_VARIABLE), ("evaluators", EVALUATORS_VARIABLE)):
            options.setdefault(name, [*filter(None, os.environ.get(variable, "").split(","))])
    return WaaRunOptions.from_mapping(options)


def _spec(options: WaaRunOptions, demonstrations: Demonstrations | None) -> RunSpec:
    """Return the spec; runs with a different `config` are different runs."""
    config: dict[str, Any] = {"setup": options.setup, "variant": options.variant}
    backend = options.agent_options.get("tree_backend")
    if backend not in {None, *get_args(Backend)}:
        raise InputError(f"the option tree_backend is uia or win32, not {backend!r}")
    if options.observe is not None:
        config["view"] = _view(options.observe).model_dump(mode="json")
    if demonstrations is not None:
        config["demonstrations"] = demonstrations.sha256
    if options.reset_command:
        config["reset_command"] = options.reset_command
    if options.reset_tag() != INITIAL:
        config["reset"] = options.reset
    looks = ("check_before", "check_each_step")
    config |= {name: True for name in looks if getattr(options, name)}
    if options.browser_profile != "default":
        config["browser_profile"] = options.browser_profile
    provided = options.provided()
    if provided is not None:
        config["vm_spec"] = spec_digest(read_vm_spec(options.vm_spec, provided[0]))
    elif options.vms and not options.reset_command and options.world != "built-in":
        config["reset"] = "none"
    # fewer workers would leave VMs unused
    workers = max(options.workers or 1, provided[1] if provided else len(options.vms))
    under_wine = provided and read_vm_spec(options.vm_spec, provided[0]).get("world") == _WINE
    world: World = "wine" if under_wine else options.world
    spec = options.model_copy(update={"workers": workers}).spec(
        world=world, timing=options.timing, config=config
    )
    # the time limit is the agent's; setup and evaluation of WAA take minutes more
    timeouts = spec.timeouts.model_copy(update={"evaluation_grace_s": _SETUP_AND_EVALUATION_S})
    return spec.model_copy(update={"timeouts": timeouts})


def _recipe(options: WaaRunOptions) -> Recipe | None:
    """Return the recipe from which workers prepare their part; each has its own VM if VMs are given.

    None if a provider starts the VMs: that is done once for a run, in its own process.
    """
    if options.provided() is not None:
        return None
    evaluators = options.evaluators or [None] * len(options.vms)
    slots = tuple(
        {"vms": [vm], "evaluators": [] if evaluator is None else [evaluator]}
        for vm, evaluator in zip(options.vms, evaluators, strict=False)
    )
    given = options.model_dump(mode="json")
    return Recipe(
        prepare="waa_client.benchmark:WaaBenchmark.prepare",
        options=given,
        slots=slots,
        holds=tuple((vm_resource(url),) for url in options.urls()),
    )


def _machines(options: WaaRunOptions, *, needed: bool, kept: bool = False) -> VmSource | None:
    """Return the source of VMs for trials; None if nothing is to be run.

    Raises:
        InputError: VMs are missing, or contradict other options.
    """
    provided = options.provided()
    if provided is not None:
        return _provided(options, *provided)
    if options.vm_spec is not None:
        raise InputError("--vm-spec needs a provider: pass --vm PROVIDER:N, such as --vm qemu:4")
    if options.reset is not None:
        raise InputError(
            "--reset snapshot needs a provider: pass --vm PROVIDER:N; `--vm attached:N` uses VMs that run "
            "already, by their QMP"
        )
    if options.vms:
        # the sessions of one group begin together, so that one without a VM would wait in vain
        wait_s = _HELD_IN_SESSIONS_S if kept else math.inf
        return VmPool(options.urls(), evaluators=options.evaluator_urls(), longest_wait_s=wait_s)
    if options.world == "built-in":
        _refuse_own_vms(
            options,
            "needs --vm: --world built-in without it starts a desktop and its evaluator for each trial",
        )
        return BuiltInDesktops(kept=kept)
    if needed:
        raise InputError(
            f"no VM is given: pass --vm URL[,URL...], or --world built-in, or set {VMS_VARIABLE}"
        )
    return None


def _provided(options: WaaRunOptions, provider: str, count: int) -> ProvidedVms:
    _refuse_own_vms(
        options,
        f"is not for --vm {provider}:{count}: the provider resets its VMs, and the address `evaluate` in "
        "--vm-spec is that of the evaluator",
    )
    spec = read_vm_spec(options.vm_spec, provider)
    if spec.get("world") not in {None, _WINE} and options.world != "built-in":
        raise InputError(f"--vm {provider}:{count} starts simulated desktops: add --world built-in")
    pool = ProvidedVms(provider, count, spec, tag=options.reset_tag())
    pool.refuse_unsaved()
    return pool


def _refuse_own_vms(options: WaaRunOptions, why: str) -> None:
    """Refuse options for the user's own VMs if there are none."""
    for name, given in (
        ("--evaluate", options.evaluators),
        ("--reset-command", options.reset_command),
    ):
        if given:
            raise InputError(f"{name} {why}")


def _view(wanted: Sequence[str]) -> View:
    shown = {*wanted} - {"none"}
    if unknown := shown - _VIEWS:
        raise InputError(
            f"--observe takes {', '.join(sorted(_VIEWS))} or none, not {min(unknown)!r}"
        )
    return View(**dict.fromkeys(shown, True))
