"""Write what the doctors find in the published tasks and states, and what is there, into docs/multireal-task-sets.md.

    python packages/multireal-harness/benchmarks/doctors_table.py [--check]

What is there is counted apart from the doctors: in queries by patterns of their text and by the outermost node of
their syntax, in states by hand. With `--check` the page is not written: it exits with 1 if it says otherwise. The
data are found through `PROCTOR_DATA` (or `../shared/data`); without them it exits with 3. `llm-judge`
has to be installed.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jmespath

from bench_core import exit_codes
from multireal_harness.lint import lint_tasks
from multireal_harness.states.file_checks import check_files
from multireal_harness.states.schemas import shipped_schemas
from multireal_harness.tasks import load_definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from multireal_harness.definitions import Definition, Eval
    from multireal_harness.lint import LintReport

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "multireal-task-sets.md"
DATA = Path(os.environ.get("PROCTOR_DATA", ROOT.parent / "shared" / "data")) / "multireal"
BEGIN, END = "<!-- doctors: begin -->", "<!-- doctors: end -->"

BOOLEAN = frozenset({"and_expression", "comparator", "not_expression", "or_expression"})
NUMBERS = frozenset({"abs", "avg", "ceil", "floor", "length", "sum", "to_number"})
TESTS = frozenset({"contains", "ends_with", "starts_with"})
LISTS = frozenset(
    {"filter_projection", "flatten", "multi_select_list", "projection", "value_projection"}
)
NEGATIVE = re.compile(r"\b(?:no|not|never|without|none)\b", re.IGNORECASE)

IN_STATES = {
    ("duplicated_state", "one app's state under the name of another"): [("gomail-topwork-3", "gomail")],
    ("carry_over", "a history of several runs"): [
        ("gocalendar-opendining-1", "gocalendar"), ("gocalendar-opendining-1", "opendining"),
    ],
    ("goal_violated", "what the goal names is nowhere, its bound is broken, or nothing was done"): [
        ("flyunified-gocalendar-staynb-1", "staynb"),
        ("gomail-topwork-3", "helena.v@mycorp.com"), ("gomail-topwork-3", "Python Data Analyst"),
        ("opendining-udriver-1", "4.33"),
    ],
}  # fmt: skip
"""Defects of the recorded states that a person found: file, and the app or what the message has to name."""


def main(arguments: Sequence[str]) -> int:
    """Write or check the table; return the exit code."""
    if not DATA.is_dir():
        print(f"no tasks and states in {DATA}: set PROCTOR_DATA", file=sys.stderr)
        return exit_codes.UNDECIDED
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    table = "\n".join(rows())
    written = f"{before}{BEGIN}\n{table}\n{END}{after}"
    print(table)
    if "--check" in arguments:
        return exit_codes.OK if written == page else exit_codes.FELL_SHORT
    PAGE.write_text(written, "utf-8")
    return exit_codes.OK


def rows() -> Iterator[str]:
    """The table, line by line."""
    definitions = load_definitions(DATA / "tasks")
    report = lint_tasks(definitions, shipped_schemas())
    codes = {
        (each.task_id, each.index): {one.code for one in each.findings} for each in report.reports
    }
    yield "| doctor | kind | found | present |"
    yield "|---|---|---|---|"
    for code, is_there in IN_QUERIES.items():
        present = {
            (task.id, index)
            for task in definitions
            for index, one in enumerate(task.evals)
            if one.kind == "jmespath" and is_there(task, one)
        }
        found = sum(code in codes[each] for each in present)
        yield f"| `lint` | `{code}` | {found} | {len(present)} |"
    yield from _of_mends(definitions, report)
    symptoms = {
        Path(name).stem: found
        for name, found in check_files(DATA / "final_states", str(DATA / "tasks")).items()
    }
    for (code, about), known in IN_STATES.items():
        found = sum(
            any(
                one.code == code and one.serious and (one.app == what or what in one.message)
                for one in symptoms[file]
            )
            for file, what in known
        )
        yield f"| `check-state` | `{code}`: {about} | {found} | {len(known)} |"


def _of_mends(definitions: Sequence[Definition], report: LintReport) -> Iterator[str]:
    """What is still wrong with the rewrites that are counted as sound, when they are linted themselves."""
    sound = {
        (r.task_id, r.index): r.fix for r in report.reports if r.fatal and r.fix and r.fix.sound
    }
    mended = [
        task.model_copy(
            update={
                "evals": tuple(
                    one.model_copy(
                        update={"query": fix.query, "expected_value": fix.expected_value}
                    )
                    if (fix := sound.get((task.id, index)))
                    else one
                    for index, one in enumerate(task.evals)
                )
            }
        )
        for task in definitions
    ]
    again = [
        each
        for each in lint_tasks(mended, shipped_schemas()).reports
        if (each.task_id, each.index) in sound
    ]
    fatal = sum(each.fatal for each in again)
    idle = sum(
        any(one.code == "null_agent_passes" for one in each.findings)
        and not NEGATIVE.search(each.criterion)
        for each in again
    )
    yield f"| `lint --fix` | rewrites counted as sound that are fatal | {fatal} | of {len(again)} |"
    yield f"| `lint --fix` | rewrites counted as sound that an untouched state meets | {idle} | of {len(again)} |"


def _outermost(query: str) -> dict[str, Any]:
    """The outermost node that decides what kind of value a query gives."""
    node: dict[str, Any] = jmespath.compile(query).parsed
    while node["type"] in {"pipe", "subexpression"}:
        node = node["children"][-1]
    return node


def _gives(kind: str) -> Callable[[Definition, Eval], bool]:
    def gives(_: Definition, one: Eval) -> bool:
        if not isinstance(one.expected_value, bool):
            return False
        node = _outermost(one.query)
        name = node["value"] if node["type"] == "function_expression" else ""
        if node["type"] in BOOLEAN or name in TESTS:
            return False
        numeric, many = name in NUMBERS, node["type"] in LISTS or name in {"keys", "values"}
        return {"number": numeric, "list": many}[kind]

    return gives


def _year(task: Definition, one: Eval) -> bool:
    return any(year not in task.goal for year in re.findall(r"(?<![\w.@])20\d\d(?=-|')", one.query))


IN_QUERIES: dict[str, Callable[[Definition, Eval], bool]] = {
    "index_in_projection": lambda _, one: (
        re.search(r"\[\?[^\]]*\]\[-?\d+\]", one.query) is not None
    ),
    "first_of_unordered": lambda _, one: (
        re.search(r"\b(?:keys|values)\([^()]*\)\[-?\d+\]", one.query) is not None
    ),
    "inverted_expected": lambda _, one: (
        one.expected_value is False and NEGATIVE.search(one.description) is None
    ),
    "number_result": _gives("number"),
    "list_result": _gives("list"),
    "hard_coded_year": _year,
}
"""How to see in the text of an eval what it has."""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
