"""Holds a judge against labelled cases: how often it errs, and what its confidence is worth."""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, NonNegativeInt, ValidationError

from bench_core.codec import decode_json
from bench_core.errors import InputError, NotEstimableError
from bench_core.files import write_atomic
from bench_core.records import Record
from bench_core.statistics.agreement import Accuracy, accuracy
from bench_core.statistics.agreement import Calibration as Reliability
from bench_core.statistics.agreement import calibration as reliability_of
from bench_core.statistics.intervals import Interval
from bench_core.statistics.judge_correction import CorrectedRate, corrected_rate
from bench_core.statistics.proportions import t_or_normal_quantile, wilson
from llm_judge.selecting import Selection, selection_of, stratified_rate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bench_core.judging import Outcome, Verdict

__all__ = [
    "Calibration",
    "CalibrationReport",
    "Roc",
    "calibrate",
    "isotonic",
    "load_calibration",
    "read_labels",
    "roc_curve",
    "save_calibration",
]

_LEAST_OF_EACH = 3
_LEAST_FOR_CONFIDENCE = 20
_FOLDS = 5
_TRUE = frozenset({"1", "pass", "passed", "success", "true", "y", "yes"})
_FALSE = frozenset({"0", "fail", "failed", "failure", "false", "n", "no"})

_Unit = Annotated[float, Field(ge=0, le=1)]


class Calibration(Record):
    """What a judge's own confidence is worth, measured on labelled cases.

    Attributes:
        identity: The judge it was measured on; it is worth nothing for another.
        scores: What the judge said, as the chance of success, increasing.
        chances: How often that was a success; straight lines in between.
        n: Labelled cases it rests on.
    """

    schema_version: int = 1
    identity: dict[str, str]
    scores: tuple[_Unit, ...]
    chances: tuple[_Unit, ...]
    n: NonNegativeInt

    def chance(self, score: float) -> float:
        """Return the chance of success where the judge says `score`."""
        return _between(self.scores, self.chances, score)

    def confidence(self, outcome: Outcome, raw: float) -> float | None:
        """Return the chance that a pass or fail is right; null for what is neither."""
        if outcome == "pass":
            return self.chance(raw)
        return 1.0 - self.chance(1.0 - raw) if outcome == "fail" else None


class Roc(Record):
    """What share of successes and failures is passed at each threshold of the score.

    Attributes:
        points: False-pass rate and true-pass rate, from the strictest threshold to the laxest.
        area: Chance that a success gets a higher score than a failure; ties count half.
    """

    points: tuple[tuple[float, float], ...]
    area: float


class CalibrationReport(Record):
    """A judge held against labelled cases.

    Attributes:
        outcomes: How often each outcome was given to labelled cases.
        decided: Share of labelled cases it passed or failed.
        accuracy: Confusion, sensitivity (recall), specificity and kappa, where it decided.
        precision: Share of its passes that are successes.
        false_pass: Share of failures that it passes, abstentions among the failures included.
        reliability: What its own confidence is worth: ECE, Brier and bins.
        reliability_after: The same for the calibrated confidence, each case by what was learned
            from the others.
        corrected: The rate of success over all judged cases, corrected for its errors. What it did
            not pass counts as not passed there; errors are left out.
        refused: What could not be estimated, and why.
        selection: How the labelled cases were chosen; where not at random, `corrected` goes by verdict.
        useless: Why its verdicts tell nothing, where it passes (or fails) whatever it is shown.
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
    calibration: Calibration | None = None
    refused: dict[str, str] = Field(default_factory=dict)
    useless: str | None = None
    selection: Selection | None = None


def calibrate(
    verdicts: Iterable[Verdict], labels: Mapping[str, bool], *, level: float = 0.95
) -> CalibrationReport:
    """Hold a judge's verdicts against what is so.

    Args:
        verdicts: Of one judge, labelled cases and others; the last one for a case counts.
        labels: Case to whether it truly is a success. Label a random choice of cases, not those
            the judge passed: everything but the confusion table depends on it.
        level: Nominal confidence of the intervals.

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
        decided=wilson(len(decided), len(known), level=level),
        accuracy=report.accuracy(decided),
        precision=report.share(known, of="pass", that=True),
        false_pass=report.false_pass(known),
        roc=report.roc(decided),
        reliability=report.reliability(decided),
        reliability_after=report.reliability_after(decided, identity),
        corrected=report.corrected(list(last.values()), selection),
        selection=selection,
        calibration=report.fitted(decided, identity),
        refused=report.refused,
        useless=_useless(decided, labels),
    )


