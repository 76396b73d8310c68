"""A package that is not built yet says so and does nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.unbuilt import unbuilt_command

if TYPE_CHECKING:
    import click


@pytest.fixture
def command() -> click.Command:
    return unbuilt_command("demo-runner", "0.1.0", "Run demos.")


def test_help_tells_the_purpose_and_that_nothing_is_built(command: click.Command) -> None:
    result = CliRunner().invoke(command, ["--help"])
    assert result.exit_code == 0
    assert "Run demos." in result.output
    assert "demo-runner 0.1.0 is not built yet" in result.output


def test_help_offers_no_arguments(command: click.Command) -> None:
    result = CliRunner().invoke(command, ["--help"])
    assert "ARGUMENTS" not in result.output


def test_plain_call_is_a_usage_error(command: click.Command) -> None:
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 2
    assert "demo-runner 0.1.0 is not built yet" in result.output


def test_a_command_is_named_and_not_run(command: click.Command) -> None:
    result = CliRunner().invoke(command, ["run", "--trials", "3"])
    assert result.exit_code == 2
    assert "'run --trials 3' was not run" in result.output
