"""The report as data: the contents of `report.json`, which every other format shows.

Rates are fractions of one, money is US dollars, times are seconds. A figure that cannot be given
is `None` (null in JSON), and a field next to it has the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, FiniteFloat, NonNegativeInt, PositiveInt

from bench_core.records import IntegrityFinding, Record, RunInfo, Status, TrialKey
from bench_core.records.vocabulary import VerdictKind
from bench_core.statistics import (
    Accuracy,
    Calibration,
    CorrectedRate,
    Distribution,
    Dominance,
    Drift,
    Interval,
    Items,
    Leaderboard,
    Look,
    Noise,
    Summary,
)

RunState = Literal["running", "interrupted", "finished"]
"""Whether a run is still being written, was left unfinished, or has every planned result."""

_STAND_INS = {"built-in", "wine"}
_Fraction = Annotated[float, Field(ge=0, le=1)]


class Effort(Record):
    """The resources that trials used, scored or not."""

    steps: Distribution
    tokens: Distribution
    cost_usd: Distribution
    time_s: Distribution


class SliceEffort(Record):
    """The resources that the trials of one slice used, e.g. those of the site `gitlab`."""

    group: str
    value: str
    effort: Effort


@dataclass(slots=True)
class TrialRow:
    """One trial, without its evidence; `folder` is where that is, relative to the report.

    No `Record`, and not frozen: there may be a hundred thousand, and results were checked already.
    """

    __pydantic_config__ = ConfigDict(
        extra="forbid",
        json_schema_extra={  # pydantic's own depends on its version
            "description": "One trial, without its evidence; `folder` is where that is, relative to the report."
        },
    )

    task_id: str
    trial: PositiveInt
    status: Status
    score: FiniteFloat | None = None
    success: bool | None = None
    failure_mode: str | None = None
    method: str | None = None
    confidence: float | None = None
    flags: tuple[str, ...] = ()
    suspect: tuple[str, ...] = ()
    steps: NonNegativeInt = 0
    input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0
    cost_usd: float | None = None
    time_s: float | None = None
    attempts: NonNegativeInt = 0
    folder: str | None = None
    integrity: str | None = None
    findings: tuple[str, ...] = ()
    sealed: bool | None = None
    left_out: NonNegativeInt = 0
    fault: str | None = None


class TaskEntry(Record):
    """One task of the report, with the fields that group its rows and find them.

    `definition` is a digest of all that defines it, so that only equal tasks are compared.
    """

    benchmark: str
    task_id: str
    goal: str
    groups: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    template: str | None = None
    definition: str | None = None


class MethodRow(Record):
    """The decisions of one method of evaluation.

    Attributes:
        scored: Trials it scored.
        passed: Successes among them.
        confidence: Trials by level: `high`, `medium`, `low`, `unstated`.
        confidence_of_passed: Successes by level.
        mean_confidence: Over the trials that state one.
    """

    method: str
    scored: NonNegativeInt
    passed: NonNegativeInt
    confidence: dict[str, NonNegativeInt] = Field(default_factory=dict)
    confidence_of_passed: dict[str, NonNegativeInt] = Field(default_factory=dict)
    mean_confidence: _Fraction | None = None


class ReadRate(Record):
    """The success rate by one of the evaluation's decisions, on new tasks; `refused` is why there is none."""

    tasks: NonNegativeInt
    trials: NonNegativeInt
    interval: Interval | None = None
    refused: str | None = None


class JudgedKind(Record):
    """A judge's decisions on one kind of ground; `None` without a trial whose truth is known.

    Attributes:
        kind: `proven`, `supported`, `opinion` or `unknown`: of a pass that of its weakest
            criterion, of a fail that of its strongest failed one. If it decided nothing: `unknown`.
        passed: Trials that it passed.
        failed: Trials that it failed.
        undecided: Trials that it left undecided.
        wrong_passed: Of those whose truth is known, failures that it passed.
        right_refused: Likewise, successes that it failed or left undecided.
        known: Trials whose truth is known.
    """

    kind: VerdictKind
    passed: NonNegativeInt = 0
    failed: NonNegativeInt = 0
    undecided: NonNegativeInt = 0
    wrong_passed: NonNegativeInt = 0
    right_refused: NonNegativeInt = 0
    known: NonNegativeInt = 0


