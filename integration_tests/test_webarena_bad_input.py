"""What a user can get wrong ends with a clear message and the right status."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

BIN = Path(sys.executable).parent


def webarena(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    ran = subprocess.run(
        [BIN / "webarena-runner", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert "Traceback" not in ran.stdout + ran.stderr
    return ran


def last_result(out: Path) -> Any:
    return json.loads((out / "results.jsonl").read_text().splitlines()[-1])


@pytest.fixture
def silent() -> Iterator[str]:
    """A site that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def nowhere() -> Iterator[str]:
    """A port that refuses connections, and that nobody else can open meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_unknown_task_id_names_the_nearest(tmp_path: Path) -> None:
    ran = webarena("run", "--world", "real", "--task", "812", "--agent", "do-nothing")
    assert ran.returncode == 2
    assert "no task '812'; did you mean '809', '810', '811'?" in ran.stderr


def test_task_the_built_in_world_does_not_hold_is_refused(tmp_path: Path) -> None:
    ran = webarena("run", "--world", "built-in", "--task", "1", "--agent", "scripted")
    assert ran.returncode == 2
    assert "the built-in world has no task '1'" in ran.stderr


def test_run_without_any_site_says_how_to_name_one(tmp_path: Path) -> None:
    ran = webarena("run", "--task", "44", "--agent", "do-nothing", "--out", tmp_path / "run")
    assert ran.returncode == 2
    assert "--config" in ran.stderr


def test_site_a_task_needs_is_missed_before_the_run(tmp_path: Path, nowhere: str) -> None:
    ran = webarena(
        "run",
        "--task",
        "0",
        "--agent",
        "do-nothing",
        "--out",
        tmp_path,
        WEBARENA_GITLAB_URL=nowhere,
    )
    assert ran.returncode == 2
    assert "'shopping_admin' has no URL" in ran.stderr


def test_sites_that_share_a_cookie_are_refused_for_tasks_on_both(tmp_path: Path) -> None:
    ran = webarena("run", "--task", "671", "--agent", "do-nothing", "--host", "shop.test")
    assert ran.returncode == 2
    assert "would overwrite each other's session cookie in task 671" in ran.stderr


def test_scripted_agent_is_refused_on_real_sites(tmp_path: Path) -> None:
    ran = webarena("run", "--task", "44", "--agent", "scripted", "--host", "localhost")
    assert ran.returncode == 2
    assert "--world built-in" in ran.stderr


def test_browser_use_without_a_model_is_refused(tmp_path: Path) -> None:
    ran = webarena("run", "--task", "44", "--host", "localhost")
    assert ran.returncode == 2
    assert "--model provider:model" in ran.stderr


def test_unknown_agent_lists_the_installed_ones(tmp_path: Path) -> None:
    ran = webarena("run", "--task", "44", "--host", "localhost", "--agent", "nobody")
    assert ran.returncode == 2
    assert "'do-nothing'" in ran.stderr


def test_missing_chromium_is_told_before_the_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ("run", "--world", "built-in", "--task", "44", "--agent", "scripted", "--out", out)
    ran = webarena(*arguments, CHROME_PATH="/nonexistent/chrome")
    assert ran.returncode == 1
    assert "CHROME_PATH is '/nonexistent/chrome'" in ran.stderr
    assert not out.exists()


def test_unreachable_site_gives_no_score(tmp_path: Path, nowhere: str) -> None:
    out = tmp_path / "run"
    ran = webarena(
        "run", "--task", "44", "--agent", "do-nothing", "--attempts", "1", "--out", out,
        WEBARENA_GITLAB_URL=nowhere,
    )  # fmt: skip
    assert ran.returncode == 1
    assert "Warning: the site 'gitlab' is down" in ran.stderr
    result = last_result(out)
    assert (result["status"], result.get("score")) == ("environment_error", None)
    assert "cannot be reached" in result["error"]["message"]


@pytest.mark.slow
def test_site_that_never_answers_gives_no_score(tmp_path: Path, silent: str) -> None:
    out = tmp_path / "run"
    ran = webarena(
        "run", "--task", "44", "--agent", "do-nothing", "--attempts", "1", "--out", out,
        WEBARENA_GITLAB_URL=silent,
    )  # fmt: skip
    assert ran.returncode == 1
    result = last_result(out)
    assert (result["status"], result.get("score")) == ("environment_error", None)
    assert "did not answer within" in result["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tasks", "--task", "abc"), "'abc' is not a task id"),
        (("tasks", "--task", "9-3"), "write '3-9'"),
        (("tasks", "--site", "shoping"), "shoping"),
        (("run", "--config", "absent.yaml", "--task", "0", "--agent", "x"), "absent.yaml"),
        (("rescore", "absent"), "absent"),
        (("demo", "--task", "1"), "no task '1'"),
    ],
)
def test_bad_arguments_are_usage_errors(arguments: tuple[str, ...], words: str) -> None:
    ran = webarena(*arguments)
    assert ran.returncode == 2
    assert words in ran.stderr


def test_listing_tasks_is_a_table_or_json() -> None:
    table = webarena("tasks", "--task", "44,399").stdout.splitlines()
    assert table[0].split() == ["task", "site", "type", "difficulty", "goal"]
    assert table[-1] == "2 of 812 tasks"
    listed = json.loads(webarena("tasks", "--task", "44,399", "--json").stdout)
    assert [task["task_id"] for task in listed] == ["44", "399"]
    assert not any("config" in task for task in listed)
