"""Commands spell options alike, and name what an option takes alike."""

from __future__ import annotations

import importlib.metadata
from collections import defaultdict
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNNERS = ["multireal-harness", "waa-client", "webarena-runner"]
PROGRAMS = [*RUNNERS, "bench-core", "bench-report", "llm-judge"]
PANELS = ["Tasks", "Agent", "Model", "Limits and money", "Where it runs", "Results", "More"]
FIRST_OPTIONS = [
    "--task",
    "--limit",
    "--agent",
    "--model",
    "--max-cost",
    "--max-steps",
    "--world",
    "--workers",
    "--out",
    "--dry-run",
]
OF_A_RUNNER = {"tasks", "run", "rescore", "import", "doctor", "demo"}


def root_of(program: str) -> click.Command:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name=program)
    command = script.load()
    assert isinstance(command, click.Command)
    return command


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below `command` with its path."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, f"{path} {name}")
    elif not command.hidden:
        yield path, command


def options(program: str) -> Iterator[tuple[str, click.Option]]:
    """Yield every option that takes a value, with the command it belongs to."""
    for path, command in commands(root_of(program), program):
        for each in command.params:
            takes_value = isinstance(each, click.Option) and not (each.is_flag or each.hidden)
            if takes_value and not isinstance(each.type, click.Choice):
                assert isinstance(each, click.Option)
                yield f"{path} {each.opts[0]}", each


def allowed(kind: click.ParamType) -> set[str] | None:
    """Return how a value of this kind may be called in `--help`; None for any name."""
    if isinstance(kind, click.Path):
        if kind.file_okay and kind.dir_okay:
            return {"FILE|DIR", "RUN|FILE"}
        return {"FILE"} if kind.file_okay else {"DIR", "RUN"}
    if isinstance(kind, click.types.IntParamType):
        return {"N"}
    if isinstance(kind, click.types.FloatParamType):
        return {"GB", "MINUTES", "POINTS", "SECONDS", "SHARE", "USD"}
    return None


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_of_a_kind_are_called_alike(program: str) -> None:
    found = {place: (each.metavar, allowed(each.type)) for place, each in options(program)}
    assert found
    wrong = {
        place: metavar
        for place, (metavar, names) in found.items()
        if metavar is None or (names is not None and metavar not in names)
    }
    assert wrong == {}


def test_an_option_of_several_runners_is_called_alike_in_all() -> None:
    metavars: dict[str, set[str | None]] = defaultdict(set)
    for program in RUNNERS:
        for place, each in options(program):
            metavars[place.removeprefix(f"{program} ")].add(each.metavar)
    assert metavars.keys() >= {"run --model", "doctor --model", "tasks --group"}
    del metavars["run --reset"]  # the saved state of a VM is no policy of sites
    assert {name: found for name, found in metavars.items() if len(found) > 1} == {}


@pytest.mark.parametrize("program", RUNNERS)
def test_every_runner_has_the_shared_commands_and_both_worlds(program: str) -> None:
    root = root_of(program)
    assert isinstance(root, click.Group)
    assert root.commands.keys() >= OF_A_RUNNER
    for name in ("tasks", "run"):
        (world,) = (each for each in root.commands[name].params if each.name == "world")
        assert isinstance(world.type, click.Choice)
        assert (list(world.type.choices), world.default) == (["real", "built-in"], "real")


def panels_of(program: str) -> dict[str, list[str]]:
    """Return the long names that `run --help` shows in each panel, read from what it prints."""
    shown = CliRunner().invoke(root_of(program), ["run", "--help"], terminal_width=200).output
    found: dict[str, list[str]] = {}
    for line in shown.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            found[line.removesuffix(":")] = []
        elif line.startswith("  -"):
            names = (word.strip(",") for word in line.split())
            found[list(found)[-1]].append(next(name for name in names if name.startswith("--")))
    return found


@pytest.mark.parametrize("program", RUNNERS)
def test_each_option_of_run_is_in_one_panel_and_panels_are_in_the_same_order(program: str) -> None:
    root = root_of(program)
    assert isinstance(root, click.Group)
    own = [each for each in root.commands["run"].params if isinstance(each, click.Option)]
    panels = panels_of(program)
    assert list(panels) == PANELS
    shown = sorted(name for names in panels.values() for name in names)
    assert shown == sorted(["--help", *(each.opts[0] for each in own)])


def test_an_option_of_several_runners_is_in_the_same_panel_of_all() -> None:
    places: dict[str, set[str]] = defaultdict(set)
    for program in RUNNERS:
        for panel, names in panels_of(program).items():
            for name in names:
                places[name].add(panel)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("program", RUNNERS)
def test_the_options_of_a_first_run_come_first_in_their_panels(program: str) -> None:
    first = [
        name for names in panels_of(program).values() for name in names if name in FIRST_OPTIONS
    ]
    assert first == FIRST_OPTIONS
    for names in panels_of(program).values():
        chosen = [name for name in names if name in FIRST_OPTIONS]
        assert names[: len(chosen)] == chosen


@pytest.mark.parametrize("program", ["multireal-harness", "waa-client"])
def test_a_folder_of_tasks_is_named_by_one_option(program: str) -> None:
    root = root_of(program)
    assert isinstance(root, click.Group)
    for name in ("tasks", "run", "doctor"):
        spelled = {opt for each in root.commands[name].params for opt in each.opts}
        assert "--tasks-dir" in spelled, name


WITHOUT_JSON = {
    "bench-core agent-process", "bench-core new agent", "bench-core new benchmark",
    "bench-core new inspect-task", "bench-core new judge", "bench-core new reporter", "bench-core new study",
    "bench-core schema", "bench-core serve", "bench-report import", "bench-report schema",
    "bench-report serve", "llm-judge claims approve", "llm-judge claims compile", "llm-judge claims edit",
    "llm-judge claims words", "llm-judge convert", "llm-judge label", "multireal-harness export", "waa-server-ext wine build",
    "waa-server-ext wine serve", "webarena-runner auth capture",
    "webarena-runner config init", "webarena-runner sites reset", "webarena-runner sites start",
    "webarena-runner sites stop",
}  # fmt: skip
"""What writes files, serves, asks a person, or prints JSON anyway: everything else prints data."""


def test_what_prints_data_prints_it_as_json_too() -> None:
    lacking = {
        path
        for program in PROGRAMS
        for path, command in commands(root_of(program), program)
        if not any("--json" in each.opts for each in command.params)
    }
    assert lacking <= WITHOUT_JSON
