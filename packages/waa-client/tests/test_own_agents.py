"""Agents of a checkout or of one's own run as they are."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_vm import FakeVm, Reply
from sample_tasks import NoSleep, only, run
from test_support.model_server import Answer, ModelServer

from bench_core.discovery import load_agent
from bench_core.errors import InputError, UnknownPluginError
from bench_core.records import Limits, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fake_evaluator import FakeEvaluator

    from bench_core.records import Task


def trajectory(out: Path) -> list[dict[str, Any]]:
    (path,) = (out / "trials" / "1").iterdir()
    return [json.loads(line) for line in (path / "trajectory.jsonl").read_text().splitlines()]


NAVI = '''
class Navi:
    """An agent class like those in a checkout of WAA."""

    def __init__(self, word="DONE", fails=False):
        self.word, self.fails, self.steps, self.seen = word, fails, 0, []

    def reset(self):
        self.steps = 0

    def predict(self, instruction, obs):
        self.steps += 1
        if self.fails:
            raise KeyError("no plan")
        assert instruction == "Write a draft."
        assert obs["window_title"] == "draft - Notepad"
        assert obs["window_names_str"] == "draft - Notepad\\nTaskbar"
        assert obs["accessibility_tree"].startswith("<desktop")
        from io import BytesIO
        from PIL import Image
        image = Image.open(BytesIO(obs["screenshot"]))
        update = {"rects": [[0, 0, 20, 20], [40, 40, 60, 60]], "window_rect": [0, 0, *image.size],
                  "screenshot": image, "scale": (1.0, 1.0), "clipboard_content": None,
                  "swap_ctrl_alt": False}
        code = "computer.mouse.move_id(id=1)\\ncomputer.mouse.single_click()\\n"
        actions = [self.word] if self.steps == 3 else [code]
        return "", actions, {"plan_result": f"plan {self.steps}"}, update
'''


@pytest.fixture
def checkout(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "checkout/src/win-arena-container/client"
    (folder / "mm_agents_under_test").mkdir(parents=True)
    (folder / "mm_agents_under_test" / "navi.py").write_text(NAVI, encoding="utf-8")
    yield tmp_path / "checkout"
    sys.path[:] = [each for each in sys.path if each != str(folder)]
    for name in [name for name in sys.modules if name.startswith("mm_agents_under_test")]:
        del sys.modules[name]


def own(checkout: Path, **arguments: Any) -> dict[str, Any]:
    return {
        "agent_options": {
            "checkout": str(checkout), "class": "mm_agents_under_test.navi:Navi",
            "arguments": json.dumps(arguments),
        }
    }  # fmt: skip


@pytest.mark.parametrize("word", ["DONE", "FAIL"])
def test_an_agent_of_a_checkout_runs_as_it_is(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, checkout: Path, word: str
) -> None:
    clock = NoSleep()
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="checkout", timing="vanilla",
        config=own(checkout, word=word), clock=clock)  # fmt: skip
    code = "computer.mouse.move_id(id=1)\ncomputer.mouse.single_click()\n"
    assert evaluator.bodies("/evaluate")[0]["action_history"] == [code, code, word]
    assert vm.computer.clicks == [("left", 50, 50)] * 2
    assert clock.slept == [5.0, 5.0, 3.0, 3.0, 3.0]
    result = only(tmp_path / "run")
    assert (result.status, result.steps) == (Status.COMPLETED, 3)
    assert [line["thought"] for line in trajectory(tmp_path / "run")] == [
        "plan 1",
        "plan 2",
        "plan 3",
    ]


def test_vanillas_max_steps_end_the_loop(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, checkout: Path
) -> None:
    limited = task.model_copy(update={"limits": Limits(max_steps=2)})
    run(
        tmp_path / "run",
        [limited],
        [vm.url],
        [evaluator.url],
        agent="checkout",
        config=own(checkout),
    )
    assert (only(tmp_path / "run").status, only(tmp_path / "run").steps) == (Status.STEP_LIMIT, 2)


def test_what_an_agent_of_a_checkout_raises_is_its_own_failure(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, checkout: Path
) -> None:
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="checkout",
        config=own(checkout, fails=True))  # fmt: skip
    result = only(tmp_path / "run")
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.error is not None
    assert "no plan" in result.error.message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs --agent-option class=module:Class"),
        ({"class": "no_such_module:Navi"}, "cannot be made"),
        ({"class": "json:JSONDecoder"}, "it has no `predict`"),
        ({"class": "json:JSONDecoder", "checkout": "/nowhere"}, "there is no checkout"),
        ({"class": "json:JSONDecoder", "arguments": "["}, "is not JSON"),
    ],
)
def test_a_class_that_cannot_be_used_is_named(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, options: dict[str, Any],
    message: str,
) -> None:  # fmt: skip
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="checkout",
        config={"agent_options": options})  # fmt: skip
    result = only(tmp_path / "run")
    assert result.score is None
    assert result.error is not None
    assert message in result.error.message


def test_an_agent_of_ones_own_is_found_by_module_and_class_and_works_in_its_own_process(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="own_agents:OwnAgent")
    assert only(tmp_path / "run").agent_code.process == "own"
    assert (vm.computer.typed, vm.computer.pressed) == ("mine", [("enter",)])
    assert evaluator.bodies("/evaluate")[0]["action_history"][-1] == "DONE"
    assert [line["actions"][0]["kind"] for line in trajectory(tmp_path / "run")] == [
        "code",
        "code",
        "done",
    ]


@pytest.mark.parametrize("name", ["no-such-agent", "json:JSONEncoder", "json:no_such"])
def test_what_is_no_agent_is_refused(name: str) -> None:
    with pytest.raises((UnknownPluginError, InputError)):
        load_agent(name)


def test_an_agent_that_swallows_a_fault_of_the_vm_is_still_not_scored(
    tmp_path: Path, evaluator: FakeEvaluator, task: Task
) -> None:
    with FakeVm(always={"/screenshot": Reply(500, b"x", "text/html")}) as vm:
        run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="own_agents:Swallowing")
    assert only(tmp_path / "run").status is Status.ENVIRONMENT_ERROR


@pytest.fixture
def v2() -> Iterator[Path]:
    """WindowsAgentArena-V2 itself, whose agent needs nothing but OpenAI's SDK."""
    checkout = Path(os.environ.get("PROCTOR_WAA_CHECKOUT") or "/nowhere")
    client = checkout / "src/win-arena-container/client"
    if not (client / "mm_agents/pcagent/agent.py").is_file():
        pytest.skip("PROCTOR_WAA_CHECKOUT names no checkout of WindowsAgentArena-V2")
    pytest.importorskip("openai")
    yield checkout
    sys.path[:] = [each for each in sys.path if each != str(client)]
    for name in [name for name in sys.modules if name.split(".")[0] == "mm_agents"]:
        del sys.modules[name]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::SyntaxWarning")
