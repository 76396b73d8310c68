"""Check a bundle against its own records: scores and the report's numbers once more, offline."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import Field, NonNegativeInt

from bench_core.discovery import is_reference, load_benchmark, load_plugin
from bench_core.errors import BenchError, EnvironmentFaultError
from bench_core.files.checksums import file_sha256
from bench_core.files.inside import file_inside, plain_files, read_inside
from bench_core.records import Record
from bench_core.run_folder.maintenance import check_run
from bench_core.run_folder.view import read_run
from bench_core.runs.rescore import rescore_run_sync
from bench_core.studies.bundle import REPORT, Bundle, arm_folders, unpack_bundle
from bench_core.studies.declaration import read_sealed, verify_study

__all__ = ["NUMBERS", "Reproduction", "reproduce"]

NUMBERS = "study.json"
"""The file of a report that has all of its numbers."""
_AGAIN = "reproduced"
"""Folder of the second report: as deep as the first, so that its links are the same."""
_UNREADABLE = (BenchError, OSError, ValueError)


class Reproduction(Record):
    """The result of scoring a bundle again, and making its report again.

    Attributes:
        study: The study's name.
        rescored: Trials that were scored again and have the score that they had.
        differences: Deviations from the bundle, a sentence each.
        not_scored_again: Trials that have a score and could not be scored again here, and why, with their number.
        same_report: Whether the report's numbers are the same byte for byte.
    """

    study: str
    rescored: NonNegativeInt = 0
    differences: tuple[str, ...] = ()
    not_scored_again: dict[str, int] = Field(default_factory=dict)
    same_report: bool = False


def reproduce(path: Path, into: Path) -> Reproduction:
    """Unpack a bundle into the empty folder `into`, score its trials again and make its report again.

    Raises:
        InputError: It is not a bundle, or one that no export writes.
        UnknownPluginError: No reporter of studies is installed.
    """
    reporter = load_plugin("reporter", "study")
    bundle, differences = unpack_bundle(path, into)
    with suppress(BenchError):  # the report of a file that cannot be read fails, too, and says so
        if read_sealed(into) is not None:
            differences += verify_study(into).problems
    # before trials are scored again, which leaves files in the run folders
    same, numbers = _report_again(reporter(), into)
    rescored, unscored = 0, Counter[str]()
    for benchmark, arm, folder in arm_folders(into):
        name = f"runs/{benchmark}/{arm}"
        try:
            differences += [f"{name}: {each}" for each in check_run(folder).problems]
            again, found, reasons = _scores_again(name, folder, bundle)
        except _UNREADABLE as error:
            reason = str(error).replace(str(folder), name)
            differences.append(f"{name} cannot be scored again: {reason}")
            continue
        rescored += again
        differences += found
        unscored.update(reasons)
    return Reproduction(
        study=bundle.study,
        rescored=rescored,
        differences=tuple(dict.fromkeys((*differences, *numbers))),
        not_scored_again=unscored,
        same_report=same,
    )


def _scores_again(name: str, folder: Path, bundle: Bundle) -> tuple[int, list[str], dict[str, int]]:
    """Return how many trials have the same score again, the differences, and why others have none."""
    run = read_run(folder)
    scored = sum(each.score is not None for each in run.latest)
    if not bundle.evidence:
        reason = "the bundle has no files of trials (`study export --evidence`)"
        return 0, [], {reason: scored} if scored else {}
    if is_reference(run.info.benchmark):  # a reference that a bundle names is not imported
        return 0, [], {f"{run.info.benchmark!r} is not the name of an installed benchmark": scored}
    try:
        outcome = rescore_run_sync(load_benchmark(run.info.benchmark), folder, name=_AGAIN)
    except EnvironmentFaultError as error:
        return 0, [], {str(error): scored}
    reasons, differences = Counter[str](), []
    for each in outcome.changes:
        trial = f"{name}, task {each.task_id!r}, trial {each.trial}"
        if each.score is None:
            reasons[each.reason or "the evaluation does not say why"] += 1
        else:
            differences.append(
                f"{trial}: the bundle says {_score(each.score_before)}, scored again {_score(each.score)}"
            )
    again = scored - reasons.total() - len(differences)
    return again, differences, reasons


def _score(score: float | None) -> str:
    return "no score" if score is None else f"{score:g}"


def _report_again(reporter: Any, folder: Path) -> tuple[bool, list[str]]:
    """Return whether the report's numbers are the same bytes, and the differences in all of its files."""
    first, second, name = folder / REPORT, folder / _AGAIN, f"{REPORT}/{NUMBERS}"
    if not file_inside(first, NUMBERS):
        return False, [f"{name} is missing"]
    numbers = read_inside(first, NUMBERS)
    try:
        reporter.report([folder], second)
        again = read_inside(second, NUMBERS)
        before, after = json.loads(numbers), json.loads(again)
    except Exception as error:  # noqa: BLE001  # a reporter is a plugin, and it reads a stranger's files
        told = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
        reason = told.replace(f"{folder}{os.sep}", "")
        return False, [f"the report cannot be made again: {reason}"]
    found = list(_differing(before, after, name))
    # another version of the reporter may write the same numbers in other words
    makers = [each.get("generator") if isinstance(each, dict) else None for each in (before, after)]
    if makers[0] == makers[1]:
        files = {each: file_sha256(first / each) for each in plain_files(first)}
        made = {each: file_sha256(second / each) for each in plain_files(second)}
        found += [
            f"{REPORT}/{each} is not what the runs give"
            for each in sorted(files.keys() | made.keys())
            if files.get(each) != made.get(each) and (each != NUMBERS or not found)
        ]
    return numbers == again, found


def _differing(before: Any, after: Any, place: str) -> Iterator[str]:
    """Yield the places at which two JSON values differ, except for the generator."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys((*before, *after)):
            if name != "generator":
                yield from _differing(before.get(name), after.get(name), f"{place} {name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True), 1):
            yield from _differing(one, other, f"{place} [{number}]")
    elif before != after or type(before) is not type(after):
        yield f"{place}: the bundle says {_short(before)}, made again {_short(after)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:80]}..."  # a line of a terminal
