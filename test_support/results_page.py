"""The tables of the page "What a result can and cannot say", written from the vocabulary itself.

`python -m test_support.results_page docs/results.md --write` brings the page up to date.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench_core import exit_codes
from bench_core.faults import FAULTS as KINDS
from bench_core.records import Status
from bench_core.records.vocabulary import FLAGS, MEANINGS, STATUSES, FailureMode, SuspectCause
from bench_core.testing.faults import CALL, CALL_USD, FAULTS
from test_support.part_faults import PART_FAULTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench_core.faults import FaultKind
    from bench_core.testing.faults import Fault
    from test_support.part_faults import PartFault

__all__ = ["main", "with_tables"]

_TABLE = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_WHOSE = {
    Status.ENVIRONMENT_ERROR: "environment",
    Status.EVALUATION_ERROR: "evaluator",
    Status.BUDGET_EXCEEDED: "no one's",
}
_WAITING = {"claimed": "its site or VM"}
_KEPT = f"1 step, {CALL.total_tokens} tokens, ${CALL_USD:g}, all files"
_LATER = {"same": "the same", "scored": "a score", "no": "impossible"}


def with_tables(page: str) -> str:
    """Return the page with every table between its two comments as it has to be.

    Raises:
        KeyError: There is no table of that name.
    """
    return _TABLE.sub(
        lambda found: f"{found[1]}{_TABLES[found['name']]()}\n{found[3]}",
        page,
    )


@click.command()
@click.argument("page", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--write", is_flag=True, help="Write the tables instead of comparing them.")
def main(page: Path, *, write: bool) -> None:
    """Compare the tables of PAGE with what they are made from; exit with 1 where they differ."""
    text = page.read_text(encoding="utf-8")
    right = with_tables(text)
    if write:
        page.write_text(right, encoding="utf-8", newline="\n")
    elif text != right:
        click.echo(f"{page} is outdated: run `python -m {__spec__.name} {page} --write`")
        raise SystemExit(exit_codes.FELL_SHORT)


def _statuses() -> str:
    rows = (
        (f"`{each.value}`", STATUSES[each.value], _yes(each.scored), _yes(not each.done))
        for each in Status
    )
    return _table(("status", "what happened", "score", "run again on resuming"), rows)


def _failure_modes() -> str:
    rows = ((f"`{each.value}`", MEANINGS[each]) for each in FailureMode)
    return _table(("failure mode", "meaning"), rows)


def _suspect_causes() -> str:
    rows = ((f"`{each.value}`", MEANINGS[each]) for each in SuspectCause)
    return _table(("suspect", "meaning"), rows)


def _flags() -> str:
    return _table(("flag", "meaning"), ((f"`{name}`", text) for name, text in FLAGS.items()))


def _faults() -> str:
    head = ("fault", "whose", "status", "score", "flags", "tries", "scored again")
    return _table(head, (_row(fault) for fault in FAULTS))


def _fault_kinds() -> str:
    head = ("fault", "what", "whose", "status", "score", "tried again", "waits for it", "run stops")
    rows = (
        (
            f"`{each.name}`",
            each.what,
            each.owner,
            f"`{each.status.value}`",
            _scored_as(each),
            _yes(each.retry),
            _WAITING.get(each.breaker or "", each.breaker or "-"),
            _yes(each.stops_run),
        )
        for each in KINDS.values()
    )
    return _table(head, rows)


def _scored_as(kind: FaultKind) -> str:
    if not kind.scored:
        return "null"
    return "by the benchmark's rules, `suspect`" if kind.suspect else "by the benchmark's rules"


def _part_faults() -> str:
    head = (
        "benchmark",
        "part",
        "fault",
        "when",
        "whose",
        "status",
        "score",
        "suspect",
        "flags",
        "kept",
    )
    rows = (
        (
            each.benchmark,
            each.part,
            each.fault,
            f"at {each.phase}",
            _whose_part(each),
            f"`{each.status.value}`",
            "null" if each.score is None else f"{each.score:g}",
            _codes(filter(None, [each.suspect])) or "-",
            _codes(each.flags) or "-",
            _KEPT if each.worked else "-",
        )
        for each in PART_FAULTS
    )
    return _table(head, rows)


def _row(fault: Fault) -> Sequence[str]:
    return (
        fault.what,
        "no one" if fault.row is None else fault.row.owner,
        f"`{fault.status.value}`",
        "by the benchmark's rules" if fault.status.scored else "null",
        _codes(fault.flags) or "-",
        str(fault.tries),
        _LATER[fault.later],
    )


def _whose_part(fault: PartFault) -> str:
    if fault.status.scored:
        return "perhaps the environment's" if fault.suspect else "no one's"
    return _WHOSE[fault.status]


def _codes(words: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in words)


def _yes(value: bool) -> str:  # a word for it is all this gives
    return "yes" if value else "no"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


_TABLES = {
    "statuses": _statuses,
    "failure-modes": _failure_modes,
    "suspect-causes": _suspect_causes,
    "flags": _flags,
    "faults": _faults,
    "fault-kinds": _fault_kinds,
    "part-faults": _part_faults,
}

if __name__ == "__main__":
    main()
