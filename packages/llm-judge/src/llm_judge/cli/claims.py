"""The `llm-judge claims` commands: compile, show, check, edit, approve, words, decide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench_core import exit_codes
from bench_core.cli import json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.records.claims import TaskClaims

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_CLAIMS = click.argument("claims_file", metavar="CLAIMS", type=_FILE)
_CASES = click.argument("cases_path", metavar="CASES", type=click.Path(exists=True, path_type=Path))
_MODEL = click.option("--model", "-m", required=True, metavar="PROVIDER:MODEL")
_TASK = click.option(
    "--task", metavar="CASE", help="Only this task, by the id of a case or its digest."
)
_RIGHT = click.option(
    "--right", type=_FILE, metavar="FILE",
    help="Labels (case_id, passed): end states of cases labelled true are right states to check against.",
)  # fmt: skip
_BASE_URL = click.option("--base-url", metavar="URL", help="URL of the model's API.")


@click.group()
def claims() -> None:
    """Write, check and use claims: criteria that code decides, written once per task."""


@claims.command("compile")
@_CASES
@_MODEL
@click.option(
    "--second",
    metavar="PROVIDER:MODEL",
    help="Writes the claims a second time.  [default: the first model, asked differently]",
)
@_RIGHT
@click.option(
    "--out",
    "-o",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File of claims; tasks already in it are kept unless their fields or formats changed.",
)
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of cached replies, by request.",
)
@_BASE_URL
def compile_(cases_path: Path, out: Path, **options: Any) -> None:
    """Have a model write the claims of each task in CASES: two calls per task, however many trials."""
    from bench_core.models import ReplyCache
    from llm_judge.claims.files import compile_file

    cache = ReplyCache(options["cache"]) if options["cache"] else None
    models = _models(
        [options["model"], options["second"] or options["model"]], options["base_url"], cache
    )
    made, kept = compile_file(_read_cases(cases_path), models, out, _labels(options["right"]))
    deciding = sum(claim.decides for task in made for claim in task.claims)
    total = sum(len(task.claims) for task in made)
    click.echo(
        f"{len(made)} tasks compiled, {kept} kept; {deciding} of {total} claims decide: `llm-judge claims show {out}`"
    )


@claims.command()
@_CLAIMS
@_TASK
@json_option
def show(claims_file: Path, task: str | None, *, as_json: bool) -> None:
    """Print claims in plain English, with their facts and what the checks found."""
    from llm_judge.claims.printing import task_text

    for each in _tasks(claims_file, task):
        click.echo(each.model_dump_json(exclude_defaults=True) if as_json else task_text(each))


@claims.command()
@_CLAIMS
@_CASES
@_RIGHT
@json_option
def check(claims_file: Path, cases_path: Path, right: Path | None, *, as_json: bool) -> None:
    """Check claims, including handwritten ones; exits with 1 if one is not adequate.

    CASES gives the states before the run and, with --right, the states known to be right.
    """
    from llm_judge.claims.files import checked
    from llm_judge.claims.printing import task_text

    found = [
        checked(task, _read_cases(cases_path), _labels(right)) for task in _tasks(claims_file, None)
    ]
    for each in found:
        click.echo(each.model_dump_json(exclude_defaults=True) if as_json else task_text(each))
    good = all(claim.standing == "adequate" for task in found for claim in task.claims)
    click.get_current_context().exit(exit_codes.OK if good else exit_codes.FELL_SHORT)


@claims.command()
@_CLAIMS
@_TASK
def edit(claims_file: Path, task: str | None) -> None:
    """Edit a task's claims in $EDITOR; changed claims must be checked or approved again."""
    from llm_judge.claims.files import edited

    one = _one(claims_file, task)
    text = click.edit(one.model_dump_json(exclude_defaults=True, indent=2), extension=".json")
    if text is None:
        click.echo("nothing changed")
        return
    _store(claims_file, edited(one, text, str(claims_file)))


