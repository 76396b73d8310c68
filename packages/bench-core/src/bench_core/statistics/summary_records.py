"""The records of a run's statistics, which `summarise` returns and reports print."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bench_core.records import Record, Status, TrialKey, Usage
from bench_core.statistics.intervals import Estimand, Interval


class Rate(Record):
    """A rate, never bare: both intervals, or the reason why one is refused.

    Attributes:
        estimate: From 0 to 1; `None` when nothing was scored.
        tasks: Tasks that entered.
        trials: Scored trials that entered.
        clusters: Independent groups of tasks that entered.
        new_tasks: Interval for new tasks of this kind.
        same_tasks: Interval for exactly these tasks, run again.
        refused: Why an interval is `None`, by estimand.
    """

    estimate: float | None
    tasks: int
    trials: int
    clusters: int
    new_tasks: Interval | None = None
    same_tasks: Interval | None = None
    refused: dict[Estimand, str] = Field(default_factory=dict)


class Coverage(Record):
    """How much of the plan has a score.

    `trials` were planned; `results` of them have ended, `scored` of those have a score; `missing`
    have not ended.
    """

    tasks: int
    tasks_scored: int
    trials: int
    results: int
    scored: int
    missing: int

    @property
    def share(self) -> float | None:
        """Scored trials per planned trial; `None` when nothing was planned."""
        return self.scored / self.trials if self.trials else None


class Bounds(Record):
    """Bounds on the success rate over all planned trials, tasks weighing alike.

    Attributes:
        proven: The rate if none of the trials without a score had succeeded.
        not_disproven: The rate if all of them had.
        unknown: The share of planned trials that have no score, or none yet.
    """

    proven: float
    not_disproven: float
    unknown: float


class Slice(Record):
    """The same numbers for a part of the tasks: one site, domain, app or template.

    `score` is the mean score where scores between 0 and 1 occur, `None` where it would repeat the
    success rate; `macro_average` weighs templates alike, `None` where no task has one.
    """

    name: str
    coverage: Coverage
    success: Rate
    score: Rate | None = None
    macro_average: Rate | None = None
    excluded: dict[Status, int] = Field(default_factory=dict)


class Exclusion(Record):
    """Trials that did not enter the rates, for one reason.

    `kind` and `message` are of the error recorded first, `fault` is the row of
    `bench_core.faults.FAULTS`; `examples` are the first few trials.
    """

    status: Status
    kind: str | None
    fault: str | None = None
    count: int
    message: str | None = None
    examples: tuple[TrialKey, ...] = ()


class PassRate(Record):
    """pass@k and pass^k over the tasks with at least `k` scored trials."""

    k: int
    pass_at_k: Interval
    pass_hat_k: Interval


class Distribution(Record):
    """How a cost of trials is spread; `None` figures mean that no trial reported it.

    `known` trials reported it and `unknown` ones did not; `total` is over the known ones.
    """

    known: int
    unknown: int
    total: float | None = None
    mean: float | None = None
    median: float | None = None
    p90: float | None = None
    largest: float | None = None


class Summary(Record):
    """The results of one configuration (benchmark, agent, model, world, profile).

    `success` is the headline: the share of successes, tasks weighing alike. Only trials with a
    score enter, unless `errors_count_as_failures`; `strict` counts every ended trial without a
    score as a failure; `bounds` gives the range that planned trials without one leave open. Costs
    cover all ended trials, scored or not.

    Attributes:
        identity: Values of benchmark, agent, model, world and profile; more than one value only
            if mixing was allowed.
        models_reported: Models as the APIs named them.
        score: Mean score, if scores between 0 and 1 occur; `None` if it equals `success`.
        macro_average: Templates weighing alike; `None` if no task has a template.
        macro_score: The same of the mean score.
        groups: Slices by group name, e.g. `site`.
        templates: Slices by template; clusters are tasks there.
        failure_modes: Failed trials by failure mode, `unclassified` if none was given.
        methods: Scored trials by evaluation method.
        suspects: Scored trials by the reason to doubt that their score is the agent's own doing.
        without_suspects: `success` without these trials; `None` if there are none.
    """

    schema_version: Literal[1] = 1
    identity: dict[str, tuple[str, ...]]
    models_reported: tuple[str, ...] = ()
    level: float
    errors_count_as_failures: bool = False
    coverage: Coverage
    success: Rate
    score: Rate | None = None
    strict: Rate
    bounds: Bounds | None = None
    macro_average: Rate | None = None
    macro_score: Rate | None = None
    without_suspects: Rate | None = None
    pass_rates: tuple[PassRate, ...] = ()
    groups: dict[str, tuple[Slice, ...]] = Field(default_factory=dict)
    templates: tuple[Slice, ...] = ()
    statuses: dict[Status, int] = Field(default_factory=dict)
    exclusions: tuple[Exclusion, ...] = ()
    failure_modes: dict[str, int] = Field(default_factory=dict)
    methods: dict[str, int] = Field(default_factory=dict)
    flags: dict[str, int] = Field(default_factory=dict)
    suspects: dict[str, int] = Field(default_factory=dict)
    usage: Usage = Usage()
    tokens: Distribution
    cost_usd: Distribution
    time_s: Distribution
    steps: Distribution