def _told(selection: Selection) -> str:
    shares = ", ".join(
        f"{selection.labelled[name]} of {n} {name}" for name, n in sorted(selection.cases.items())
    )
    return f"the labels are no random choice of the cases (labelled: {shares})"


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
    """Return why a judge that says the same of everything tells nothing."""
    truths = [labels[each.case_id] for each in decided]
    said = {each.outcome for each in decided}
    if len(said) != 1 or min(truths.count(True), truths.count(False)) < _LEAST_OF_EACH:
        return None
    word = "passes" if said == {"pass"} else "fails"
    return (
        f"this judge is a rubber stamp: it {word} all {len(decided)} labelled cases it decided, "
        f"{truths.count(False)} failures among them; its verdicts tell nothing about a case"
    )


def isotonic(scores: Sequence[float], labels: Sequence[bool]) -> tuple[list[float], list[float]]:
    """Return increasing scores and chances: the best monotone fit, shrunk a little.

    Pool adjacent violators (Ayer et al. 1955). Each pool of n cases counts half a success and half
    a failure more, so that no chance is 0 or 1.

    >>> isotonic([0.2, 0.4, 0.6, 0.8], [False, True, False, True])
    ([0.2, 0.5, 0.8], [0.25, 0.5, 0.75])
    """
    pools: list[list[float]] = []  # successes, cases, sum of scores
    by_score: dict[float, list[bool]] = {}
    for score, label in sorted(zip(scores, labels, strict=True)):
        by_score.setdefault(score, []).append(label)
    for score, here in by_score.items():  # equal scores are one pool from the start
        pools.append([float(sum(here)), float(len(here)), score * len(here)])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [one + other for one, other in zip(pools[-1], last, strict=True)]
    means = [total / n for _, n, total in pools]
    chances = [(hits + 0.5) / (n + 1) for hits, n, _ in pools]
    return means, [max(chances[: i + 1]) for i in range(len(chances))]


def roc_curve(scores: Sequence[float], labels: Sequence[bool]) -> Roc:
    """Return the ROC curve and the area under it.

    Raises:
        NotEstimableError: All cases have the same label.

    >>> roc_curve([0.1, 0.4, 0.35, 0.8], [False, False, True, True]).area
    0.75
    """
    successes, failures = sum(labels), len(labels) - sum(labels)
    if not successes or not failures:
        raise NotEstimableError("a ROC curve needs known successes and known failures")
    points = [(0.0, 0.0)]
    alarms = hits = 0
    area = 0.0
    for score in sorted(set(scores), reverse=True):
        here = [label for each, label in zip(scores, labels, strict=True) if each == score]
        area += (len(here) - sum(here)) * (hits + sum(here) / 2)
        hits += sum(here)
        alarms += len(here) - sum(here)
        points.append((alarms / failures, hits / successes))
    return Roc(points=tuple(points), area=area / (successes * failures))


def load_calibration(path: Path | str) -> Calibration:
    """Read what `save_calibration` wrote.

    Raises:
        InputError: The file is missing or is not a calibration.
    """
    path = Path(path)
    try:
        return Calibration.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot read the calibration: {error}") from error
    except ValidationError as error:
        raise InputError(
            f"{path}: not a calibration; `llm-judge calibrate --out {path.name}` writes one"
        ) from error


def save_calibration(calibration: Calibration, path: Path | str) -> None:
    """Write a calibration for `Judge(calibration=...)`."""
    write_atomic(Path(path), calibration.model_dump_json(indent=1).encode("utf-8") + b"\n")


