"""The `llm-judge` command: demo, lint, pack, show, judge, verify, calibrate, stress, batch, ..."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from bench_core import exit_codes
from bench_core.cli import FiniteRange, json_option, runner_group
from bench_core.errors import NotEstimableError
from llm_judge.__about__ import __version__
from llm_judge.cli.examples import EXAMPLES

_Command = TypeVar("_Command", bound="Callable[..., Any]")

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)
_POSITIVE = click.IntRange(min=1)
_AMOUNT = FiniteRange(min=0, min_open=True)
_WORKERS = click.option(
    "--workers",
    "-j",
    type=_POSITIVE,
    default=4,
    show_default=True,
    metavar="N",
    help="Cases at once.",
)
_MAX_TOTAL_COST = click.option(
    "--max-total-cost", type=_AMOUNT, metavar="USD", help="Limit for all cases."
)
_CASE = click.argument("case_file", metavar="CASE", type=_FILE)
_CASES = click.argument("case_files", metavar="CASE...", type=_FILE, nargs=-1, required=True)


def _stack(*decorators: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    def decorate(command: _Command) -> _Command:
        for each in reversed(decorators):
            command = each(command)
        return command

    return decorate


_CHARS = click.option(
    "--chars", type=_POSITIVE, default=40_000, show_default=True, metavar="N",
    help="Maximum characters of evidence shown to a model.",
)  # fmt: skip
_PROMPT = _stack(
    _CHARS,
    click.option("--pictures", type=click.IntRange(min=0), default=8, show_default=True, metavar="N",
                 help="Maximum number of screenshots shown."),
    click.option("--agent-text", is_flag=True,
                 help="Show the agent's own final answer, labelled as a claim."),
)  # fmt: skip
_MODEL = _stack(
    click.option("--model", "-m", required=True, metavar="PROVIDER:MODEL",
                 help="Also replay:CASSETTE and scripted:FILE, which need no key."),
    click.option("--second", metavar="PROVIDER:MODEL",
                 help="Second model, asked about passes, low margins and doubtful cases; nothing passes unless it "
                      "agrees."),
    click.option("--samples", type=_POSITIVE, default=1, show_default=True, metavar="N",
                 help="Answers of the first model that must agree."),
    _PROMPT,
    click.option("--claims", type=_FILE, metavar="FILE",
                 help="Decide criteria by these claims first; a model is asked about the rest."),
    click.option("--calibration", type=_FILE, metavar="FILE", help="File written by `calibrate --out`."),
    click.option("--base-url", metavar="URL", help="URL of the first model's API."),
    click.option("--any-model", is_flag=True,
                 help="Accept replies in which the API names a different model."),
    click.option("--deadline", type=_AMOUNT, default=300.0, show_default=True, metavar="SECONDS",
                 help="Time limit for one case, all calls together."),
    click.option("--max-cost", type=_AMOUNT, metavar="USD", help="Budget for one case; a call that may exceed it is "
                                                                 "not made."),
    click.option("--accept-kinds", default="proven,supported", show_default=True, metavar="KINDS",
                 help="Kinds of verdicts that count, also `opinion`; others are reported as undecided."),
    click.option("--reply-form", type=click.Choice(["auto", "json_schema", "json_object", "text"]),
                 default="auto", show_default=True,
                 help="Reply format asked of the server; auto asks for a weaker one if it refuses."),
    click.option("--cache", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
                 help="Folder of cached replies, by prompt, schema, evidence and model.  [default: "
                      "~/.cache/llm-judge for paid models]"),
    click.option("--no-cache", is_flag=True, help="Ask again, and pay again, for the same call."),
    click.option("--record", type=_OUT, metavar="FILE", help="Record the calls as a cassette."),
    click.option("--replay", type=_FILE, metavar="FILE", help="Answer from a cassette only."),
)  # fmt: skip


@runner_group("llm-judge", __version__, examples=EXAMPLES)
def main() -> None:
    """Judge end states, with evidence that is checked."""


@main.command()
@_CASES
@json_option
def lint(case_files: Sequence[Path], *, as_json: bool) -> None:
    """Find what is wrong with cases and their states, without a model.

    CASE is a case file or JSON lines of cases, as `batch` reads them. Exits with 1 if there is a warning or an error.
    """
    from llm_judge import case_lint  # loaded when needed
    from llm_judge.case_files import case_state
    from llm_judge.cli import output
    from llm_judge.cli.batch import read_cases

    cases = [each for path in case_files for each in read_cases(path)]
    found = [(each.case_id, case_lint.lint(each, case_state(each))) for each in cases]
    output.show_findings(found, as_json=as_json)
    serious = any(each.severity != "info" for _, findings in found for each in findings)
    _exit(exit_codes.FELL_SHORT if serious else exit_codes.OK)


@main.command()
@_CASE
@_CHARS
@json_option
def pack(case_file: Path, chars: int, *, as_json: bool) -> None:
    """Print the evidence chosen from a case's state, without a model."""
    from llm_judge.case_files import case_state, read_case
    from llm_judge.cli import output
    from llm_judge.prompts import evidence_pack

    case = read_case(case_file)
    evidence = evidence_pack.pack(
        case_state(case), case.goal, case.criteria,
        initial=case.initial_state, actions=case.actions, chars=chars,
    )  # fmt: skip
    output.show_pack(evidence, as_json=as_json)


