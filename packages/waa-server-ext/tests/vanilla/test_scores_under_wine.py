"""Both evaluators score tasks on WAA's own server under Wine; `nox -s real_windows -- CHECKOUT` runs it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.checkers import Mutant, NoMutantsError
from bench_core.records import Task
from waa_server_ext.built_in.end_states import end_states, judge_end_state
from waa_server_ext.built_in.state_files import content_of
from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.evaluators import EvaluatorSettings, make_evaluator
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.evaluation.tasks import TaskFolder
from waa_server_ext.vm.client import VmHttp
from waa_server_ext.wine.world import WineDesktopWorld

if TYPE_CHECKING:
    from collections.abc import Iterator

MACHINE = os.environ.get("PROCTOR_WINE_MACHINE")
CHECKOUT = os.environ.get("PROCTOR_WAA_CHECKOUT")
pytestmark = pytest.mark.skipif(
    MACHINE is None or CHECKOUT is None,
    reason="PROCTOR_WINE_MACHINE and PROCTOR_WAA_CHECKOUT name no machine and its clone",
)
DOMAINS = ("notepad", "file_explorer", "windows_calc", "microsoft_paint")
STATES = ("as-done", "compared.as-done", "nothing-done")
# Its last step has Paint save the picture, which a machine lacks.
WITHOUT_PROGRAM = "microsoft_paint/15f8de6e"
MAKE = """
import os
for each in [*given["dirs"], *map(os.path.dirname, given["files"])]:
    os.makedirs(each, exist_ok=True)
"""
REMOVE = """
import os, shutil, subprocess
for each in given["files"]:
    subprocess.run(["attrib", "-h", each], capture_output=True)
    os.remove(each)
for each in given["dirs"]:
    shutil.rmtree(each)
"""


async def test_tasks_are_scored_alike_by_both_evaluators(tmp_path: Path) -> None:
    """Each task whose end state is made of files and folders, done and not done."""
    world = WineDesktopWorld(str(MACHINE), scored=False)
    vm = (await world.start()).urls["vm"].removeprefix("http://")
    try:
        found = await asyncio.to_thread(_both_scores, vm, tmp_path)
    finally:
        await world.stop()
    assert found != {}
    assert {name: scores for name, scores in found.items() if len({*scores}) > 1} == {}


def _states() -> Iterator[tuple[Task, Mutant]]:
    """Yield tasks, and end states of theirs that a machine can be given."""
    folder = TaskFolder(Path(str(CHECKOUT)))
    for name in folder.names():
        config = folder.load(name)
        task = Task(benchmark="waa", task_id=name, goal=config["instruction"], config=config)
        with suppress(NoMutantsError):
            for each in end_states(task, random.Random(0)):  # noqa: S311
                end = each.material[0]
                plain = all(isinstance(file, str | dict) for file in end.get("files", {}).values())
                if each.operator in STATES and {*end} <= {"files", "dirs"} and plain:
                    yield task, each


def _both_scores(vm: str, folder: Path) -> dict[str, list[Any]]:
    """Return what the simulation, the native evaluator and vanilla's give for each state."""
    found = {}
    store = AssetStore(folder / "assets")
    settings = EvaluatorSettings(
        cache=folder / "native", assets=store.folder, offline=True, skip_sleeps=True
    )
    theirs = {"cache": folder / "theirs", "checkout": Path(str(CHECKOUT))}
    native = make_evaluator(settings)
    with (
        IsolatedEvaluator(settings.model_copy(update=theirs)) as vanilla,
        VmHttp(vm) as http,
    ):
        for task, state in _states():
            if task.task_id.partition("/")[0] not in DOMAINS:
                continue
            end, reference, history = state.material
            files = end.get("files", {})
            given = {"files": [*files], "dirs": [*end.get("dirs", ())]}
            _python(http, f"given = {given!r}\n{MAKE}")
            for path, described in files.items():
                hidden = isinstance(described, dict) and described.get("hidden")
                upload = {"file_data": ("file", content_of(hidden or described))}
                sent = http.post("/setup/upload", form={"file_path": path}, files=upload)
                assert sent.text == "File Uploaded"
                if hidden:
                    _python(http, f"import subprocess; subprocess.run(['attrib', '+h', {path!r}])")
            for address in re.findall(r'https?://[^"\s]+', json.dumps(task.config["evaluator"])):
                store.add(address, content_of(reference))
            verdicts = [each.evaluate(task.config, history, vm=vm) for each in (native, vanilla)]
            expected = judge_end_state(task, state)[0] and WITHOUT_PROGRAM not in task.task_id
            scores = [float(bool(expected)), *(each.score for each in verdicts)]
            found[f"{task.task_id} {state.operator}"] = scores
            _python(http, f"given = {given!r}\n{REMOVE}")
    return found


def _python(http: VmHttp, code: str) -> None:
    given = {"command": ["python", "-c", code], "shell": False}
    answer = http.post("/execute", json=given).json()
    assert answer["returncode"] == 0, answer
