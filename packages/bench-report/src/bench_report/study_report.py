"""The report of a study: its declared comparisons first, then all arms by benchmark, then the undeclared."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.statistics import Look
from bench_core.studies import (
    DeclaredComparison,
    ReusedArm,
    RunName,
    SealedStudy,
    Study,
    StudyLooks,
    arm_folders,
    load_study,
    read_changes,
    read_reused,
    read_sealed,
    verify_study,
)
from bench_report.__about__ import __version__
from bench_report.comparison.baselines import ComparedRun, side_of
from bench_report.comparison.differences import difference
from bench_report.model import Caveat, Difference, Report
from bench_report.report_data import report_of
from bench_report.report_files import write_report
from bench_report.run_data.sources import Source, read_runs
from bench_report.study_model import (
    BenchmarkPart,
    Declaration,
    DeclaredResult,
    StudyChange,
    StudyPair,
    StudyReport,
    Verdict,
)


class _AnyVariable(dict[str, str]):
    """Variables of a file that was read elsewhere: they fill in nothing that is declared or needed here."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return "unset"


def write_study_report(study: Path, out: Path) -> list[Path]:
    """Write the report of a study's folder into `out`, and of each benchmark below it; return the study's files.

    Raises:
        InputError: It has no runs, or its file cannot be read.
        RunFolderError: A run folder is damaged.
    """
    from bench_report.formats.study import render_study_latex, render_study_markdown
    from bench_report.html_page.study_page import render_study_page

    found, parts = study_report_of(study, out)
    out.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in (
        ("index.html", render_study_page(found)),
        ("study.md", render_study_markdown(found)),
        ("study.tex", render_study_latex(found)),
        ("study.json", found.model_dump_json(indent=1) + "\n"),
    ):
        if (out / name).is_symlink():
            raise InputError(f"{out / name} is a link: remove it, or use another --out")
        write_atomic(out / name, text.encode())
        files.append(out / name)
    for part, (report, runs) in zip(found.benchmarks, parts, strict=True):
        write_report(report, runs, out / part.folder, formats=("html", "json"))
    return files


def study_report_of(
    study: Path, out: Path
) -> tuple[StudyReport, list[tuple[Report, list[Source]]]]:
    """Return a study's report, and the whole report and runs of each benchmark."""
    file = load_study(study / "study.yaml", _AnyVariable())
    folders: dict[str, dict[str, Path]] = {}
    for benchmark, arm, folder in arm_folders(study):
        folders.setdefault(benchmark, {})[arm] = folder
    order = {each.name: number for number, each in enumerate(file.arms)}
    runs = {
        name: [
            _named(arm, arms[arm])
            for arm in sorted(arms, key=lambda each: (order.get(each, len(order)), each))
        ]
        for name, arms in folders.items()
    }
    last = max(
        (d for each in itertools.chain(*runs.values()) if (d := each.view.last_date())),
        default=None,
    )
    sides = {name: {run.label: side_of(run) for run in each} for name, each in runs.items()}
    sealed = read_sealed(study)
    declaration, looks = _declaration(study, sealed, file), _looks_of(sealed, runs)
    reused = read_reused(study)
    declared = [
        _declared(each, sides, looks, reused)
        for each in (file.comparisons if declaration.sealed else ())
    ]
    pairs = _not_declared(sides, declared)
    explored = sum(map(len, pairs.values()))
    parts, wholes = [], []
    for name, each in runs.items():
        whole = report_of(each, out=out / name, title=f"{file.name}: {name}", mix=True, now=last)
        told = tuple(
            Caveat(code="reused_arm", severity="warning", text=f"{arm.warning}.", run=arm.arm)
            for arm in reused.values()
            if arm.benchmark == name
        )
        whole = whole.model_copy(update={"caveats": (*whole.caveats, *told)})
        wholes.append((whole, each))
        parts.append(
            BenchmarkPart(
                name=name,
                folder=name,
                added=tuple(arm for arm in sides[name] if arm not in order),
                missing=tuple(arm for arm in order if arm not in sides[name]),
                report=_slim(whole),
                explored=tuple(
                    _with_drift(difference(new, old, together=explored), name, reused)
                    for new, old in pairs[name]
                ),
            )
        )
    found = StudyReport(
        name=file.name,
        generator=f"bench-report {__version__}",
        as_of=last,
        declaration=declaration,
        changes=tuple(StudyChange(time=each.time, text=each.text) for each in read_changes(study)),
        reused=tuple(reused.values()),
        declared=tuple(declared),
        benchmarks=tuple(parts),
        explored=explored,
    )
    return found, wholes


def _not_declared(
    sides: Mapping[str, Mapping[str, ComparedRun]], declared: Sequence[DeclaredResult]
) -> dict[str, list[tuple[ComparedRun, ComparedRun]]]:
    """Return of each benchmark the pairs of arms that no comparison declares."""
    taken = {
        (pair.benchmark, frozenset((pair.difference.run, pair.difference.baseline)))
        for each in declared
        for pair in each.pairs
    }
    return {
        name: [
            (new, old)
            for old, new in itertools.combinations(each.values(), 2)
            if (name, frozenset((new.label, old.label))) not in taken
        ]
        for name, each in sides.items()
    }