def test_v2s_own_agent_runs_unchanged(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, server: ModelServer, v2: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("OPENAI_API_KEY", "a key of some length")
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url("openai-chat"))
    for action in ("click (50, 60)", "type text: 'This is a draft.'", "finish"):
        server.say(Answer(text=f"{{Plan}}\nAction: {action}"))
    commands: list[list[str]] = []
    vm.run = lambda command: commands.append(command) or {
        "status": "success", "output": "", "error": "", "returncode": 0,
    }  # fmt: skip
    options = {
        "checkout": str(v2), "class": "mm_agents.pcagent.agent:PCAgent",
        "arguments": '{"model": "m"}', "language": "pyautogui", "tree": False,
    }  # fmt: skip
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="checkout", timing="vanilla",
        config={"agent_options": options})  # fmt: skip
    result = only(tmp_path / "run")
    assert (result.status, result.steps) == (Status.COMPLETED, 3), result.error
    assert evaluator.bodies("/evaluate")[0]["action_history"] == [
        "pyautogui.click(50, 60)", 'pyautogui.write("This is a draft.")', "DONE",
    ]  # fmt: skip
    head = "import pyautogui; import time; pyautogui.FAILSAFE = False; "
    assert commands[0] == ["python", "-c", head + "pyautogui.click(50, 60)"]
    assert "Write a draft." in str(server.requests[0].body)
