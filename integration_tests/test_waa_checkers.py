"""What the native evaluators accept of tasks' end states: described ones, and those of the simulated desktop."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench_core.checkers import AuditedTask, Mutant, NoMutantsError, audit_checkers
from bench_core.records import Task
from bench_core.seeded import seeded
from waa_client.checkers import DesktopChecker
from waa_client.cli import main
from waa_client.task_health import task_notes
from waa_client.tasks import load_tasks

TASK = "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS"
NOTHING = ("nothing-done", "held-open")
"""Operators in which the agent does nothing."""
NAMED = {
    "file_explorer/5548314e-d807-4e9e-97e9-b3a4f9fd634f-WOS": "as-done",
    "chrome/bb5e4c0d-f964-439c-97b6-bdb9747de3f4-wos": "other-name-of-it",
    "vlc/fcd3d211-80f9-53eg-bf85-c603529e65g5-1-WOS": "nothing-done",
    "msedge/5b46f4a4-1a78-4860-ad92-76e051fa7efc-wos": "other-way",
}
"""Tasks whose evaluators are known to judge wrongly, each with the operator that shows it."""


@pytest.fixture(scope="module")
def published() -> Mapping[str, Task]:
    folder = Path(os.environ.get("PROCTOR_DATA", "../shared/data")) / "waa"
    if not (folder / "examples").is_dir():
        pytest.skip(f"{folder} has no WAA tasks: set PROCTOR_DATA")
    return {task.task_id: task for task in load_tasks(folder)}


class Some(DesktopChecker):
    """The checker, with the end states that a test looks at."""

    def __init__(self, wanted: Callable[[Mutant], bool]) -> None:
        super().__init__()
        self._wanted = wanted

    def mutants(self, task: Task, draw: random.Random) -> Sequence[Mutant]:
        return [each for each in super().mutants(task, draw) if self._wanted(each)]


def audited(task: Task, wanted: Callable[[Mutant], bool]) -> AuditedTask:
    return audit_checkers(Some(wanted), [task]).tasks[0]


def described(mutant: Mutant) -> bool:
    """Whether it needs no desktop."""
    return isinstance(mutant.material, tuple)


def test_what_is_not_done_is_refused_and_what_else_is_deleted_is_not_seen() -> None:
    asked = ["tasks", "--checkers", "--world", "built-in", "--task", TASK, "--json"]
    (task,) = json.loads(CliRunner().invoke(main, asked, catch_exceptions=False).output)["tasks"]
    found = {
        (each["mutant"]["operator"], each["mutant"]["number"]): (each["mutant"]["verdict"], each["accepted"])
        for each in task["outcomes"]
    }  # fmt: skip
    assert {name for (name, _), (verdict, accepted) in found.items() if verdict == "right" and accepted} == {
        "as-done", "by-place", "extra-reads",
    }  # fmt: skip
    refused = {"nothing-done", "only-claimed", "given-up", "wrong-item", "not-saved",
               "wrong-letter", "letter-case", "field-missing", "done-twice", "superset", "subset", "empty-file",
               "other-folder", "other-name", "other-format"}  # fmt: skip
    assert {name for (name, _), end in found.items() if end == ("wrong", False)} == refused
    assert {end for (name, _), end in found.items() if name == "unrelated-deletion"} == {
        ("wrong", True)
    }
    # as Notepad can save it: the same text
    assert found["byte-order-mark", 1] == ("right", False)


def test_each_published_task_has_end_states_or_says_why_it_has_none(
    published: Mapping[str, Task],
) -> None:
    checker, counts, reasons = DesktopChecker(), {}, {}
    for name, task in published.items():
        try:
            counts[name] = len(checker.mutants(task, seeded("0")))
        except NoMutantsError as error:
            reasons[name] = str(error)
    assert len(counts) == 142
    assert min(counts.values()) >= 4
    assert len(reasons) == 12
    assert {each.partition(" ")[0] for each in reasons.values()} == {"its"}
    pivots = sum("pivot table" in each for each in reasons.values())
    sites = sum("public" in each or "the browser itself" in each for each in reasons.values())
    assert (pivots, sites) == (5, 4)


def test_the_same_seed_makes_the_same_end_states_and_another_seed_changes_other_places(
    published: Mapping[str, Task],
) -> None:
    task = published["notepad/a7d4b6c5-569b-452e-9e1d-ffdb3d431d15-WOS"]
    sheet = published["libreoffice_calc/01b269ae-2111-4a07-81fd-3fcd711993b0-WOS"]

    def changes(of: Task, seed: int) -> list[str]:
        return [each.change for each in DesktopChecker().mutants(of, seeded(str(seed)))]

    assert changes(task, 1) == changes(task, 1)
    assert len({tuple(changes(sheet, seed)) for seed in range(8)}) > 1


def test_every_known_weakness_is_found(
    published: Mapping[str, Task], capsys: pytest.CaptureFixture[str]
) -> None:
    found: dict[str, list[tuple[str, bool]]] = {}
    for note in task_notes(published.values()):
        task = published[note.task_id]
        if note.kind == "never":
            rights = audited(task, lambda m: described(m) and m.verdict == "right")
            seen = bool(rights.right_refused)
        elif note.kind in {"idle", "unprepared"}:
            idle = audited(task, lambda m: m.operator in NOTHING)
            seen = any(each.accepted for each in idle.decided("wrong"))
        elif note.kind == "no-score":
            gone = audited(task, lambda m: m.operator in {"file-gone", "also-deleted"})
            seen = any(each.accepted is None for each in gone.outcomes)
        elif note.kind == "give-up":
            unseen = audited(task, lambda m: m.operator == "given-up-unseen")
            seen = all(each.accepted for each in unseen.outcomes)
        else:
            continue
        found.setdefault(note.kind, []).append((note.task_id, seen))
    found["named"] = [
        (name, _judged_wrongly(published[name], operator)) for name, operator in NAMED.items()
    ]
    with capsys.disabled():
        for kind, each in found.items():
            sys.stdout.write(f"\n{kind}: {sum(seen for _, seen in each)} of {len(each)}")
    assert {kind: len(each) for kind, each in found.items()} == {
        "never": 3, "no-score": 3, "idle": 3, "unprepared": 2, "give-up": 13, "named": 4,
    }  # fmt: skip
    assert [name for each in found.values() for name, seen in each if not seen] == []


def _judged_wrongly(task: Task, operator: str) -> bool:
    looked = audited(task, lambda m: described(m) and m.operator == operator)
    return bool(looked.wrong_accepted or looked.right_refused)


def test_what_is_not_certain_is_shown_and_not_counted(published: Mapping[str, Task]) -> None:
    safe = published["chrome/9656a811-9b5b-4ddf-99c7-5117bcef0626-wos"]
    looked = audited(safe, lambda m: m.operator == "nothing-done")
    assert [each.mutant.verdict for each in looked.outcomes] == ["unknown"]
    assert looked.decided("wrong") == looked.decided("right") == []
    removing = published["file_explorer/b12b2d3a-7da1-4aeb-97cc-6026d3975210-WOS"]
    deletion = audited(removing, lambda m: m.operator == "unrelated-deletion")
    assert [each.mutant.verdict for each in deletion.outcomes] == ["unknown"]


def test_a_task_whose_program_and_files_are_missing_says_so(published: Mapping[str, Task]) -> None:
    audio = published["vlc/8f080098-ddb1-424c-b438-4e96e5e4786e-WOS"]
    assert (
        audited(audio, described).none_because == "its reference is an MP3, which is not made here"
    )
    config = {**audio.config, "evaluator": {"func": "exact_match", "result": {"type": "vm_terminal_output"},
              "expected": {"type": "rule", "rules": {"expected": "x"}}}}  # fmt: skip
    unknown = audio.model_copy(update={"task_id": "other/task", "config": config})
    assert audited(unknown, described).none_because == (
        "no end state for its getter vm_terminal_output is described"
    )
