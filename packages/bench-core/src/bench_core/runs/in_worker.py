"""The benchmark and the agent of a run, built in a worker's own environment to run attempts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench_core.files.temporary import temporary_folder
from bench_core.protocols import TrialContext
from bench_core.records import AgentCode
from bench_core.redaction import Redactor, remember_secrets
from bench_core.run_spec import RunSpec
from bench_core.runs.environment import RunEnvironment
from bench_core.runs.opening import opened_agents, timeouts_of
from bench_core.runs.prepare import Purpose
from bench_core.runs.sealing import SealedRun, sealed_run
from bench_core.runs.trial_runner import trial_runner
from bench_core.sealing.files import sealed_files
from bench_core.trial import close_benchmark
from bench_core.workers.recipe import Recipe, load_reference


@contextlib.contextmanager
def opened_trials(order: Mapping[str, Any]) -> Iterator[_Trials]:
    """Build the trials that the run's `build` message orders.

    Raises:
        InputError: The recipe's options do not fit this machine, or the agent does not.
    """
    remember_secrets(order["redact"])
    spec = RunSpec.model_validate(order["spec"])
    recipe = Recipe.model_validate(order["recipe"])
    with temporary_folder() as scratch:
        out = scratch / "run"
        prepare = load_reference(recipe.prepare)
        with prepare({**recipe.options, "out": str(out)}, Purpose.WORKER) as ready:
            with_ = ready.run_environment
            if with_.redactor is None:
                with_ = replace(with_, redactor=Redactor.from_environment())
            with (
                sealed_run(ready.benchmark, spec, out, _hidden_beside(order)) as sealed,
                opened_agents(spec, with_, sealed) as (agent_for, code),
            ):
                run = trial_runner(
                    ready.benchmark, with_, agent_for, code, timeouts_of(spec, with_)
                )
                yield _Trials(ready.benchmark, with_, run, code, sealed, out)


def _hidden_beside(order: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the run's hidden paths that exist on this machine."""
    folder = Path(order["run_folder"])
    return sealed_files(folder).hidden if folder.is_dir() else ()


class _Trials:
    """The benchmark and agent of a worker; see `bench_core.workers.program.Trials`."""

    def __init__(
        self,
        benchmark: Any,
        with_: RunEnvironment,
        run: Any,
        code: AgentCode,
        sealed: SealedRun,
        folder: Path,
    ) -> None:
        self.folder = folder
        self.agent = code.sha256
        self.redactor = with_.redactor or Redactor.from_environment()
        self.run = run
        self._benchmark = benchmark
        self._open_model = with_.open_model
        self._sealed = sealed

    def context(self, context: TrialContext) -> TrialContext:
        """Return an attempt's context with this machine's hidden paths and its way to open the model."""
        files = self._sealed.files
        here = {"hidden": () if files is None else files.hidden, "unsealed": self._sealed.reason}
        return context.model_copy(update=here).with_model_opener(self._open_model)

    async def close(self) -> None:
        """End the benchmark's resources that outlive a trial."""
        await close_benchmark(self._benchmark)
