from __future__ import annotations

import pickle
import typing
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

import bench_core.protocols
import bench_core.records
import bench_core.records.judge
from bench_core.agents.records import Decision
from bench_core.budgets import Spent
from bench_core.protocols import BrowserHandle, DesktopHandle, TrialContext, WorldInfo
from bench_core.records import (
    LARGEST_SCORE,
    AgentCode,
    AgentEnding,
    AgentOutcome,
    AgentTask,
    Artifact,
    ArtifactFile,
    Attempt,
    Check,
    ErrorInfo,
    Event,
    GitState,
    Integrity,
    IntegrityCode,
    IntegrityFinding,
    Limits,
    Record,
    Resource,
    RunInfo,
    Session,
    SessionOutcome,
    Spending,
    Status,
    Step,
    Task,
    TrialKey,
    TrialResult,
    Usage,
)
from bench_core.records.judge import CriterionVerdict, Evidence, JudgeCase, Verdict
from bench_core.records.vocabulary import FailureMode, SuspectCause
from bench_core.run_folder import RescoreInfo

SCORED = [Status.COMPLETED, Status.STEP_LIMIT, Status.TIME_LIMIT, Status.AGENT_ERROR]
UNSCORED = [
    Status.ENVIRONMENT_ERROR,
    Status.EVALUATION_ERROR,
    Status.BUDGET_EXCEEDED,
    Status.CANCELLED,
]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
counts = st.integers(0, 10**9)
amounts = st.floats(0, 1e9)
probabilities = st.floats(0, 1)
times = st.datetimes(timezones=st.just(timezone.utc), min_value=datetime(1980, 1, 1))  # noqa: DTZ001  # the strategy adds the zone
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)
artifacts = st.sampled_from(["log.txt", "screenshots/001.png", "a b/ü.json", "..hidden", "x..y"])


def tuples(inner: st.SearchStrategy, size: int = 3) -> st.SearchStrategy:
    return st.lists(inner, max_size=size).map(tuple)


def optional(inner: st.SearchStrategy) -> st.SearchStrategy:
    return st.none() | inner


limits = st.builds(Limits, max_steps=optional(st.integers(1, 99)), time_limit_s=optional(
    st.floats(0.001, 1e6)))  # fmt: skip
usages = st.builds(Usage, **dict.fromkeys(Usage.model_fields, counts))
errors = st.builds(
    ErrorInfo, kind=texts, message=texts, phase=optional(texts), traceback=optional(texts)
)
resources = st.builds(Resource, name=names, mode=st.sampled_from(["shared", "exclusive"]))
checks = st.builds(
    Check,
    criterion=texts,
    expected=json_values,
    actual=json_values,
    passed=optional(st.booleans()),
    reason=optional(texts),
)
attempts = st.builds(
    Attempt,
    number=st.integers(1, 9),
    status=st.sampled_from(Status),
    started=times,
    duration_s=amounts,
    error=optional(errors),
)
gits = st.builds(GitState, commit=texts, dirty=st.booleans())
sessions = st.builds(
    Session,
    started=times,
    finished=optional(times),
    outcome=st.sampled_from(typing.get_args(SessionOutcome)),
    pid=optional(st.integers(1, 99999)),
    host=optional(texts),
    command=tuples(texts),
    versions=st.dictionaries(texts, texts, max_size=2),
    git=optional(gits),
)
tasks = st.builds(
    Task,
    benchmark=names,
    task_id=names,
    goal=texts,
    groups=st.dictionaries(texts, tuples(texts), max_size=2),
    template=optional(texts),
    resources=tuples(resources),
    limits=limits,
    tags=tuples(texts),
    inputs=json_objects,
    config=json_objects,
)


spendings = st.builds(Spending, source=names, usage=usages, cost_usd=optional(amounts))
endings = st.builds(
    AgentEnding,
    status=st.sampled_from(SCORED),
    answer=json_values,
    flags=tuples(texts),
    error=optional(errors),
    details=json_objects,
)


@st.composite
def integrities(draw: st.DrawFn) -> Integrity:
    finding = st.builds(
        IntegrityFinding,
        code=st.sampled_from(IntegrityCode),
        outcome=st.sampled_from(["blocked", "succeeded", "unknown"]),
        count=st.integers(1, 99),
    )
    findings = draw(tuples(finding))
    state = "flagged" if findings else draw(st.sampled_from(["clean", "unknown"]))
    return Integrity(state=state, findings=findings)


