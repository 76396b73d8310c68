"""Run folders as a report reads them: labelled, in order, with the way to each trial's folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from bench_core.errors import InputError
from bench_core.files import folder_name
from bench_core.records import AgentCode, Note, RunInfo, Task, TrialKey, TrialResult, current_notes
from bench_core.run_folder import Lines, RunView, StepScores, read_notes, read_run, read_step_scores
from bench_core.statistics import EndedTrial, EndedTrials, read_ended
from bench_report.text.untrusted import inline

_LABEL_LENGTH = 120
_DIGITS = 8


class Source:
    """One run of a report.

    Attributes:
        label: A short name, unique in the report.
        view: The run folder as it was read.
        address: The page's link to the run folder, if not its path.
        store_problem: Why the object store that has its trials' files cannot be read.
    """

    def __init__(
        self,
        label: str,
        view: RunView,
        address: str | None = None,
        ended: EndedTrials | None = None,
    ) -> None:
        self.label = label
        self.view = view
        self.address = address
        self._latest = ended
        self.store_problem: str | None = None

    @property
    def info(self) -> RunInfo:
        """The run's own description."""
        return self.view.info

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The planned tasks."""
        return self.view.tasks

    @cached_property
    def results(self) -> list[TrialResult]:
        """The results by the order of the tasks, then by trial."""
        latest = self.view.latest.in_memory()  # a report goes over them many times
        return [latest[index] for index in self._order]

    @cached_property
    def note_lines(self) -> Lines[Note]:
        """People's notes, line by line, and the lines that are not notes."""
        return read_notes(self.view.path)

    @cached_property
    def notes(self) -> list[Note]:
        """The notes that hold, the oldest first."""
        return current_notes(self.note_lines.records)

    @cached_property
    def step_scores(self) -> dict[TrialKey, StepScores]:
        """After which steps states passed, of the trials whose result has not changed since."""
        found = read_step_scores(self.view.path)
        now = {each.key: each.checksum for each in self.results} if found else {}
        return {key: each for key, each in found.items() if now.get(key, "") == each.result}

    @cached_property
    def ended(self) -> EndedTrials:
        """The results without their evidence, in the same order."""
        return self._in_file.taken(self._order)

    @cached_property
    def folders(self) -> list[str | None]:
        """The folder of artifacts of each of `results`, relative to the run; `None` if none was left."""
        return [self.trial_folder(each) for each in self.ended]

    def trial_folder(self, result: TrialResult | EndedTrial) -> str | None:
        """Return where a trial left its artifacts, relative to the run; `None` if nowhere."""
        name = self._folder_names[result.task_id]
        if name not in self._existing[result.trial]:
            return None
        return f"trials/{result.trial}/{name}"

    def relative_to(self, out: Path) -> str:
        """Return the POSIX path of the run folder relative to `out`, or its address."""
        if self.address is not None:
            return self.address
        try:
            return Path(os.path.relpath(self.view.path, out)).as_posix()
        except ValueError:  # on another drive of Windows
            return self.view.path.resolve().as_posix()

    @cached_property
    def _in_file(self) -> EndedTrials:
        return self._latest or EndedTrials.of(self.view.latest)

    @cached_property
    def _order(self) -> list[int]:
        """The index in `view.latest` of each of `results`."""
        place = {task.task_id: index for index, task in enumerate(self.view.tasks)}
        keys = [
            (place.get(task, -1), trial)
            for task, trial in zip(
                self._in_file.column("task_id"), self._in_file.column("trial"), strict=True
            )
        ]
        return sorted(range(len(keys)), key=keys.__getitem__)

    @cached_property
    def _folder_names(self) -> dict[str, str]:
        return {task.task_id: folder_name(task.task_id) for task in self.view.tasks}

    @cached_property
    def _existing(self) -> _FolderNames:
        return _FolderNames(self.view.path / "trials")


class _FolderNames(dict[int, frozenset[str]]):
    """The folders of each trial number, listed once: asking for each costs a system call."""

    def __init__(self, trials: Path) -> None:
        super().__init__()
        self._trials = trials

    def __missing__(self, trial: int) -> frozenset[str]:
        folder = self._trials / str(trial)
        names: list[str] = []
        # Targets of links are not part of the run.
        if folder.is_dir() and not folder.is_symlink():
            with os.scandir(folder) as entries:
                names = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        return self.setdefault(trial, frozenset(names))


def read_runs(
    folders: Sequence[Path],
    *,
    addresses: Sequence[str] | None = None,
    tell: bool = False,
    statistics: bool = True,
) -> list[Source]:
    """Read run folders and give each a short unique label, in the order given.

    Args:
        folders: Run folders.
        addresses: The page's link to each of them, if not its path.
        tell: Log files in them that are not as written, for forms that have no place for it.
        statistics: Keep on the way the fields that statistics need, some 150 bytes of each result.

    Raises:
        InputError: No folder, or one twice.
        RunFolderError: One is missing or damaged.
        SchemaVersionError: One was written by a newer Proctor.
    """
    if not folders:
        raise InputError("no run folder given: name at least one")
    # A run given twice would count as repeated evidence; two paths can lead to one folder.
    twice = [path for path, n in Counter(each.resolve() for each in folders).items() if n > 1]
    if twice:
        raise InputError(f"{twice[0]} is given twice: name each run folder once")
    read = [read_ended(each) if statistics else (read_run(each), None) for each in folders]
    views = [view for view, _ in read]
    for view in views if tell else ():
        view.tell_damage()
    places: Sequence[str | None] = addresses or [None] * len(views)
    return [
        Source(label, view, place, ended)
        for label, (view, ended), place in zip(_labels(views), read, places, strict=True)
    ]


def _labels(views: Sequence[RunView]) -> list[str]:
    """Name runs by agent and model, by benchmark if there are several, by model alone if these tell runs apart."""
    several = len({view.info.benchmark for view in views}) > 1
    agents, models = ({getattr(v.info, name) for v in views} for name in ("agent", "model"))
    by_model = len(agents) == 1 < len(models) == len(views) and None not in models
    parts = [
        (
            view.info.benchmark if several else None,
            None if by_model else view.info.agent,
            view.info.model,
        )
        for view in views
    ]
    names = [inline(" · ".join(filter(None, each)), _LABEL_LENGTH) for each in parts]
    folders = [view.path.resolve().name for view in views]
    return told_apart(names, [view.info for view in views], folders)


def told_apart(
    labels: Sequence[str], infos: Sequence[RunInfo], folders: Sequence[str]
) -> list[str]:
    """Add the differences between runs to labels that occur more than once, so that each is unique.

    That is the place of the agent, or else the digest of its program, as agents of one name may be two; then
    the folder, or else a number.
    """
    codes = [info.agent_code or AgentCode() for info in infos]
    facts = [
        (code.place or "", f"program {code.sha256[:_DIGITS]}" if code.sha256 else "", folder)
        for code, folder in zip(codes, folders, strict=True)
    ]
    found = []
    for label, (place, program, folder) in zip(labels, facts, strict=True):
        alike = [each for other, each in zip(labels, facts, strict=True) if other == label]
        places, programs, names = map(set, zip(*alike, strict=True))
        agent = place if len(places) > 1 else program if len(programs) > 1 else ""
        differs = ", ".join(filter(None, (agent, folder if len(names) > 1 else "")))
        found.append(f"{label} ({inline(differs, _LABEL_LENGTH)})" if differs else label)
    times = Counter(found)
    return [f"{each} #{n}" if times[each] > 1 else each for n, each in enumerate(found, start=1)]
