from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from test_support.scripted_judges import honest

from bench_core.budgets import Budget
from bench_core.errors import InputError, RecordError
from bench_core.models import Model, ModelError, ScriptedAdapter
from llm_judge import Judge, JudgePolicy, judge_many
from llm_judge.batch import BatchResult, read_verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.models import ModelRequest
    from bench_core.records.judge import JudgeCase


def many(case: JudgeCase, count: int) -> list[JudgeCase]:
    return [case.model_copy(update={"case_id": f"case-{n}"}) for n in range(count)]


def spending(request: ModelRequest) -> dict[str, Any]:
    return {**honest(request), "usage": {"input_tokens": 90, "output_tokens": 10}}


def run(
    cases: list[JudgeCase], out: Path | None, script: Any = spending, **options: Any
) -> BatchResult:
    policy = options.pop("policy", None)
    judge = Judge(Model(ScriptedAdapter(script)), policy=policy)
    return asyncio.run(judge_many(judge, cases, out=out, **options))


def test_verdicts_come_in_the_order_of_the_cases(case: JudgeCase, tmp_path: Path) -> None:
    result = run(many(case, 9), tmp_path / "v.jsonl", workers=4)
    assert [each.case_id for each in result.verdicts] == [f"case-{n}" for n in range(9)]
    assert result.spent.usage.total_tokens == 900


def test_what_is_judged_is_not_judged_again(case: JudgeCase, tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    run(many(case, 3), out)
    again = run(many(case, 5), out)
    assert (again.resumed, len(again.verdicts)) == (3, 5)
    assert len(out.read_text().splitlines()) == 5


def test_another_state_or_policy_is_judged_again(case: JudgeCase, tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    run([case], out)
    assert run([case], out, policy=JudgePolicy(chars=9_000)).resumed == 0
    changed = json.loads(json.dumps(case.state))
    changed["tablely"]["finalstate"]["bookings"][1]["guests"] = 4
    assert run([case.model_copy(update={"state": changed})], out).resumed == 0


def test_errors_are_judged_again(case: JudgeCase, tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    down = ModelError("auth", "no", provider="scripted")
    first = run([case], out, script=lambda _: down)
    assert first.verdicts[0].outcome == "error"
    second = run([case], out)
    assert (second.resumed, second.verdicts[0].outcome) == (0, "pass")
    assert [each.outcome for each in read_verdicts(out)] == ["pass"]


def test_a_case_that_cannot_be_read_does_not_stop_the_others(
    case: JudgeCase, tmp_path: Path
) -> None:
    missing = case.model_copy(
        update={"case_id": "gone", "state": None, "state_path": str(tmp_path / "gone.json")}
    )
    result = run([missing, case], tmp_path / "v.jsonl")
    assert [each.outcome for each in result.verdicts] == ["error", "pass"]
    assert "there is no such file" in result.verdicts[0].reasoning


def test_a_spent_budget_leaves_the_rest_for_later(case: JudgeCase, tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    first = run(many(case, 6), out, workers=1, budget=Budget(max_tokens=250))
    assert first.stopped_by is not None
    assert len(first.left) == 3
    second = run(many(case, 6), out, workers=1, budget=Budget(max_tokens=250))
    assert len(second.left) == 4, "what was spent before counts"
    third = run(many(case, 6), out, workers=1)
    assert (third.left, third.resumed) == ((), 2)


def test_a_torn_last_line_is_judged_again(case: JudgeCase, tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    run(many(case, 2), out)
    out.write_bytes(out.read_bytes()[:-40])
    assert run(many(case, 2), out).resumed == 1
    assert len(read_verdicts(out)) == 2


def test_a_damaged_line_is_named(case: JudgeCase, tmp_path: Path) -> None:
    out = tmp_path / "v.jsonl"
    run(many(case, 2), out)
    out.write_text('{"no": "verdict"}\n' + out.read_text())
    with pytest.raises(RecordError, match="line 1 is damaged"):
        run(many(case, 2), out)


def test_case_ids_must_differ(case: JudgeCase) -> None:
    with pytest.raises(InputError, match="case ids must differ: table"):
        run([case, case], None)
