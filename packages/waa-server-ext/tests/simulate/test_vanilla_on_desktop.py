"""Vanilla's own controllers, set-up and evaluators run against the desktop unchanged.

Needs a Windows Agent Arena checkout (PROCTOR_WAA_CHECKOUT) and what its evaluators import.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from actions import Hands
from in_process import InProcessVm

from bench_core.errors import InputError
from waa_server_ext.built_in.reference_files import write_assets
from waa_server_ext.built_in.solutions import solutions
from waa_server_ext.evaluation.evaluators import EvaluatorSettings, make_evaluator
from waa_server_ext.simulate import SimulatedVm

if TYPE_CHECKING:
    from collections.abc import Callable

    from waa_server_ext.evaluation.evaluators import Evaluator

pytestmark = pytest.mark.slow

_TASKS = sorted(solutions())


@pytest.fixture(scope="module")
def tasks(waa_data: Path) -> dict[str, dict[str, Any]]:
    """The real tasks, as upstream has them."""
    return {
        name: json.loads((waa_data / "examples" / f"{name}.json").read_text("utf-8"))
        for name in _TASKS
    }


@pytest.fixture(scope="module")
def vanilla(
    tasks: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> Evaluator:
    checkout = os.environ.get("PROCTOR_WAA_CHECKOUT")
    if not checkout:
        pytest.skip("needs a Windows Agent Arena checkout in PROCTOR_WAA_CHECKOUT")
    folder = tmp_path_factory.mktemp("vanilla")
    store = write_assets(tasks.values(), folder / "assets")
    settings = EvaluatorSettings(
        cache=folder / "cache",
        checkout=Path(checkout),
        assets=store.folder,
        offline=True,
        skip_sleeps=True,
    )
    try:
        return make_evaluator(settings)
    except (InputError, ImportError) as error:
        pytest.skip(f"vanilla's evaluators cannot run here: {error}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("task", _TASKS)
def test_vanilla_sets_up_and_scores_as_native_evaluators_do(
    vanilla: Evaluator, tasks: dict[str, dict[str, Any]], next_vm_host: Callable[[], str], task: str
) -> None:
    with SimulatedVm(host=next_vm_host()) as vm:
        assert vanilla.set_up(tasks[task], vm=vm.address).ok
        undone = vanilla.evaluate(tasks[task], ["WAIT"], vm=vm.address)
    with SimulatedVm(host=next_vm_host()) as vm:
        assert vanilla.set_up(tasks[task], vm=vm.address).ok
        hands = Hands(vm.url)
        hands.update([])
        for action in solutions()[task].elements:
            hands.act(action)
        hands.close()
        done = vanilla.evaluate(tasks[task], [*hands.log, "DONE"], vm=vm.address)
    assert (undone.score, done.score) == (0.0, 1.0), (undone.reason, done.reason)


@pytest.mark.filterwarnings("ignore")
def test_vanillas_controller_sees_and_acts(
    vanilla: Evaluator, next_vm_host: Callable[[], str]
) -> None:
    from desktop_env.controllers.python import (  # vanilla put it on the path
        PythonController,
    )

    host = next_vm_host()
    with InProcessVm(host) as vm:
        controller = PythonController(vm_ip=host)
        assert controller.get_probe()
        assert controller.get_vm_platform() == "Windows"
        assert controller.get_vm_screen_size() == {"width": 1440, "height": 900}
        assert controller.get_screenshot().startswith(b"\x89PNG")
        assert controller.get_accessibility_tree("uia").startswith("<desktop")
        controller.execute_action({"action_type": "HOTKEY", "parameters": {"keys": ["win", "e"]}})
        assert vm.desktop.active_title == "Home - File Explorer"
        controller.execute_action({"action_type": "CLICK", "parameters": {"x": 230, "y": 250}})
        controller.execute_action({"action_type": "DRAG_TO", "parameters": {"x": 600, "y": 400}})
        _, title, rect, names, _, _ = controller.get_obs_winagent()
        assert (title, rect) == (vm.desktop.active_title, list(vm.desktop.active.frame))
        assert names.split("\n")[-1] == "Program Manager"
        controller.update_computer(
            [[0, 0, 20, 20]], [0, 0, 1440, 900], vm.desktop.picture(), (1.0, 1.0), None
        )
        assert controller.execute_python_windows_command("computer.mouse.move_id(id=0)") == {
            "status": "success"
        }
        assert (vm.desktop.mouse.x, vm.desktop.mouse.y) == (10, 10)
