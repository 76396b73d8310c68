"""Careless scripted models on 200 generated cases, half of them wrong: what becomes of their passes.

The same models are asked in the ways of others, in prompts of ours that have the structure of theirs: one overall
answer over the key points on the head of the state (as WebJudge asks), a reason and a yes per rubric (as
pydantic-evals asks), a letter per criterion (as autoevals asks). With `--docs FILE` both tables are written
between their markers there::

    python packages/llm-judge/benchmarks/bench_judges.py --docs docs/judge-calibration.md
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from test_support.scripted_judges import adversary, gullible_selective, rubber_stamp, sloppy

from bench_core.cli import render_table
from bench_core.models import Message, Model, ModelRequest, ScriptedAdapter
from llm_judge import Judge
from llm_judge.meta_evaluation.generated_cases import generated_cases
from llm_judge.meta_evaluation.labelled_set import meta_evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llm_judge.meta_evaluation.labelled_set import LabelledCase, MetaEvaluation

CASES, SEED = 200, 0
HEAD = 40_000
TRUSTED = "confirmed"  # in every state: a record that the gullible one takes for an order to pass
MODELS: dict[str, Any] = {
    "rubber stamp": rubber_stamp,
    "sloppy": sloppy,
    "gullible": gullible_selective(TRUSTED),
    "adversary": adversary,
}
SAYS_YES: dict[str, Callable[[str], bool]] = {
    name: (lambda shown: TRUSTED in shown) if name == "gullible" else (lambda _shown: True)
    for name in MODELS
}
MARKERS = "<!-- {} models: begin -->", "<!-- {} models: end -->"


def main() -> None:
    """Print the tables; exit with 1 if a wrong state passes as `proven`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=Path)
    docs = parser.parse_args().docs
    cases = generated_cases(CASES, seed=SEED)
    reports = {name: asyncio.run(judged(script, cases)) for name, script in MODELS.items()}
    operators = sorted(
        {row.operator for each in reports.values() for row in each.rows if row.wrong_states}
    )
    rows = [
        (operator, *(passed(each, operator) for each in reports.values())) for operator in operators
    ]
    show("careless", ("wrong by", *reports), rows, docs)
    kinds = {"proven": "`proven`", "supported": "`supported`", "unknown": "no verdict"}
    asked = [
        (f"llm-judge: {name}", *(of_kind(each, kind) for each in reports.values()))
        for kind, name in kinds.items()
    ]
    for name, ask in PEERS.items():
        asked.append(
            (name, *(asyncio.run(asked_as(ask, says, cases)) for says in SAYS_YES.values()))
        )
    show("asked", ("wrong passed, right refused", *MODELS), asked, docs)
    proven = [row for each in reports.values() for row in each.by_kind if row.kind == "proven"]
    raise SystemExit(1 if any(row.wrong_passed for row in proven) else 0)


async def judged(script: Any, cases: Sequence[LabelledCase]) -> MetaEvaluation:
    """Try one model as this package asks it."""
    return await meta_evaluate(Judge(Model(ScriptedAdapter(script))), cases, workers=1)


async def asked_as(
    ask: Callable[[LabelledCase, Model], Any],
    says: Callable[[str], bool],
    cases: Sequence[LabelledCase],
) -> str:
    """Ask a model in another way: how many wrong states pass, and how many right ones do not."""
    model = Model(ScriptedAdapter(lambda request: replied(request, says)))
    wrong = [await ask(each, model) for each in cases if not each.outcome]
    right = [await ask(each, model) for each in cases if each.outcome]
    return f"{sum(wrong)} of {len(wrong)}, {len(right) - sum(right)} of {len(right)}"


def of_kind(report: MetaEvaluation, kind: str) -> str:
    """Write the same of this package's verdicts of one kind."""
    found = next((each for each in report.by_kind if each.kind == kind), None)
    wrong, right = (found.wrong_passed, found.right_refused) if found else (0, 0)
    (_, wrong_states), (_, right_states) = total(report, wrong=True), total(report, wrong=False)
    return f"{wrong} of {wrong_states}, {right} of {right_states}"


