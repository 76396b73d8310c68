"""Compare a judge with labelled cases: its errors, and the value of its confidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, NonNegativeInt, ValidationError

from bench_core.errors import InputError, NotEstimableError
from bench_core.files import write_atomic
from bench_core.records import Record
from bench_core.records.judge import Outcome, Verdict
from bench_core.statistics import (
    Accuracy,
    CorrectedRate,
    Interval,
    accuracy,
    corrected_rate,
    t_or_normal_quantile,
    wilson,
)
from bench_core.statistics import Calibration as Reliability
from bench_core.statistics import calibration as reliability_of
from llm_judge.calibration.curves import Roc, interpolate, isotonic, roc_curve
from llm_judge.calibration.label_choice import Selection, selection_of, stratified_rate
from llm_judge.verdicts.rates_by_kind import KindRow, rates_by_kind

_LEAST_OF_EACH = 3
_LEAST_FOR_CONFIDENCE = 20
_FOLDS = 5

_Unit = Annotated[float, Field(ge=0, le=1)]


class JudgeCalibration(Record):
    """A judge's own confidence mapped to its chance of being right, measured on labelled cases.

    Attributes:
        identity: The judge it was measured on; it does not hold for another.
        scores: The confidence the judge stated, as the chance of success, increasing.
        chances: How often that was a success; straight lines in between.
        n: Labelled cases it rests on.
    """

    schema_version: int = 1
    identity: dict[str, str]
    scores: tuple[_Unit, ...]
    chances: tuple[_Unit, ...]
    n: NonNegativeInt

    def chance(self, score: float) -> float:
        """Return the chance of success if the judge says `score`."""
        return interpolate(self.scores, self.chances, score)

    def confidence(self, outcome: Outcome, raw: float) -> float | None:
        """Return the chance that a pass or fail is right; `None` for other outcomes."""
        if outcome == "pass":
            return self.chance(raw)
        return 1.0 - self.chance(1.0 - raw) if outcome == "fail" else None


class CalibrationReport(Record):
    """A judge compared with labelled cases.

    Attributes:
        outcomes: How often each outcome was given to labelled cases.
        decided: Share of labelled cases it passed or failed.
        accuracy: Confusion, sensitivity (recall), specificity and kappa of the cases it decided.
        precision: Share of its passes that are successes.
        false_pass: Share of failures that it passes, abstentions among the failures included.
        reliability: Calibration of its own confidence: ECE, Brier and bins.
        reliability_after: The same for the calibrated confidence, each case by a fit on the others.
        corrected: The rate of success over all judged cases, corrected for its errors. Cases it did
            not pass count as not passed there; errors are left out.
        refused: Names of the estimates that could not be made, and why.
        by_kind: Outcomes of the verdicts of each kind.
        selection: How the labelled cases were chosen; `corrected` goes by verdict if not at random.
        useless: Why its verdicts carry no information, if it passes (or fails) everything.
    """

    schema_version: int = 1
    labelled: NonNegativeInt
    outcomes: dict[str, NonNegativeInt]
    decided: Interval
    accuracy: Accuracy | None = None
    precision: Interval | None = None
    false_pass: Interval | None = None
    roc: Roc | None = None
    reliability: Reliability | None = None
    reliability_after: Reliability | None = None
    corrected: CorrectedRate | None = None
    calibration: JudgeCalibration | None = None
    refused: dict[str, str] = Field(default_factory=dict)
    useless: str | None = None
    by_kind: tuple[KindRow, ...] = ()
    selection: Selection | None = None


def calibrate(
    verdicts: Iterable[Verdict],
    labels: Mapping[str, bool],
    *,
    level: float = 0.95,
    by_verdict: bool = False,
) -> CalibrationReport:
    """Compare a judge's verdicts with labels.

    Args:
        verdicts: Of one judge, labelled cases and others; the last one for a case counts.
        labels: Case to whether it truly is a success. Label a random choice of cases, not those
            the judge passed: everything but the confusion table depends on it.
        level: Nominal confidence of the intervals.
        by_verdict: The labels are those that `next_to_label` chose, so that each verdict is corrected
            by its own.

    Raises:
        InputError: The verdicts are of different judges.
        NotEstimableError: No labelled case has a verdict.
    """
    last = {each.case_id: each for each in verdicts}
    identity = _identity(list(last.values()))
    known = [each for each in last.values() if each.case_id in labels]
    if not known:
        raise NotEstimableError("no labelled case has a verdict: the case ids of both must agree")
    decided = [each for each in known if each.passed is not None]
    report = _Report(labels, level)
    selection = selection_of(last.values(), labels)
    return CalibrationReport(
        labelled=len(known),
        outcomes=dict(Counter(each.outcome for each in known)),
        by_kind=rates_by_kind((labels[each.case_id], each) for each in known),
        decided=wilson(len(decided), len(known), level=level),
        accuracy=report.accuracy(decided),
        precision=report.share(known, of="pass", that=True),
        false_pass=report.false_pass(known),
        roc=report.roc(decided),
        reliability=report.reliability(decided),
        reliability_after=report.reliability_after(decided, identity),
        corrected=report.corrected(list(last.values()), selection, by_verdict=by_verdict),
        selection=selection,
        calibration=report.fitted(decided, identity),
        refused=report.refused,
        useless=_useless(decided, labels),
    )


def _of_new(interval: Interval) -> Interval:
    """Widen an interval of these cases to one of new cases: they vary, too."""
    spread = t_or_normal_quantile(interval.level, None) * math.sqrt(
        interval.estimate * (1 - interval.estimate) / interval.n
    )
    low = interval.estimate - math.hypot(interval.estimate - interval.low, spread)
    high = interval.estimate + math.hypot(interval.high - interval.estimate, spread)
    return interval.model_copy(
        update={"low": max(0.0, low), "high": min(1.0, high), "estimand": "new_tasks"}
    )


def _useless(decided: Sequence[Verdict], labels: Mapping[str, bool]) -> str | None:
    """Return why verdicts that are all the same carry no information."""
    truths = [labels[each.case_id] for each in decided]
    outcomes = {each.outcome for each in decided}
    if len(outcomes) != 1 or min(truths.count(True), truths.count(False)) < _LEAST_OF_EACH:
        return None
    word = "passes" if outcomes == {"pass"} else "fails"
    return (
        f"this judge is a rubber stamp: it {word} all {len(decided)} labelled cases it decided, "
        f"{truths.count(False)} failures among them; its verdicts say nothing about a case"
    )


def load_calibration(path: Path | str) -> JudgeCalibration:
    """Read a calibration that `save_calibration` wrote.

    Raises:
        InputError: The file is missing or is not a calibration.
    """
    path = Path(path)
    try:
        return JudgeCalibration.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot read the calibration: {error}") from error
    except ValidationError as error:
        raise InputError(
            f"{path}: not a calibration; `llm-judge calibrate --out {path.name}` writes one"
        ) from error


def save_calibration(calibration: JudgeCalibration, path: Path | str) -> None:
    """Write a calibration for `Judge(calibration=...)`."""
    write_atomic(Path(path), calibration.model_dump_json(indent=1).encode("utf-8") + b"\n")


class _Report:
    """Computes the parts; those that cannot be estimated become `None`, with a reason in `refused`."""

    def __init__(self, labels: Mapping[str, bool], level: float) -> None:
        self.refused: dict[str, str] = {}
        self._labels = labels
        self._level = level

    def accuracy(self, decided: Sequence[Verdict]) -> Accuracy | None:
        rated = {each.case_id: each.outcome == "pass" for each in decided}
        try:
            return accuracy(rated, self._labels, level=self._level)
        except NotEstimableError as error:
            self.refused["accuracy"] = str(error)
            return None

    def share(self, known: Sequence[Verdict], *, of: str, that: bool) -> Interval | None:
        chosen = [self._labels[each.case_id] for each in known if each.outcome == of]
        hits = sum(label is that for label in chosen)
        return wilson(hits, len(chosen), level=self._level) if chosen else None

    def false_pass(self, known: Sequence[Verdict]) -> Interval | None:
        failures = [
            each.outcome == "pass"
            for each in known
            if not self._labels[each.case_id] and each.outcome != "error"
        ]
        return wilson(sum(failures), len(failures), level=self._level) if failures else None

    def roc(self, decided: Sequence[Verdict]) -> Roc | None:
        scores, labels = self._scored(decided)
        try:
            return roc_curve(scores, labels)
        except NotEstimableError as error:
            self.refused["roc"] = str(error)
            return None

    def reliability(self, decided: Sequence[Verdict]) -> Reliability | None:
        stated = [each for each in decided if each.raw_confidence is not None]
        right = [self._right(each) for each in stated]
        return self._reliability(
            "reliability", [each.raw_confidence or 0.0 for each in stated], right
        )

    def reliability_after(
        self, decided: Sequence[Verdict], identity: dict[str, str]
    ) -> Reliability | None:
        stated = [each for each in decided if each.raw_confidence is not None]
        confidences: list[float] = []
        right: list[bool] = []
        # each case is calibrated on the others: on its own label any fit looks calibrated
        for fold in range(_FOLDS):
            held_out = stated[fold::_FOLDS]
            others = [each for number, each in enumerate(stated) if number % _FOLDS != fold]
            fitted = self.fitted(others, identity)
            if fitted is None:
                return None
            for each in held_out:
                confidence = fitted.confidence(each.outcome, each.raw_confidence or 0.0)
                confidences.append(confidence or 0.0)
                right.append(self._right(each))
        return self._reliability("reliability_after", confidences, right)

    def fitted(
        self, decided: Sequence[Verdict], identity: dict[str, str]
    ) -> JudgeCalibration | None:
        scores, labels = self._scored(decided)
        if len(scores) < _LEAST_FOR_CONFIDENCE or len(set(labels)) < 2:  # both labels
            self.refused["calibration"] = (
                f"a calibrated confidence needs {_LEAST_FOR_CONFIDENCE} decided cases with a "
                f"confidence, successes and failures, after one in five is held out; there are "
                f"{len(scores)}"
            )
            return None
        means, chances = isotonic(scores, labels)
        return JudgeCalibration(
            identity=identity, scores=tuple(means), chances=tuple(chances), n=len(scores)
        )

    def corrected(
        self, verdicts: Sequence[Verdict], selection: Selection, *, by_verdict: bool
    ) -> CorrectedRate | None:
        # errors are left out: a provider's failure says nothing about the agent
        judged = {
            each.case_id: each.outcome == "pass" for each in verdicts if each.outcome != "error"
        }
        truth = {case: label for case, label in self._labels.items() if case in judged}
        try:
            found = corrected_rate(judged, truth, level=self._level)
            if not (selection.biased or by_verdict):
                return found
            apart = stratified_rate(verdicts, self._labels, level=self._level, believed=by_verdict)
        except NotEstimableError as error:
            self.refused["corrected"] = str(error)
            return None
        shares = ", ".join(
            f"{selection.labelled[name]} of {n} {name}"
            for name, n in sorted(selection.cases.items())
        )
        chosen = (
            f"the labels are no random choice of the cases (labelled: {shares}): "
            f"each verdict is corrected by its own labels"
        )
        reason = "the labels were chosen by verdict, which it takes for a random choice"
        return found.model_copy(
            update={
                "these_results": apart,
                "new_tasks": _of_new(apart),
                "ppi": None,
                "rogan_gladen": None,
                "refused": {**found.refused, "ppi": reason, "rogan_gladen": reason},
                "notes": (
                    *found.notes,
                    chosen,
                ),
            }
        )

    def _reliability(
        self, name: str, confidences: Sequence[float], right: Sequence[bool]
    ) -> Reliability | None:
        try:
            return reliability_of(confidences, right, level=self._level)
        except NotEstimableError as error:
            self.refused[name] = str(error)
            return None

    def _right(self, verdict: Verdict) -> bool:
        return (verdict.outcome == "pass") == self._labels[verdict.case_id]

    def _scored(self, decided: Sequence[Verdict]) -> tuple[list[float], list[bool]]:
        scored = [
            (raw if each.outcome == "pass" else 1.0 - raw, self._labels[each.case_id])
            for each in decided
            if (raw := each.raw_confidence) is not None
        ]
        return [score for score, _ in scored], [label for _, label in scored]


def _identity(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the judge that gave all verdicts."""
    kept = ("judge", "model", "second", "instructions", "schema", "policy")
    found = [{key: each.fingerprint.get(key, "") for key in kept} for each in verdicts]
    for each in found[1:]:
        if each != found[0]:
            differ = [key for key in kept if each[key] != found[0][key]]
            differences = "; ".join(f"{key}: {found[0][key]!r} and {each[key]!r}" for key in differ)
            raise InputError(
                f"the verdicts are of different judges ({differences}): calibrate each apart"
            )
    return found[0] if found else {}
