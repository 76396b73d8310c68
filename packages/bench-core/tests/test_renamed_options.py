"""Options of an earlier version reach the command under their present names, with a notice."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from bench_core.cli import RenamedOptionsCommand


@click.command(cls=RenamedOptionsCommand, renamed={"--demo": "--few-shot", "--old": "--new"})
@click.option("--few-shot")
@click.option("--new", is_flag=True)
@click.argument("words", nargs=-1)
def command(few_shot: str | None, new: bool, words: tuple[str, ...]) -> None:  # noqa: FBT001  # click's flag
    """Show what was given."""
    click.echo(f"{few_shot} {new} {words}")


@pytest.mark.parametrize(
    ("given", "shown", "notices"),
    [
        (["--few-shot", "a"], "a False ()", []),
        (["--demo", "a"], "a False ()", ["--demo is called --few-shot now"]),
        (["--demo=a=b"], "a=b False ()", ["--demo is called --few-shot now"]),
        (["--old", "x"], "None True ('x',)", ["--old is called --new now"]),
        (["--", "--demo"], "None False ('--demo',)", []),
    ],
)
def test_an_old_name_is_read_as_the_new_one(
    given: list[str], shown: str, notices: list[str]
) -> None:
    found = CliRunner().invoke(command, given)
    assert (found.exit_code, found.stdout) == (0, f"{shown}\n")
    assert found.stderr == "".join(f"Note: {each}\n" for each in notices)


def test_an_unknown_option_stays_unknown() -> None:
    found = CliRunner().invoke(command, ["--demos", "a"])
    assert found.exit_code == 2
    assert "No such option: --demos" in found.stderr or "No such option '--demos'" in found.stderr


def test_help_names_the_new_option_alone() -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    assert "--few-shot" in text
    assert "--demo" not in text
