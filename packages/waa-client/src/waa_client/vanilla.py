"""Import of results of vanilla harnesses, WAA's, WindowsAgentArena-V2's and OSWorld's, into a run folder.

A result is in `.../<domain>/<id>/`, below folders named after action space, observation, model and trial
(WAA; OSWorld has no trial), or trial and agent (V2). A folder without a result belongs to a task that started
and raised: vanilla writes no result then, and the trial has no score here. Tasks without a folder were never
started. Links are not followed, and no file above a limit is read.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from bench_core.errors import InputError, RefusedFileError
from bench_core.files import file_inside, plain_files, read_inside
from bench_core.records import (
    ErrorInfo,
    Record,
    Status,
    Step,
    Task,
    TrialKey,
    TrialResult,
    as_score,
)
from bench_core.redaction import Redactor
from bench_core.run_folder import (
    REPORTED_ONLY,
    RunFolder,
    TrialArtifacts,
    describe_artifacts,
    describe_run,
    read_run,
)
from waa_client.actions.code import SPECIAL
from waa_client.tasks import BENCHMARK

_RESULT_FILES = ("result.txt", "results.json", "traj.jsonl", "traj.html", "traj.md", "error.txt")
_MOST_BYTES = 64 * 1024 * 1024
_MOST_TASKS = 20_000
_SHOWN = 400


class VanillaAverages(Record):
    """The average of a run by each harness's own denominator, from 0 to 1; None if that is zero.

    Attributes:
        upstream: Mean over the tasks with a result (`run.py`, `show_result.py`): tasks that raised
            are left out of the denominator.
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

    @property
    def text(self) -> str:
        """The outcome as text."""
        return imported_text(self)


def import_results(
    results: Path,
    out: Path,
    tasks: Sequence[Task],
    *,
    only: str | None = None,
    agent: str = "navi",
    model: str | None = None,
    benchmark: str = BENCHMARK,
) -> Imported:
    """Read a result tree into the new run folder `out`.

    Args:
        results: The folder given to vanilla as `--result_dir`, or one below it.
        out: The run folder to make.
        tasks: The planned tasks; results of other tasks are listed as unknown. If empty: the tasks
            found, of which only the id is known.
        only: Read only results below a folder with this text in its path.
        agent: Name of the agent.
        model: Name of its model.
        benchmark: The benchmark of the tasks; results of another than WAA are marked as reported only.

    Raises:
        InputError: The tree has results of no run, or of several.
        RunFolderError: `out` exists.
    """
    tree = _Tree(results)
    found = list(tree.places(only))
    if not found:
        raise InputError(
            f"{results} has no results: no <domain>/<id>/ with {', '.join(_RESULT_FILES[:3])}"
        )
    settings = _settings_of(results, found)
    if not tasks:
        tasks = [_found_task(benchmark, *key) for key in sorted({tree.key(p) for p in found})]
    by_place = {tuple(task.task_id.split("/", 1)): task for task in tasks}
    known = [(place, by_place[key]) for place in found if (key := tree.key(place)) in by_place]
    unknown = tuple(sorted("/".join(tree.key(p)) for p in found if tree.key(p) not in by_place))
    if not known:
        raise InputError(f"none of the {len(found)} results in {results} is of a known task")
    trials = {
        folder: number for number, folder in enumerate(sorted({p.parent.parent for p in found}), 1)
    }
    info = describe_run(
        benchmark=benchmark, agent=agent, model=model, tasks=tasks, trials=len(trials), seed=0,
        timing="vanilla", config={"imported_from": settings},
    )  # fmt: skip
    redactor = Redactor.from_environment()
    with RunFolder.create(out, info, tasks, redactor=redactor) as run:
        for place, task in known:
            trial = TrialKey(task_id=task.task_id, trial=trials[place.parent.parent])
            artifacts = TrialArtifacts(run.new_attempt(trial), redactor)
            run.append(
                _result(_TrialFolder(tree, place), task, trial, info.agent, model, artifacts)
            )
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
    return "-" if value is None else f"{value:.2%}"


class _Tree:
    """A tree from elsewhere: only plain files below it are read, none of them through a link."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def places(self, only: str | None) -> Iterator[PurePosixPath]:
        """Yield every folder with files of a trial, relative to the root.

        Raises:
            InputError: There are more than any run has.
        """
        folders = {each.parent for each in map(PurePosixPath, plain_files(self.root))
                   if each.name in _RESULT_FILES and each.parent.parts}  # fmt: skip
        if len(folders) > _MOST_TASKS:
            raise InputError(f"{self.root} has more than {_MOST_TASKS} folders of results")
        for each in sorted(folders):
            if only is None or only in (self.root / each.parent.parent).as_posix():
                yield each

    def key(self, place: PurePosixPath) -> tuple[str, str]:
        """Return the domain and the id of a place's task."""
        domain, name = (self.root.absolute().name, *place.parts)[-2:]
        return domain, name


class _TrialFolder:
    """The folder of one trial."""

    def __init__(self, tree: _Tree, inside: PurePosixPath) -> None:
        self._tree = tree
        self._inside = inside

    def has(self, name: str) -> bool:
        return file_inside(self._tree.root, f"{self._inside}/{name}")

    def text(self, name: str) -> str | None:
        """Return the contents of a file; None if it is missing.

        Raises:
            RefusedFileError: It is a link, or too large.
        """
        data = self._read(name)
        return None if data is None else data.decode("utf-8", errors="replace")

    def picture(self, name: str) -> bytes | None:
        try:
            return self._read(name.replace("\\", "/"))
        except RefusedFileError:  # a file that is not evidence is left out
            return None

    def _read(self, name: str) -> bytes | None:
        try:
            return read_inside(self._tree.root, f"{self._inside}/{name}", most=_MOST_BYTES)
        except (FileNotFoundError, NotADirectoryError):
            return None


