"""The evaluator that needs no checkout: its own getters, metrics, steps and control flow."""

from __future__ import annotations

import contextlib
import copy
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench_core.errors import EvaluationError
from bench_core.records import SUCCESS_SCORE
from waa_server_ext.evaluation.downloads import Downloads, HostRule
from waa_server_ext.evaluation.evaluators import Description, EvaluatorSettings, Fidelity
from waa_server_ext.evaluation.reasons import error_words, reason_of, transport_fault, writable
from waa_server_ext.evaluation.tasks import check_task
from waa_server_ext.evaluation.verdicts import (
    EvaluationFault,
    SetupReport,
    SetupStep,
    Timings,
    Verdict,
)
from waa_server_ext.native import control_flow as flow
from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.registry import EXTRAS, declared, missing_parts
from waa_server_ext.native.setup_steps import STEPS, run_step
from waa_server_ext.vm.client import BodyStore, VmHttp
from waa_server_ext.vm.exchanges import VmExchange

_MESSAGE = 2000
_VANILLA_NAMES = {
    "CdpError": "Error",
    "HttpStatusError": "HTTPError",
    "UnsupportedSystemError": "Exception",
}
"""Our names of errors to the names that vanilla, or a library it uses, gives them."""


@dataclass
class VmConnections:
    """The connections of one evaluation to the VM and the web; a replay substitutes its own.

    Attributes:
        replayed: Whether the VM is a transcript, which also answers for its browser.
    """

    vm: Any
    download: Callable[[str], bytes]
    record: list[VmExchange] = field(default_factory=list)
    replayed: bool = False


class NativeEvaluator:
    """Scores with the getters and metrics of `waa_server_ext.native`; see `Evaluator`."""

    def __init__(self, settings: EvaluatorSettings) -> None:
        self._settings = settings
        self._fidelity: Fidelity = settings.fidelity or "v2"

    def evaluate(
        self,
        task: Mapping[str, Any],
        action_history: Sequence[str],
        *,
        vm: str,
        deadline: float | None = None,
        replayed: bool = False,
    ) -> Verdict:
        """Score `task` on the VM; see `Evaluator`."""
        with self._reaching(vm, deadline) as run_environment:
            run_environment.replayed = replayed
            return self.evaluate_in(task, action_history, run_environment, deadline=deadline)

    def evaluate_in(
        self,
        task: Mapping[str, Any],
        action_history: Sequence[str],
        run_environment: VmConnections,
        *,
        deadline: float | None = None,
    ) -> Verdict:
        """Score `task` against the answers of `run_environment`."""
        check_task(task)
        run = _Run(copy.deepcopy(dict(task)), list(action_history))
        with self._environment(run_environment, deadline) as env:
            run.go(env)
            return run.verdict(env, run_environment.record)

    def set_up(
        self, task: Mapping[str, Any], *, vm: str, deadline: float | None = None
    ) -> SetupReport:
        """Run the task's setup steps; see `Evaluator`."""
        check_task(task)
        own = copy.deepcopy(dict(task))
        with (
            self._reaching(vm, deadline) as run_environment,
            self._environment(run_environment, deadline) as env,
        ):
            steps, abandoned = _run_setup(env, own.get("config", []))
        return SetupReport(
            ok=all(step.ok for step in steps),
            abandoned=abandoned,
            steps=tuple(steps),
            evaluator="native",
            fidelity=self._fidelity,
            notes=tuple(env.notes),
            transcript=tuple(run_environment.record),
        )

    def describe(self) -> Description:
        """Describe the evaluator's capabilities here and its missing parts; see `Evaluator`."""
        from bench_core.run_folder import package_versions

        getters, metrics = declared("getter"), declared("metric")
        return Description(
            kind="native",
            fidelity=self._fidelity,
            getters=tuple(sorted(getters)),
            metrics=tuple(sorted(metrics)),
            setup_steps=tuple(sorted(STEPS)),
            missing=missing_parts(),
            versions=package_versions(
                ("defusedxml", "lnkparse3", "numpy", "opencv-python-headless", "openpyxl",
                 "pillow", "py7zr", "pymupdf", "pypdf", "python-docx", "rapidfuzz", "soundfile",
                 "soxr", "websockets")
            ),
            details={
                "extras": {extra: list(modules) for extra, modules in EXTRAS.items()},
                "variants": {
                    each.name: dict(each.variants)
                    for each in (*getters.values(), *metrics.values())
                    if each.variants
                },
            },
        )  # fmt: skip

    @contextlib.contextmanager
    def _reaching(self, vm: str, deadline: float | None) -> Iterator[VmConnections]:
        settings = self._settings
        bodies = BodyStore(settings.cache / "bodies")
        record: list[VmExchange] = []
        downloads = Downloads(
            settings, HostRule.of(settings, vm), deadline, record=record, bodies=bodies
        )
        with VmHttp(
            vm,
            settings.vm_timeout_s,
            deadline,
            settings.max_download,
            record,
            bodies,
            settings.vm_token,
        ) as client:
            yield VmConnections(client, downloads.fetch, record)

    @contextlib.contextmanager
    def _environment(
        self, run_environment: VmConnections, deadline: float | None
    ) -> Iterator[EvaluationContext]:
        cache = self._settings.cache
        cache.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix="evaluation-", dir=cache))
        pause = _pause(deadline) if not self._settings.skip_sleeps else _no_pause
        try:
            yield EvaluationContext(
                run_environment.vm,
                scratch,
                run_environment.download,
                self._fidelity,
                pause=pause,
                replayed=run_environment.replayed,
                cdp=self._settings.cdp,
            )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


