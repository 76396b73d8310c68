"""The control flow between getters and metrics, with all of upstream's rules and oddities.

The rules are those of `DesktopEnv._set_task_info` and `DesktopEnv.evaluate`: when names are resolved,
which exceptions count as zero and which leave no score, when a list of metrics ends early.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from waa_server_ext.evaluation.evaluators import Fidelity
from waa_server_ext.evaluation.reasons import MetricStep
from waa_server_ext.evaluation.verdicts import Stage
from waa_server_ext.native import registry
from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.refusals import NOT_SWALLOWED

_GIVEN_UP = "FAIL"


class StageError(Exception):
    """An exception that leaves no score, and the stage it happened in; its cause is the original exception."""

    def __init__(self, stage: Stage | None, func: str | None) -> None:
        self.stage = stage
        self.func = func
        super().__init__(func)


@dataclass
class Trace:
    """The steps and durations on the way to a score."""

    steps: list[MetricStep] = field(default_factory=list)
    getters_s: float = 0.0
    metrics_s: float = 0.0


@dataclass(frozen=True)
class MetricPlan:
    """A task's evaluator with every name resolved; lists if `func` is one."""

    evaluator: Mapping[str, Any]
    names: Any
    metrics: Any
    result_getters: Any
    expected_getters: Any
    options: Any
    conjunction: Any


def plan(task: Mapping[str, Any], fidelity: Fidelity) -> MetricPlan:
    """Resolve the names in a task before the VM is asked anything.

    Raises:
        KeyError: The task lacks `id`, `instruction`, `evaluator`, `func` or a `type`.
        AttributeError: A getter or metric of that name does not exist.
        TypeError: A part has the wrong shape.
        ValueError: `conj` is neither `and` nor `or`; raised under `fixed` only.
        AssertionError: The lists have different lengths.
    """
    task["id"], task["instruction"]
    evaluator = task["evaluator"]
    func = evaluator["func"]
    several = isinstance(func, list)
    conjunction = evaluator.get("conj", "and")
    if fidelity == "fixed" and conjunction not in {"and", "or"}:
        raise ValueError(f"conj is {conjunction!r}: it must be 'and' or 'or'")
    metrics = _each(func, lambda name: registry.find("metric", name).bind(fidelity))
    count = len(metrics) if several else None
    made = MetricPlan(
        evaluator=evaluator,
        names=func,
        metrics=metrics,
        result_getters=_getters(evaluator, "result", count, fidelity),
        expected_getters=_getters(evaluator, "expected", count, fidelity),
        options=_options(evaluator, count),
        conjunction=conjunction,
    )
    lists = (made.result_getters, made.expected_getters, made.options)
    if several and any(len(each) != count for each in lists):
        raise AssertionError("func, result, expected and options have different lengths")
    return made


def score(made: MetricPlan, env: EvaluationContext, history: Sequence[str], trace: Trace) -> Any:
    """Return the score of the VM's current state; `postconfig` must have been run.

    Raises:
        StageError: The task cannot be scored; the cause says why.
    """
    gave_up = bool(history) and history[-1] == _GIVEN_UP
    # upstream compares with the string only: a list that contains it is scored like any other
    if made.names == "infeasible":
        # postconfig has run by now, for these tasks too
        return int(gave_up)
    if gave_up:
        return 0
    if isinstance(made.metrics, list):
        return _score_list(made, env, trace)
    return _score_single(made, env, trace)


def _each(value: Any, function: Callable[[Any], Any]) -> Any:
    return [function(item) for item in value] if isinstance(value, list) else function(value)


def _getters(evaluator: Mapping[str, Any], key: str, count: int | None, fidelity: Fidelity) -> Any:
    # by its length, as upstream: a `null` in the task raises TypeError
    if key not in evaluator or len(evaluator[key]) == 0:
        return None if count is None else [None] * count

    def resolve(config: Any) -> Any:
        if key == "expected" and isinstance(evaluator[key], list) and not config:
            return None
        return registry.find("getter", config["type"]).bind(fidelity)

    return _each(evaluator[key], resolve)


def _options(evaluator: Mapping[str, Any], count: int | None) -> Any:
    if "options" not in evaluator:
        return {} if count is None else [{} for _ in range(count)]
    options = evaluator["options"]
    return [each or {} for each in options] if isinstance(options, list) else options