@main.command("show-prompt")
@_CASE
@_PROMPT
@click.option("--model", "-m", metavar="PROVIDER:MODEL", help="Also print the approximate cost.")
@json_option
def show_prompt(case_file: Path, model: str | None, *, as_json: bool, **options: Any) -> None:
    """Print exactly what would be sent, with tokens and cost, without sending it."""
    from llm_judge import prepared_case
    from llm_judge.case_files import read_case
    from llm_judge.cli import output

    rules = _policy(options)
    prepared = prepared_case.prepare(read_case(case_file), rules)
    output.show_prompt(prepared, rules, model, as_json=as_json)


@main.command()
@_CASE
@_MODEL
@click.option("--out", type=_OUT, metavar="FILE", help="Write the verdict to a file, too.")
@json_option
def judge(case_file: Path, out: Path | None, *, as_json: bool, **options: Any) -> None:
    """Judge one case. Exits with 0 for pass, 1 for fail, 2 for an error, 3 for undecided."""
    from bench_core.files import require_writable
    from llm_judge.case_files import read_case
    from llm_judge.cli import output

    case = read_case(case_file)
    if out is not None:
        require_writable(out)  # a judgement may have a price
    verdict = _judge(options).judge_now(case)
    if out is not None:
        output.write_verdict(verdict, out)
    output.show_verdict(verdict, as_json=as_json)
    _exit(output.EXIT_CODES[verdict.outcome])


@main.command()
@click.argument("verdict_file", metavar="VERDICT", type=_FILE)
@click.option(
    "--case", "case_file", type=_FILE, metavar="FILE", help="The case: goal, criteria and state."
)
@click.option(
    "--state", "state_file", type=_FILE, metavar="FILE", help="The end state, if not the case's."
)
@json_option
def verify(
    verdict_file: Path, case_file: Path | None, state_file: Path | None, *, as_json: bool
) -> None:
    """Check the evidence of an old verdict against a state, without a model.

    VERDICT is one verdict, or JSON lines of verdicts, of which the case's own is checked. Exits with 0 if the
    evidence holds, 1 if it does not, 3 if the verdict was undecided.
    """
    from llm_judge.case_files import case_state, read_case, read_json
    from llm_judge.cli import output
    from llm_judge.verdicts import evidence_check

    if case_file is None and state_file is None:
        raise click.UsageError("give the state to check against: --case FILE or --state FILE")
    case = None if case_file is None else read_case(case_file)
    if state_file is not None:
        state = read_json(state_file)
    else:
        state = case_state(case) if case is not None else None
    verdict = output.read_verdict(verdict_file, None if case is None else case.case_id)
    found = evidence_check.verify(verdict, state, case)
    output.show_verification(found, as_json=as_json)
    codes = {"holds": exit_codes.OK, "broken": exit_codes.FELL_SHORT}
    _exit(codes.get(found.outcome, exit_codes.UNDECIDED))


