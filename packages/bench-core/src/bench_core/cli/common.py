"""The commands that all runners have, made from one table: a runner gives hooks and its own options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, TypeVar

import click

from bench_core.cli.checkers import AuditOptions, checker_options
from bench_core.cli.commands import execute_prepared
from bench_core.cli.demo import execute_demo
from bench_core.cli.doctor import execute_doctor
from bench_core.cli.options import (
    demo_options,
    doctor_options,
    import_options,
    json_option,
    rescore_options,
    run_options,
    task_options,
)
from bench_core.cli.panels import PanelCommand, stacked
from bench_core.cli.tables import json_text

_Hook = TypeVar("_Hook", bound="Callable[..., Any]")


def _task_list_options(*, checkers: bool = False) -> Callable[[Any], Any]:
    return stacked(task_options, *([checker_options] if checkers else []), json_option)


def _tasks(hook: Callable[..., Any], *, checkers: bool | None = None, **options: Any) -> None:
    if checkers is None:
        hook(**options)
        return
    names = [each.name for each in fields(AuditOptions) if each.name in options]
    asked = AuditOptions(**{name: options.pop(name) for name in names})
    if not checkers and asked != AuditOptions():
        raise click.UsageError(
            "--mutant, --draw, --labels and --checkers-seed need --checkers: add it"
        )
    hook(audit=asked if checkers else None, **options)


def _run(hook: Callable[..., Any], *, dry_run: bool, as_json: bool, **options: Any) -> None:
    prepare, asked = hook(**options)
    execute_prepared(prepare, asked, dry_run=dry_run, as_json=as_json)


def _import(hook: Callable[..., Any], *, as_json: bool, **options: Any) -> None:
    made = hook(**options)
    click.echo(json_text(made) if as_json else made.text)


def _doctor(hook: Callable[..., Any], *, as_json: bool, **options: Any) -> None:
    execute_doctor(hook(**options), as_json=as_json)


def _demo(hook: Callable[..., Any], *, as_json: bool, **options: Any) -> None:
    execute_demo(hook(**options), as_json=as_json)


_COMMANDS: dict[str, tuple[Callable[..., Callable[[Any], Any]], Callable[..., None] | None]] = {
    "tasks": (_task_list_options, _tasks),
    "run": (run_options, _run),
    "rescore": (lambda: rescore_options, None),
    "import": (lambda: import_options, _import),
    "doctor": (lambda: doctor_options, _doctor),
    "demo": (lambda: demo_options, _demo),
}
"""The name of each command to its options and its handler of the hook's result."""


def common_command(
    group: click.Group, *own: Callable[[Any], Any], **defaults: Any
) -> Callable[[_Hook], _Hook]:
    """Make a runner's hook one of the commands that all runners have: the one of its name.

    The hook gets the values of all options but those named here, and its docstring is the help. The hook
    returns the command's input:

    - `run`: a `Prepare` and its options; without `dry_run` and `as_json`.
    - `import`: a record with a `text`; without `as_json`.
    - `doctor`: the checks; without `as_json`.
    - `demo`: a function that runs the demo with a `Progress`, and a tuple of these runs; without `as_json`.

    A hook of `tasks` or `rescore` gets all values (`audit` instead of those of `--checkers`, for `list_tasks`) and shows its findings by `list_tasks` or `execute_rescore`.

    Args:
        group: Gets the command.
        own: The runner's own options as decorators.
        defaults: For `run`, as `run_options` takes them; for `tasks`, `checkers=True` adds `--checkers`.

    Example:
        >>> main = click.Group("my-benchmark")
        >>> @common_command(main)
        ... def doctor(*, agent, model, paid, play):
        ...     '''Check what a run needs.'''
        ...     return []
        >>> main.commands["doctor"].help
        'Check what a run needs.'
    """

    def decorate(hook: _Hook) -> _Hook:
        name = hook.__name__.strip("_")
        options, finish = _COMMANDS[name]
        # a partial in any case: click's additions to a function would stay on the hook
        callback = partial(hook) if finish is None else partial(finish, hook)
        add_options = stacked(*own, options(**defaults))
        kind = PanelCommand if name == "run" else click.Command
        group.add_command(click.command(name, cls=kind, help=hook.__doc__)(add_options(callback)))
        return hook

    return decorate
