"""A run's judgements for a person to check: the files that `llm-judge label` and `calibrate` take."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from bench_core.files import write_atomic
from bench_core.protocols import Judge
from bench_core.records import Record
from bench_core.records.judge import JudgeCase, Verdict
from bench_core.run_folder import read_lines
from bench_core.seeded import seeded

R = TypeVar("R", bound=Record)

_CASES, _VERDICTS, _CHOSEN = "cases.jsonl", "verdicts.jsonl", "to_label.jsonl"


class LabelFiles:
    """The folder `labelling/` of a run or a rescore: every judged trial, and those to label.

    Args:
        folder: Gets `cases.jsonl`, `verdicts.jsonl` and `to_label.jsonl`, a case of `cases.jsonl` a line.
        budget: How many cases a person will label at most.
        seed: Draws them.
    """

    def __init__(self, folder: Path, budget: int, *, seed: int = 0) -> None:
        self.folder = folder
        self._budget = budget
        self._seed = seed

    def add(self, case: JudgeCase, verdict: Verdict) -> None:
        """Keep a judged case; each trial is a separate case."""
        trial = Path(case.state_path).absolute().parent if case.state_path else None
        name = case.case_id if trial is None else f"{case.case_id}/{trial.name}"
        update: dict[str, Any] = {"case_id": name}
        if trial is not None:  # found from wherever the labels are given
            update["state_path"] = str(trial / Path(str(case.state_path)).name)
        self.folder.mkdir(parents=True, exist_ok=True)
        for file, record in (
            (_CASES, case.model_copy(update=update)),
            (_VERDICTS, verdict.model_copy(update={"case_id": name})),
        ):
            with (self.folder / file).open("a", encoding="utf-8") as lines:
                lines.write(record.model_dump_json() + "\n")

    def choose(self, judge: Judge | None) -> tuple[str, ...]:
        """Write and return the cases to label: those the judge proposes if it can, else random ones."""
        cases = {each.case_id: each for each in self._read(_CASES, JudgeCase)}
        verdicts = list({each.case_id: each for each in self._read(_VERDICTS, Verdict)}.values())
        propose = getattr(judge, "next_to_label", None)
        if propose is not None:
            chosen = tuple(propose(verdicts, self._budget, seed=self._seed))
        else:
            drawn = seeded(self._seed)
            known = sorted(each.case_id for each in verdicts if each.outcome != "error")
            chosen = tuple(drawn.sample(known, min(self._budget, len(known))))
        if chosen:
            lines = "".join(cases[each].model_dump_json() + "\n" for each in chosen)
            write_atomic(self.folder / _CHOSEN, lines.encode("utf-8"))
        return chosen

    def _read(self, name: str, kind: type[R]) -> list[R]:
        # an interrupted run may leave half a line, whose trial is judged again
        return list(read_lines(self.folder / name, kind).records)