@main.command()
@click.argument("labels_file", metavar="LABELS", type=_FILE)
@click.argument("verdicts_file", metavar="VERDICTS", type=_FILE)
@click.option("--out", type=_OUT, metavar="FILE", help="Write the file that `--calibration` reads.")
@click.option("--level", type=FiniteRange(0.5, 0.999), default=0.95, show_default=True, metavar="SHARE",
              help="Nominal confidence of the intervals.")  # fmt: skip
@click.option(
    "--by-verdict",
    is_flag=True,
    help="The labels cover exactly the cases that `label --next` proposed.",
)
@json_option
def calibrate(
    labels_file: Path, verdicts_file: Path, out: Path | None, level: float, *, by_verdict: bool, as_json: bool
) -> None:  # fmt: skip
    """Compare verdicts with labels: how often the judge errs, what its confidence is worth.

    LABELS are JSON lines or CSV with case_id and passed; VERDICTS is the output of `batch`.
    """
    from llm_judge.batch import read_verdicts
    from llm_judge.calibration import report as reports
    from llm_judge.calibration.labels import read_labels
    from llm_judge.cli import output

    labels = read_labels(labels_file)
    report = reports.calibrate(
        read_verdicts(verdicts_file), labels, level=level, by_verdict=by_verdict
    )
    output.show_calibration(report, as_json=as_json)
    if report.useless is not None:
        raise click.ClickException(report.useless)
    if out is not None:
        if report.calibration is None:
            reason = report.refused.get("calibration", "there is no confidence to calibrate")
            raise NotEstimableError(f"nothing written to {out}: {reason}")
        reports.save_calibration(report.calibration, out)


