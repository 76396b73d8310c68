"""The command of a package that is not built yet says so and does nothing."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import llm_judge
from llm_judge.cli import main


def test_help_says_that_the_package_is_not_built() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert f"llm-judge {llm_judge.__version__} is not built yet" in " ".join(result.output.split())


def test_version_names_the_distribution() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"llm-judge, version {llm_judge.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["run"], ["run", "--out", "somewhere"], ["--json"]])
def test_anything_else_is_a_usage_error(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "is not built yet" in result.output
