"""Which judged trials a person is asked to label."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.records.judge import Criterion, JudgeCase, Verdict
from multireal_harness.cli import main
from multireal_harness.label_files import LabelFiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class Proposing:
    name = "proposing"

    async def judge(self, case: JudgeCase) -> Verdict:
        return Verdict(case_id=case.case_id, judge=self.name, outcome="pass")

    def next_to_label(
        self, verdicts: Sequence[Verdict], count: int, *, seed: int = 0
    ) -> tuple[str, ...]:
        del seed
        return tuple(sorted(each.case_id for each in verdicts)[:count])


def judged(folder: Path, labels: LabelFiles, number: int) -> None:
    for n in range(number):
        case = JudgeCase(
            case_id="mail-1",
            goal="Send a mail",
            criteria=(Criterion(id="c1", text="A mail was sent."),),
            state_path=str(folder / f"mail-1-{n}" / "finish_state.json.gz"),
        )
        labels.add(case, Verdict(case_id="mail-1", judge="j", outcome="pass"))


def chosen_in(folder: Path) -> list[Any]:
    return [json.loads(each) for each in (folder / "to_label.jsonl").read_text().splitlines()]


def test_the_judge_proposes_and_each_trial_is_a_case_of_its_own(tmp_path: Path) -> None:
    labels = LabelFiles(tmp_path / "labelling", 2)
    judged(tmp_path, labels, 4)
    assert labels.choose(Proposing()) == ("mail-1/mail-1-0", "mail-1/mail-1-1")
    assert [each["case_id"] for each in chosen_in(labels.folder)] == [
        "mail-1/mail-1-0",
        "mail-1/mail-1-1",
    ]


def test_other_judges_have_some_drawn_by_seed(tmp_path: Path) -> None:
    labels = LabelFiles(tmp_path / "labelling", 3, seed=2)
    judged(tmp_path, labels, 9)
    chosen = labels.choose(None)
    assert len(set(chosen)) == 3
    assert labels.choose(None) == chosen
    assert len(LabelFiles(labels.folder, 20).choose(None)) == 9


def test_a_trial_judged_again_counts_once_and_a_torn_line_not_at_all(tmp_path: Path) -> None:
    labels = LabelFiles(tmp_path / "labelling", 9)
    judged(tmp_path, labels, 3)
    judged(tmp_path, labels, 3)
    with (labels.folder / "verdicts.jsonl").open("a", encoding="utf-8") as lines:
        lines.write('{"case_id": "torn"')
    assert len(labels.choose(Proposing())) == 3


def test_nothing_was_judged(tmp_path: Path) -> None:
    labels = LabelFiles(tmp_path / "labelling", 9)
    assert labels.choose(Proposing()) == ()
    assert not (labels.folder / "to_label.jsonl").exists()


@pytest.mark.browser
def test_run_and_rescore_list_what_to_label(tmp_path: Path) -> None:
    judge = ["--judge", "multireal_harness.demo:CountingJudge", "--audit-passes", "1"]
    out = tmp_path / "run"
    given = ["--world", "built-in", "--agent", "scripted", "-t", "dining-mail-2", "--out", out]
    run = ["run", *given, *judge, "--label-budget", "5"]
    assert CliRunner().invoke(main, [str(each) for each in run]).exit_code == 0
    (chosen,) = chosen_in(out / "labelling")
    assert chosen["case_id"].startswith("dining-mail-2/")
    again = ["rescore", out, "--name", "again", *judge, "--label-budget", "5"]
    result = CliRunner().invoke(main, [str(each) for each in again], catch_exceptions=False)
    assert "1 trials to label" in result.output
    assert chosen_in(out / "rescores" / "again" / "labelling") == [chosen]