@main.command()
@_CASES
@click.option(
    "--model",
    "-m",
    metavar="PROVIDER:MODEL",
    help="Judge the states; without it only visibility is measured.",
)
@click.option("--second", metavar="PROVIDER:MODEL", help="The second model.")
@_CHARS
@click.option(
    "--every",
    type=_POSITIVE,
    default=1,
    show_default=True,
    metavar="N",
    help="Visibility: mutate every N-th changed value.",
)
@click.option(
    "--per-operator",
    type=_POSITIVE,
    default=3,
    show_default=True,
    metavar="N",
    help="Wrong states of each kind per case.",
)
@click.option(
    "--attacks",
    type=click.IntRange(min=0),
    metavar="N",
    help="Plant only the first N attack texts.  [default: all]",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N")
@_WORKERS
@click.option("--base-url", metavar="URL", help="URL of the first model's API.")
@click.option(
    "--cache",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of cached replies.",
)
@json_option
def stress(case_files: Sequence[Path], *, as_json: bool, **options: Any) -> None:
    """Test a judge on known-good states: made wrong, harmlessly changed, planted with attacks.

    Exits with 1 if a wrong or planted state passes, else with 2 if a call failed.
    """
    from llm_judge.cli import output
    from llm_judge.cli.bench import run_stress

    seen, report = run_stress(case_files, options)
    output.show_stress(seen, report, as_json=as_json)
    if report is None:
        return
    bad = any(
        row.wrong is not None and row.wrong.estimate > 0
        for row in report.families
        if row.family in {"violating", "injection"}
    )
    failed = any(each.errors for each in report.families)
    _exit(exit_codes.FELL_SHORT if bad else exit_codes.USAGE if failed else exit_codes.OK)


@main.command()
@click.argument("cases_path", metavar="CASES", type=click.Path(exists=True, path_type=Path))
@_MODEL
@click.option(
    "--out",
    "-o",
    type=_OUT,
    required=True,
    metavar="FILE",
    help="JSON lines of verdicts; run it again to continue.",
)
@_WORKERS
@_MAX_TOTAL_COST
@click.option("--max-tokens", type=_POSITIVE, metavar="N", help="Limit for all cases.")
@click.option("--max-minutes", type=_AMOUNT, metavar="MINUTES", help="Limit for this run.")
@json_option
def batch(cases_path: Path, out: Path, *, as_json: bool, **options: Any) -> None:
    """Judge many cases: JSON lines of cases, or a folder of case files.

    Exits with 0 if all are decided, 2 if there were errors, 3 if some are undecided or not judged yet.
    """
    from llm_judge.cli import output
    from llm_judge.cli.batch import read_cases, run_batch

    limits = {name: options.pop(name) for name in ("max_total_cost", "max_tokens", "max_minutes")}
    workers = options.pop("workers")
    cases = read_cases(cases_path)
    result = run_batch(cases, _judge(options), out, workers, limits, as_json=as_json)
    output.show_batch(result, out, as_json=as_json)
    outcomes = {each.outcome for each in result.verdicts}
    undecided = bool(result.left) or bool(outcomes & {"abstain", "void"})
    _exit(
        exit_codes.USAGE
        if "error" in outcomes
        else exit_codes.UNDECIDED if undecided else exit_codes.OK
    )  # fmt: skip


@main.command()
@click.argument("labelled", metavar="LABELLED")
@_MODEL
@click.option(
    "--mutants",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Wrong states made from each right one by each operator; 0 for none.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="N", help="Chooses the wrong states."
)
@click.option(
    "--out", "-o", type=_OUT, metavar="FILE", help="Keep the verdicts; run it again to continue."
)
@_WORKERS
@_MAX_TOTAL_COST
@json_option
def bench(labelled: str, *, as_json: bool, **options: Any) -> None:
    """Test a judge on a labelled set and on wrong states made from it: may it be used unattended?

    LABELLED is a file of JSON lines: cases with `outcome` (and `process`), true or false; or `generated:200` for 200
    made-up cases. Exits with 0 if it may, 1 if not, 2 if every call failed, 3 if there are too few wrong states to
    say.
    """
    from llm_judge.cli.bench import run_bench, show_bench

    names = ("mutants", "seed", "out", "workers", "max_total_cost")
    own = {name: options.pop(name) for name in names}
    report = run_bench(_judge(options), labelled, own)
    show_bench(report, as_json=as_json)
    codes = {"yes": exit_codes.OK, "no": exit_codes.FELL_SHORT, "unknown": exit_codes.UNDECIDED}
    failed = bool(report.cases) and sum(each.errors for each in report.rows) == report.cases
    _exit(exit_codes.USAGE if failed else codes[report.fit])


@main.command()
@click.argument(
    "form", metavar="SET", type=click.Choice(["cua-verifier-bench", "agent-reward-bench"])
)
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--annotations",
    type=_FILE,
    metavar="FILE",
    help="The labels of AgentRewardBench.  [default: annotations.csv in SOURCE]",
)
@click.option("--out", "-o", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR",
              help="Where labelled.jsonl is written, with the pictures.")  # fmt: skip
def convert(form: str, source: Path, annotations: Path | None, out: Path) -> None:
    """Turn a published set of labelled trajectories into a labelled set for `bench`.

    SET is cua-verifier-bench or agent-reward-bench; SOURCE is its downloaded folder. Trajectories on whose outcome
    people disagree are left out and counted.
    """
    from llm_judge.meta_evaluation.published_sets import convert as converted

    written, left_out = converted(form, source, out, annotations)
    click.echo(f"{written} cases in {out / 'labelled.jsonl'}, {left_out} without a label left out")


