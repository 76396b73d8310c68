"""Import of results of vanilla harnesses, WAA's and WindowsAgentArena-V2's, into a run folder.

A result is in `.../<domain>/<id>/`, below folders named after action space, observation, model and trial
(WAA), or trial and agent (V2). A folder without a result is of a task that was started and raised: vanilla
writes no result then, and the trial has no score here. Tasks without a folder were never started.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError
from bench_core.records import ErrorInfo, Record, Status, Step, TrialKey, TrialResult
from bench_core.redaction import Redactor
from bench_core.run_folder import (
    RunFolder,
    TrialArtifacts,
    describe_artifacts,
    describe_run,
    read_run,
)
from waa_client.actions.code import SPECIAL
from waa_client.tasks import BENCHMARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from bench_core.records import Task

__all__ = ["Imported", "VanillaAverages", "averages", "import_results", "imported_text"]

_RESULT_FILES = ("result.txt", "results.json", "traj.jsonl", "traj.html", "traj.md", "error.txt")
_MOST_BYTES = 64 * 1024 * 1024
_SHOWN = 400


class VanillaAverages(Record):
    """The average of a run by each harness's own denominator, from 0 to 1; None without any.

    Attributes:
        upstream: Mean over the tasks that have a result (`run.py`, `show_result.py`): tasks that raised
            leave the denominator.
        v2: Sum of results over the tasks that wrote a trajectory (`count.py`): tasks that raised
            after their first action count as zero.
        planned: Sum over all planned tasks: tasks that raised or never started count as zero.
    """

    upstream: float | None
    v2: float | None
    planned: float | None
    with_result: int
    with_trajectory: int
    tasks: int


class Imported(Record):
    """The outcome of an import."""

    folder: str
    layout: str
    trials: int
    results: int
    without_result: int
    unreadable: int
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    averages: VanillaAverages


def import_results(  # noqa: PLR0913  # keywords with defaults
    results: Path,
    out: Path,
    tasks: Sequence[Task],
    *,
    only: str | None = None,
    agent: str = "navi",
    model: str | None = None,
) -> Imported:
    """Read a result tree into the new run folder `out`.

    Args:
        results: The folder given to vanilla as `--result_dir`, or one below it.
        out: The run folder to make.
        tasks: The planned tasks; results of other tasks are listed as unknown.
        only: Read only results below a folder with this text in its path.
        agent: Name of the agent.
        model: Name of its model.

    Raises:
        InputError: There is no result, or the tree has results of several runs.
        RunFolderError: `out` exists.
    """
    by_place = {tuple(task.task_id.split("/", 1)): task for task in tasks}
    found = list(_places(results, only))
    if not found:
        raise InputError(
            f"{results} has no results: no <domain>/<id>/ with {', '.join(_RESULT_FILES[:3])}"
        )
    settings = _settings_of(results, found)
    known = [(place, by_place[key]) for place in found if (key := _key(place)) in by_place]
    unknown = tuple(sorted("/".join(_key(p)) for p in found if _key(p) not in by_place))
    if not known:
        raise InputError(f"none of the {len(found)} results in {results} is of a known task")
    trials = {
        folder: number for number, folder in enumerate(sorted({p.parent.parent for p in found}), 1)
    }
    info = describe_run(
        benchmark=BENCHMARK, agent=agent, model=model, tasks=tasks, trials=len(trials), seed=0,
        timing="vanilla", config={"imported_from": settings},
    )  # fmt: skip
    redactor = Redactor.from_environment()
    with RunFolder.create(out, info, tasks, redactor=redactor) as run:
        for place, task in known:
            trial = TrialKey(task_id=task.task_id, trial=trials[place.parent.parent])
            artifacts = TrialArtifacts(run.new_attempt(trial), redactor)
            run.append(_result(place, task, trial, info.agent, model, artifacts))
        run.finish("finished")
    return _summary(out, settings, unknown)


def averages(results: Iterable[TrialResult], tasks: int) -> VanillaAverages:
    """Return the averages of a run by all denominators; `tasks` is the number of planned tasks."""
    every = list(results)
    scored = [each.score for each in every if each.score is not None]
    started = [each for each in every if _has_trajectory(each)]
    total = math.fsum(scored)
    return VanillaAverages(
        upstream=total / len(scored) if scored else None,
        v2=total / len(started) if started else None,
        planned=total / tasks if tasks else None,
        with_result=len(scored),
        with_trajectory=len(started),
        tasks=tasks,
    )


def imported_text(imported: Imported) -> str:
    """Return the outcome of an import as text."""
    found = imported.averages
    lines = [
        f"{imported.layout} -> {imported.folder}",
        f"{imported.results} results, {imported.without_result} tasks that raised",
        f"{len(imported.missing)} tasks never started",
        f"average over tasks with a result (upstream's): {_percent(found.upstream)} of {found.with_result}",
        f"average over tasks with a trajectory (V2's):   {_percent(found.v2)} of {found.with_trajectory}",
        f"average over all planned tasks:                {_percent(found.planned)} of {found.tasks}",
    ]
    if imported.unreadable:
        lines.append(
            f"{imported.unreadable} results are no number and have no score here; upstream's "
            f"show_result.py counts such text as 1, its run.py as 0"
        )
    if imported.unknown:
        lines.append(f"not among the tasks: {', '.join(imported.unknown[:5])}")
    return "\n".join(lines)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f} %"


def _places(results: Path, only: str | None) -> Iterator[Path]:
    """Yield every folder with files of a trial."""
    seen = set()
    for path in sorted(results.rglob("*")):
        folder = path.parent
        if path.name in _RESULT_FILES and folder not in seen and len(folder.parts) > 1:
            seen.add(folder)
            inside = folder.relative_to(results).parts
            if inside and (only is None or only in folder.parent.parent.as_posix()):
                yield folder


def _key(place: Path) -> tuple[str, ...]:
    return place.parent.name, place.name


def _settings_of(results: Path, found: Sequence[Path]) -> str:
    """Return the folders between the root and the trials; one run has one setting.

    WAA's last folder is the trial, V2's first one; whatever else differs is another run.
    """
    above = {place.parent.parent.relative_to(results.parent).parts for place in found}
    lengths = {len(parts) for parts in above}
    differing = {
        index
        for length in lengths
        for index in range(length)
        if len({parts[index] for parts in above if len(parts) == length}) > 1
    }
    if len(lengths) > 1 or len(differing) > 1:
        shown = ", ".join(sorted("/".join(parts) for parts in above)[:4])
        raise InputError(f"{results} has results of several runs: choose one with --only: {shown}")
    return "/".join(min(above))


def _result(  # noqa: PLR0913, PLR0917  # what one line is made of
    place: Path,
    task: Task,
    key: TrialKey,
    agent: str,
    model: str | None,
    artifacts: TrialArtifacts,
) -> TrialResult:
    lines = _trajectory(place)
    actions = [str(line["action"]) for line in lines if isinstance(line.get("action"), str)]
    score, unreadable = _score(place)
    error = _error(place, lines) if score is None else None
    for number, line in enumerate((each for each in lines if each.get("action")), 1):
        artifacts.append_step(_step(number, line, place, artifacts))
    ended = actions[-1:] in (["DONE"], ["FAIL"])
    flags = (
        [] if score is not None else ["vanilla_unreadable" if unreadable else "vanilla_no_result"]
    )
    return TrialResult(
        benchmark=BENCHMARK,
        task_id=key.task_id,
        trial=key.trial,
        agent=agent,
        model=model,
        timing="vanilla",
        status=_status(score, ended=ended),
        score=score,
        method="vanilla's own evaluate()" if score is not None else None,
        flags=tuple(flags + (["gave_up"] if actions[-1:] == ["FAIL"] else [])),
        steps=len({line.get("step_num") for line in lines if line.get("action")}),
        artifacts=describe_artifacts(artifacts.folder),
        error=error,
        details={
            "vanilla": {
                "trajectory": (place / "traj.jsonl").is_file(),
                "result": (place / "result.txt").is_file(),
            },
            "last_action": actions[-1] if actions else None,
            "goal": task.goal,
        },
    )


def _status(score: float | None, *, ended: bool) -> Status:
    if score is None:
        # vanilla does not record the cause of an exception, so the trial has no score
        return Status.ENVIRONMENT_ERROR
    return Status.COMPLETED if ended else Status.STEP_LIMIT


def _score(place: Path) -> tuple[float | None, bool]:
    """Return the score and whether there is a result that is no number."""
    text = _text(place / "result.txt")
    if text is None:
        # V2 has a list of scores in results.json instead
        return _last_of_v2(place), False
    try:
        value = float(text.strip())
    except ValueError:
        # upstream writes whatever `evaluate()` returns, which may be a boolean
        value = {"true": 1.0, "false": 0.0}.get(text.strip().lower(), math.nan)
    return (value, False) if math.isfinite(value) else (None, True)


def _last_of_v2(place: Path) -> float | None:
    """Return the last score of `results.json`, which is what V2 averages."""
    try:
        score = float(json.loads(_text(place / "results.json") or "[]")[-1]["score"])
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return score if math.isfinite(score) else None


def _error(place: Path, lines: Sequence[dict[str, Any]]) -> ErrorInfo:
    reason = _text(place / "error.txt")
    noted = [line for line in lines if "Error" in line or "Exception" in line]
    if reason is None and noted:
        reason = str(noted[-1].get("Exception") or noted[-1].get("Error"))
    first = (reason or "").strip()[:_SHOWN] or "vanilla left no result and no reason"
    return ErrorInfo(kind="VanillaException", message=first, phase="vanilla")


def _trajectory(place: Path) -> list[dict[str, Any]]:
    lines = []
    for line in (_text(place / "traj.jsonl") or "").splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line that was cut off when vanilla died
        if isinstance(value, dict):
            lines.append(value)
    return lines


def _step(number: int, line: dict[str, Any], place: Path, artifacts: TrialArtifacts) -> Step:
    action = str(line["action"])
    kind = {"kind": action.lower()} if action in SPECIAL else {"kind": "code", "code": action}
    return Step(
        step=number,
        title=_maybe_text(line.get("window_title")),
        screenshot=_screenshot(number, line, place, artifacts),
        thought=_maybe_text(line.get("plan_result")),
        actions=(kind,),
    )


def _screenshot(
    number: int, line: dict[str, Any], place: Path, artifacts: TrialArtifacts
) -> str | None:
    name = line.get("screenshot") or line.get("screenshot_file")
    if not isinstance(name, str):
        return None
    # a tree from elsewhere may name any path: only files below the trial are read
    path = (place / name.replace("\\", "/")).resolve()
    if not path.is_relative_to(place.resolve()) or not path.is_file():
        return None
    return artifacts.write_bytes(f"screenshots/step-{number:03d}.png", path.read_bytes())


def _maybe_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _text(path: Path) -> str | None:
    if not path.is_file():
        return None
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(f"{path} has more than {_MOST_BYTES} bytes")
    return path.read_text(encoding="utf-8", errors="replace")


def _has_trajectory(result: TrialResult) -> bool:
    noted = result.details.get("vanilla")
    if isinstance(noted, dict):
        return bool(noted.get("trajectory"))
    return "trajectory.jsonl" in result.artifact_paths


def _summary(out: Path, settings: str, unknown: tuple[str, ...]) -> Imported:
    run = read_run(out)
    found = list(run.results.values())
    reached: dict[str, int] = defaultdict(int)
    for each in found:
        reached[each.task_id] += 1
    return Imported(
        folder=str(out),
        layout=settings,
        trials=run.info.trials,
        results=sum(each.score is not None for each in found),
        without_result=sum(each.score is None for each in found),
        unreadable=sum("vanilla_unreadable" in each.flags for each in found),
        missing=tuple(task.task_id for task in run.tasks if task.task_id not in reached),
        unknown=unknown,
        averages=averages(found, len(run.tasks) * run.info.trials),
    )
