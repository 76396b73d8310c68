"""Checks of end states in files against their tasks (the `check-state` command)."""

from __future__ import annotations

from pathlib import Path

from bench_core.errors import UnknownTaskError
from multireal_harness.states.files import load_states, read_states
from multireal_harness.states.goal_checks import goal_symptoms
from multireal_harness.states.health import Symptom, check_states
from multireal_harness.tasks import BENCHMARK, load_definitions, resolve_tasks_dir


def check_files(
    path: Path, tasks_dir: str | None = None, task: str | None = None, seeds: Path | None = None
) -> dict[str, list[Symptom]]:
    """Return the symptoms found in each file of end states.

    Args:
        path: One file, or a folder of them.
        tasks_dir: Folder of the tasks.
        task: Id of their task; by default the file's name.
        seeds: File of end states of untouched apps.

    Raises:
        UnknownTaskError: No task has the name of a file.
        InputError: A file holds no end states.
    """
    known = {each.id: each for each in load_definitions(resolve_tasks_dir(tasks_dir))}
    untouched = {} if seeds is None else read_states(seeds).apps
    first = {app: state.get("initialstate") for app, state in untouched.items()}
    files = load_states(path) if path.is_dir() else [read_states(path)]
    found = {}
    for each in files:
        name = task or each.task_id
        definition = known.get(name.removeprefix("multi."))
        if definition is None:
            near = [one for one in known if set(one.split("-")) & set(name.split("-"))][:3]
            raise UnknownTaskError(BENCHMARK, name, near)
        asked = goal_symptoms(definition, each.apps)
        symptoms = [*asked, *check_states(definition, each.apps, seeds=first)]
        found[str(each.path)] = sorted(symptoms, key=lambda one: not one.serious)
    return found


def symptoms_text(found: dict[str, list[Symptom]]) -> str:
    """Return the symptoms as text, file by file."""
    lines = []
    for name, symptoms in found.items():
        serious = sum(each.serious for each in symptoms)
        usable = "usable, with notes" if symptoms else "sound"
        lines.append(f"{name}: {f'{serious} serious symptoms' if serious else usable}")
        lines += [
            f"  {'serious' if each.serious else 'note   '}  {each.app}: {each.code}: {each.message}"
            for each in symptoms
        ]
    return "\n".join(lines)