class JudgeAudit(Record):
    """The decisions of query and judge apart, and their accuracy on trials whose truth is known.

    Attributes:
        outcomes: Trials by the judge's outcome.
        kinds: The same by the kind of its verdicts' evidence; empty if its checks do not say.
        query_only: Rate by the query alone, over trials that have it.
        judge_only: Rate by the judge alone, over trials with a pass or fail of it.
        combined: The rate as it was reported.
        both_pass: Of trials with both verdicts.
        lifted: Successes that the query refused and the judge allowed.
        lifted_trials: The first of them.
        known: Trials whose truth is known.
        query_accuracy: The query against the truth.
        judge_accuracy: The judge against the truth.
        calibration: Whether trials are right as often as their stated confidence.
        corrected: The reported rate corrected for errors; trials count as cases.
        refused: Reason for a missing corrected rate.
    """

    outcomes: dict[str, NonNegativeInt]
    kinds: tuple[JudgedKind, ...] = ()
    query_only: ReadRate
    judge_only: ReadRate
    combined: ReadRate
    both_pass: NonNegativeInt = 0
    only_query: NonNegativeInt = 0
    only_judge: NonNegativeInt = 0
    both_fail: NonNegativeInt = 0
    lifted: NonNegativeInt = 0
    lifted_trials: tuple[TrialKey, ...] = ()
    known: NonNegativeInt = 0
    query_accuracy: Accuracy | None = None
    judge_accuracy: Accuracy | None = None
    calibration: Calibration | None = None
    corrected: CorrectedRate | None = None
    refused: str | None = None


class FlaggedTrial(Record):
    """A trial whose agent did something that its task does not need; its score stays the benchmark's."""

    task_id: str
    trial: PositiveInt
    success: bool | None = None
    findings: tuple[IntegrityFinding, ...] = ()


class IntegritySummary(Record):
    """Known attempts to score without doing the task, in numbers of trials.

    Attributes:
        trials: All that have ended.
        clean: Watched, and nothing found.
        flagged: Something was found.
        unknown: The agent's acts were not watched.
        succeeded: Flagged ones in which the attempt took effect, or may have.
        clean_successes: Successes among the clean ones.
        unsealed: Answers were not hidden from agent or browser.
        codes: Flagged trials by finding.
        voids: Without a score because of a fault that the agent's own act explains.
        voids_as_zero: The success rate in which these count as failures; `None` without any.
        listed: The flagged trials, the first thousand.
    """

    trials: NonNegativeInt
    clean: NonNegativeInt = 0
    flagged: NonNegativeInt = 0
    unknown: NonNegativeInt = 0
    succeeded: NonNegativeInt = 0
    clean_successes: NonNegativeInt = 0
    unsealed: NonNegativeInt = 0
    codes: dict[str, NonNegativeInt] = Field(default_factory=dict)
    voids: NonNegativeInt = 0
    voids_as_zero: ReadRate | None = None
    listed: tuple[FlaggedTrial, ...] = ()


class DoubtedTrial(Record):
    """A solved trial that its checker may have passed wrongly.

    Attributes:
        acts: Acts in its own files that no right solution needs.
        accepts: Wrong end states that its task's checker accepts and that its files do not rule out, by how they are
            made.
    """

    task_id: str
    trial: PositiveInt
    acts: tuple[str, ...] = ()
    accepts: tuple[str, ...] = ()