@claims.command()
@_CLAIMS
@click.argument("criteria", nargs=-1, required=True, metavar="CRITERION...")
@_TASK
@click.option("--by", required=True, metavar="NAME", help="Who read and approves them.")
def approve(claims_file: Path, criteria: Sequence[str], task: str | None, by: str) -> None:
    """Approve claims as printed, so that they decide regardless of what the checks found."""
    from bench_core.errors import InputError

    one = _one(claims_file, task)
    known = {each.criterion_id for each in one.claims if each.assertion is not None}
    if missing := set(criteria) - known:
        raise InputError(
            f"{claims_file}: no claim with an assertion for {', '.join(sorted(missing))}; there are {', '.join(sorted(known))}"
        )
    approved = tuple(
        each.model_copy(update={"approved_by": by}) if each.criterion_id in criteria else each
        for each in one.claims
    )
    _store(claims_file, one.model_copy(update={"claims": approved}))


@claims.command()
@_CLAIMS
@_CASES
@_MODEL
@_BASE_URL
def words(claims_file: Path, cases_path: Path, model: str, base_url: str | None) -> None:
    """Ask a model once about each word that leaves a claim undecided on CASES; it is not shown the states."""
    from llm_judge.claims.files import place_open_words

    placed = place_open_words(
        claims_file, _read_cases(cases_path), _models([model], base_url, None)[0]
    )
    click.echo(f"{placed} words placed in {claims_file}")


@claims.command()
@_CLAIMS
@_CASES
@json_option
def decide(claims_file: Path, cases_path: Path, *, as_json: bool) -> None:
    """Decide the end states of CASES by the claims, without a model; criteria that no claim decides are unknown."""
    from llm_judge.case_files import case_state
    from llm_judge.claims.decisions import ClaimFile

    rule = ClaimFile.read(claims_file)
    for case in _read_cases(cases_path):
        found = rule(case, case_state(case))
        for each in case.criteria:
            verdict = found.get(each.id)
            word = verdict.verdict if verdict else "unknown"
            if as_json:
                known = {"case_id": case.case_id, "criterion_id": each.id, "verdict": word}
                click.echo(json.dumps(known | ({"reason": verdict.reason} if verdict else {})))
            else:
                how = " (proven)" if verdict else ""
                click.echo(f"{case.case_id} {each.id}: {word}{how}: {each.text}")


def _tasks(path: Path, task: str | None) -> list[TaskClaims]:
    from bench_core.errors import InputError
    from llm_judge.claims.decisions import read_claim_file

    found = read_claim_file(path)
    chosen = [each for each in found if task is None or task in {each.case_id, each.task}]
    if not chosen:
        raise InputError(
            f"{path}: no task {task!r}; there are {', '.join(each.case_id for each in found) or 'none'}"
        )
    return chosen


def _one(path: Path, task: str | None) -> TaskClaims:
    chosen = _tasks(path, task)
    if len(chosen) > 1:
        raise click.UsageError(f"{path} holds {len(chosen)} tasks: choose one with --task")
    return chosen[0]


def _store(path: Path, task: TaskClaims) -> None:
    from llm_judge.claims.decisions import read_claim_file, write_claim_file

    write_claim_file(
        path, [task if each.task == task.task else each for each in read_claim_file(path)]
    )
    click.echo(
        f"{path}: {sum(each.decides for each in task.claims)} of {len(task.claims)} claims decide"
    )


def _read_cases(path: Path) -> Any:
    from llm_judge.cli.batch import read_cases

    return read_cases(path)


def _labels(path: Path | None) -> dict[str, bool]:
    from llm_judge.calibration.labels import read_labels

    return {} if path is None else read_labels(path)


def _models(names: Sequence[str], base_url: str | None, cache: Any) -> list[Any]:
    from bench_core.models import open_model

    opened = {
        name: open_model(name, base_url=base_url, cache=cache) for name in dict.fromkeys(names)
    }
    return [opened[name] for name in names]
