from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import BudgetExceededError, EvaluationError
from bench_core.records import ErrorInfo, Status, Usage
from bench_core.records.judge import CriterionVerdict, Verdict
from bench_core.run_folder import TrialArtifacts
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.definitions import Definition
from multireal_harness.evaluation import Evaluation, EvaluationRules, StateEvidence, evaluate
from multireal_harness.tasks import task_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench_core.records.judge import JudgeCase

MAIL = {"differences": {"emails": {"added": [{"subject": "Hi", "sent": True}]}}}
QUERY = "length(mail.differences.emails.added[?sent]) >= `1`"


class Saying:
    """A judge with a given outcome, and given verdicts on the criteria where there are any."""

    name = "saying"

    def __init__(self, outcome: Any, *criteria: Any) -> None:
        self.cases: list[JudgeCase] = []
        self._outcome = outcome
        self._criteria = criteria

    async def judge(self, case: JudgeCase) -> Verdict:
        self.cases.append(case)
        error = ErrorInfo(kind="ModelError", message="no key") if self._outcome == "error" else None
        return Verdict(
            case_id=case.case_id,
            judge=self.name,
            outcome=self._outcome,
            criteria=tuple(
                CriterionVerdict(criterion_id=one.id, reason="seen", verdict=verdict)
                for one, verdict in zip(case.criteria, self._criteria, strict=False)
            ),
            error=error,
            usage=Usage(requests=1),
            cost_usd=0.5,
        )


async def scored(
    folder: Path, definition: dict[str, Any], judge: Saying | None = None, **options: Any
) -> Evaluation:
    evidence = StateEvidence(
        states=options.pop("states", {"mail": MAIL, "calendar": {}}),
        health=options.pop("health", "healthy"),
        folder=folder,
        answer=options.pop("answer", None),
        timezone=options.pop("timezone", None),
    )
    task = task_of(Definition.model_validate(definition), options.pop("tasks", None))
    return await evaluate(task, evidence, EvaluationRules(judge=judge, **options))


