"""Whether an agent can work with the run's model and environment, asked before the first trial."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError
from bench_core.protocols import TrialContext
from bench_core.run_folder.folder import read_run

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.run_spec import RunSpec

_CHECKING = "bench_core.models.checking"


async def refuse_unusable_model(agent: Any, spec: RunSpec, out: Path, opener: Any = None) -> None:
    """If trials are left, ask an agent that calls the run's model whether it can (`check_model`).

    Args:
        agent: The run's; of one without the method the provider of its model is asked whether it takes the key.
        spec: The run.
        out: Its folder, which may not exist yet.
        opener: Opens the model if its name is not enough.

    Raises:
        InputError: The model's key is missing or refused, its provider does not know it, or the agent has
            no tool for it.
    """
    check = getattr(agent, "check_model", None)
    # a proxy has the key, and passes on nothing before a trial begins
    if spec.agent_process.model_proxy or _is_done(spec, out):
        return
    context = _context(spec, out).with_model_opener(opener)
    if callable(check):
        # it asks over the network, in an event loop of its own or in another process
        await asyncio.to_thread(check, context)
    elif spec.model is not None and not getattr(agent, "any_process", False):
        # those that work anywhere and ask for no model call none
        await asyncio.to_thread(importlib.import_module(_CHECKING).refuse_key_of, context)


def refuse_unknown_options(benchmark: Any, agent: Any, spec: RunSpec) -> None:
    """Refuse options that an agent does not list (`options`), except those that the benchmark has for all.

    Raises:
        InputError: It has none of that name; the message says which it has.
    """
    options = getattr(agent, "options", None)
    given = spec.config.get("agent_options")
    if options is None or not isinstance(given, dict):
        return
    known = sorted({*options, *getattr(benchmark, "agent_options", ())})
    for name in given:
        if name not in known:
            raise InputError(
                f"the agent {spec.agent!r} has no option {name!r}: it has {', '.join(known)}"
            )


async def refuse_environment(benchmark: Any, agent: Any, spec: RunSpec, out: Path) -> None:
    """Let an agent that works elsewhere with another model (`check_environment`) say whether it can here.

    Args:
        benchmark: Opens the `environment`; without it, the question is not asked.
        agent: The run's; one without the method is not asked.
        spec: The run.
        out: Its folder, which may not exist yet.

    Raises:
        InputError: It cannot.
    """
    environment = getattr(benchmark, "environment", None)
    check = getattr(agent, "check_environment", None)
    if environment is not None and callable(check):
        await asyncio.to_thread(check, environment, _context(spec, out))


def _context(spec: RunSpec, out: Path) -> TrialContext:
    return TrialContext(
        run_id=out.name,
        folder=out,
        agent=spec.agent,
        model=spec.model,
        world=spec.world,
        profile=spec.profile,
        config=spec.config,
    )


def _is_done(spec: RunSpec, out: Path) -> bool:
    """Return whether the same run is in the folder and has nothing left to do."""
    if spec.rerun or not (out / "run.json").exists():
        return False
    run = read_run(out)
    return run.info.trials >= spec.trials and not run.remaining()
