"""Judge many cases at once; a second run judges only those without a verdict."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench_core.budgets import Budget, RunBudget, Spent
from bench_core.errors import InputError, RecordError
from bench_core.files import AppendLog, FileLock, GroupSync
from bench_core.records import ErrorInfo
from bench_core.records.codec import encode
from bench_core.records.judge import JudgeCase, Verdict
from bench_core.redaction import Redactor
from bench_core.run_folder import Lines, read_lines, set_aside_torn
from llm_judge.judge import Judge
from llm_judge.prepared_case import prepare


@dataclass(frozen=True)
class BatchResult:
    """The verdicts of a batch, and the cases it left.

    Attributes:
        verdicts: In the order of the cases; earlier ones included.
        left: Cases that were not judged because the budget is spent.
        resumed: How many verdicts an earlier run had given.
        stopped_by: The limit that was reached, `None` for none.
    """

    verdicts: tuple[Verdict, ...]
    left: tuple[str, ...] = ()
    resumed: int = 0
    spent: Spent = field(default_factory=Spent)
    stopped_by: str | None = None


async def judge_many(
    judge: Judge,
    cases: Iterable[JudgeCase],
    *,
    out: Path | None = None,
    workers: int = 4,
    budget: Budget | None = None,
    on_verdict: Callable[[Verdict], None] = lambda _verdict: None,
) -> BatchResult:
    """Judge all cases, several at once; one that fails does not stop the others.

    Args:
        judge: Its cache and its models' limits hold for all of them.
        cases: Their ids must differ.
        out: JSON lines of verdicts, appended as they come. A case with a verdict of this judge on
            the same evidence and questions is not judged again; errors are.
        workers: Cases at once.
        budget: For the whole file; the spending of earlier runs counts.
        on_verdict: Receives each new verdict.

    Raises:
        InputError: Two cases have one id, or another process writes `out`.
    """
    todo = list(cases)
    ids = [case.case_id for case in todo]
    if len(set(ids)) < len(ids):
        twice = sorted({each for each in ids if ids.count(each) > 1})
        raise InputError(f"case ids must differ: {', '.join(twice[:5])}")
    with _opened_output(out) as (earlier, write):
        batch = _Batch(judge, earlier, write, budget, on_verdict)
        gate = asyncio.Semaphore(workers)
        found = await asyncio.gather(*(batch.one(case, gate) for case in todo))
    await judge.aclose()
    return BatchResult(
        verdicts=tuple(each for each in found if each is not None),
        left=tuple(case for case, each in zip(ids, found, strict=True) if each is None),
        resumed=batch.resumed,
        spent=batch.run.spent,
        stopped_by=batch.run.exhausted,
    )


def read_verdicts(path: Path) -> tuple[Verdict, ...]:
    """Read verdicts from a file of JSON lines; the last one of a case counts.

    Raises:
        InputError: The file is missing or a line is damaged.
    """
    if not path.is_file():
        raise InputError(
            f"{path}: there are no verdicts; `llm-judge batch --out {path}` writes some"
        )
    return tuple({each.case_id: each for each in _whole_lines(path).records}.values())


class _Batch:
    def __init__(
        self,
        judge: Judge,
        earlier: Sequence[Verdict],
        write: Callable[[Verdict], None],
        budget: Budget | None,
        on_verdict: Callable[[Verdict], None],
    ) -> None:
        started = time.monotonic()
        spent = Spent()
        for each in earlier:
            if each.usage.requests or each.cost_usd:
                spent += Spent.call(each.usage, each.cost_usd)
        self.run = RunBudget(budget, spent=spent, seconds=lambda: time.monotonic() - started)
        self.resumed = 0
        self._judge = judge
        self._done = {
            (each.case_id, _identity(each.fingerprint)): each
            for each in earlier
            if each.outcome != "error"
        }
        self._write = write
        self._on_verdict = on_verdict

    async def one(self, case: JudgeCase, gate: asyncio.Semaphore) -> Verdict | None:
        async with gate:
            try:
                prepared = await asyncio.to_thread(prepare, case, self._judge.policy)
            except InputError as error:
                return self._keep(
                    Verdict(
                        case_id=case.case_id,
                        judge=self._judge.name,
                        outcome="error",
                        model=self._judge.model.name,
                        reasoning=str(error),
                        error=ErrorInfo(kind="input", message=str(error), phase="prepare"),
                    )
                )
            planned = self._judge.fingerprint(prepared)
            done = self._done.get((case.case_id, _identity(planned)))
            if done is not None:
                self.resumed += 1
                return done
            if self.run.exhausted is not None:
                return None
            verdict = await self._judge.judge_prepared(prepared, self.run.meter())
            return self._keep(verdict)

    def _keep(self, verdict: Verdict) -> Verdict:
        self._write(verdict)
        self._on_verdict(verdict)
        return verdict


@contextmanager
def _opened_output(
    out: Path | None,
) -> Iterator[tuple[tuple[Verdict, ...], Callable[[Verdict], None]]]:
    if out is None:
        yield (), lambda _verdict: None
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    # two processes on one file would pay for every case twice
    lock = FileLock(out.with_name(f".{out.name}.lock"), queue=False)
    if not lock.try_acquire():
        raise InputError(f"{out} is being written by {lock.holder() or 'another process'}")
    try:
        lines = _whole_lines(out)
        set_aside_torn(out, lines.bad)
        # reasons and quotations may hold keys that stood in the state
        redactor = Redactor.from_environment()
        sync = GroupSync()
        with closing(sync), closing(AppendLog(out, sync)) as log:
            yield tuple(lines.records), lambda verdict: log.append(encode(verdict, redactor))
    finally:
        lock.release()


def _whole_lines(path: Path) -> Lines[Verdict]:
    """Read verdicts of which only the last may be torn."""
    lines = read_lines(path, Verdict)
    damaged = [each for each in lines.bad if not each.torn]
    if damaged:
        raise RecordError(f"{damaged[0]}; remove the line, and the case is judged again")
    return lines


def _identity(fingerprint: dict[str, str]) -> str:
    """Return the part of a fingerprint that must agree for a verdict to be reused."""
    return "\n".join(f"{k}={v}" for k, v in sorted(fingerprint.items()) if k != "replayed")