def read_labels(path: Path | str) -> dict[str, bool]:
    """Read labels: JSON lines with `case_id` and `passed`, a JSON object, or CSV of two columns.

    Raises:
        InputError: The file is none of these, or labels a case in two ways.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot read the labels: {error}") from error
    labels: dict[str, bool] = {}
    for number, (case_id, given) in enumerate(_label_rows(path, text), 1):
        label = _truth(given)
        if label is None:
            raise InputError(f"{path}, label {number}: {given!r} is neither true nor false")
        if labels.setdefault(case_id, label) != label:
            raise InputError(f"{path}: {case_id!r} is labelled true and false; decide on one")
    if not labels:
        raise InputError(
            f'{path}: holds no label; write lines like {{"case_id": …, "passed": true}}'
        )
    return labels


class _Report:
    """Computes the parts; what cannot be estimated becomes null with its reason in `refused`."""

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
        said = [each for each in decided if each.raw_confidence is not None]
        right = [self._right(each) for each in said]
        return self._reliability(
            "reliability", [each.raw_confidence or 0.0 for each in said], right
        )

    def reliability_after(
        self, decided: Sequence[Verdict], identity: dict[str, str]
    ) -> Reliability | None:
        said = [each for each in decided if each.raw_confidence is not None]
        confidences: list[float] = []
        right: list[bool] = []
        for fold in range(_FOLDS):
            held_out = said[fold::_FOLDS]
            others = [each for number, each in enumerate(said) if number % _FOLDS != fold]
            fitted = self.fitted(others, identity)
            if fitted is None:
                return None
            for each in held_out:
                confidence = fitted.confidence(each.outcome, each.raw_confidence or 0.0)
                confidences.append(confidence or 0.0)
                right.append(self._right(each))
        return self._reliability("reliability_after", confidences, right)

    def fitted(self, decided: Sequence[Verdict], identity: dict[str, str]) -> Calibration | None:
        scores, labels = self._scored(decided)
        if len(scores) < _LEAST_FOR_CONFIDENCE or len(set(labels)) < 2:  # noqa: PLR2004  # both labels
            self.refused["calibration"] = (
                f"a calibrated confidence needs {_LEAST_FOR_CONFIDENCE} decided cases with a "
                f"confidence, successes and failures, after one in five is held out; there are "
                f"{len(scores)}"
            )
            return None
        means, chances = isotonic(scores, labels)
        return Calibration(
            identity=identity, scores=tuple(means), chances=tuple(chances), n=len(scores)
        )

    def corrected(self, verdicts: Sequence[Verdict], selection: Selection) -> CorrectedRate | None:
        judged = {
            each.case_id: each.outcome == "pass" for each in verdicts if each.outcome != "error"
        }
        truth = {case: label for case, label in self._labels.items() if case in judged}
        try:
            found = corrected_rate(judged, truth, level=self._level)
            if not selection.biased:
                return found
            apart = stratified_rate(verdicts, self._labels, level=self._level)
        except NotEstimableError as error:
            self.refused["corrected"] = str(error)
            return None
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
                    f"{_told(selection)}: each verdict is corrected by its own labels",
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
        said = [
            (raw if each.outcome == "pass" else 1.0 - raw, self._labels[each.case_id])
            for each in decided
            if (raw := each.raw_confidence) is not None
        ]
        return [score for score, _ in said], [label for _, label in said]


def _identity(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Return the judge that gave all verdicts."""
    kept = ("judge", "model", "second", "instructions", "schema", "policy")
    found = [{key: each.fingerprint.get(key, "") for key in kept} for each in verdicts]
    for each in found[1:]:
        if each != found[0]:
            differ = [key for key in kept if each[key] != found[0][key]]
            told = "; ".join(f"{key}: {found[0][key]!r} and {each[key]!r}" for key in differ)
            raise InputError(f"the verdicts are of different judges ({told}): calibrate each apart")
    return found[0] if found else {}


def _between(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    if x <= xs[0]:
        return ys[0]
    for i in range(1, len(xs)):
        if x <= xs[i]:
            share = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
            return ys[i - 1] + share * (ys[i] - ys[i - 1])
    return ys[-1]


def _label_rows(path: Path, text: str) -> list[tuple[str, Any]]:
    if path.suffix == ".csv":
        try:
            rows = list(csv.DictReader(text.splitlines()))
        except csv.Error as error:
            raise InputError(f"{path}: no CSV, so no label: {error}") from None
        return [_pair(row, f"{path}, line {number}") for number, row in enumerate(rows, 2)]
    if path.suffix == ".json":
        data = _label_json(text, str(path))
        if isinstance(data, dict):
            return list(data.items())
        entries = data if isinstance(data, list) else [data]
        return [_pair(each, f"{path}, label {n}") for n, each in enumerate(entries, 1)]
    lines = [(f"{path}, line {n}", line) for n, line in enumerate(text.splitlines(), 1)]
    return [_pair(_label_json(line, where), where) for where, line in lines if line.strip()]


def _label_json(text: str, where: str) -> Any:
    try:
        return decode_json(text)
    except ValueError as error:
        raise InputError(f"{where}: not JSON, so no label: {error}") from None


def _pair(row: Any, where: str) -> tuple[str, Any]:
    try:
        return str(row["case_id"]), row["passed"]
    except (KeyError, TypeError):
        raise InputError(f"{where}: no label: each needs `case_id` and `passed`") from None


def _truth(given: Any) -> bool | None:
    if isinstance(given, bool):
        return given
    word = str(given).strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None