class CheckerDoubts(Record):
    """How many solved trials a checker may have passed wrongly; scores stay the benchmark's own.

    Attributes:
        shown: Those whose own files show an act that no right solution needs.
        possible: Others, of tasks whose checker accepts states that the trial's files allow.
        unknown: Those of tasks whose checker no one has looked at.
        operators: Accepted kinds of wrong states, by the number of possible ones.
        shown_as_failures: The success rate in which the first count as failures; `None` without any.
        all_as_failures: That in which both do; `None` without a possible one.
        listed: The first thousand of both.
    """

    solved: NonNegativeInt
    shown: NonNegativeInt = 0
    possible: NonNegativeInt = 0
    unknown: NonNegativeInt = 0
    operators: dict[str, NonNegativeInt] = Field(default_factory=dict)
    shown_as_failures: ReadRate | None = None
    all_as_failures: ReadRate | None = None
    listed: tuple[DoubtedTrial, ...] = ()


class FailedCheck(Record):
    """A check that trials did not pass; `example` is the shortest of them that left evidence."""

    criterion: str
    trials: PositiveInt
    tasks: PositiveInt
    example: TrialKey


class CostInterval(Record):
    """The mean cost of a scored trial over tasks, with its interval for new tasks at 95%, in US dollars.

    Attributes:
        known: Scored trials whose price is known; the others are not part of the mean.
        trials: Scored trials.
        refused: Reason for a missing interval.
    """

    mean: float
    low: float | None = None
    high: float | None = None
    known: NonNegativeInt
    trials: NonNegativeInt
    refused: str | None = None


class NoteEntry(Record):
    """A person's note on a trial, as it stands; `earlier` if a later result replaced the one it is of."""

    task_id: str
    trial: PositiveInt
    by: str
    at: datetime
    step: int | None = None
    check: str | None = None
    label: str | None = None
    text: str = ""
    seed: int | None = None
    earlier: bool = False


class LabelShare(Record):
    """How many trials have a label, of a run or of one slice of it; `group` and `value` are empty for the run.

    `failures` is its share of the failed trials that have any label, which is that of all failures only where
    these were chosen at random.
    """

    label: str
    group: str = ""
    value: str = ""
    trials: NonNegativeInt
    failures: ReadRate


class LabelAgreement(Record):
    """How far two people agree on the trials that both labelled; `label` is None for all their labels together.

    `refused` is the reason for a missing kappa.
    """

    first: str
    second: str
    label: str | None = None
    trials: PositiveInt
    alike: NonNegativeInt
    kappa: Interval | None = None
    refused: str | None = None


class RunNotes(Record):
    """People's notes on the trials of a run; they change no score.

    Attributes:
        notes: All that hold, the oldest first.
        people: Notes by person.
        labelled: Trials with a label.
        labelled_failures: Failed ones among them.
        drawn_failures: Those of them that a queue chose at random.
        labels: How often each label was given, in the run and its slices.
        agreement: Each pair of people with trials that both labelled.
        outcomes: Trials whose outcome people stated, and not in two ways.
        disputed: Trials whose outcome they stated in two ways.
        corrected: The success rate corrected by these outcomes; trials count as cases.
        refused: Reason for a missing corrected rate.
        problems: Lines that are not notes, and notes on trials that have no result.
    """

    notes: tuple[NoteEntry, ...] = ()
    people: dict[str, NonNegativeInt] = Field(default_factory=dict)
    labelled: NonNegativeInt = 0
    labelled_failures: NonNegativeInt = 0
    drawn_failures: NonNegativeInt = 0
    labels: tuple[LabelShare, ...] = ()
    agreement: tuple[LabelAgreement, ...] = ()
    outcomes: NonNegativeInt = 0
    disputed: NonNegativeInt = 0
    corrected: CorrectedRate | None = None
    refused: str | None = None
    problems: tuple[str, ...] = ()


class LabelDifference(Record):
    """How much larger a label's share of labelled failures is in `run` than in `baseline`; limits at 95%."""

    run: str
    baseline: str
    label: str
    value: float
    low: float
    high: float


class PassedTrial(Record):
    """A trial with a state that passes, after the step `first`.

    Attributes:
        success: Of the trial's score, which this does not change.
        steps_after: Steps that followed.
        cost_after: Their cost in US dollars, estimated by their share of the trial's tokens.
        undone: Whether the state after the last step does not pass.
    """

    trial: TrialKey
    success: bool | None
    first: PositiveInt
    steps_after: NonNegativeInt
    cost_after: float | None = None
    undone: bool = False


