"""The judge at work without a key: three scripted models on a right and a wrong end state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import click

from bench_core.cli import echo_wrapped, render_table
from bench_core.models import Model, ScriptedAdapter
from bench_core.records.judge import Verdict
from llm_judge import samples
from llm_judge.judge import Judge

_CASES = ("dinner", "dinner-wrong-time")
_SHOWS = {
    "gullible": "passes whatever it is asked: it passed a question whose answer is known to be no, so that its "
    "verdict is void",
    "sloppy": "quotes the first thing it sees: what it quotes is there, so that its verdicts are `supported`, and wrong; "
    "that all rest on one quotation is found (evidence.reused). Only a claim proves, and `bench` measures such a model",
    "careful": "quotes the records that show it: the right booking passes, the one at 6:00 PM fails",
}


def run_demo() -> tuple[tuple[str, Verdict], ...]:
    """Return each model's verdict on each sample case."""
    return tuple(
        (name, judge.judge_now(samples.case(case))) for name, judge in _judges() for case in _CASES
    )


def show_demo(verdicts: Sequence[tuple[str, Verdict]], *, as_json: bool) -> None:
    """Print the verdicts and the reasons for them."""
    if as_json:
        found = [
            {"model": name, "verdict": each.model_dump(mode="json")} for name, each in verdicts
        ]
        click.echo(json.dumps(found, indent=2))
        return
    echo_wrapped(f"goal: {samples.case().goal}\n")
    rows = [(name, each.case_id, each.outcome, each.kind, _why(each)) for name, each in verdicts]
    click.echo(render_table(("model", "case", "verdict", "kind", "why"), rows))
    click.echo()
    for name, text in _SHOWS.items():
        echo_wrapped(f"{name}: {text}.")
    echo_wrapped("\nThese models are scripts. With a key: llm-judge judge CASE -m provider:model")


def _judges() -> Iterator[tuple[str, Judge]]:
    careless = json.loads((samples.folder() / "careless.json").read_text(encoding="utf-8"))
    for name, replies in careless.items():
        yield name, Judge(Model(ScriptedAdapter(replies, model=name)))
    yield "careful", Judge(f"replay:{samples.cassette()}")


def _why(verdict: Verdict) -> str:
    if verdict.outcome == "void":
        return "passed what is known to be false"
    shown = next((each for each in verdict.criteria if each.verdict != "pass"), verdict.criteria[0])
    return f"{shown.criterion_id}: {shown.doubt or shown.reason}"
