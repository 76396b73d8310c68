"""Which results may be averaged, and their scores by task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from operator import attrgetter, itemgetter
from typing import Literal, NamedTuple, TypeVar

import msgspec

from bench_core.errors import InputError
from bench_core.records import SUCCESS_SCORE, ErrorInfo, Status, TrialResult, Usage
from bench_core.run_folder.indexed import StoredRecords, UsagePart
from bench_core.statistics.costs import duration_s

Identity = Literal["benchmark", "agent", "model", "world", "profile"]
IDENTITY: tuple[Identity, ...] = ("benchmark", "agent", "model", "world", "profile")
"""What must be the same for results to be averaged."""

_UNSPECIFIED = "unspecified"


class EndedTrial(NamedTuple):
    """What statistics need of a result, without its evidence.

    Statistics go over all results many times: these are flat, where results are records of records.
    `usage` has the fields of `Usage` in their order.
    """

    benchmark: str
    agent: str
    model: str | None
    world: str
    profile: str
    task_id: str
    trial: int
    model_reported: str | None
    status: Status
    score: float | None
    success: bool | None
    confidence: float | None
    failure_mode: str | None
    method: str | None
    flags: tuple[str, ...]
    suspect: tuple[str, ...]
    steps: int
    cost_usd: float | None
    error: ErrorInfo | None
    usage: tuple[int, ...]
    input_tokens: int
    output_tokens: int
    tokens: int | None
    time_s: float | None
    attempts: int

    @classmethod
    def of(cls, result: TrialResult) -> EndedTrial:
        """Take from a result what statistics need."""
        fields = vars(result)  # attributes of records take three times as long
        usage = vars(fields["usage"])
        took, gave = usage["input_tokens"], usage["output_tokens"]
        time_s, attempts = duration_s(fields["timings_s"]), len(fields["attempts"])
        counts, total = _COUNTS(usage), took + gave or None
        return cls._make((*_TAKEN(fields), counts, took, gave, total, time_s, attempts))


_AS_IT_IS = EndedTrial._fields[: EndedTrial._fields.index("usage")]
_TAKEN = itemgetter(*_AS_IT_IS)
"""What is taken from a result as it is."""
_COUNTS = itemgetter(*Usage.model_fields)


class _Line(msgspec.Struct, gc=False):
    """The part of a result's line that statistics need."""

    benchmark: str
    agent: str
    task_id: str
    status: Status
    schema_version: Literal[1]  # of others, fields may have had another meaning
    model: str | None = None
    world: str = "real"
    profile: str = "official"
    trial: int = 1
    model_reported: str | None = None
    score: float | None = None
    success: bool | None = None
    confidence: float | None = None
    failure_mode: str | None = None
    method: str | None = None
    flags: tuple[str, ...] = ()
    suspect: tuple[str, ...] = ()
    steps: int = 0
    cost_usd: float | None = None
    error: dict[str, str | None] | None = None
    usage: UsagePart = msgspec.field(default_factory=UsagePart)
    timings_s: dict[str, float] = {}
    attempts: tuple[msgspec.Raw, ...] = ()


_LINE = msgspec.json.Decoder(_Line)
_OF_LINE = attrgetter(*_AS_IT_IS)


def _of_line(text: bytes) -> EndedTrial:
    """Take from a line what `EndedTrial.of` takes from the result it is.

    Raises:
        msgspec.DecodeError: It is not of that form.
    """
    line = _LINE.decode(text)
    usage = line.usage
    took, gave = usage.input_tokens, usage.output_tokens
    if line.error is not None:
        line.error = ErrorInfo.model_validate(line.error)  # type: ignore[assignment]
    time_s, attempts = duration_s(line.timings_s), len(line.attempts)
    counts, total = msgspec.structs.astuple(usage), took + gave or None
    return EndedTrial._make((*_OF_LINE(line), counts, took, gave, total, time_s, attempts))


R = TypeVar("R", TrialResult, EndedTrial)


class EndedTrials(list[EndedTrial]):
    """Ended trials, each once; `ended_trials` makes them."""

    @classmethod
    def of(cls, results: Iterable[TrialResult]) -> EndedTrials:
        """Take them from results that are of a trial each; those of a run folder are not made for it."""
        if isinstance(results, StoredRecords):
            return cls(results.parts(_of_line, EndedTrial.of))
        return cls(map(EndedTrial.of, results))


def ended_trials(results: Iterable[TrialResult] | EndedTrials) -> EndedTrials:
    """Read each result once, for `summarise`; the last one of each trial counts.

    >>> ended_trials([])
    []
    """
    if isinstance(results, EndedTrials):
        return results
    return EndedTrials(latest_results(EndedTrials.of(results)))


def identity_of(
    results: Iterable[TrialResult] | Iterable[EndedTrial], *, allow_mixed: Collection[Identity] = ()
) -> dict[str, tuple[str, ...]]:
    """Return what results are of, refusing to mix what must not be averaged.

    Raises:
        InputError: A field not in `allow_mixed` has more than one value.

    >>> identity_of([])["world"]
    ()
    """
    seen = set(map(attrgetter(*IDENTITY), results))
    found: dict[str, tuple[str, ...]] = {}
    for place, field in enumerate(IDENTITY):
        values = {each[place] for each in seen}
        if values == {None}:
            values = set()
        found[field] = tuple(sorted(value or _UNSPECIFIED for value in values))
        if len(found[field]) > 1 and field not in allow_mixed:
            raise InputError(
                f"results of different {field}s cannot be averaged: {', '.join(found[field])}; "
                f"summarise them apart, or allow it with allow_mixed={{{field!r}}}"
            )
    return found


def latest_results(results: Iterable[R]) -> list[R]:
    """Keep the last result of each trial, as a run folder means it.

    >>> latest_results([])
    []
    """
    trial_of = attrgetter(*IDENTITY, "task_id", "trial")
    return list({trial_of(result): result for result in results}.values())


def task_scores(
    results: Iterable[TrialResult], *, errors_as_failures: bool = False
) -> dict[str, list[float]]:
    """Return task id to the scores of its trials, in the order of trials, of one configuration.

    Trials without a score are left out, or 0 when `errors_as_failures`.

    >>> task_scores([])
    {}
    """
    latest = sorted(latest_results(results), key=lambda each: (each.task_id, each.trial))
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for result in latest:
        if result.score is not None:
            scores[result.task_id].append(result.score)
        elif errors_as_failures:
            scores[result.task_id].append(0.0)
    return dict(scores)


def task_successes(
    results: Iterable[TrialResult], *, errors_as_failures: bool = False
) -> dict[str, list[float]]:
    """Return task id to its trials' outcomes, 1 for success and 0 for failure, in order.

    >>> task_successes([])
    {}
    """
    scores = task_scores(results, errors_as_failures=errors_as_failures)
    return {key: [float(each >= SUCCESS_SCORE) for each in scores[key]] for key in scores}
