"""The agents that are installed: models, scripts, recorded runs, agents over HTTP."""

from __future__ import annotations

import base64
import importlib.util
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from agent_runs import call, vision
from click.testing import CliRunner
from fake_vm import FakeVm
from sample_tasks import only, run, script
from test_support.model_server import Answer, ModelServer

from bench_core.agents import Done
from bench_core.discovery import find_plugins, load_agent
from bench_core.errors import InputError, pip_install
from bench_core.records import Status
from waa_client.agents.simple import read_script
from waa_client.cli import main

if TYPE_CHECKING:
    from fake_evaluator import FakeEvaluator

    from bench_core.records import Task

PROVIDERS = {
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY"),
    "openai": ("openai", "OPENAI_API_KEY"),
    "google": ("google.genai", "GEMINI_API_KEY"),
}
DRAFT = "This is a draft."


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    module, key = PROVIDERS[name]
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"the SDK of {name} is not installed")
    monkeypatch.setenv(key, "a key of some length")
    return name


def test_a_model_of_any_provider_does_a_task_on_the_marked_screen(
    tmp_path: Path,
    vm: FakeVm,
    evaluator: FakeEvaluator,
    task: Task,
    provider: str,
    server: ModelServer,
) -> None:
    server.say(
        call("click", element="1"),
        call("type_text", text=DRAFT),
        call("press_keys", keys=["ctrl", "s"]),
        call("done"),
    )
    config = {"agent_options": {"base_url": server.base_url(provider)}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="vision",
        model=f"{provider}:m", config=config)  # fmt: skip
    result = only(tmp_path / "run")
    assert (result.status, result.score, result.steps) == (Status.COMPLETED, 1.0, 4)
    assert vm.computer.clicks == [("left", 300, 215)]
    assert (vm.computer.typed, vm.computer.pressed) == (DRAFT, [("ctrl", "s")])
    assert (result.usage.requests, result.model_reported) == (4, "m")
    first = str(server.requests[0].body)
    assert "Write a draft." in first
    assert "[1] textbox" in first
    assert "a computer with Windows" in first


def test_a_model_that_gives_up_ends_with_fail(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, server: ModelServer,
    provider: str,
) -> None:  # fmt: skip
    server.say(call("fail", reason="there is no such menu"))
    config = {"agent_options": {"base_url": server.base_url(provider)}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="vision",
        model=f"{provider}:m", config=config)  # fmt: skip
    assert evaluator.bodies("/evaluate")[0]["action_history"] == ["FAIL"]


def test_notes_are_shown_at_every_later_step(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, server: ModelServer, anthropic: str
) -> None:
    both = Answer(
        tool_calls=(("remember", {"notes": "the total is 42"}), ("wait", {"seconds": 0})),
        stop="tool_use",
    )
    server.say(both, call("wait", seconds=0), call("done"))
    vision(tmp_path / "run", vm, evaluator, server, {})
    shown = ["Your notes:\\nthe total is 42" in json.dumps(each.body) for each in server.requests]
    assert shown == [False, True, True]


def test_marks_are_left_out_where_the_option_says_so(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, server: ModelServer, anthropic: str
) -> None:
    server.say(call("done"), call("done"))
    vision(tmp_path / "a", vm, evaluator, server, {"marks": "false"})
    vision(tmp_path / "b", vm, evaluator, server, {})
    plain, marked = (_picture(each.body) for each in server.requests)
    kept = next((tmp_path / "a").rglob("step-001.png")).read_bytes()
    assert base64.b64decode(plain) == kept
    assert base64.b64decode(marked) != kept
    shown = next((tmp_path / "b").rglob("step-001-marked.png")).read_bytes()
    assert base64.b64decode(marked) == shown
    assert not list((tmp_path / "a").rglob("*-marked.png"))
    frames = ["Coloured frames" in str(each.body["system"]) for each in server.requests]
    assert frames == [False, True]


def _picture(body: dict[str, Any]) -> str:
    parts = body["messages"][0]["content"]
    (found,) = [each["source"]["data"] for each in parts if each["type"] == "image"]
    return str(found)


def test_a_cost_limit_without_a_price_is_refused(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, server: ModelServer, anthropic: str
) -> None:
    server.say(call("wait", seconds=0), call("done"))
    result = vision(tmp_path / "run", vm, evaluator, server, {"max_cost_usd": "0.5"})
    assert result.error is not None
    assert "needs a model whose price is known" in result.error.message