@st.composite
def results(draw: st.DrawFn) -> TrialResult:
    status = draw(st.sampled_from(Status))
    finite = st.floats(-LARGEST_SCORE, LARGEST_SCORE)
    return TrialResult(
        benchmark=draw(names),
        task_id=draw(names),
        trial=draw(st.integers(1, 99)),
        agent=draw(texts),
        model=draw(optional(texts)),
        world=draw(st.sampled_from(["real", "built-in"])),
        status=status,
        score=draw(st.sampled_from([0.0, 0.5, 1.0]) | finite) if status.scored else None,
        confidence=draw(optional(probabilities)),
        checks=draw(tuples(checks)),
        flags=draw(tuples(texts)),
        steps=draw(counts),
        usage=draw(usages),
        cost_usd=draw(optional(amounts)),
        timings_s=draw(st.dictionaries(texts, amounts, max_size=2)),
        started=draw(optional(times)),
        attempts=draw(tuples(attempts)),
        artifacts=draw(tuples(st.builds(ArtifactFile, path=artifacts, size=optional(counts)))),
        error=draw(optional(errors)),
        failure_mode=draw(optional(st.sampled_from(FailureMode))),
        suspect=draw(tuples(st.sampled_from(SuspectCause))),
        integrity=draw(optional(integrities())),
        ending=draw(optional(endings)),
        spent=draw(tuples(spendings)),
        agent_code=draw(optional(st.builds(AgentCode, sha256=optional(texts)))),
        machine=draw(optional(texts)),
        sequence=draw(optional(st.integers(1, 99))),
        details=draw(json_objects),
    )


RECORDS: dict[type[Record], st.SearchStrategy] = {
    Task: tasks,
    TrialResult: results(),
    TrialKey: st.builds(TrialKey, task_id=names, trial=st.integers(1, 99)),
    AgentTask: tasks.map(Task.for_agent),
    AgentOutcome: st.builds(
        AgentOutcome,
        status=st.sampled_from(Status),
        answer=json_values,
        usage=usages,
        cost_usd=optional(amounts),
        error=optional(errors),
        details=json_objects,
    ),
    Step: st.builds(
        Step,
        step=st.integers(1, 99),
        started=optional(times),
        screenshot=optional(artifacts),
        actions=tuples(json_objects),
        results=tuples(texts),
        usage=optional(usages),
    ),
    Event: st.builds(Event, time=times, kind=names, trial=optional(st.integers(1, 9)),
                     data=json_objects),
    RunInfo: st.builds(
        RunInfo,
        run_id=names,
        benchmark=texts,
        agent=texts,
        config=json_objects,
        config_hash=texts,
        task_set_hash=texts,
        git=optional(gits),
        prices=tuples(json_objects),
        started=times,
        finished=optional(times),
        sessions=tuples(sessions),
    ),
    RescoreInfo: st.builds(RescoreInfo, rescore_id=names, run_id=texts, config=json_objects,
                           started=times, finished=optional(times)),
    JudgeCase: st.builds(JudgeCase, case_id=names, goal=texts, state=json_values,
                         actions=tuples(json_objects), agent_answer=json_values),
    Verdict: st.builds(
        Verdict,
        case_id=texts,
        judge=texts,
        outcome=st.sampled_from(["pass", "fail", "abstain", "void", "error"]),
        criteria=tuples(
            st.builds(
                CriterionVerdict,
                criterion_id=texts,
                evidence=tuples(st.builds(Evidence, pointer=optional(texts))),
                verdict=st.sampled_from(["pass", "fail", "unknown"]),
            )
        ),
        confidence=optional(probabilities),
        usage=usages,
    ),
    BrowserHandle: st.builds(BrowserHandle, cdp_url=texts, start_urls=tuples(texts)),
    DesktopHandle: st.builds(DesktopHandle, url=texts, screen=optional(
        st.tuples(st.integers(1, 9999), st.integers(1, 9999)))),
    WorldInfo: st.builds(WorldInfo, name=texts, urls=st.dictionaries(texts, texts, max_size=2),
                         startup_s=amounts),
    TrialContext: st.builds(TrialContext, run_id=texts, folder=st.just("runs/1"), config=json_objects),
}  # fmt: skip
ANY_RECORD = st.one_of(*RECORDS.values())


