"""The origin of a run: versions, commit, host, and hashes that identify it."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from bench_core.records import GitState, RunInfo, Session, Task, World

PROCTOR_DISTRIBUTIONS = (
    "bench-core", "bench-report", "llm-judge", "multireal-harness", "waa-client",
    "waa-server-ext", "webarena-runner",
)  # fmt: skip

# A repository on a slow network disk must not keep a run from starting.
_GIT_TIMEOUT_S = 10


def describe_run(
    *,
    benchmark: str,
    agent: str,
    tasks: Sequence[Task],
    model: str | None = None,
    trials: int = 1,
    seed: int = 0,
    config: Mapping[str, JsonValue] | None = None,
    world: World = "real",
    profile: str = "official",
    timing: str | None = None,
    benchmark_version: str | None = None,
    packages: Iterable[str] = (),
    prices: Iterable[Mapping[str, JsonValue]] = (),
    prices_as_of: str | None = None,
    run_id: str | None = None,
    folder: Path | None = None,
    started: datetime | None = None,
) -> RunInfo:
    """Describe a run that is about to start in this process.

    Args:
        benchmark: The benchmark's name.
        agent: The agent's name.
        tasks: The planned tasks.
        model: The model as asked for, `provider:name`.
        trials: Trials per task.
        seed: From which every trial's seed is derived.
        config: The options that define this run. No keys: they are redacted on disk.
        world: Whether the systems are the benchmark's real ones.
        profile: Which rules score it.
        timing: How fast the harness acts, if the benchmark has a choice.
        benchmark_version: The version of the benchmark or its evaluator.
        packages: Distributions to record in addition to Proctor's own, e.g. `browser-use`.
        prices: The prices that turn tokens into dollars.
        prices_as_of: Their date.
        run_id: By default the benchmark, the time and six digits of the configuration's hash.
        folder: The folder in which to look for a git commit; the working directory by default.
        started: Now by default.
    """
    identity = {
        "benchmark": benchmark,
        "agent": agent,
        "model": model,
        "world": world,
        "profile": profile,
        "timing": timing,
        "seed": seed,
        "config": dict(config or {}),
    }
    config_hash = canonical_hash(identity)
    started = started or datetime.now(timezone.utc)
    return RunInfo(
        run_id=run_id or f"{benchmark}-{started:%Y%m%d-%H%M%S}-{config_hash[:6]}",
        benchmark=benchmark,
        benchmark_version=benchmark_version,
        agent=agent,
        model=model,
        world=world,
        profile=profile,
        timing=timing,
        trials=trials,
        seed=seed,
        config=dict(config or {}),
        config_hash=config_hash,
        task_set_hash=task_set_hash(tasks),
        versions=package_versions(packages),
        python=platform.python_version(),
        platform=platform.platform(),
        host=platform.node(),
        git=git_state(folder or Path()),
        prices=tuple(dict(price) for price in prices),
        prices_as_of=prices_as_of,
        started=started,
    )


def current_session(info: RunInfo, started: datetime) -> Session:
    """Describe this process as one that works on the run `info`."""
    return Session(
        started=started,
        pid=os.getpid(),
        host=platform.node(),
        command=tuple(sys.argv),
        versions=package_versions(info.versions),
        git=git_state(Path()),
    )


def package_versions(packages: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions of Proctor's distributions and of `packages`, if installed."""
    names = dict.fromkeys((*PROCTOR_DISTRIBUTIONS, "pydantic", *packages))
    versions = ((name, _version(name)) for name in names)
    return {name: version for name, version in versions if version is not None}


def git_state(folder: Path, *, tracked: Path | None = None) -> GitState | None:
    """Return the commit checked out around `folder`; None outside a repository or without git.

    Dirty means changed tracked files; a new file, such as the run folder, is not a change.

    Args:
        folder: The folder in which to look.
        tracked: Also return None if git does not track this file: the repository around its environment says
            nothing of an installed package.
    """
    if (
        tracked is not None
        and _git(folder, "ls-files", "--error-unmatch", "--", str(tracked)) is None
    ):
        return None
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    if commit is None or not re.fullmatch("[0-9a-f]{40,64}", commit.strip()):
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return GitState(commit=commit.strip(), dirty=bool(changes))


def task_set_hash(tasks: Iterable[Task]) -> str:
    """Return the SHA-256 of the tasks, whatever their order."""
    by_id = sorted(tasks, key=lambda task: task.task_id)
    return canonical_hash([task.model_dump(mode="json", exclude={"accepts"}) for task in by_id])


def canonical_hash(value: Any) -> str:
    """Return the SHA-256 of `value` as JSON with sorted names and no spaces."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


@functools.cache
def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    # Otherwise `git status` takes a lock, in which a commit of the user's would fail.
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(  # noqa: S603  # fixed arguments, a folder after -C
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_TIMEOUT_S,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