def replied(request: ModelRequest, says: Callable[[str], bool]) -> dict[str, Any]:
    """Answer in the form that is asked for."""
    yes = says(request.messages[0].text)
    if request.output_schema is not None:
        return {"data": {"reason": "It looks fine.", "pass": yes, "score": float(yes)}}
    if "letter" in (request.system or ""):
        return {"text": f"It looks fine.\n{'Y' if yes else 'N'}"}
    status = "success" if yes else "failure"
    return {"text": f'Thoughts: It looks fine.\nStatus: "{status}"'}


async def overall(labelled: LabelledCase, model: Model) -> bool:
    """One answer over all key points."""
    points = "\n".join(f"{n}. {each.text}" for n, each in enumerate(labelled.case.criteria, 1))
    text = f"User task: {labelled.case.goal}\n\nKey points:\n{points}\n\nFinal state:\n{shown(labelled)}"
    system = (
        "You look at what a web agent left behind and say whether it did its task. All key points must be met. "
        'End with a line `Status: "success"` or `Status: "failure"`, after your thoughts.'
    )
    reply = await model.complete(ModelRequest(system=system, messages=(Message.user(text),)))
    return re.search(r"status:\W*success", reply.message.text, re.IGNORECASE) is not None


async def per_rubric(labelled: LabelledCase, model: Model) -> bool:
    """A reason, a yes or no and a score for each rubric."""
    schema = {
        "type": "object",
        "properties": {"reason": {"type": "string"}, "pass": {"type": "boolean"}, "score": {"type": "number"}},
        "required": ["reason", "pass", "score"],
        "additionalProperties": False,
    }  # fmt: skip
    system = "You grade an output against a rubric. Pass it if it meets the rubric, and say why."
    for each in labelled.case.criteria:
        text = (
            f"<Input>\n{labelled.case.goal}\n</Input>\n<Output>\n{shown(labelled)}\n</Output>\n"
            f"<Rubric>\n{each.text}\n</Rubric>"
        )
        reply = await model.complete(
            ModelRequest(system=system, messages=(Message.user(text),), output_schema=schema)
        )
        if not (isinstance(reply.data, dict) and reply.data["pass"]):
            return False
    return True


async def per_letter(labelled: LabelledCase, model: Model) -> bool:
    """A letter for each criterion."""
    system = "Does the submission meet the criterion? Reason first, then answer with the letter Y or N on a line."
    for each in labelled.case.criteria:
        text = f"[Task]: {labelled.case.goal}\n[Submission]: {shown(labelled)}\n[Criterion]: {each.text}"
        reply = await model.complete(ModelRequest(system=system, messages=(Message.user(text),)))
        if (reply.message.text).rstrip()[-1:] != "Y":
            return False
    return True


PEERS = {
    "one answer over key points, as WebJudge": overall,
    "a yes per rubric, as pydantic-evals": per_rubric,
    "a letter per criterion, as autoevals": per_letter,
}


def shown(labelled: LabelledCase) -> str:
    """What others send of a state: the head of its JSON."""
    return json.dumps(labelled.case.state)[:HEAD]


def passed(report: MetaEvaluation, operator: str) -> str:
    """How many states made wrong so it passes."""
    row = next(each for each in report.rows if each.operator == operator)
    return f"{row.passed} of {row.n}"


def total(report: MetaEvaluation, *, wrong: bool) -> tuple[int, int]:
    """How many wrong (or right) states it passes."""
    rows = [each for each in report.rows if each.wrong_states is wrong]
    return sum(each.passed for each in rows), sum(each.n for each in rows)


def show(
    name: str, headers: tuple[str, ...], rows: list[tuple[str, ...]], docs: Path | None
) -> None:
    """Print a table, and write it between its markers."""
    print(render_table(headers, rows), end="\n\n")
    if docs is not None:
        begin, end = (each.format(name) for each in MARKERS)
        text = docs.read_text(encoding="utf-8")
        lines = [f"| {' | '.join(each)} |" for each in (headers, ("---",) * len(headers), *rows)]
        before, found, rest = text.partition(begin)
        if not found or end not in rest:
            raise SystemExit(f"{docs} has no markers {begin} and {end}")
        written = f"{before}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.partition(end)[2]}"
        docs.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