@main.command()
@click.argument("cases_path", metavar="CASES", type=click.Path(exists=True, path_type=Path))
@click.argument("verdicts_file", metavar="VERDICTS", type=_FILE)
@click.option(
    "--labels",
    "labels_file",
    type=_OUT,
    default="labels.jsonl",
    show_default=True,
    metavar="FILE",
    help="File of labels; new labels are added.",
)
@click.option(
    "--next",
    "count",
    type=_POSITIVE,
    default=20,
    show_default=True,
    metavar="N",
    help="How many cases to propose.",
)
@click.option("--list", "only_list", is_flag=True, help="Print their ids and ask nothing.")
@click.option(
    "--html", "html_file", type=_OUT, metavar="FILE", help="Write a form to label them in instead."
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N")
def label(
    cases_path: Path, verdicts_file: Path, labels_file: Path, count: int, html_file: Path | None, seed: int,
    *, only_list: bool,
) -> None:  # fmt: skip
    """Label the cases that shrink the interval of the corrected rate fastest, without showing the verdict."""
    from llm_judge.cli.bench import ask_labels, choose_cases, write_form

    cases = choose_cases(cases_path, verdicts_file, labels_file, count, seed)
    if only_list:
        click.echo("\n".join(each.case_id for each in cases))
    elif html_file is not None:
        write_form(cases, html_file)
        click.echo(
            f"{len(cases)} cases to label: open {html_file}, save, add the lines to {labels_file}"
        )
    else:
        given = ask_labels(cases, labels_file)
        click.echo(f"{given} labels added to {labels_file}")


@main.command()
@json_option
def demo(*, as_json: bool) -> None:
    """Judge the sample cases with a gullible, a sloppy and a careful scripted model; no key."""
    from llm_judge.cli.demo import run_demo, show_demo

    show_demo(run_demo(), as_json=as_json)


@main.command()
@json_option
def models(*, as_json: bool) -> None:
    """List the providers: whether a key is set, whether the SDK is installed, and the source of prices."""
    from llm_judge.cli import output

    output.show_models(as_json=as_json)


def _policy(options: dict[str, Any]) -> Any:
    from llm_judge.policy import JudgePolicy

    named = {
        "chars": "chars", "pictures": "pictures", "agent_text": "agent_text", "samples": "samples",
        "any_model": "any_model", "deadline": "deadline_s", "max_cost": "max_cost_usd",
        "reply_form": "reply_form",
    }  # fmt: skip
    given = {field: options[name] for name, field in named.items() if options.get(name) is not None}
    if given.get("chars", 1_000) < 1_000:  # `evidence_pack.LEAST_CHARS`, not imported for --help
        raise click.UsageError("--chars: less than 1000 characters show nothing")
    if options.get("accept_kinds"):
        given["accept_kinds"] = tuple(each.strip() for each in options["accept_kinds"].split(","))
        known = ("proven", "supported", "opinion")
        if not set(given["accept_kinds"]) <= set(known):
            raise click.UsageError(
                f"--accept-kinds: {options['accept_kinds']!r} is not a list of {', '.join(known)}"
            )
    return JudgePolicy(**given)


def _judge(options: dict[str, Any]) -> Any:
    from bench_core.models import Cassette
    from llm_judge.judge import Judge

    if options.get("record") and options.get("replay"):
        raise click.UsageError("--record and --replay exclude each other")
    cassette = None
    if options.get("record"):
        cassette = Cassette(options["record"], "record")
    elif options.get("replay"):
        cassette = Cassette(options["replay"])
    return Judge(
        options["model"],
        second=options.get("second"),
        policy=_policy(options),
        claims=options.get("claims"),
        calibration=options.get("calibration"),
        base_url=options.get("base_url"),
        cache=_cache(options),
        cassette=cassette,
    )


def _cache(options: dict[str, Any]) -> Any:
    """Return where replies are kept: an identical second call is not paid for."""
    from bench_core.models import ReplyCache
    from llm_judge.model_calls.cost_estimate import is_paid

    if options.get("no_cache") or options.get("record") or options.get("replay"):
        return None
    if options.get("cache"):
        return ReplyCache(options["cache"])
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return ReplyCache(base / "llm-judge") if is_paid(options["model"]) else None


def _exit(code: int) -> None:
    click.get_current_context().exit(code)