def _score_single(made: MetricPlan, env: EvaluationContext, trace: Trace) -> float | int | bool:
    step = _begin(trace, made, None)
    try:
        step.actual = _timed(trace, made.result_getters, env, _at(made.evaluator, "result", None))
    except NOT_SWALLOWED as error:
        raise _failed(step, "result", step.getter, error) from error
    except Exception as error:  # noqa: BLE001  # vanilla's own border: an error of a getter counts as zero
        step.error = error
        return 0
    if "expected" in made.evaluator:
        _expect(step, trace, made.expected_getters, env, made.evaluator["expected"])
    value = _measure(step, trace, made.metrics, made.options)
    # numpy's float64 is a float and passes; its bool_ and float32 are not and count as 0 upstream
    if isinstance(value, (float, int)):
        return value
    if env.fidelity == "fixed" and type(value).__module__ == "numpy":
        env.note(f"fixed: {step.metric} gave {type(value).__name__}, which counts as a number")
        return float(value)
    return 0


def _score_list(made: MetricPlan, env: EvaluationContext, trace: Trace) -> Any:
    """Score several metrics; a missing file is a zero under `and`, and under `or` repeats the last result."""
    every = made.conjunction == "and"
    scores: list[Any] = []
    state: tuple[Any] | None = None
    for index, metric in enumerate(made.metrics):
        step = _begin(trace, made, index)
        try:
            config = made.evaluator["result"][index]
            state = (_timed(trace, made.result_getters[index], env, config),)
        except FileNotFoundError as error:
            step.error = error
            if every:
                return 0
        except Exception as error:
            raise _failed(step, "result", step.getter, error) from error
        _expect_one(step, trace, made, env, index)
        # upstream goes on with the previous metric's result, and the first has none
        if state is None:
            missing = UnboundLocalError("no file was found, and there is no earlier result to use")
            raise _failed(step, "metric", step.metric, missing) from missing
        step.actual = state[0]
        value = _measure(step, trace, metric, made.options[index])
        if every and _number(step, value) == 0.0:
            return 0
        if made.conjunction == "or" and _number(step, value) == 1.0:
            return 1
        scores.append(value)
    try:
        # upstream takes the maximum for every conjunction except "and", whatever it says
        return sum(scores) / len(scores) if every else max(scores)
    except Exception as error:  # values that cannot be added, or an empty list
        last = trace.steps[-1].metric if trace.steps else None
        raise StageError("metric", last) from error


def _begin(trace: Trace, made: MetricPlan, index: int | None) -> MetricStep:
    name = made.names if index is None else made.names[index]
    asked = _at(made.evaluator, "result", index)
    step = MetricStep(
        metric=str(name),
        getter=_type_of(asked),
        expected_getter=_type_of(_at(made.evaluator, "expected", index)),
        asked=asked,
    )
    trace.steps.append(step)
    return step


def _at(evaluator: Mapping[str, Any], key: str, index: int | None) -> Any:
    part = evaluator.get(key)
    if index is None or not isinstance(part, list):
        return part
    return part[index] if index < len(part) else None


def _type_of(config: Any) -> str | None:
    kind = config.get("type") if isinstance(config, dict) else None
    return None if kind is None else str(kind)[:200]


def _expect_one(
    step: MetricStep, trace: Trace, made: MetricPlan, env: EvaluationContext, index: int
) -> None:
    try:
        config = made.evaluator["expected"][index]
    except Exception as error:
        raise _failed(step, "expected", None, error) from error
    # an empty entry in a list has no getter
    if config:
        _expect(step, trace, made.expected_getters[index], env, config)


def _expect(step: MetricStep, trace: Trace, get: Any, env: EvaluationContext, config: Any) -> None:
    try:
        step.expected = _timed(trace, get, env, config)
    except Exception as error:
        raise _failed(step, "expected", step.expected_getter, error) from error


def _measure(step: MetricStep, trace: Trace, metric: Any, options: Any) -> Any:
    started = time.monotonic()
    try:
        # upstream's test is `is not None`: an expected 0, "" or [] is passed on
        given = (step.actual,) if step.expected is None else (step.actual, step.expected)
        step.score = metric(*given, **options)
    except Exception as error:
        raise _failed(step, "metric", step.metric, error) from error
    finally:
        trace.metrics_s += time.monotonic() - started
    return step.score


def _timed(trace: Trace, get: Any, env: EvaluationContext, config: Any) -> Any:
    started = time.monotonic()
    try:
        return get(env, config)
    finally:
        trace.getters_s += time.monotonic() - started


def _number(step: MetricStep, value: Any) -> float:
    try:
        return float(value)
    except Exception as error:
        raise _failed(step, "metric", step.metric, error) from error


def _failed(step: MetricStep, stage: Stage, func: str | None, error: BaseException) -> StageError:
    step.error = error
    return StageError(stage, func)