def _named(arm: str, folder: Path) -> Source:
    (found,) = read_runs([folder])
    found.label = arm
    return found


def _slim(report: Report) -> Report:
    """Return a report without trials and tasks, which the benchmark's own has, and without comparisons."""
    runs = tuple(each.model_copy(update={"trials": ()}) for each in report.runs)
    return report.model_copy(
        update={"runs": runs, "tasks": (), "comparison": None, "ranking": None}
    )


def _declared(
    comparison: DeclaredComparison,
    sides: Mapping[str, Mapping[str, ComparedRun]],
    looks: Mapping[tuple[str, str, str, str], Sequence[Look]],
    reused: Mapping[RunName, ReusedArm],
) -> DeclaredResult:
    wanted = [(name, arm) for name in comparison.benchmarks for arm in comparison.arms]
    pairs = []
    for name, arm in wanted:
        there = sides.get(name, {})
        missing = [each for each in (arm, comparison.baseline) if each not in there]
        if missing:
            found = Difference(
                run=arm,
                baseline=comparison.baseline,
                shared_tasks=0,
                level=comparison.level,
                note=f"{' and '.join(missing)} did not run on {name}",
            )
            pairs.append(StudyPair(benchmark=name, verdict="not_run", difference=found))
            continue
        found = difference(
            there[arm], there[comparison.baseline],
            together=len(wanted), level=comparison.level, of_scores=comparison.outcome == "score",
        )  # fmt: skip
        found = _with_drift(found, name, reused)
        taken = looks.get((name, comparison.baseline, arm, comparison.outcome))
        if comparison.looks > 1 and taken is not None:
            found = _with_looks(found, taken)
        verdict = _verdict(found, comparison.drop)
        pairs.append(
            StudyPair(benchmark=name, verdict=verdict, difference=found, looks=tuple(taken or ()))
        )
    return DeclaredResult(comparison=comparison, together=len(wanted), pairs=tuple(pairs))


def _with_drift(
    found: Difference, benchmark: str, reused: Mapping[RunName, ReusedArm]
) -> Difference:
    """Return a difference with a warning if one of its arms was not run in turns with the other."""
    arms = [reused.get(RunName(benchmark, each)) for each in (found.run, found.baseline)]
    told = "; ".join(each.warning for each in arms if each is not None)
    return found.model_copy(update={"timing": told}) if told else found


def _verdict(found: Difference, drop: float | None) -> Verdict:
    """Decide by the interval that holds for all pairs together."""
    low = found.low if found.joint_low is None else found.joint_low
    high = found.high if found.joint_high is None else found.joint_high
    if low is None or high is None:
        return "undecided"
    if low > 0:
        return "better"
    if high < 0:
        return "worse"
    return "no_such_drop" if drop is not None and low > -drop else "undecided"


def _with_looks(found: Difference, looks: Sequence[Look]) -> Difference:
    """Return a difference with its last look's interval: those of a fixed size do not hold if a study may stop early."""
    last = looks[-1] if looks else None
    intervals = ("low", "high", "joint_low", "joint_high")
    fields = dict.fromkeys(
        (*intervals, "value", "p_value", "adjusted_p_value", "p_sign_flip", "detectable")
    )
    if last is None:
        return found.model_copy(update=fields | {"note": "its first look is still to come"})
    return found.model_copy(
        update=fields
        | {
            "value": last.difference,
            "joint_low": last.low,
            "joint_high": last.high,
            "shared_tasks": last.tasks,
            "method": f"repeated interval of look {last.number} of {last.of}",
            "note": f"look {last.number} of {last.of}: {last.reason}",
        }
    )


def _looks_of(
    sealed: SealedStudy | None, runs: Mapping[str, Sequence[Source]]
) -> dict[tuple[str, str, str, str], list[Look]]:
    """Return the looks that were taken by benchmark, baseline, arm and outcome; empty lists for those to come."""
    if sealed is None:
        return {}
    taken = StudyLooks(sealed.looks, sealed.trials)
    for benchmark, arms in runs.items():
        for run in arms:
            for result in run.view.latest:
                taken.add(RunName(benchmark, run.label), result)
    found: dict[tuple[str, str, str, str], list[Look]] = {
        (each.benchmark, each.baseline, each.arm, each.outcome): [] for each in sealed.looks
    }
    for pair, look in taken.looks:
        found[pair.benchmark, pair.baseline, pair.arm, pair.outcome].append(look)
    return found


def _declaration(study: Path, sealed: SealedStudy | None, file: Study) -> Declaration:
    if sealed is None:
        return Declaration(sealed=False, notes=file.notes)
    return Declaration(
        sealed=True,
        sha256=sealed.declared_sha256 or sealed.sha256,
        anonymised=sealed.declared_sha256 is not None,
        declared=sealed.time,
        problems=verify_study(study).problems,
        notes=file.notes,
    )
