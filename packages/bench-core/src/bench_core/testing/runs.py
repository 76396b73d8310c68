"""Run folders as real runs leave them, made from a seed."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from bench_core.files.append_log import GroupSync
from bench_core.files.checksums import count_lines
from bench_core.records import (
    ArtifactFile,
    Attempt,
    Check,
    ErrorInfo,
    Event,
    Resource,
    Status,
    Task,
    TrialResult,
    Usage,
    World,
)
from bench_core.records.vocabulary import FailureMode
from bench_core.redaction import Redactor
from bench_core.run_folder.artifacts import describe_artifacts
from bench_core.run_folder.checked_log import CheckedLog, FileEnd
from bench_core.run_folder.folder import RunFolder, write_info
from bench_core.run_folder.jsonl import read_lines
from bench_core.run_folder.provenance import describe_run
from bench_core.run_folder.view import read_info, trial_path
from bench_core.seeded import seeded

_SITES = ("gitlab", "map", "reddit", "shopping", "shopping_admin")
_TYPES = ("mutate", "navigate", "retrieve")
_START = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)
_DOLLARS_PER_TOKEN = 3e-6

DEFAULT_STATUSES: Mapping[Status, float] = {
    Status.COMPLETED: 0.80,
    Status.STEP_LIMIT: 0.08,
    Status.TIME_LIMIT: 0.02,
    Status.AGENT_ERROR: 0.02,
    Status.ENVIRONMENT_ERROR: 0.05,
    Status.EVALUATION_ERROR: 0.03,
}
"""How often trials of `make_run` end in which way."""

_ERRORS = {
    Status.AGENT_ERROR: ErrorInfo(kind="ValueError", message="no action in the reply"),
    Status.ENVIRONMENT_ERROR: ErrorInfo(
        kind="EnvironmentFaultError", message="site did not answer within 30 s", phase="environment"
    ),
    Status.EVALUATION_ERROR: ErrorInfo(
        kind="EvaluationError", message="network.har is not HAR 1.2", phase="evaluation"
    ),
}


def make_tasks(count: int, *, benchmark: str = "demo", per_template: int = 4) -> tuple[Task, ...]:
    """Return `count` tasks over five sites, every `per_template` of them from one template."""
    return tuple(_task(index, benchmark, per_template) for index in range(count))


def make_results(
    tasks: Sequence[Task],
    *,
    trials: int = 1,
    seed: int = 0,
    success_rate: float = 0.5,
    statuses: Mapping[Status, float] = DEFAULT_STATUSES,
    agent: str = "scripted",
    model: str | None = "openai:gpt-5.2",
    world: World = "real",
) -> Iterator[TrialResult]:
    """Yield a result for every trial; templates differ in difficulty, as real ones do."""
    random_ = seeded(f"results {seed}")
    rates = {each: _difficulty(each, seed, success_rate) for each in {t.template for t in tasks}}
    for trial in range(1, trials + 1):
        for task in tasks:
            status = random_.choices(list(statuses), list(statuses.values()))[0]
            succeeded = status is Status.COMPLETED and random_.random() < rates[task.template]
            result = _result(task, trial, status, succeeded=succeeded, random_=random_)
            yield result.model_copy(update={"agent": agent, "model": model, "world": world})


def make_run(
    path: Path,
    *,
    tasks: int | Sequence[Task] = 12,
    trials: int = 1,
    seed: int = 0,
    benchmark: str = "demo",
    agent: str = "scripted",
    model: str | None = "openai:gpt-5.2",
    world: World = "real",
    success_rate: float = 0.5,
    statuses: Mapping[Status, float] = DEFAULT_STATUSES,
    results: Sequence[TrialResult] | None = None,
    artifacts: bool = True,
) -> Path:
    """Write a finished run folder and return its path.

    The results depend on `seed` alone; times and versions in `run.json` are those of this process.

    Args:
        path: The folder to make.
        tasks: The tasks, or how many `make_tasks` should make.
        trials: Trials per task.
        seed: Of everything that varies.
        benchmark: Name of the benchmark, when tasks are made.
        agent: Name of the agent.
        model: The model as asked for.
        world: Recorded in run and results.
        success_rate: Mean over templates, of the trials that complete.
        statuses: How often trials end in which way.
        results: Instead of made ones.
        artifacts: Whether each trial leaves a log file.
    """
    planned = make_tasks(tasks, benchmark=benchmark) if isinstance(tasks, int) else tuple(tasks)
    if results is None:
        results = tuple(
            make_results(
                planned, trials=trials, seed=seed, success_rate=success_rate, statuses=statuses,
                agent=agent, model=model, world=world,
            )
        )  # fmt: skip
        if not artifacts:
            results = tuple(each.model_copy(update={"artifacts": ()}) for each in results)
    info = describe_run(
        benchmark=planned[0].benchmark if planned else benchmark,
        benchmark_version="1.0.0",
        agent=agent,
        model=model,
        tasks=planned,
        trials=trials,
        seed=seed,
        config={"max_steps": 30},
        world=world,
        started=_START,
    )
    with RunFolder.create(path, info, planned, redactor=Redactor()) as run:
        for result in results:
            _record(run, result, artifacts=artifacts)
        run.finish("finished")
    return path


def reseal(run: Path) -> None:
    """Accept changed files in the folders of a run's trials as the trials' own artifacts.

    For tests of evaluators that edit an artifact and score it again; only the last result of each
    trial stays.
    """
    file = run / "results.jsonl"
    lines = {result.key: result for result in read_lines(file, TrialResult).records}
    file.unlink()
    with contextlib.closing(GroupSync()) as sync:
        log: CheckedLog[TrialResult] = CheckedLog(file, sync, Redactor(), FileEnd())
        for key, each in lines.items():
            artifacts = describe_artifacts(trial_path(run, key))
            log.append(each.model_copy(update={"artifacts": artifacts}))
        count, digest = log.seal()
        log.close(sealed=True)
    info = read_info(run)
    events = run / "events.jsonl"
    left, known = count_lines(events) if events.exists() else (None, None)
    seals = {"results": count, "results_sha256": digest, "events": left, "events_sha256": known}
    last = info.sessions[-1].model_copy(update=seals)
    write_info(run, info.model_copy(update={"sessions": (last,)}), Redactor())


def _record(run: RunFolder, result: TrialResult, *, artifacts: bool) -> None:
    if artifacts:
        log = run.trial_folder(result.key) / "log.txt"
        log.write_bytes(_log_of(result.task_id, result.status))
    run.append(result)
    run.event(
        Event(
            time=result.started or _START,
            kind="trial_finished",
            task_id=result.task_id,
            trial=result.trial,
            attempt=1,
            data={"status": result.status.value},
        )
    )


def _log_of(task_id: str, status: Status) -> bytes:
    return f"{task_id}: {status.value}\n".encode()


def _task(index: int, benchmark: str, per_template: int) -> Task:
    site = _SITES[index // per_template % len(_SITES)]
    kind = _TYPES[index % len(_TYPES)]
    mode = "exclusive" if kind == "mutate" else "shared"
    return Task(
        benchmark=benchmark,
        task_id=str(index),
        goal=f"Find entry {index} on {site} and report its title.",
        groups={"site": (site,), "type": (kind,)},
        template=f"t{index // per_template}",
        resources=(Resource(name=f"site:{site}", mode=mode),),
        config={"expected": index},
    )


def _difficulty(template: str | None, seed: int, mean: float) -> float:
    random_ = seeded(f"{seed} {template}")
    if mean in {0.0, 1.0}:
        return mean
    return random_.betavariate(2 * mean, 2 * (1 - mean))


def _result(
    task: Task, trial: int, status: Status, *, succeeded: bool, random_: random.Random
) -> TrialResult:
    steps = 30 if status is Status.STEP_LIMIT else random_.randint(2, 29)
    seconds = round(steps * random_.uniform(2, 6), 3)
    tokens = steps * random_.randint(1500, 4000)
    score = float(succeeded) if status.scored else None
    started = _START + timedelta(minutes=random_.randint(0, 600))
    error = _ERRORS.get(status)
    log = _log_of(task.task_id, status)
    return TrialResult(
        benchmark=task.benchmark,
        task_id=task.task_id,
        trial=trial,
        agent="scripted",
        status=status,
        score=score,
        method="exact match 1.0" if status.scored else None,
        checks=_checks(task, succeeded=succeeded) if status.scored else (),
        failure_mode=None if succeeded else _failure_mode(status),
        steps=steps,
        usage=Usage(requests=steps, input_tokens=tokens, output_tokens=steps * 120),
        cost_usd=round(tokens * _DOLLARS_PER_TOKEN, 6),
        timings_s={"environment": 1.5, "agent": seconds, "evaluation": 0.02},
        started=started,
        attempts=(Attempt(status=status, started=started, duration_s=seconds + 1.52, error=error),),
        artifacts=(
            ArtifactFile(path="log.txt", size=len(log), sha256=hashlib.sha256(log).hexdigest()),
        ),
        error=error,
        details={"official_score": score},
    )


def _failure_mode(status: Status) -> FailureMode:
    if status is Status.COMPLETED:
        return FailureMode.WRONG_ANSWER
    return FailureMode(status.value)


def _checks(task: Task, *, succeeded: bool) -> tuple[Check, ...]:
    expected = task.config.get("expected")
    reported = Check(
        criterion="the title is reported",
        expected=expected,
        actual=expected if succeeded else None,
        passed=succeeded,
        reason=None if succeeded else "no such value in the answer",
    )
    return (Check(criterion="the answer is well-formed", passed=True), reported)
