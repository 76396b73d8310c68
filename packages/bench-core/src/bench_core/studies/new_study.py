"""Write the file of a new study: a commented one to begin with, or one of runs that exist."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from bench_core.errors import InputError
from bench_core.files import require_writable, write_atomic
from bench_core.run_folder.view import read_run
from bench_core.studies.study_file import keys_of_run

__all__ = ["write_study"]

_BENCHMARKS = {
    "webarena": {
        "world": "built-in",
        "tasks": {"limit": 8},
    }
}
_ARMS: dict[str, dict[str, Any]] = {
    "solver": {"agent": "scripted"},
    "idler": {"agent": "do-nothing"},
}


def write_study(path: Path, runs: Sequence[Path] = ()) -> Path:
    """Write a study's file with a comment next to each key, and return it.

    Args:
        path: The file.
        runs: Run folders whose benchmarks, tasks, agents, models and settings the study takes over. Trials and seed
            are those of the first. Keys that runs do not record are left open: `study check` names them.

    Raises:
        InputError: The file exists, or two runs are on one benchmark with other tasks or on another world.
        RunFolderError: A run cannot be read.
    """
    if path.exists():
        raise InputError(f"{path} exists: choose another name, or move it away")
    benchmarks: dict[str, dict[str, Any]] = {}
    arms: dict[str, dict[str, Any]] = {}
    limits: dict[str, dict[str, dict[str, Any]]] = {}  # of each arm on each benchmark
    trials, seed = 3, 0
    for number, view in enumerate(map(read_run, runs)):
        info = view.info
        if not number:
            trials, seed = info.trials, info.seed
        ids = [task.task_id for task in view.tasks]
        benchmark = {"world": info.world, "tasks": {"ids": ids}}
        known = benchmarks.setdefault(info.benchmark, benchmark)
        if known != benchmark:
            raise InputError(
                f"{view.path} ran other tasks of {info.benchmark}, or on another world, than a run before it: "
                "a study compares arms on the same tasks, so leave one of them out"
            )
        arm = keys_of_run(info)
        kept: dict[str, Any] = dict(info.config.get("limits") or {})  # type: ignore[arg-type]  # of JSON
        known_as = (
            name
            for name, own in limits.items()
            if arms[name] == arm and own.get(info.benchmark, kept) == kept
        )
        name = next(known_as, f"{info.agent}-{len(arms) + 1}".replace(":", "-").replace("/", "-"))
        arms[name] = arm
        limits.setdefault(name, {})[info.benchmark] = kept
    for name, own in limits.items():
        # those that benchmarks set themselves differ between them, and no arm says them
        for key, setting in (("max_steps", "max_steps"), ("time_limit", "time_limit_s")):
            said = {each.get(setting) for each in own.values()}
            if len(said) == 1 and None not in said:
                arms[name][key] = said.pop()
    values = {
        "file": path.name,
        "name": path.stem,
        "benchmarks": _block(benchmarks or _BENCHMARKS),
        "arms": _block(arms or _ARMS),
        "trials": trials,
        "seed": seed,
        "baseline": next(iter(arms or _ARMS)),
    }
    text = resources.files("bench_core.studies").joinpath("study.yaml.txt").read_text("utf-8")
    if len(arms) == 1:
        before, _, after = text.partition("\ncomparisons:")
        text = f"{before}\n{after[after.index('notes:') :]}"
    require_writable(path)
    write_atomic(path, Template(text).substitute(values).encode())
    return path


def _block(entries: dict[str, dict[str, Any]]) -> str:
    """Return entries as YAML, of which JSON is a part, a line each."""
    return "\n".join(
        f"  {json.dumps(name)}: {json.dumps(entry)}" if not name.replace("-", "").isalnum()
        else f"  {name}: {json.dumps(entry)}"
        for name, entry in entries.items()
    )  # fmt: skip