def all_records() -> list[type[Record]]:
    modules = (bench_core.records, bench_core.protocols, bench_core.records.judge)
    found = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Record) and value is not Record
    }
    return sorted(found, key=lambda each: each.__name__)


@given(ANY_RECORD)
def test_json_round_trip_law(record: Record) -> None:
    assert type(record).model_validate_json(record.model_dump_json()) == record


@given(ANY_RECORD)
def test_pickle_round_trip_law(record: Record) -> None:
    assert pickle.loads(pickle.dumps(record)) == record  # noqa: S301  # made here


@pytest.mark.parametrize("record", all_records(), ids=lambda each: each.__name__)
def test_every_record_forbids_unknown_fields_and_is_frozen(record: type[Record]) -> None:
    assert record.model_config["extra"] == "forbid"
    assert record.model_config["frozen"] is True


def test_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="colour"):
        TrialKey.model_validate({"task_id": "1", "colour": "red"})


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        TrialKey(task_id="1").trial = 2


def minimal(status: Status, **fields: object) -> TrialResult:
    return TrialResult(benchmark="b", task_id="1", agent="a", status=status, **fields)


SCORES = st.floats(-LARGEST_SCORE, LARGEST_SCORE)


@given(st.sampled_from(SCORED), SCORES)
def test_success_is_the_score_reaching_one(status: Status, score: float) -> None:
    assert minimal(status, score=score).success is (score >= 1.0)


@given(st.sampled_from(UNSCORED), SCORES)
def test_an_unscored_status_never_carries_a_score(status: Status, score: float) -> None:
    assert minimal(status).success is None
    with pytest.raises(ValidationError, match="forbids a score"):
        minimal(status, score=score)


@pytest.mark.parametrize("status", SCORED)
def test_a_scored_status_needs_a_score(status: Status) -> None:
    with pytest.raises(ValidationError, match="needs a score"):
        minimal(status)


@pytest.mark.parametrize(
    "score",
    [float("nan"), float("inf"), "good", 1e308, -1e101, 10**400],
    ids=["nan", "infinite", "text", "too large", "too small", "no float"],
)
def test_a_score_is_a_finite_number(score: object) -> None:
    with pytest.raises(ValidationError):
        minimal(Status.COMPLETED, score=score)


@pytest.mark.parametrize(("score", "success"), [(1.0, False), (0.0, True), (0.5, None)])
def test_success_against_the_score_is_refused(score: float, success: object) -> None:
    with pytest.raises(ValidationError, match="success must be"):
        minimal(Status.COMPLETED, score=score, success=success)


def test_success_is_written_even_where_it_was_derived() -> None:
    dumped = minimal(Status.COMPLETED, score=1.0).model_dump(exclude_unset=True)
    assert dumped["success"] is True


@given(ANY_RECORD)
def test_which_fields_were_stated_is_each_records_own_matter(record: Record) -> None:
    whole = type(record).model_validate_json(record.model_dump_json())
    assert whole.model_fields_set == set(type(record).model_fields)
    assert record.model_dump(exclude_unset=True).keys() == record.model_fields_set
    assert whole.model_copy(update={}).model_fields_set == whole.model_fields_set


def test_a_record_copied_with_less_leaves_others_alone() -> None:
    whole, other = Usage(**dict.fromkeys(Usage.model_fields, 1)), Usage(requests=1)
    whole.model_copy(update={}).model_fields_set.clear()
    assert whole.model_fields_set == set(Usage.model_fields)
    assert other.model_fields_set == {"requests"}


@pytest.mark.parametrize("status", Status)
def test_a_status_can_be_looked_up_by_its_text(status: Status) -> None:
    assert {status.value: 1}[status] == 1


@pytest.mark.parametrize("status", Status)
def test_scored_and_evaluation_errors_are_done(status: Status) -> None:
    assert status.done is (status in SCORED or status is Status.EVALUATION_ERROR)
    assert status.scored is (status in SCORED)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../other/log.txt",
        "a/../../b",
        "..",
        "a\\b",
        "C:\\x",
        "C:x",
        "\\\\host\\x",
        "a\0b",
    ],
)
def test_artifact_paths_that_leave_the_folder_are_refused(path: str) -> None:
    with pytest.raises(ValidationError, match="must be a relative POSIX path"):
        TypeAdapter(Artifact).validate_python(path)