class WhenPassed(Record):
    """After which step states passed, as found by `rescore --each-step`; never part of a score.

    Attributes:
        known: Trials of which it is known whether a state passes.
        rules: The rules that scored the states.
        trials: Those with one that does, solutions that were destroyed again first.
    """

    known: NonNegativeInt
    rules: tuple[str, ...] = ()
    trials: tuple[PassedTrial, ...] = ()


class RunReport(Record):
    """One run of the report.

    Attributes:
        label: A short name, unique in the report.
        folder: The run folder, relative to the report.
        info: The run's own `run.json`.
        summary: All rates, counts and costs, by `bench_core.statistics.summarise`.
        slice_efforts: Resources that trials used, by slice.
        methods: How trials were evaluated, and how surely.
        audit: Query and judge apart, if trials had a judge.
        integrity: Attempts to score without doing the task; `None` if results do not mention them.
        checkers: Solved trials that a checker may have passed wrongly; `None` if checkers are unknown.
        failed_checks: The checks that most trials did not pass, the most frequent first.
        notes: People's notes on its trials; `None` without a note.
        when_passed: After which step states passed; `None` if this was not asked for.
        cost: Mean cost of a scored trial, with an interval; `None` if costs are unknown.
        noise: How much of the rate's variance is due to templates, tasks and trials; `None` with one
            trial per task.
        drift: Rates by trial number and by start time, and whether they change while the run goes on.
        looks: The looks of a run that may stop early, up to its stop.
        superseded: Results that a later one of the same trial replaced.
        problems: Faults in the run folder that were read around.
        damage: Those of them by which a number may differ from the run's own.
        programs: Digests of the agent's program to the scored trials of each, the earliest first; more
            than one if a change was accepted (`--accept-changes`).
        trials: Every trial that has ended, in the order of the tasks.
    """

    label: str
    folder: str
    info: RunInfo
    state: RunState
    summary: Summary
    slice_efforts: tuple[SliceEffort, ...] = ()
    methods: tuple[MethodRow, ...] = ()
    audit: JudgeAudit | None = None
    integrity: IntegritySummary | None = None
    checkers: CheckerDoubts | None = None
    failed_checks: tuple[FailedCheck, ...] = ()
    when_passed: WhenPassed | None = None
    notes: RunNotes | None = None
    cost: CostInterval | None = None
    noise: Noise | None = None
    drift: Drift | None = None
    looks: tuple[Look, ...] = ()
    superseded: NonNegativeInt = 0
    problems: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    programs: dict[str, NonNegativeInt] = Field(default_factory=dict)
    trials: tuple[TrialRow, ...] = ()

    @property
    def stopped(self) -> Look | None:
        """The look at which a run stopped that may stop early."""
        return self.looks[-1] if self.looks and self.looks[-1].stops else None

    @property
    def built_in(self) -> bool:
        """Whether the run or any of its trials states that it ran on a stand-in world."""
        return bool(_STAND_INS & {self.info.world, *self.summary.identity.get("world", ())})

    @property
    def under_wine(self) -> bool:
        """Whether WAA's server ran under Wine instead of Windows."""
        return "wine" in {self.info.world, *self.summary.identity.get("world", ())}


class Mismatch(Record):
    """An aspect in which the runs of a mixed report differ, with the value each run has."""

    aspect: str
    values: dict[str, str]


class SliceDifference(Record):
    """The difference on the shared tasks of one slice; `note` is why it has no interval.

    `also` names other slices of the very same tasks, as `domain chrome`; fields of errors and intervals as
    those of `Difference`, together over all slices of the run.
    """

    group: str
    value: str
    also: tuple[str, ...] = ()
    shared_tasks: NonNegativeInt
    new: _Fraction | None = None
    baseline: _Fraction | None = None
    low: float | None = None
    high: float | None = None
    p_value: _Fraction | None = None
    joint_low: float | None = None
    joint_high: float | None = None
    adjusted_p_value: _Fraction | None = None
    note: str | None = None

    @property
    def name(self) -> str:
        """The slice, and others of the same tasks: `app chrome, domain chrome`."""
        return ", ".join((f"{self.group} {self.value}", *self.also))

    @property
    def difference(self) -> float | None:
        """New minus baseline."""
        return None if self.new is None or self.baseline is None else self.new - self.baseline