def _found_task(benchmark: str, domain: str, name: str) -> Task:
    return Task(
        benchmark=benchmark, task_id=f"{domain}/{name}", goal="", groups={"domain": (domain,)}
    )


def _settings_of(results: Path, found: Sequence[PurePosixPath]) -> str:
    """Return the folders between the root and the trials; one run has one setting.

    WAA's last folder is the trial, V2's first one; any other difference means another run.
    """
    above = {(results.absolute().name, *place.parent.parent.parts) for place in found}
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


def _result(
    place: _TrialFolder,
    task: Task,
    key: TrialKey,
    agent: str,
    model: str | None,
    artifacts: TrialArtifacts,
) -> TrialResult:
    try:
        lines = _trajectory(place)
        score, unreadable = _score(place)
        reason = place.text("error.txt")
    except RefusedFileError as refused:
        return _refused(task, key, agent, model, str(refused))
    actions = [_action_text(line["action"]) for line in lines if line.get("action")]
    error = _error(reason, lines) if score is None else None
    for number, line in enumerate((each for each in lines if each.get("action")), 1):
        artifacts.append_step(_step(number, line, place, artifacts))
    ended = actions[-1:] in (["DONE"], ["FAIL"])
    flags = (
        [] if score is not None else ["vanilla_unreadable" if unreadable else "vanilla_no_result"]
    )
    if task.benchmark != BENCHMARK:
        flags.append(REPORTED_ONLY)
    return TrialResult(
        benchmark=task.benchmark,
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
                "trajectory": place.has("traj.jsonl"),
                "result": place.has("result.txt"),
            },
            "last_action": actions[-1] if actions else None,
            "goal": task.goal,
        },
    )


def _refused(task: Task, key: TrialKey, agent: str, model: str | None, why: str) -> TrialResult:
    return TrialResult(
        benchmark=task.benchmark,
        task_id=key.task_id,
        trial=key.trial,
        agent=agent,
        model=model,
        timing="vanilla",
        status=Status.EVALUATION_ERROR,
        score=None,
        flags=("vanilla_no_result",),
        error=ErrorInfo(kind="Imported", message=why, phase="vanilla"),
        details={"goal": task.goal},
    )


def _status(score: float | None, *, ended: bool) -> Status:
    if score is None:
        # vanilla does not record the cause of an exception, so the trial has no score
        return Status.ENVIRONMENT_ERROR
    return Status.COMPLETED if ended else Status.STEP_LIMIT


def _score(place: _TrialFolder) -> tuple[float | None, bool]:
    """Return the score, and whether there is a result that is not a number."""
    text = place.text("result.txt")
    if text is None:
        # V2 has a list of scores in results.json instead
        return _last_of_v2(place), False
    try:
        value = float(text.strip())
    except ValueError:
        # upstream writes whatever `evaluate()` returns, which may be a boolean
        value = {"true": 1.0, "false": 0.0}.get(text.strip().lower(), math.nan)
    score = as_score(value)
    return score, score is None


def _last_of_v2(place: _TrialFolder) -> float | None:
    """Return the last score of `results.json`, the one that V2 averages."""
    try:
        return as_score(float(json.loads(place.text("results.json") or "[]")[-1]["score"]))
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None


def _error(reason: str | None, lines: Sequence[dict[str, Any]]) -> ErrorInfo:
    noted = [line for line in lines if "Error" in line or "Exception" in line]
    if reason is None and noted:
        reason = str(noted[-1].get("Exception") or noted[-1].get("Error"))
    first = (reason or "").strip()[:_SHOWN] or "vanilla left no result and no reason"
    return ErrorInfo(kind="VanillaException", message=first, phase="vanilla")


def _trajectory(place: _TrialFolder) -> list[dict[str, Any]]:
    lines = []
    for line in (place.text("traj.jsonl") or "").splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue  # a line cut off when vanilla died
        if isinstance(value, dict):
            lines.append(value)
    return lines


def _action_text(action: object) -> str:
    """Return an action as code; OSWorld's agents of some providers leave an object."""
    if isinstance(action, dict):
        command = action.get("command") or action.get("action_type")
        return command if isinstance(command, str) else json.dumps(action, default=str)
    return str(action)


def _step(
    number: int, line: dict[str, Any], place: _TrialFolder, artifacts: TrialArtifacts
) -> Step:
    action = _action_text(line["action"])
    kind = {"kind": action.lower()} if action in SPECIAL else {"kind": "code", "code": action}
    return Step(
        step=number,
        title=_maybe_text(line.get("window_title")),
        screenshot=_screenshot(number, line, place, artifacts),
        thought=_maybe_text(line.get("plan_result")) or _maybe_text(line.get("response")),
        actions=(kind,),
    )


def _screenshot(
    number: int, line: dict[str, Any], place: _TrialFolder, artifacts: TrialArtifacts
) -> str | None:
    name = line.get("screenshot") or line.get("screenshot_file")
    data = place.picture(name) if isinstance(name, str) else None
    if data is None:
        return None
    return artifacts.write_bytes(f"screenshots/step-{number:03d}.png", data)


def _maybe_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


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
