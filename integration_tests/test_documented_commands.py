"""Every command line that the pages and the helps show is one that the programs take, and is run or has a reason."""

from __future__ import annotations

import re

import click
import pytest
from nox_support.command_lines import Line, lines_of, pages
from nox_support.help_examples import PROGRAMS, command_of, examples
from nox_support.shown_commands import ENDS, REASONS, SERVED, reason_of, shown

HALVES = [each for program in PROGRAMS if (each := program.partition("-")[0]) not in PROGRAMS]
SHOWN = [
    each
    for page in pages()
    for each in lines_of(page)
    if each.words and each.words[0] in {*PROGRAMS, *HALVES}
]
EXAMPLES = [each for each in examples() if not each.text.startswith("cd ")]


def test_every_command_has_an_example_of_itself() -> None:
    own: dict[str, list[str]] = {}
    for each in EXAMPLES:
        own.setdefault(each.place, []).append(each.text)
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
def test_a_command_that_is_shown_is_one_the_program_takes(each: Line) -> None:
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


def test_what_is_shown_is_run_or_has_a_reason() -> None:
    runnable = {*PROGRAMS, "python"}
    others = [each for each in shown() if reason_of(each) is None and each.words[0] not in runnable]
    assert others == []


def test_most_of_our_own_lines_are_run() -> None:
    own = [each for each in [*SHOWN, *EXAMPLES] if each.words[0] in PROGRAMS]
    assert sum(reason_of(each) is None for each in own) > len(own) / 2


@pytest.mark.parametrize("pattern", [*REASONS, *SERVED, *ENDS])
def test_each_row_of_the_tables_is_used(pattern: str) -> None:
    run = [each for each in shown() if reason_of(each) is None]
    given = {reason_of(each) for each in shown()}
    assert pattern in given or any(_found(pattern, each) for each in run)


def _found(pattern: str, line: Line) -> bool:
    return pattern not in REASONS and re.search(pattern, line.text) is not None