class _Run:
    """One evaluation, from the task to the verdict."""

    def __init__(self, task: dict[str, Any], history: list[str]) -> None:
        self._task = task
        self._history = history
        self._started = time.monotonic()
        self._trace = flow.Trace()
        self._postconfig_s = 0.0
        self._score: float | None = None
        self._fault: EvaluationFault | None = None

    def go(self, env: EvaluationContext) -> None:
        try:
            plan = flow.plan(self._task, env.fidelity)
        except Exception as error:  # noqa: BLE001  # a border: a task may be anything
            self._fault = _fault("set_task_info", None, None, error)
            return
        started = time.monotonic()
        step: Any = None
        try:
            for step in self._task["evaluator"].get("postconfig", []):
                run_step(env, step)
        except Exception as error:  # noqa: BLE001  # same
            func = step.get("type") if isinstance(step, dict) else None
            self._fault = _fault("evaluate", "postconfig", _name(func), error)
        self._postconfig_s = time.monotonic() - started
        if self._fault is None:
            self._measure(plan, env)

    def verdict(self, env: EvaluationContext, record: Sequence[VmExchange]) -> Verdict:
        score, fault, vanilla_score = self._score, self._fault, None
        lost = next((each for each in record if each.error), None)
        if lost is not None and (fault is None or fault.phase == "evaluate"):
            vanilla_score, score = score, None
            where = (fault.stage, fault.func) if fault else (None, None)
            fault = transport_fault(lost, *where)
        return Verdict(
            score=score,
            success=None if score is None else score >= SUCCESS_SCORE,
            reason=reason_of(self._task, self._history, score, fault),
            evaluation_error=fault,
            vanilla_score=vanilla_score,
            metrics=tuple(step.detail(env.scratch) for step in self._trace.steps),
            evaluator="native",
            fidelity=env.fidelity,
            notes=tuple(env.notes),
            timings=Timings(
                total=round(time.monotonic() - self._started, 6),
                postconfig=round(self._postconfig_s, 6),
                getters=round(self._trace.getters_s, 6),
                metrics=round(self._trace.metrics_s, 6),
            ),
            transcript=tuple(record),
        )

    def _measure(self, plan: flow.MetricPlan, env: EvaluationContext) -> None:
        try:
            value = flow.score(plan, env, self._history, self._trace)
        except flow.StageError as error:
            cause = error.__cause__ or error
            self._fault = _fault("evaluate", error.stage, error.func, cause)
            return
        try:
            self._score = float(value)
        except (TypeError, ValueError, OverflowError) as error:
            self._fault = _fault("evaluate", "metric", None, error)


def _run_setup(env: EvaluationContext, steps: Any) -> tuple[list[SetupStep], bool]:
    """Run steps; return the outcome of each, and whether the last one raised."""
    done: list[SetupStep] = []
    started = time.monotonic()
    step: Any = None
    try:
        for step in steps:
            started = time.monotonic()
            refused = run_step(env, step).refused
            done.append(
                SetupStep(
                    type=step["type"],
                    ok=not refused,
                    error="; ".join(refused)[:_MESSAGE] or None,
                    seconds=round(time.monotonic() - started, 6),
                )
            )
    except Exception as error:  # noqa: BLE001  # a border: a task may be anything
        kind = _name(step.get("type")) if isinstance(step, dict) else None
        message = error_words(error)
        seconds = round(time.monotonic() - started, 6)
        done.append(SetupStep(type=kind or "setup", ok=False, error=message, seconds=seconds))
        return done, True
    return done, False


def _pause(deadline: float | None) -> Callable[[float], None]:
    def pause(seconds: float) -> None:
        if deadline is not None and time.monotonic() + seconds > deadline:
            raise EvaluationError(f"waiting {seconds} s would outlast the evaluation's deadline")
        time.sleep(seconds)

    return pause


def _no_pause(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")


def _fault(phase: Any, stage: Any, func: str | None, error: BaseException) -> EvaluationFault:
    return EvaluationFault(
        phase=phase,
        stage=stage,
        func=func,
        type=_VANILLA_NAMES.get(type(error).__name__, type(error).__name__),
        message=writable(str(error))[:_MESSAGE],
    )


def _name(value: Any) -> str | None:
    return None if value is None else str(value)[:200]