@given(artifacts)
def test_artifact_paths_inside_the_folder_stay_as_they_are(path: str) -> None:
    assert TypeAdapter(Artifact).validate_python(path) == path


def test_an_agent_never_sees_the_benchmarks_own_definition() -> None:
    task = Task(benchmark="b", task_id="1", goal="g", inputs={"url": "u"}, config={"answer": 42})
    assert "42" not in task.for_agent().model_dump_json()
    assert task.for_agent().inputs == {"url": "u"}


@given(usages, usages, usages)
def test_usage_adds_like_numbers(a: Usage, b: Usage, c: Usage) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Usage() == a
    assert (a + b).total_tokens == a.total_tokens + b.total_tokens


@pytest.mark.parametrize(
    ("outcome", "passed"),
    [("pass", True), ("fail", False), ("abstain", None), ("void", None), ("error", None)],
)
def test_only_pass_and_fail_are_verdicts_on_the_agent(outcome: str, passed: object) -> None:
    assert Verdict(case_id="1", judge="j", outcome=outcome).passed is passed


def test_a_context_counts_on_the_meter_it_was_given() -> None:
    class Meter:
        spent = Usage()

        def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
            self.spent += usage

    meter = Meter()
    context = TrialContext(run_id="r", folder="f")
    context.with_meter(meter).meter.spend(Usage(requests=2))
    context.meter.spend(Usage(requests=5))
    assert context.with_meter(meter) == context
    assert meter.spent == Usage(requests=2)


def test_a_time_keeps_its_zone_in_json() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    event = Event(time=datetime(2026, 3, 1, 12, tzinfo=zone), kind="x")
    assert Event.model_validate_json(event.model_dump_json()).time.utcoffset() == timedelta(
        hours=5, minutes=30
    )


@pytest.mark.parametrize(
    "cost", [float("inf"), float("nan"), -0.1, 1e30], ids=["infinite", "nan", "negative", "absurd"]
)
@pytest.mark.parametrize(
    "record", [AgentOutcome, Spending, Spent, Decision], ids=lambda each: each.__name__
)
def test_costs_that_no_call_can_have_are_refused_where_records_are_made(
    record: Any, cost: float
) -> None:
    given = {"source": "agent"} if record is Spending else {}
    with pytest.raises(ValidationError):
        record(cost_usd=cost, **given)


@pytest.mark.parametrize("name", Usage.model_fields)
@pytest.mark.parametrize("number", [10**30, -1], ids=["absurd", "negative"])
def test_counts_of_tokens_that_no_call_can_have_are_refused(name: str, number: int) -> None:
    with pytest.raises(ValidationError):
        Usage(**{name: number})


@pytest.mark.parametrize(
    ("verdict", "given", "kind"),
    [
        ("pass", {}, "opinion"),
        ("fail", {}, "opinion"),
        ("unknown", {}, "unknown"),
        ("pass", {"kind": "proven"}, "proven"),
        ("fail", {"kind": "supported"}, "supported"),
    ],
)
def test_verdict_on_a_criterion_says_what_it_rests_on(
    verdict: str, given: dict[str, Any], kind: str
) -> None:
    assert CriterionVerdict(criterion_id="c1", verdict=verdict, **given).kind == kind


@pytest.mark.parametrize(("verdict", "kind"), [("pass", "unknown"), ("unknown", "proven")])
def test_unknown_verdict_is_of_no_other_kind(verdict: str, kind: str) -> None:
    with pytest.raises(ValidationError, match=f"'{verdict}' cannot be of the kind '{kind}'"):
        CriterionVerdict(criterion_id="c1", verdict=verdict, kind=kind)


def test_screenshots_of_a_case_may_be_paths() -> None:
    case = JudgeCase(goal="", screenshots=["s1.png", {"path": "s2.png", "label": "the end"}])
    assert [(each.path, each.label) for each in case.screenshots] == [
        ("s1.png", ""),
        ("s2.png", "the end"),
    ]
