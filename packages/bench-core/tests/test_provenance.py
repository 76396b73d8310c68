from __future__ import annotations

import os
import subprocess
from datetime import datetime, timezone
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.run_folder import describe_run, package_versions, task_set_hash
from bench_core.run_folder.provenance import canonical_hash, git_state
from bench_core.testing import make_tasks

if TYPE_CHECKING:
    from pathlib import Path

TASKS = make_tasks(4)


def git(folder: Path, *arguments: str) -> str:
    identity = {
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.test",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.test",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }  # fmt: skip
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(
        command, env={**os.environ, **identity}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "file").write_text("one")
    git(folder, "add", "file")
    git(folder, "commit", "--quiet", "-m", "One")
    return folder


def test_the_commit_is_recorded_and_whether_files_changed(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    (repository / "runs").mkdir()
    (repository / "runs" / "new").write_text("untracked files are no change")
    clean = git_state(repository)
    assert clean is not None
    assert (clean.commit, clean.dirty) == (commit, False)
    (repository / "file").write_text("two")
    dirty = git_state(repository)
    assert dirty is not None
    assert (dirty.commit, dirty.dirty) == (commit, True)


def test_outside_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None
    assert git_state(tmp_path / "missing") is None


def test_a_repository_without_commits_has_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert git_state(tmp_path) is None


def test_versions_are_those_installed() -> None:
    versions = package_versions(["pytest", "no-such-distribution"])
    assert versions["pytest"] == metadata.version("pytest")
    assert versions["bench-core"] == metadata.version("bench-core")
    assert "no-such-distribution" not in versions


def test_a_run_is_described_with_what_made_it(repository: Path) -> None:
    started = datetime(2026, 3, 1, 9, 30, tzinfo=timezone.utc)
    info = describe_run(
        benchmark="demo",
        agent="scripted",
        model="openai:gpt-5.2",
        tasks=TASKS,
        trials=3,
        seed=7,
        config={"max_steps": 30},
        packages=["pytest"],
        folder=repository,
        started=started,
    )
    assert info.run_id == f"demo-20260301-093000-{info.config_hash[:6]}"
    assert (info.trials, info.seed, info.config) == (3, 7, {"max_steps": 30})
    assert info.git == git_state(repository)
    assert info.versions["pytest"] == metadata.version("pytest")
    assert info.python
    assert info.host
    assert info.task_set_hash == task_set_hash(TASKS)


@pytest.mark.parametrize(
    "change",
    [
        {"agent": "other"},
        {"model": "openai:other"},
        {"seed": 1},
        {"config": {"max_steps": 31}},
        {"world": "built-in"},
        {"profile": "v2"},
    ],
)
def test_what_makes_another_run_changes_the_configuration_hash(change: dict) -> None:
    base = {"benchmark": "demo", "agent": "a", "tasks": TASKS}
    assert describe_run(**base).config_hash != describe_run(**{**base, **change}).config_hash


def test_trials_time_and_names_do_not_change_the_configuration_hash() -> None:
    base = {"benchmark": "demo", "agent": "a", "tasks": TASKS, "config": {"a": 1, "b": 2}}
    other = {"trials": 5, "run_id": "mine", "config": {"b": 2, "a": 1}, "packages": ["pytest"]}
    assert describe_run(**base).config_hash == describe_run(**{**base, **other}).config_hash


def test_the_order_of_tasks_does_not_make_another_set_but_their_content_does() -> None:
    assert task_set_hash(reversed(TASKS)) == task_set_hash(TASKS)
    changed = (TASKS[0].model_copy(update={"goal": "Other."}), *TASKS[1:])
    assert task_set_hash(changed) != task_set_hash(TASKS)
    assert task_set_hash(TASKS[1:]) != task_set_hash(TASKS)


def test_the_hash_is_the_documented_one() -> None:
    # sha256 of '{"a":[1,"\\u00fc"],"b":null}'
    expected = "eb7f3d221da616470b6745d0feb6d54ccf9fb5127d2742720fdfc5f887564e4a"
    assert canonical_hash({"b": None, "a": [1, "ü"]}) == expected


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=6))
def test_the_order_of_members_does_not_change_a_hash(members: dict) -> None:
    backwards = dict(reversed(members.items()))
    assert canonical_hash(backwards) == canonical_hash(members)
