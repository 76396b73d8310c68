"""People's notes on trials: how often each label was given, and how far they agree."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from bench_core.errors import NotEstimableError
from bench_core.records import TrialKey
from bench_core.statistics import cohen_kappa
from bench_report.analysis.evaluation import correct, noted_outcomes, of_earlier, read_rate
from bench_report.model import (
    LabelAgreement,
    LabelDifference,
    LabelShare,
    NoteEntry,
    RunNotes,
    RunReport,
)
from bench_report.run_data.sources import Source

_MOST_PEOPLE = 20
"""Pairs are formed of those who labelled most."""


def labels_of(runs: Iterable[Source]) -> list[str]:
    """Return every label that people gave in these runs, the most frequent first."""
    given = Counter(note.label for run in runs for note in run.notes if note.label is not None)
    return [label for label, _ in given.most_common()]


def notes_of(run: Source, labels: Sequence[str], *, level: float = 0.95) -> RunNotes | None:
    """Return people's notes on a run, each of `labels` counted; `None` without a note."""
    if not run.note_lines.records and not run.note_lines.bad:
        return None
    results = {each.key: each for each in run.results}
    known = [note for note in run.notes if note.key in results]
    current = [note for note in known if not of_earlier(note, results[note.key])]
    by_person: defaultdict[str, defaultdict[TrialKey, set[str]]]
    by_person = defaultdict(lambda: defaultdict(set))
    given: defaultdict[TrialKey, set[str]] = defaultdict(set)
    for note in current:
        if note.label is not None:
            by_person[note.by][note.key].add(note.label)
            given[note.key].add(note.label)
    failures = [key for key in given if results[key].success is False]
    drawn = {note.key for note in current if note.label is not None and note.seed is not None}
    outcomes, disputed = noted_outcomes(run)
    reported = {key: each.success for key, each in results.items() if each.success is not None}
    found: dict[str, object] = {}
    if outcomes:
        try:
            found["corrected"] = correct(reported, outcomes, level=level)
        except NotEstimableError as error:
            found["refused"] = str(error)
    lost = len(run.notes) - len(known)
    return RunNotes(
        notes=tuple(
            NoteEntry(
                **note.model_dump(include=set(NoteEntry.model_fields) - {"earlier"}),
                earlier=of_earlier(note, results[note.key]),
            )
            for note in known
        ),
        people=dict(Counter(note.by for note in known).most_common()),
        labelled=len(given),
        labelled_failures=len(failures),
        drawn_failures=len(drawn.intersection(failures)),
        labels=tuple(_shares(run, given, labels, level)),
        agreement=tuple(_agreements(by_person, level)),
        outcomes=len(outcomes),
        disputed=disputed,
        problems=(
            *map(str, run.note_lines.bad),
            *([f"{lost} notes are on trials that have no result"] if lost else []),
        ),
        **found,
    )


def _shares(
    run: Source, given: Mapping[TrialKey, set[str]], labels: Sequence[str], level: float
) -> Iterator[LabelShare]:
    """Count each label in the run, then in each slice that has labelled trials."""
    success = {each.key: each.success for each in run.results}
    slices: defaultdict[tuple[str, str], list[TrialKey]] = defaultdict(list)
    groups = {task.task_id: task.groups for task in run.tasks}
    for key in given:
        slices["", ""].append(key)
        for group, values in groups[key.task_id].items():
            for value in dict.fromkeys(values):
                slices[group, value].append(key)
    for (group, value), keys in sorted(slices.items()):
        failed = [key for key in keys if success[key] is False]
        for label in labels:
            yield LabelShare(
                label=label,
                group=group,
                value=value,
                trials=sum(label in given[key] for key in keys),
                failures=read_rate(
                    run, ((key.task_id, label in given[key]) for key in failed), level
                ),
            )


def _agreements(
    by_person: Mapping[str, Mapping[TrialKey, set[str]]], level: float
) -> Iterator[LabelAgreement]:
    """Compare each two people on the trials that both labelled: all labels together, then each alone."""
    most = sorted(by_person, key=lambda by: (-len(by_person[by]), by))[:_MOST_PEOPLE]
    for first, second in combinations(most, 2):
        one, other = by_person[first], by_person[second]
        shared = [key for key in one if key in other]
        labels = sorted({label for key in shared for label in one[key] | other[key]})
        for label in [None, *labels] if shared else []:
            said = [
                [frozenset(each[key]) if label is None else label in each[key] for key in shared]
                for each in (one, other)
            ]
            kappa = refused = None
            try:
                kappa = cohen_kappa(*said, level=level)
            except NotEstimableError as error:
                refused = str(error)
            alike = sum(mine == theirs for mine, theirs in zip(*said, strict=True))
            yield LabelAgreement(
                first=first, second=second, label=label, trials=len(shared), alike=alike, kappa=kappa, refused=refused
            )  # fmt: skip


def label_differences(runs: Sequence[RunReport]) -> tuple[LabelDifference, ...]:
    """Compare each label's share of labelled failures with that of the first run.

    Square-and-add of the two intervals (Zou and Donner 2008, Statistics in Medicine 27:1693), which are of other
    trials and so independent given the tasks; shared tasks make the truth narrower.
    """
    baseline, *others = runs
    before = _overall(baseline)
    found = []
    for run in others:
        for label, share in _overall(run).items():
            was = before[label].failures.interval if label in before else None
            new = share.failures.interval
            if was is None or new is None:
                continue
            value = new.estimate - was.estimate
            below = math.hypot(new.estimate - new.low, was.high - was.estimate)
            above = math.hypot(new.high - new.estimate, was.estimate - was.low)
            found.append(
                LabelDifference(
                    run=run.label, baseline=baseline.label, label=label, value=value,
                    low=max(-1.0, value - below), high=min(1.0, value + above),
                )
            )  # fmt: skip
    return tuple(found)


def _overall(run: RunReport) -> dict[str, LabelShare]:
    return {each.label: each for each in (run.notes.labels if run.notes else ()) if not each.group}
