"""The records of a study's report: the contents of `study.json`, which its other forms show."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from bench_core.records import Record
from bench_core.statistics import Look
from bench_core.studies import DeclaredComparison, ReusedArm
from bench_report.model import Difference, Report

Verdict = Literal["better", "worse", "no_such_drop", "undecided", "not_run"]
"""The result of a declared comparison; `no_such_drop`: neither, but the drop that matters is ruled out."""


class Declaration(Record):
    """The known facts about a study's declaration before its first trial.

    Attributes:
        sealed: Whether it was sealed before the first trial.
        sha256: The digest of the sealed file `study.yaml`.
        declared: When it was sealed.
        anonymised: Whether names were taken out of the file since, which changes this copy's digest.
        problems: Deviations from the seal that no change explains, a sentence each.
        notes: The file's own notes.
    """

    sealed: bool
    sha256: str | None = None
    declared: datetime | None = None
    anonymised: bool = False
    problems: tuple[str, ...] = ()
    notes: str = ""


class StudyChange(Record):
    """A change or addition after the seal, in words."""

    time: datetime | None = None
    text: str


class StudyPair(Record):
    """An arm against the baseline on one benchmark, as declared.

    For a pair that was to be looked at before its end, `looks` has each look's finding, and the joint
    interval of `difference` is the last's repeated one, valid at any look at which a study stops.
    """

    benchmark: str
    verdict: Verdict
    difference: Difference
    looks: tuple[Look, ...] = ()


class DeclaredResult(Record):
    """A declared comparison, and its pairs' results; `together` is the number of pairs that share its error."""

    comparison: DeclaredComparison
    together: PositiveInt
    pairs: tuple[StudyPair, ...]


class BenchmarkPart(Record):
    """A benchmark with all its arms.

    Attributes:
        name: Its name in the study.
        folder: Folder of its own report, with every trial; relative to the study's.
        added: Arms that ran and that the declaration does not name.
        missing: Arms that it names and that did not run here.
        report: The report without trials and tasks.
        explored: Pairs of arms that no declared comparison has, together over the study.
    """

    name: str
    folder: str
    added: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    report: Report
    explored: tuple[Difference, ...] = ()


class StudyReport(Record):
    """`study.json`: all numbers of a study's report; the other forms are made from it alone.

    `as_of` is the last date in the runs, so that the same runs give the same report.
    """

    schema_version: Literal[1] = 1
    name: str
    generator: str
    as_of: datetime | None = None
    declaration: Declaration
    changes: tuple[StudyChange, ...] = ()
    reused: tuple[ReusedArm, ...] = ()
    declared: tuple[DeclaredResult, ...] = ()
    benchmarks: tuple[BenchmarkPart, ...] = ()
    explored: NonNegativeInt = 0