class TaskChange(Record):
    """A task with different rates; `q_value` is `p_value` (Fisher's exact test) after Benjamini-Hochberg."""

    task_id: str
    new: _Fraction
    baseline: _Fraction
    p_value: _Fraction
    q_value: _Fraction


class Difference(Record):
    """How much better `run` is than `baseline` on the tasks both have scores for.

    Attributes:
        value: Mean over shared tasks of the difference between their rates.
        low: Lower end of the interval, for new tasks of this kind.
        high: Upper end.
        p_value: Of the hypothesis that the difference is zero, by `method`; the interval excludes
            zero if and only if it is below 1 - `level`.
        joint_low: Lower end of the interval that holds together with those of all other runs.
        joint_high: Upper end.
        adjusted_p_value: The p-value for all runs of the report together (Bonferroni); the joint interval
            excludes zero if and only if it is below 1 - `level`.
        p_sign_flip: By the sign-flip permutation test over clusters, free of a distribution.
        p_same_tasks: Of the hypothesis that both are one agent on these tasks; exact.
        same_tasks: Limits of the difference on these tasks, at 95% for each end alone.
        detectable: The smallest true difference found in four of five such comparisons.
        better: Tasks on which `run` has the higher rate.
        worse: Tasks on which it has the lower one.
        left_out: Tasks for which only one of the two has a score.
        slices: The same by slice, together over all of them.
        tasks: Tasks whose rates differ, the clearest first.
        timing: A warning if one provider answered both runs at different times.
        note: Reason for a missing value or interval.
    """

    run: str
    baseline: str
    shared_tasks: NonNegativeInt
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: _Fraction = 0.95
    p_value: _Fraction | None = None
    joint_low: float | None = None
    joint_high: float | None = None
    adjusted_p_value: _Fraction | None = None
    method: str = ""
    p_sign_flip: _Fraction | None = None
    p_same_tasks: _Fraction | None = None
    same_tasks: Interval | None = None
    detectable: float | None = None
    better: NonNegativeInt = 0
    worse: NonNegativeInt = 0
    equal: NonNegativeInt = 0
    left_out: NonNegativeInt = 0
    slices: tuple[SliceDifference, ...] = ()
    tasks: tuple[TaskChange, ...] = ()
    timing: str | None = None
    note: str | None = None


class RunComparison(Record):
    """Runs side by side: each paired with the first one.

    `damage` lists the files in their folders that are not as they were written, a sentence each.
    """

    baseline: str
    differences: tuple[Difference, ...] = ()
    damage: tuple[str, ...] = ()


class Ranking(Record):
    """Three runs or more, ranked.

    Attributes:
        leaderboard: All pairs together, and the ranks they leave open.
        dominance: Which runs are clearly worse and dearer than another, of those with known costs.
        items: Tasks that distinguish runs, and those that do not; `None` without a shared task.
    """

    leaderboard: Leaderboard
    dominance: tuple[Dominance, ...] = ()
    items: Items | None = None


class Caveat(Record):
    """Something a reader must know before quoting a number, derived from the data."""

    code: str
    severity: Literal["info", "warning", "critical"]
    text: str
    run: str | None = None


class Report(Record):
    """The contents of a report; all formats are made from this record alone."""

    schema_version: Literal[1] = 1
    title: str
    generated: datetime
    generator: str
    count_errors_as_failures: bool = False
    mismatches: tuple[Mismatch, ...] = ()
    caveats: tuple[Caveat, ...] = ()
    methods: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    runs: tuple[RunReport, ...]
    comparison: RunComparison | None = None
    ranking: Ranking | None = None
    label_differences: tuple[LabelDifference, ...] = ()
    tasks: tuple[TaskEntry, ...] = ()
