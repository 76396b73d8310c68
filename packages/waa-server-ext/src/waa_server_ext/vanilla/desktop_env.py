"""The environment that vanilla's code runs on, and the observation of its calls."""

from __future__ import annotations

import functools
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from waa_server_ext.evaluation.reasons import MetricStep, error_words
from waa_server_ext.evaluation.verdicts import SetupStep, Stage
from waa_server_ext.vanilla.evaluator_loader import RefusedNameError, Vanilla
from waa_server_ext.vm.exchanges import VmExchange

_REFUSED_STEPS = {
    "upload_file": "it sends a file of this machine",
    "googledrive": "it reads credentials from a path in the task",
    "login": "it reads credentials from a path in the task",
}
"""Steps that no task uses and that would reach files of the evaluating machine."""


@dataclass
class Watch:
    """Records the actions of vanilla's code without changing it."""

    phase: str = "set_task_info"
    stage: Stage | None = None
    func: str | None = None
    inside: bool = False
    seen: list[MetricStep] = field(default_factory=list)
    steps: list[SetupStep] = field(default_factory=list)
    calls: list[VmExchange] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=dict)
    error: BaseException | None = None

    def run(self, act: Callable[[], Any]) -> Any:
        """Run foreign code; keep an exception together with the place where it was raised."""
        try:
            return act()
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the border where vanilla's code runs
            self.error = error
            return None

    def call(self, stage: Stage, func: str, act: Callable[[], Any]) -> Any:
        """Run one getter, metric or step."""
        self.stage, self.func, self.inside = stage, func, True
        started = time.monotonic()
        result = act()  # an exception leaves `inside` set, which marks where it was raised
        self.spent[stage] = self.spent.get(stage, 0.0) + time.monotonic() - started
        self.inside = False
        return result

    def metric(self, index: int) -> MetricStep:
        """Return the notes on the metric at `index`."""
        return self.seen[index]


class DesktopEnvStandIn:
    """The `self` of vanilla's functions, which set the attributes declared here."""

    cache_dir: str
    metric: Any
    result_getter: Any
    expected_getter: Any

    def __init__(
        self, vanilla: Vanilla, watch: Watch, vm_host: str, action_history: Sequence[str]
    ) -> None:
        self._watch = watch
        self._vanilla = vanilla
        # without a port, as vanilla appends the ones it uses
        self.vm_ip = vm_host
        # below the current folder, which is new for each evaluation
        self.cache_dir_base = "cache"
        self.action_history = list(action_history)
        self.controller = vanilla.python_controller(vm_ip=vm_host)
        self.setup_controller = _watched_setup(vanilla, watch)(
            vm_ip=vm_host, cache_dir=self.cache_dir_base
        )

    @property
    def vm_platform(self) -> Any:
        """Ask the VM each time, as vanilla does."""
        return self.controller.get_vm_platform()

    def score(self, task: dict[str, Any]) -> Any:
        """Let vanilla evaluate `task`, which it may change; return its result."""
        types.MethodType(self._vanilla.set_task_info, self)(task)
        self.setup_controller.reset_cache_dir(self.cache_dir)
        # Wrap the functions vanilla resolved; lists stay lists, and values that cannot be called stay as they are
        evaluator = task["evaluator"]
        names = evaluator["func"]
        many = isinstance(names, list)
        metrics = self.metric if many else [self.metric]
        self._watch.seen = [MetricStep(metric=str(each)) for each in (names if many else [names])]
        notes = list(enumerate(self._watch.seen))
        results = self.result_getter if many else [self.result_getter]
        expected = self.expected_getter if many else [self.expected_getter]
        wrapped_metrics = [
            self._metric(f, seen) for f, (_, seen) in zip(metrics, notes, strict=True)
        ]
        wrapped_results = [self._getter("result", f, i) for i, f in enumerate(results)]
        wrapped_expected = [self._getter("expected", f, i) for i, f in enumerate(expected)]
        self.metric = wrapped_metrics if many else wrapped_metrics[0]
        self.result_getter = wrapped_results if many else wrapped_results[0]
        self.expected_getter = wrapped_expected if many else wrapped_expected[0]
        self._watch.phase = "evaluate"
        return types.MethodType(self._vanilla.evaluate, self)()

    def set_up(self, task: dict[str, Any]) -> None:
        """Let vanilla run the steps of `task`."""
        cache = Path(self.cache_dir_base) / str(task["id"])
        cache.mkdir(parents=True)
        self.setup_controller.reset_cache_dir(str(cache))
        self._watch.phase = "evaluate"
        self.setup_controller.setup(task.get("config", []))

    def _getter(self, stage: Stage, function: Any, index: int) -> Any:
        if not callable(function):
            # none, or a list for a single metric, on which vanilla fails in its own way
            return function
        seen = self._watch.metric(index)
        name = function.__name__.removeprefix("get_")
        if stage == "result":
            seen.getter = name
        else:
            seen.expected_getter = name

        @functools.wraps(function)
        def watched(environment: Any, config: Any) -> Any:
            if stage == "result":
                seen.asked = config
            try:
                value = self._watch.call(stage, name, lambda: function(environment, config))
            except Exception as error:
                seen.error = error
                raise
            setattr(seen, "actual" if stage == "result" else "expected", value)
            return value

        return watched

    def _metric(self, function: Any, seen: MetricStep) -> Any:
        @functools.wraps(function)
        def watched(*arguments: Any, **options: Any) -> Any:
            try:
                seen.score = self._watch.call(
                    "metric", seen.metric, lambda: function(*arguments, **options)
                )
            except Exception as error:
                seen.error = error
                raise
            return seen.score

        return watched


def _watched_setup(vanilla: Vanilla, watch: Watch) -> type[Any]:
    class WatchedSetup(vanilla.setup_controller):  # type: ignore[name-defined,misc]  # a class of the checkout
        def setup(self, config: Any) -> None:
            watch.stage, watch.func = "postconfig", None
            for step in config:
                kind = str(step.get("type")) if isinstance(step, dict) else type(step).__name__
                started, calls = time.monotonic(), len(watch.calls)
                try:
                    watch.call("postconfig", kind, functools.partial(self._one, kind, step))
                except Exception as error:
                    watch.steps.append(_step(kind, started, error_words(error)))
                    raise
                watch.steps.append(_step(kind, started, _refusal(watch.calls[calls:])))
            watch.stage = watch.func = None

        def _one(self, kind: str, step: Any) -> None:
            if kind in _REFUSED_STEPS:
                raise RefusedNameError(f"{kind} is refused: {_REFUSED_STEPS[kind]}")
            super().setup([step])

    return WatchedSetup


def _step(kind: str, started: float, error: str | None) -> SetupStep:
    return SetupStep(
        type=kind[:100],
        ok=error is None,
        error=error[:2000] if error else None,
        seconds=round(time.monotonic() - started, 6),
    )


def _refusal(calls: Sequence[VmExchange]) -> str | None:
    """Describe the call of a step that the VM refused; vanilla goes on."""
    for call in calls:
        if call.error:
            return f"{call.method} {call.path}: {call.error}"
        if call.status != 200:  # HTTP
            return f"{call.method} {call.path}: {call.status}"
    return None
