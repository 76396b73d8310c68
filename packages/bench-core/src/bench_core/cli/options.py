"""The options that the runners' commands share, as decorators.

A command takes them as `**options` and hands them on::

    @main.command()
    @task_options
    @run_options()
    def run(dry_run, as_json, **options):
        '''Run the benchmark.'''
        execute_prepared(prepare, RunOptions(**options), dry_run=dry_run, as_json=as_json)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from bench_core.cli.amounts import FiniteRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "demo_out_option",
    "demo_workers_option",
    "import_options",
    "json_option",
    "out_option",
    "paid_options",
    "planned_agent_option",
    "rescore_options",
    "run_options",
    "task_options",
]

_Command = TypeVar("_Command", bound="Callable[..., Any]")

_POSITIVE = click.IntRange(min=1)
_POSITIVE_AMOUNT = FiniteRange(min=0, min_open=True)


def json_option(command: _Command) -> _Command:
    """Add `--json`: records for machines instead of text for people."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(command)


def paid_options(command: _Command) -> _Command:
    """Add `--paid` and `--play` of a `doctor` command: calls of the model that cost something."""
    paid = click.option(
        "--paid", is_flag=True,
        help="With --model: also buy one token of it with the real key, and say what it cost.",
    )  # fmt: skip
    play = click.option(
        "--play", is_flag=True,
        help="With --model: also let it click, type, drag and answer on three small pages, and say where its "
        "clicks land and what was refused: some thirty requests.",
    )  # fmt: skip
    return paid(play(command))


def planned_agent_option(command: _Command) -> _Command:
    """Add `--agent` of a `doctor` command: the agent that a run is planned for."""
    return click.option(
        "--agent", metavar="NAME", help="Also check that this agent can be loaded."
    )(command)  # fmt: skip


def out_option(command: _Command) -> _Command:
    """Add `--out`: the run folder."""
    return click.option(
        "--out", "-o", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
        help="Run folder; an unfinished run in it is continued.  "
        "[default: runs/<benchmark>-<agent>-<settings>]",
    )(command)  # fmt: skip


def task_options(command: _Command) -> _Command:
    """Add the options that choose tasks."""
    return _stack(
        command,
        click.option("--task", "-t", "ids", metavar="ID[,ID...]", multiple=True, callback=_split_ids,
                     help="Only these tasks; repeat it or use commas."),
        click.option("--skip-task", "skip_ids", metavar="ID[,ID...]", multiple=True, callback=_split_ids,
                     help="Leave these tasks out; in a folder whose plan has them, for this time."),
        click.option("--group", "groups", metavar="NAME=VALUE", multiple=True, callback=_split_groups,
                     help="Only tasks in this group; values of one name are alternatives."),
        click.option("--tag", "tags", multiple=True, metavar="TAG",
                     help="Only tasks with this tag; repeat it for several."),
        click.option("--limit", type=_POSITIVE, metavar="N", help="Only the first N tasks."),
        click.option("--sample", type=_POSITIVE, metavar="N",
                     help="Only N tasks drawn at random with --seed."),
    )  # fmt: skip


def run_options(
    *,
    agent: str | None = None,
    agent_required: bool = True,
    workers: int | None = 1,
) -> Callable[[_Command], _Command]:
    """Add everything else a `run` command takes, with a runner's own defaults.

    Without a default `agent`, `--agent` is required. With `workers` None the runner itself chooses
    where the user does not.
    """

    def decorate(command: _Command) -> _Command:
        return _stack(
            command,
            click.option("--agent", default=agent, metavar="NAME", show_default=True,
                         callback=_required_agent if agent is None and agent_required else _agent,
                         help="Who works on the tasks."),
            click.option("--model", metavar="PROVIDER:MODEL", help="The agent's model."),
            click.option("--dialect", metavar="NAME",
                         help="The tool that the agent computer-use speaks.  [default: by the model]"),
            click.option("--agent-option", "agent_options", multiple=True, metavar="NAME=VALUE",
                         callback=_named, help="A setting of the agent; repeat it for several."),
            click.option("--record-calls", is_flag=True,
                         help="Write every call of the model to model_calls.jsonl of its trial."),
            click.option("--replay-calls", metavar="RUN", type=click.Path(exists=True, file_okay=False),
                         help="Replay the model's calls from another run with --record-calls, in their order."),
            click.option("--trials", "-k", type=_POSITIVE, default=1, metavar="N", show_default=True,
                         help="Trials of each task."),
            click.option("--workers", "-j", type=_POSITIVE, default=workers, metavar="N",
                         show_default=True if workers else "what this machine has room for",
                         help="Trials at once."),
            out_option,
            click.option("--seed", type=int, default=0, metavar="N", show_default=True,
                         help="Every trial's own seed is derived from it."),
            *_limit_options(),
            *_budget_options(),
            *_look_options(),
            *_process_options(),
            *_executor_options(),
            *_again_options(),
            click.option("--dry-run", is_flag=True, help="Show the plan and run nothing."),
            *_plan_options(),
            json_option,
        )  # fmt: skip

    return decorate


