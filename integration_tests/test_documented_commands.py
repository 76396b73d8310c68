"""Every command line that the documentation and the helps show is one that the programs take."""

from __future__ import annotations

import importlib.metadata
import re
import shlex
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import pytest
from nox_support.packages import packages

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = [each.name for each in packages()]
HALVES = [each for program in PROGRAMS if (each := program.partition("-")[0]) not in PROGRAMS]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md")]
_BLOCK = re.compile(r"^ *```(?:console|bash|sh)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_END = {"|", ";", "&&", ">", "&", "#"}


class Shown(NamedTuple):
    """A command line of a page."""

    place: str
    words: list[str]


def shown() -> list[Shown]:
    """Return the command lines of our programs, half a name instead of one too, with where each stands."""
    found = []
    for page in sorted(PAGES):
        text = page.read_text("utf-8")
        for block in _BLOCK.finditer(text):
            for offset, line in _lines(block.group(1)):
                words = _words(line)
                if words and words[0] in {*PROGRAMS, *HALVES}:
                    number = text[: block.start(1)].count("\n") + offset
                    found.append(Shown(f"{page.relative_to(ROOT)}:{number}", words))
    return found


def _lines(block: str) -> list[tuple[int, str]]:
    """Return the lines of a block with their numbers from 1; a continued one is one."""
    lines: list[tuple[int, str]] = []
    continued = False
    for number, line in enumerate(block.splitlines(), 1):
        if continued:
            lines[-1] = (lines[-1][0], lines[-1][1].rstrip("\\") + " " + line)
        else:
            lines.append((number, line))
        continued = line.endswith("\\")
    return lines


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line.strip().removeprefix("$ "), comments=True)
    except ValueError:  # an apostrophe in what a program printed
        return []
    words = list(takewhile(lambda word: word not in _END, words))
    if words:
        words[0] = words[0].removeprefix(".venv/bin/")
    return [word for word in words if word != "..."]


def command_of(program: str) -> click.Command:
    """Return the program's command."""
    (script,) = importlib.metadata.entry_points(group="console_scripts", name=program)
    command = script.load()
    assert isinstance(command, click.Command)
    return command


def commands_of(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below `command` that is not hidden, with its words."""
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands_of(inner, f"{path} {name}")
    elif not command.hidden:
        yield path, command


def examples() -> Iterator[Shown]:
    """Yield the example lines of every command's help; one without words where it has none."""
    for program in PROGRAMS:
        for path, command in commands_of(command_of(program), program):
            shown_below = (command.epilog or "").partition("Example:\n")[2]
            for line in shown_below.splitlines() or [""]:
                for part in line.split(" && "):
                    yield Shown(f"help of {path}", _words(part))


SHOWN = shown()
EXAMPLES = [each for each in examples() if each.words[:1] != ["cd"]]


def test_every_command_has_an_example_of_itself() -> None:
    own: dict[str, list[str]] = {}
    for each in EXAMPLES:
        own.setdefault(each.place, []).append(" ".join(each.words))
    lacking = [
        place
        for place, lines in own.items()
        if not any(line.startswith(place.removeprefix("help of ")) for line in lines)
    ]
    assert len(own) > 60
    assert lacking == []


def test_pages_show_commands_of_every_program() -> None:
    assert {each.words[0] for each in SHOWN} == set(PROGRAMS)


@pytest.mark.parametrize(
    "each",
    [
        pytest.param(each, id=f"{each.place} {number}")
        for number, each in enumerate([*SHOWN, *EXAMPLES])
        if each.words and each.words[0] in PROGRAMS
    ],
)
def test_a_command_that_is_shown_is_one_the_program_takes(each: Shown) -> None:
    program, *words = each.words
    command = command_of(program)
    context = click.Context(command, info_name=program)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        name = words.pop(0)
        inner = command.get_command(context, name)
        assert inner is not None, f"{each.place}: {context.command_path} has no command {name!r}"
        command = inner
        context = click.Context(command, info_name=name, parent=context)
    try:
        _, left, order = command.make_parser(context).parse_args(args=list(words))
    except click.UsageError as error:
        pytest.fail(f"{each.place}: {context.command_path}: {error.format_message()}")
    assert not left, f"{each.place}: {context.command_path} has no use for {' '.join(left)}"
    if "--help" not in words and not isinstance(command, click.Group):
        missing = [p.name for p in command.params if p.required and p not in order]
        given = {p.name for p in order}
        assert not [name for name in missing if name not in given], f"{each.place}: lacks {missing}"
