"""Shared options of the runners' commands, as decorators; `common_command` adds them to a command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from bench_core.cli.amounts import FiniteRange
from bench_core.cli.panels import option, stacked

_Command = TypeVar("_Command", bound="Callable[..., Any]")

_POSITIVE = click.IntRange(min=1)
_POSITIVE_AMOUNT = FiniteRange(min=0, min_open=True)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_EXISTING_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


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
    """Return the lines of the file of that name, None if there is none."""
    try:
        text = Path(value).read_text(encoding="utf-8")
    except (OSError, ValueError):  # a password may not be a valid file name
        return None
    return [line.strip() for line in text.splitlines() if line.strip()]


json_option = option("Results", "--json", "as_json", is_flag=True, help="Print JSON, for programs.")
"""`--json`: records for machines instead of text for people."""


def world_option(about: str) -> Callable[[_Command], _Command]:
    """Return the decorator that adds `--world`; its help is `about`."""
    return option("Where it runs", "--world", type=click.Choice(["real", "built-in"]), default="real",
                  show_default=True, help=about)  # fmt: skip


task_options = stacked(
    option("Tasks", "--task", "-t", "ids", metavar="ID[,ID...]", multiple=True, callback=_split_ids,
           help="Only these tasks; repeat it or use commas."),
    option("Tasks", "--skip-task", "skip_ids", metavar="ID[,ID...]", multiple=True, callback=_split_ids,
           help="Leave these tasks out; if the folder's plan has them, only this time."),
    option("Tasks", "--group", "groups", metavar="NAME=VALUE", multiple=True, callback=_split_groups,
           help="Only tasks in this group; repeat a NAME to allow several values."),
    option("Tasks", "--tag", "tags", multiple=True, metavar="TAG",
           help="Only tasks with this tag; repeat it for several."),
    option("Tasks", "--checker", type=click.Choice(["strict"]),
           help="Only tasks whose checker rejected every wrong end state tried."),
    option("Tasks", "--checker-audit", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
           help="Output of `tasks --checkers --json`, instead of the installed audit."),
    option("Tasks", "--limit", type=_POSITIVE, metavar="N", help="Only the first N tasks."),
    option("Tasks", "--sample", type=_POSITIVE, metavar="N",
           help="Only N tasks drawn at random with --seed."),
)  # fmt: skip
"""The options that choose tasks."""

_RUN_OPTIONS = stacked(
    option("Model", "--model", metavar="PROVIDER:MODEL", help="The agent's model."),
    option("Model", "--dialect", metavar="NAME",
           help="The computer-use tool that the agent `computer-use` offers to the model.  [default: by the model]"),
    option("Agent", "--agent-option", "agent_options", multiple=True, metavar="NAME=VALUE",
           callback=_named, help="A setting of the agent; repeat it for several."),
    option("Model", "--record-calls", is_flag=True,
           help="Write each trial's model calls to its model_calls.jsonl."),
    option("Model", "--replay-calls", metavar="RUN", type=click.Path(exists=True, file_okay=False),
           help="Replay model calls, in order, from another run made with --record-calls."),
    option("Tasks", "--trials", "-k", type=_POSITIVE, default=1, metavar="N", show_default=True,
           help="Trials of each task."),
    option("Results", "--out", "-o", type=_FOLDER, metavar="DIR",
           help="Run folder; an unfinished run in it is continued.  "
           "[default: runs/<benchmark>-<agent>-<settings>]"),
    option("More", "--seed", type=int, default=0, metavar="N", show_default=True,
           help="Seed from which each trial's own seed is derived."),
    option("Limits and money", "--max-steps", type=_POSITIVE, metavar="N",
           help="Steps an agent may take per trial."),
    option("Limits and money", "--time-limit", type=_POSITIVE_AMOUNT, metavar="SECONDS",
           help="Seconds a trial may take."),
    option("Limits and money", "--attempts", type=_POSITIVE, default=2, show_default=True, metavar="N",
           help="Attempts per trial if the VM, site, browser or provider fails."),
    option("Limits and money", "--max-consecutive-faults", type=click.IntRange(min=0), default=5,
           metavar="N", show_default=True,
           help="Stop using a site, VM or model that fails the same way N times in a row; 0 never does."),
    option("Where it runs", "--site-locks", type=click.Choice(["rw", "exclusive"]), default="rw",
           show_default=True,
           help="rw: reading trials share a site; exclusive: one trial per site."),
    option("Limits and money", "--max-cost", type=_POSITIVE_AMOUNT, metavar="USD",
           help="Stop the run when it has cost this much."),
    option("Limits and money", "--max-tokens", type=_POSITIVE, metavar="N",
           help="Stop the run when it has used this many tokens."),
    option("Limits and money", "--max-minutes", type=_POSITIVE_AMOUNT, metavar="MINUTES",
           help="Stop the run when it has taken this long."),
    option("More", "--looks", type=click.IntRange(1, 20), metavar="N",
           help="Stop early if one of N looks at complete random batches decides."),
    option("More", "--against", type=click.Path(exists=True, path_type=Path), metavar="RUN|FILE",
           help="The run folder or baseline file that looks compare with.  "
           "[default: baseline.json next to the run folder]"),
    option("More", "--looks-for", type=click.Choice(["drop", "difference"]), default="drop",
           show_default=True, help="What looks test for."),
    option("More", "--planned-drop", type=FiniteRange(0, 100, min_open=True), metavar="POINTS",
           help="Stop once such a drop could hardly be found any more.  [default: what the run can detect]"),
    option("More", "--unscored", type=click.Choice(["wait", "leave-out"]), default="wait",
           show_default=True,
           help="Whether looks wait for trials without a score that may run again."),
    option("Agent", "--agent-process", type=click.Choice(["own", "shared"]),
           help="Run the agent in its own process, or in the run's (for debuggers).  [default: own, shared for "
                "Proctor's agents]"),
    option("Agent", "--agent-memory", type=_POSITIVE_AMOUNT, metavar="GB",
           help="Memory limit of the agent's own process, in gigabytes (Linux)."),
    option("Agent", "--agent-variables", metavar="NAME[,NAME...]", multiple=True, callback=_split_names,
           help="Environment variables for the agent's own process, in addition to the system's and its model "
                "provider's."),
    option("Model", "--model-proxy", is_flag=True,
           help="Count model calls that the agent makes with its own client, and refuse them once the budget is "
                "spent; the agent never gets the key."),
    option("Agent", "--agent-env", metavar="uv:REQUIREMENT",
           help="Run the agent in an environment that uv makes for it, e.g. uv:browser-use==0.13.14; separate "
                "requirements with spaces."),
    option("Agent", "--agent-python", metavar="PATH",
           help="Run the agent with another Python, which has bench-core and the agent installed; with --agent-env: "
                "the Python of that environment."),
    option("Agent", "--agent-command", metavar="COMMAND",
           help='Run a program in any language as the agent, e.g. "node agent.mjs".'),
    option("Results", "--redact", metavar="VALUE|FILE", multiple=True, expose_value=False,
           is_eager=True, callback=_remember,
           help="A secret, or a file with one per line, to remove from everything written, such as a password that "
                "the agent types."),
    option("Where it runs", "--sealing", type=click.Choice(["auto", "require", "off"]), default="auto",
           show_default=True,
           help="Hide the run's files and the benchmark's answers from agents and browsers if this machine can; "
                "require: run nothing if it cannot."),
    option("Where it runs", "--executor", type=click.Choice(["inline", "ray"]), default="inline",
           show_default=True,
           help="Run trials in this process, or by workers on the machines of a Ray cluster."),
    option("Where it runs", "--address", metavar="HOST:PORT",
           help="With --executor ray: the cluster.  [default: one on this machine for this run]"),
    option("Where it runs", "--artifacts", metavar="s3://BUCKET/PREFIX",
           help="With --executor ray: workers store trial files there instead of sending them to the run folder; "
                "`bench-core[objects]` reads them."),
    option("Where it runs", "--bind", metavar="NAME=LABEL", multiple=True,
           help="With --address: run trials that need this site or VM only on nodes with this Ray custom resource; "
                "--dry-run lists the names, and webarena:* matches all that begin with webarena:."),
    option("Results", "--without-scores", is_flag=True,
           help="Run trials that nothing can score; they are refused otherwise."),
    option("Results", "--rerun", metavar="failed|unscored|suspect|all|TASK[,...]", multiple=True,
           callback=_split_ids,
           help="Run these trials of the folder again; earlier results are kept."),
    option("More", "--accept-changes", is_flag=True,
           help="Continue the run even if the agent's program has changed."),
    option("Results", "--dry-run", is_flag=True, help="Show the plan and run nothing."),
    option("More", "--machine-price", type=_POSITIVE_AMOUNT, metavar="USD",
           help="With --dry-run: price of each worker's machine per hour."),
    option("More", "--machine-start-minutes", type=FiniteRange(min=0), metavar="MINUTES",
           help="With --dry-run: time each machine needs before its first trial."),
    option("More", "--trial-minutes", type=_POSITIVE_AMOUNT, metavar="MINUTES",
           help="With --dry-run: time a trial takes.  [default: as the trials done so far]"),
    json_option,
)  # fmt: skip


def run_options(
    *, agent: str | None = None, agent_required: bool = True, workers: int | None = 1
) -> Callable[[_Command], _Command]:
    """Return the decorator that adds everything a `run` command takes, with a runner's own defaults.

    Without a default `agent`, `--agent` is required. With `workers` None the runner itself chooses
    if the user does not.
    """
    return stacked(
        task_options,
        option("Agent", "--agent", default=agent, metavar="NAME", show_default=True,
               callback=_required_agent if agent is None and agent_required else _agent,
               help="The agent that works on the tasks."),
        option("Where it runs", "--workers", "-j", type=_POSITIVE, default=workers, metavar="N",
               show_default=True if workers else "as many as this machine has room for",
               help="Trials at once."),
        _RUN_OPTIONS,
    )  # fmt: skip


rescore_options = stacked(
    click.argument("run_folder", type=_EXISTING_FOLDER),
    click.option("--name", metavar="NAME", help="Name of the rescore.  [default: the time]"),
    click.option("--each-step", is_flag=True,
                 help="Do not rescore; find after which steps the state passed, for reports (step_scores.jsonl)."),
    json_option,
)  # fmt: skip
"""Parameters of a `rescore` command: the run folder and `--json`."""

import_options = stacked(
    click.argument("results", type=_EXISTING_FOLDER),
    click.option("--out", "-o", type=_FOLDER, required=True, metavar="DIR", help="Run folder to make."),
    click.option("--agent", default="imported", show_default=True, metavar="NAME",
                 help="Who worked on the tasks."),
    click.option("--model", metavar="NAME", help="The agent's model."),
    json_option,
)  # fmt: skip
"""Parameters of an `import` command: the results, the run folder, the agent, its model and `--json`."""

doctor_options = stacked(
    click.option("--agent", metavar="NAME", help="Also check that this agent can be loaded."),
    click.option("--model", metavar="PROVIDER:MODEL", help="Also check that this model can be opened."),
    click.option("--paid", is_flag=True,
                 help="With --model: also make the smallest possible call with the real key, and print its cost."),
    click.option("--play", is_flag=True,
                 help="With --model: also let it click, type, drag and answer on three small pages, and print where "
                      "its clicks land and what was refused: about thirty requests."),
    json_option,
)  # fmt: skip
"""Parameters of a `doctor` command: those that plan a run, and those that pay for model calls."""

demo_options = stacked(
    click.option("--out", "-o", type=_FOLDER, default="runs/demo", show_default=True, metavar="DIR",
                 help="Folder for the run folders, one for each agent."),
    json_option,
)  # fmt: skip
"""Parameters of a `demo` command: the folder of its run folders and `--json`."""

demo_workers_option = click.option(
    "--workers", "-j", type=_POSITIVE, default=2, show_default=True, metavar="N",
    help="Trials at once.",
)  # fmt: skip
"""`--workers` of a `demo` command that can do several trials at once."""