def _named(
    _ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """Return names and values of texts like `images=5`."""
    pairs = {}
    for each in given:
        name, _, value = each.partition("=")
        if not (name and value):
            raise click.BadParameter(f"{each!r} is not of the form NAME=VALUE, e.g. images=5")
        pairs[name] = value
    return pairs


def _plan_options() -> tuple[Callable[[Any], Any], ...]:
    above = FiniteRange(min=0, min_open=True)
    return (
        click.option("--machine-price", type=above, metavar="USD",
                     help="With --dry-run: per hour of each worker's machine."),
        click.option("--machine-start-minutes", type=FiniteRange(min=0), metavar="MINUTES",
                     help="With --dry-run: what each machine needs before its first trial."),
        click.option("--trial-minutes", type=above, metavar="MINUTES",
                     help="With --dry-run: what a trial takes.  [default: as those done so far]"),
    )  # fmt: skip


def rescore_options(command: _Command) -> _Command:
    """Add what a `rescore` command takes: the run folder and `--json`."""
    folder = click.Path(exists=True, file_okay=False, path_type=Path)
    return _stack(
        command,
        click.argument("run_folder", type=folder),
        click.option("--name", metavar="NAME", help="Name of the rescore.  [default: the time]"),
        json_option,
    )


def import_options(command: _Command) -> _Command:
    """Add what an `import` command takes: the results, the run folder, the agent, its model and `--json`."""
    return _stack(
        command,
        click.argument("results", type=click.Path(exists=True, file_okay=False, path_type=Path)),
        click.option("--out", "-o", type=click.Path(file_okay=False, path_type=Path), required=True,
                     metavar="DIR", help="Run folder to make."),
        click.option("--agent", default="imported", show_default=True, metavar="NAME",
                     help="Who worked on the tasks."),
        click.option("--model", metavar="NAME", help="The agent's model."),
        json_option,
    )  # fmt: skip


def demo_out_option(command: _Command) -> _Command:
    """Add `--out` of a `demo` command: the folder of its run folders."""
    return click.option(
        "--out", "-o", type=click.Path(file_okay=False, path_type=Path), default="runs/demo",
        show_default=True, metavar="DIR", help="Gets a run folder for each agent.",
    )(command)  # fmt: skip


def demo_workers_option(command: _Command) -> _Command:
    """Add `--workers` of a `demo` command."""
    return click.option(
        "--workers",
        "-j",
        type=_POSITIVE,
        default=2,
        show_default=True,
        metavar="N",
        help="Trials at once.",
    )(command)


def _agent(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the agent asked for; the default is for where no command is the agent."""
    default = ctx.get_parameter_source(str(parameter.name)) is ParameterSource.DEFAULT
    return None if default and ctx.params.get("agent_command") else value


def _required_agent(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    if value is None and not ctx.params.get("agent_command"):
        raise click.MissingParameter(ctx=ctx, param=parameter)
    return value


def _split_ids(
    _ctx: click.Context, _parameter: click.Parameter, values: Sequence[str]
) -> tuple[str, ...]:
    """Return the ids in all values, each of which may hold several with commas."""
    return tuple(each.strip() for value in values for each in value.split(",") if each.strip())


def _split_names(
    context: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[str, ...]:
    """Return the names of variables in all values."""
    names = _split_ids(context, parameter, values)
    if wrong := [each for each in names if "=" in each]:
        name = wrong[0].partition("=")[0]
        raise click.BadParameter(
            f"give the name alone, {name!r}; its value is that of the environment"
        )
    return names


def _split_groups(
    _ctx: click.Context, _parameter: click.Parameter, values: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return group name to accepted members from values like `site=gitlab`."""
    groups: dict[str, tuple[str, ...]] = {}
    for value in values:
        name, _, member = value.partition("=")
        if not (name and member):
            raise click.BadParameter(f"{value!r} is not of the form NAME=VALUE, e.g. site=gitlab")
        groups[name] = (*groups.get(name, ()), member)
    return groups


def _remember(_ctx: click.Context, _parameter: click.Parameter, values: Sequence[str]) -> None:
    """Let every redactor know the values, and those in the files that are named."""
    from bench_core.redaction import remember_secrets  # only when it is asked for

    for value in values:
        lines = _lines_of(value)
        try:
            remember_secrets([value] if lines is None else lines)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None


def _lines_of(value: str) -> list[str] | None:
    """Return the lines of the file of that name, None where there is none."""
    try:
        text = Path(value).read_text(encoding="utf-8")
    except (OSError, ValueError):  # a password may be no name that a file can have
        return None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _limit_options() -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option("--max-steps", type=_POSITIVE, metavar="N", help="Steps an agent may take per trial."),
        click.option("--time-limit", type=_POSITIVE_AMOUNT, metavar="SECONDS",
                     help="Seconds a trial may take."),
        click.option("--attempts", type=_POSITIVE, default=2, show_default=True, metavar="N",
                     help="Tries per trial when VM, site, browser or provider fail."),
        click.option("--max-consecutive-faults", type=click.IntRange(min=0), default=5, metavar="N",
                     show_default=True,
                     help="Leave what fails alike N times in a row; 0 never does."),
        click.option("--site-locks", type=click.Choice(["rw", "exclusive"]), default="rw",
                     show_default=True,
                     help="rw: reading trials share a site; exclusive: one trial per site."),
    )  # fmt: skip


def _budget_options() -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option("--max-cost", type=_POSITIVE_AMOUNT, metavar="USD",
                     help="Stop the run when it has cost this much."),
        click.option("--max-tokens", type=_POSITIVE, metavar="N",
                     help="Stop the run when it has used this many tokens."),
        click.option("--max-minutes", type=_POSITIVE_AMOUNT, metavar="MINUTES",
                     help="Stop the run when it has taken this long."),
    )  # fmt: skip