async def test_judge_is_not_asked_when_all_queries_pass(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    judge = Saying("fail")
    found = await scored(tmp_path, a_task(), judge)
    assert (found.score, found.method, found.confidence) == (1.0, "jmespath", "high")
    assert judge.cases == []
    assert found.official == {"points": 2, "reward": 2}


async def test_judge_is_not_asked_about_incomplete_states(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    judge = Saying("pass")
    found = await scored(tmp_path, a_task(), judge, states={"mail": {}}, health="incomplete")
    assert judge.cases == []
    assert (found.score, found.status, found.verdict) == (None, Status.ENVIRONMENT_ERROR, None)


def test_rules_are_named_after_whose_queries_they_use() -> None:
    assert EvaluationRules().profile == "official"
    assert EvaluationRules(queries="fixed").profile == "fixed"
    assert EvaluationRules(match="strict").profile == "official-strict"


async def test_failed_query_asks_the_judge_about_the_stored_state(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    judge = Saying("pass")
    TrialArtifacts(tmp_path).write_state({"mail": {}})
    found = await scored(tmp_path, a_task(), judge, states={"mail": {}, "calendar": {}})
    assert (found.score, found.method, found.flags) == (1.0, "llm_judge", ("disagree",))
    case = judge.cases[0]
    assert case.state_path == str(tmp_path / "finish_state.json.gz")
    assert [each.text for each in case.criteria] == ["Verify a mail was sent."]


@pytest.mark.parametrize("outcome", ["abstain", "void", "error"])
async def test_judge_that_could_not_answer_is_no_failure_of_the_agent(
    outcome: str, a_task: Callable[..., Any], tmp_path: Path
) -> None:
    found = await scored(tmp_path, a_task(), Saying(outcome), states={"mail": {}})
    assert (found.score, found.status) == (None, Status.EVALUATION_ERROR)
    assert found.error is not None


async def test_audited_pass_that_the_judge_refuses_keeps_its_score_and_is_flagged(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    found = await scored(tmp_path, a_task(), Saying("fail"), audit=1.0)
    assert (found.score, found.confidence, found.flags) == (1.0, "low", ("disagree",))


async def test_earlier_judgement_is_taken_again_without_asking(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    known = Verdict(case_id="x", judge="earlier", outcome="fail")
    evidence = StateEvidence({"mail": MAIL}, "healthy", tmp_path, known=known)
    task = task_of(Definition.model_validate(a_task()))
    found = await evaluate(task, evidence, EvaluationRules())
    assert (found.score, found.flags) == (1.0, ("disagree",))


async def test_calls_of_the_judge_count_against_the_budget(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    class Counting:
        def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
            raise BudgetExceededError("spent")

    class Metered(Saying):
        async def judge(self, case: JudgeCase, meter: Any = None) -> Verdict:
            meter.spend(Usage(requests=1))
            return await super().judge(case)

    evidence = StateEvidence({"mail": {}}, "healthy", tmp_path, meter=Counting())
    task = task_of(Definition.model_validate(a_task()))
    with pytest.raises(BudgetExceededError):
        await evaluate(task, evidence, EvaluationRules(judge=Metered("pass")))


async def test_judge_that_takes_no_meter_is_paid_for_by_what_its_verdict_says(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    class Kept:
        def __init__(self) -> None:
            self.spent: list[tuple[Usage, float | None]] = []

        def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
            self.spent.append((usage, cost_usd))

        def of(self, source: str) -> Kept:
            return self

    meter = Kept()
    evidence = StateEvidence({"mail": {}}, "healthy", tmp_path, meter=meter)
    task = task_of(Definition.model_validate(a_task(evals=[*a_task()["evals"], RUBRIC])))
    await evaluate(task, evidence, EvaluationRules(judge=Saying("pass")))
    assert meter.spent == [(Usage(requests=1), 0.5)] * 2


async def test_both_scores_are_recorded_where_a_query_has_a_rewrite(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    broken = "mail.differences.emails.added[?sent][0].subject == 'Hi'"
    task = a_task(evals=[{"query": broken, "expected_value": True, "description": "Verify."}])
    found = await scored(tmp_path, task)
    assert (found.score, found.confidence, found.flags) == (0.0, "low", ("defective_queries",))
    assert found.fixed == {"score": 1.0, "passed": [True], "rewritten": [0]}
    by_rewritten = await scored(tmp_path, task, queries="fixed")
    assert by_rewritten.score == 1.0
    incomplete = await scored(tmp_path, task, health="incomplete")
    assert (incomplete.score, incomplete.fixed) == (None, None)


async def test_states_of_one_app_are_queried_without_its_name(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    one = {"website": {"id": "mail"}, "websites": None, "version": "v1"}
    query = {"query": "differences.emails.added[0].subject", "expected_value": "Hi"}
    found = await scored(tmp_path, a_task(**one, evals=[query]), states={"mail": MAIL})
    assert found.score == 1.0


@pytest.mark.parametrize(
    ("source", "score"),
    [
        ("import json, sys\nprint('SUCCESS' if json.load(open(sys.argv[1]))['differences'] else 'FAILURE')", 1.0),
        ("print('FAILURE')", 0.0),
        ("import os\nprint('SUCCESS' if 'HOME' in os.environ else 'FAILURE')", 0.0),
    ],
)  # fmt: skip
async def test_script_decides_from_the_state_file_alone(
    source: str, score: float, a_task: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "eval_1.py").write_text(source)
    one = {"website": {"id": "mail"}, "websites": None, "version": "v2"}
    task = a_task(**one, evals=[{"script": "eval_1.py"}])
    found = await scored(tmp_path, task, states={"mail": MAIL}, tasks=tmp_path)
    assert found.score == score


ON_NULL = "import json, sys\nprint(len(json.load(open(sys.argv[1]))['differences']))"
"""What 15 of v2's scripts do where nothing has changed."""


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("raise SystemExit(3)", "exit code 3"),
        ("1 / 0", "ZeroDivisionError"),
        (ON_NULL, "TypeError: object of type 'NoneType' has no len()"),
        ("import sys\nsys.exit('no such order')", "no such order"),
    ],
)
async def test_script_that_fails_on_the_state_is_not_satisfied(
    source: str, why: str, a_task: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "eval_1.py").write_text(source)
    one = {"website": {"id": "mail"}, "websites": None}
    task = a_task(**one, evals=[{"script": "eval_1.py"}])
    found = await scored(tmp_path, task, states={"mail": {"differences": None}}, tasks=tmp_path)
    assert (found.score, found.checks[0].passed) == (0.0, False)
    assert why in str(found.checks[0].reason)


@pytest.mark.parametrize(
    "source",
    [
        "x = ' ' * (3 * 1024**3)",
        "import no_such_module",
        "def broken(:",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    ],
)
async def test_script_that_cannot_be_run_leaves_no_score(
    source: str, a_task: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "eval_1.py").write_text(source)
    one = {"website": {"id": "mail"}, "websites": None}
    task = a_task(**one, evals=[{"script": "eval_1.py"}])
    with pytest.raises(EvaluationError, match=r"eval_1\.py"):
        await scored(tmp_path, task, states={"mail": MAIL}, tasks=tmp_path)


async def test_answer_is_graded_by_the_rubric_and_not_by_the_title(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    one = {"website": {"id": "mail"}, "websites": None, "version": "v1"}
    rubric = "Does the answer state that the price is $4,985,000?"
    asked = {"type": "llm_boolean", "description": "found correct price", "rubric": rubric}
    judge = Saying("pass")
    found = await scored(tmp_path, a_task(**one, evals=[asked]), judge, answer="4.985 million")
    assert [each.text for each in judge.cases[0].criteria] == [rubric]
    assert found.checks[0].criterion == rubric


async def test_judge_is_told_what_a_query_expects_and_the_time_zone_of_the_apps(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    evals = [
        {"query": "mail.at", "expected_value": "2024-07-18T20:00:00.000Z", "description": "correct start time"},
        {"query": "mail.sent", "expected_value": True, "description": "Sent."},
    ]  # fmt: skip
    judge = Saying("fail")
    await scored(tmp_path, a_task(evals=evals), judge, timezone="America/Denver")
    assert [each.text for each in judge.cases[0].criteria] == [
        'correct start time (expected value: "2024-07-18T20:00:00.000Z")',
        "Sent.",
    ]
    assert judge.cases[0].timezone == "America/Denver"
    await scored(tmp_path, a_task(evals=evals), judge)
    assert "timezone" not in judge.cases[1].metadata


async def test_answer_in_words_is_graded_by_the_judge(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    one = {"website": {"id": "mail"}, "websites": None, "version": "v1"}
    task = a_task(**one, evals=[{"type": "llm_boolean", "rubric": "Are there 17 unread mails?"}])
    judge = Saying("pass")
    found = await scored(tmp_path, task, judge, states={"mail": MAIL}, answer="17")
    assert (found.score, found.method) == (1.0, "llm_judge")
    assert judge.cases[0].agent_answer == "17"
    refused = await scored(tmp_path, task, Saying("fail"), states={"mail": MAIL}, answer="16")
    assert refused.score == 0.0
    undecided = await scored(tmp_path, task, Saying("error"), states={"mail": MAIL}, answer="?")
    assert (undecided.score, undecided.status) == (None, Status.EVALUATION_ERROR)
    with pytest.raises(EvaluationError, match="--judge"):
        await scored(tmp_path, task, states={"mail": MAIL})


async def test_task_without_evals_cannot_be_scored(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    with pytest.raises(EvaluationError, match="no evals"):
        await scored(tmp_path, a_task(evals=[]))


GRADED = {"type": "llm_boolean", "rubric": "Are there 17 unread mails?"}
COUNTED = {"query": QUERY, "expected_value": True, "description": "Sent."}


@pytest.mark.parametrize(
    ("evals", "judge", "said"),
    [
        pytest.param([], Saying("pass"), "1 of 1 tasks have no evals", id="no-evals"),
        pytest.param([COUNTED, GRADED], None, "name who grades it with --judge", id="no-judge"),
        pytest.param([COUNTED, GRADED], Saying("pass"), None, id="judge"),
        pytest.param([COUNTED], None, None, id="query"),
    ],
)
def test_tasks_that_could_get_no_score_are_told_before_they_run(
    evals: list[Any], judge: Saying | None, said: str | None, a_task: Callable[..., Any]
) -> None:
    task = task_of(Definition.model_validate(a_task(evals=evals)))
    benchmark = MultiRealBenchmark([task], rules=EvaluationRules(judge=judge))
    found = benchmark.unscored([task])
    assert (found is None) is (said is None)
    assert (said or "") in (found or "")


TWO = [
    {"query": QUERY, "expected_value": True, "description": "Sent."},
    {"query": "length(calendar.events) >= `1`", "expected_value": True, "description": "Planned."},
]
BOTH_DONE = {"mail": MAIL, "calendar": {"events": [1]}}
SENT = {"mail": MAIL, "calendar": {"events": []}}


def decisions_of(found: Evaluation) -> list[tuple[str, str | None, bool | None]]:
    return [(each.criterion, each.decided_by, each.passed) for each in found.checks]


@pytest.mark.parametrize(
    ("states", "judge", "checks"),
    [
        (SENT, None, [("Sent.", "query", True), ("Planned.", "query", False)]),
        (
            SENT,
            Saying("pass", "pass", "pass"),
            [("Sent.", "both", True), ("Planned.", "query", False), ("Planned.", "judge", True)],
        ),
        (
            SENT,
            Saying("fail", "fail", "fail"),
            [("Sent.", "query", True), ("Sent.", "judge", False), ("Planned.", "both", False)],
        ),
        (
            SENT,
            Saying("abstain", "unknown", "pass"),
            [
                ("Sent.", "query", True),
                ("Sent.", "judge", None),
                ("Planned.", "query", False),
                ("Planned.", "judge", True),
            ],
        ),
        (
            SENT,
            Saying("pass"),
            [("Sent.", "query", True), ("Planned.", "query", False), ("the task", "judge", True)],
        ),
        (
            SENT,
            Saying("error"),
            [("Sent.", "query", True), ("Planned.", "query", False), ("the task", "judge", None)],
        ),
        (
            SENT,
            Saying("pass", "pass", "fail"),  # its outcome is not what its criteria say
            [("Sent.", "query", True), ("Planned.", "query", False), ("the task", "judge", True)],
        ),
        (BOTH_DONE, Saying("pass"), [("Sent.", "query", True), ("Planned.", "query", True)]),
    ],
    ids=[
        "no-judge", "lifted", "confirmed", "abstained", "outcome-only", "failed", "contradiction",
        "not-asked",
    ],
)  # fmt: skip
async def test_each_check_says_what_decided_it(
    states: Any, judge: Any, checks: Any, a_task: Callable[..., Any], tmp_path: Path
) -> None:
    found = await scored(tmp_path, a_task(evals=TWO), judge, states=states)
    assert decisions_of(found) == checks


async def test_a_check_that_both_decide_has_the_judges_reason(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    agreed = Saying("fail", "fail", "fail")
    found = await scored(tmp_path, a_task(evals=TWO), agreed, states=SENT)
    assert [(each.decided_by, each.reason) for each in found.checks] == [
        ("query", None),
        ("judge", "seen"),
        ("both", "seen"),
    ]


async def test_script_says_that_it_decided(a_task: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "eval_1.py").write_text("print('SUCCESS')")
    one = {"website": {"id": "mail"}, "websites": None, "version": "v2"}
    task = a_task(**one, evals=[{"script": "eval_1.py"}])
    found = await scored(tmp_path, task, states={"mail": MAIL}, tasks=tmp_path)
    assert decisions_of(found) == [("eval_1.py", "script", True)]


RUBRIC = {"type": "llm_boolean", "rubric": "Is it the right person?"}


@pytest.mark.parametrize(
    ("mail", "grade", "score", "status", "flags"),
    [
        (MAIL, "pass", 1.0, None, ()),
        (MAIL, "fail", 0.0, None, ()),
        (MAIL, "abstain", None, Status.EVALUATION_ERROR, ("judge_abstained",)),
        (MAIL, "error", None, Status.EVALUATION_ERROR, ("judge_error",)),
        ({}, "fail", 0.0, None, ()),
    ],
    ids=["pass", "fail", "abstain", "error", "query-fails-too"],
)
async def test_answers_grade_decides_with_the_queries(
    mail: Any,
    grade: str,
    score: float | None,
    status: Status | None,
    flags: tuple[str, ...],
    a_task: Callable[..., Any],
    tmp_path: Path,
) -> None:
    task = a_task(evals=[RUBRIC, TWO[0]])
    states = {"mail": mail, "calendar": {}}
    found = await scored(tmp_path, task, Saying(grade), states=states, answer="Ann")
    assert (found.score, found.status, found.flags) == (score, status, flags)
    assert found.method == "hybrid"
    assert decisions_of(found)[-1] == (
        "Is it the right person?",
        "judge",
        {"pass": True, "fail": False}.get(grade),
    )
    assert found.grades["0"].cost_usd == 0.5


async def test_unknown_grade_does_not_matter_where_a_query_failed(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    class Undecided(Saying):
        async def judge(self, case: JudgeCase) -> Verdict:
            outcome: Any = "fail" if case.state is None else "abstain"
            return Verdict(case_id=case.case_id, judge="undecided", outcome=outcome)

    found = await scored(
        tmp_path, a_task(evals=[RUBRIC, TWO[0]]), Undecided("fail"), states={"mail": {}}
    )
    assert (found.score, found.status) == (0.0, None)


async def test_grades_made_before_are_taken_again(
    a_task: Callable[..., Any], tmp_path: Path
) -> None:
    task = task_of(Definition.model_validate(a_task(evals=[TWO[0], RUBRIC])))
    grades = {"1": Verdict(case_id="x", judge="earlier", outcome="fail")}
    evidence = StateEvidence({"mail": MAIL, "calendar": {}}, "healthy", tmp_path, grades=grades)
    found = await evaluate(task, evidence, EvaluationRules())
    assert (found.score, found.status) == (0.0, None)
    assert decisions_of(found)[-1] == ("Is it the right person?", "judge", False)


class OpenJudge:
    """A judge with connections to close."""

    name = "open"

    def __init__(self) -> None:
        self.closed = 0

    async def judge(self, case: JudgeCase) -> Verdict:
        return Verdict(case_id=case.case_id, judge=self.name, outcome="pass")

    async def aclose(self) -> None:
        self.closed += 1


async def test_a_benchmark_that_is_closed_closes_its_judge() -> None:
    judge = OpenJudge()
    await MultiRealBenchmark([], rules=EvaluationRules(judge=judge)).close()
    assert judge.closed == 1