def test_a_provider_that_is_down_is_no_score(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, server: ModelServer, anthropic: str
) -> None:
    server.say(*[Answer(status=401, message="no such key")] * 3)
    result = vision(tmp_path / "run", vm, evaluator, server, {})
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)


def test_claude_is_sent_a_picture_as_large_as_it_sees_and_its_places_are_converted_back(
    tmp_path: Path, evaluator: FakeEvaluator, server: ModelServer, task: Task, anthropic: str
) -> None:
    server.say(
        call("computer", action="left_click", coordinate=[96, 87]),
        call("computer", action="type", text="Grüße"),
        call("computer", action="key", text="ctrl+s"),
        call("done"),
    )
    with FakeVm(size=(1440, 900)) as vm:
        config = {"agent_options": {"base_url": server.base_url("anthropic")}}
        run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="computer-use",
            model="anthropic:claude-opus-4-6", config=config)  # fmt: skip
        assert vm.computer.clicks == [("left", 99, 90)]
        assert vm.computer.typed == "Grüße"
        assert "/accessibility" not in vm.paths()
    (tool,) = [t for t in server.requests[0].body["tools"] if t["name"] == "computer"]
    assert (tool["display_width_px"], tool["display_height_px"]) == (1389, 868)


def test_a_recorded_run_is_replayed(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    steps = [
        "computer.keyboard.write('abc')",
        {"kind": "click", "target": {"element": "1"}},
        "DONE",
    ]
    config = {"agent_options": {"script": script(tmp_path / "s.json", steps)}}
    run(tmp_path / "a", [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    with FakeVm() as other:
        config = {"agent_options": {"run": str(tmp_path / "a")}}
        run(tmp_path / "b", [task], [other.url], [evaluator.url], agent="replay", config=config)
        assert (other.computer.typed, other.computer.clicks) == ("abc", [("left", 300, 215)])
    first, second = evaluator.bodies("/evaluate")
    assert first["action_history"] == second["action_history"]


def test_an_agent_elsewhere_is_asked_over_http(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    asked: list[dict[str, Any]] = []
    answers = [{"actions": [{"kind": "code", "code": "computer.keyboard.write('x')"}]},
               {"actions": [{"kind": "done"}]}]  # fmt: skip

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            asked.append(json.loads(body))
            reply = json.dumps(answers[len(asked) - 1]).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as endpoint:
        thread = threading.Thread(target=endpoint.serve_forever, args=(0.02,))
        thread.start()
        config = {"agent_options": {"url": f"http://127.0.0.1:{endpoint.server_port}"}}
        run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="http", config=config)
        endpoint.shutdown()
        thread.join()
    assert vm.computer.typed == "x"
    assert [each["name"] for each in asked[0]["observation"]["elements"]] == [
        "File",
        "Text",
        "Grey",
        "Start",
    ]
    assert "config" not in asked[0]["task"]


@pytest.mark.parametrize("name", ["checkout", "http", "replay", "vision"])
def test_agents_with_a_name_of_their_own_are_installed_ones(name: str) -> None:
    (found,) = [each for each in find_plugins("agent") if each.name == name]
    assert (found.distribution, load_agent(name).name) == ("waa-client", name)


def test_a_script_may_be_for_one_task_or_for_all(tmp_path: Path) -> None:
    steps = ["a()", ["WAIT", {"kind": "keys", "keys": ["enter"]}], "DONE"]
    path = Path(script(tmp_path / "s.json", {"notepad/x": steps}))
    assert read_script(path, "notepad/x")[2] == (Done(),)
    with pytest.raises(InputError, match="has no list of steps for notepad/y"):
        read_script(path, "notepad/y")
    assert len(read_script(Path(script(tmp_path / "t.json", steps)), "any/task")) == 3


@pytest.mark.parametrize("content", ["{", "[{}]", '[{"kind": "fly"}]', "[5]", '"x"'])
def test_a_script_that_makes_no_sense_is_refused_by_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"script\.json"):
        read_script(path, "x")


@pytest.mark.skipif(bool(find_plugins("world")), reason="a simulated desktop is installed here")
@pytest.mark.parametrize("command", [["demo"], ["run", "--world", "built-in"]], ids=["demo", "run"])
def test_without_a_simulated_desktop_it_is_said_what_to_install(
    tmp_path: Path, command: list[str]
) -> None:
    found = CliRunner().invoke(main, [*command, "--out", str(tmp_path)])
    assert found.exit_code == 2
    assert f"`{pip_install('waa-server-ext[simulate]')}` adds 'waa'" in found.output