def _look_options() -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option("--looks", type=click.IntRange(1, 20), metavar="N",
                     help="Stop early where one of N looks at complete random batches decides."),
        click.option("--against", type=click.Path(exists=True, path_type=Path), metavar="RUN|FILE",
                     help="The run folder or baseline file that looks compare with.  "
                          "[default: baseline.json beside the run folder]"),
        click.option("--looks-for", type=click.Choice(["drop", "difference"]), default="drop",
                     show_default=True, help="What looks test for."),
        click.option("--planned-drop", type=FiniteRange(0, 100, min_open=True), metavar="POINTS",
                     help="Stop where such a drop would hardly be found any more.  "
                          "[default: what the run can detect]"),
        click.option("--unscored", type=click.Choice(["wait", "leave-out"]), default="wait",
                     show_default=True,
                     help="Whether looks wait for trials without a score that may run again."),
    )  # fmt: skip


def _process_options() -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option("--agent-process", type=click.Choice(["own", "shared"]),
                     help="Run the agent in a process of its own, or in that of the run (for debuggers).  "
                          "[default: own, shared for Proctor's agents]"),
        click.option("--agent-memory", type=_POSITIVE_AMOUNT, metavar="GB",
                     help="Gigabytes that the agent's own process may write to (Linux)."),
        click.option("--agent-variables", metavar="NAME[,NAME...]", multiple=True, callback=_split_names,
                     help="Environment variables for the agent's own process, beside the system's and "
                          "its model provider's."),
        click.option("--model-proxy", is_flag=True,
                     help="Count the model calls that the agent makes with a client of its own, and refuse "
                          "them once the budget is spent; it never has the key."),
        click.option("--agent-env", metavar="uv:REQUIREMENT",
                     help="Run the agent in an environment that uv makes for it, e.g. uv:browser-use==0.13.14; "
                          "several requirements with blanks between them."),
        click.option("--agent-python", metavar="PATH",
                     help="Run the agent in another interpreter, which has bench-core and the agent; with "
                          "--agent-env: the Python that the environment is made on."),
        click.option("--agent-command", metavar="COMMAND",
                     help='Run a program in any language as the agent, e.g. "node agent.mjs".'),
        click.option("--redact", metavar="VALUE|FILE", multiple=True, expose_value=False,
                     is_eager=True, callback=_remember,
                     help="A secret, or a file with one a line, that is removed from everything written: a "
                          "password that the agent types, say."),
        click.option("--sealing", type=click.Choice(["auto", "require", "off"]), default="auto",
                     show_default=True,
                     help="Hide the run's files and the benchmark's answers from agents and browsers where "
                          "this machine can do so; require: run nothing where it cannot."),
    )  # fmt: skip


def _executor_options() -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option("--executor", type=click.Choice(["inline", "ray"]), default="inline",
                     show_default=True,
                     help="Run trials in this process, or by workers on the machines of a Ray cluster."),
        click.option("--address", metavar="HOST:PORT",
                     help="With --executor ray: the cluster.  [default: one on this machine for this run]"),
        click.option("--artifacts", metavar="s3://BUCKET/PREFIX",
                     help="With --executor ray: workers put the files of trials there instead of sending them to the "
                          "run folder; `bench-core[objects]` reads them from there."),
        click.option("--bind", metavar="NAME=LABEL", multiple=True,
                     help="With --address: run what needs this site or VM only on nodes that carry this custom "
                          "resource of Ray's; --dry-run lists the names, and webarena:* is all that begin so."),
    )  # fmt: skip


def _again_options() -> tuple[Callable[[Any], Any], ...]:
    return (
        click.option("--rerun", metavar="failed|unscored|suspect|all|TASK[,...]", multiple=True,
                     callback=_split_ids,
                     help="Run these trials of the folder's run again; earlier results are kept beside."),
        click.option("--accept-changes", is_flag=True,
                     help="Continue the run although the agent's program has changed."),
    )  # fmt: skip


def _stack(command: _Command, *decorators: Callable[[Any], Any]) -> _Command:
    """Apply the decorators so that `--help` lists them in the order given."""
    for decorator in reversed(decorators):
        command = decorator(command)
    return command
