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
"""What a declared comparison shows; `no_such_drop`: neither, but the drop that matters is ruled out."""


class Declaration(Record):
    """What is known of what a study declared before its first trial.

    Attributes:
        sealed: Whether it was sealed before the first trial.
        sha256: The digest of the sealed file `study.yaml`.
        declared: When it was sealed.
        anonymised: Whether names were taken out of that file since, so that the one beside the runs has another.
        problems: What does not fit the seal and is told by no change, a sentence each.
        notes: The file's own notes.
    """

    sealed: bool
    sha256: str | None = None
    declared: datetime | None = None
    anonymised: bool = False
    problems: tuple[str, ...] = ()
    notes: str = ""


class StudyChange(Record):
    """What was changed or added after the seal, in words."""

    time: datetime | None = None
    text: str


class StudyPair(Record):
    """An arm against the baseline on one benchmark, as declared.

    Where the pair was to be looked at before its end, `looks` has what each look found, and the joint interval of
    `difference` is the repeated one of the last, which is valid at whatever look a study stops.
    """

    benchmark: str
    verdict: Verdict
    difference: Difference
    looks: tuple[Look, ...] = ()


class DeclaredResult(Record):
    """A declared comparison, and what its pairs show; `together` is the number of pairs that share its error."""

    comparison: DeclaredComparison
    together: PositiveInt
    pairs: tuple[StudyPair, ...]


class BenchmarkPart(Record):
    """A benchmark with all its arms.

    Attributes:
        name: What the study calls it.
        folder: Where its own report is, with every trial; relative to the study's.
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
