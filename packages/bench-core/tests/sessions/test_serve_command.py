"""`bench-core serve`: what it refuses, and that it ends at a signal."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench_core.cli.main import main

COUNTING = "counting_benchmark:Counting"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to serve"),
        (["--openenv", "a", "--nemo-gym", "b"], "say what to serve"),
        (["--openenv", "nothing-of-this-name"], "unknown benchmark"),
        (["--openenv", COUNTING, "--dataset", "x"], "goes with --nemo-gym"),
        (["--openenv", COUNTING, "--host", "0.0.0.0", "--no-token"], "serve it with a token"),
        (["--openenv", COUNTING, "--option", "x"], "takes NAME=VALUE"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(main, ["serve", *arguments])
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.parametrize("token", ["x", "1234567"])
def test_a_token_that_can_be_guessed_is_refused(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_SESSION_TOKEN", token)
    done = CliRunner().invoke(main, ["serve", "--openenv", COUNTING])
    assert done.exit_code == 2
    assert "can be guessed" in done.output


def test_a_data_set_is_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    done = CliRunner().invoke(main, ["serve", "--nemo-gym", COUNTING, "--dataset", str(path)])
    assert (done.exit_code, done.output) == (0, f"5 tasks: {path}\n")
    assert len(path.read_text(encoding="utf-8").splitlines()) == 5


def test_it_says_where_it_answers_and_ends_at_a_signal(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "bench_core.cli.main",
        "serve",
        "--openenv",
        COUNTING,
        "--port",
        "0",
    ]
    paths = os.pathsep.join(
        filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    )
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": paths,
            "PYTHONUNBUFFERED": "1",
            "PROCTOR_CACHE_DIR": str(tmp_path),
        },
    ) as process:
        assert process.stdout is not None
        assert (
            "serving counting_benchmark:Counting at http://127.0.0.1:" in process.stdout.readline()
        )
        assert f"the token is in {tmp_path / 'tokens' / 'localhost-'}" in process.stdout.readline()
        (file,) = (tmp_path / "tokens").iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(60) == 0
            assert not file.exists()
        finally:
            process.kill()
