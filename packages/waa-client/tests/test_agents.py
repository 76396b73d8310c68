from __future__ import annotations

import base64
import importlib.util
import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from fake_evaluator import FakeEvaluator, verdict
from fake_vm import FakeVm, Reply
from sample_tasks import NoSleep, make_task, run, script

from bench_core.agents import Done
from bench_core.discovery import find_plugins, load_agent
from bench_core.errors import InputError, UnknownPluginError
from bench_core.records import Limits, Status
from bench_core.run_folder import read_run
from bench_core.testing.model_server import Answer, ModelServer
from waa_client.agents.simple import read_script
from waa_client.baseline_comparison import compare_runs
from waa_client.cli import main
from waa_client.demonstrations import Demonstrations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.records import Task, TrialResult

PROVIDERS = {
    "anthropic": ("anthropic", "ANTHROPIC_API_KEY"),
    "openai": ("openai", "OPENAI_API_KEY"),
    "google": ("google.genai", "GEMINI_API_KEY"),
}
DRAFT = "This is a draft."


@pytest.fixture
def task() -> Task:
    return make_task()


def only(out: Path) -> TrialResult:
    (result,) = read_run(out).results.values()
    return result


def trajectory(out: Path) -> list[dict[str, Any]]:
    (path,) = (out / "trials" / "1").iterdir()
    return [json.loads(line) for line in (path / "trajectory.jsonl").read_text().splitlines()]


def call(name: str, **arguments: Any) -> Answer:
    return Answer(text="I see.", tool_calls=((name, arguments),), stop="tool_use")


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


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def test_a_model_of_any_provider_does_a_task_on_the_marked_screen(  # noqa: PLR0913, PLR0917  # fixtures
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
    assert "[1] edit 'Text' = 'hello'" in first
    assert "runs Windows" in first


def test_a_model_that_gives_up_ends_with_fail(  # noqa: PLR0913, PLR0917  # fixtures
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, server: ModelServer,
    provider: str,
) -> None:  # fmt: skip
    server.say(call("fail", reason="there is no such menu"))
    config = {"agent_options": {"base_url": server.base_url(provider)}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="vision",
        model=f"{provider}:m", config=config)  # fmt: skip
    assert evaluator.bodies("/evaluate")[0]["action_history"] == ["FAIL"]


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key of some length")
    return "anthropic"


def vision(  # noqa: PLR0913, PLR0917  # fixtures
    out: Path, vm: FakeVm, evaluator: FakeEvaluator, server: ModelServer, options: dict[str, Any],
    task: Task | None = None, **more: Any,
) -> TrialResult:  # fmt: skip
    given = {"base_url": server.base_url("anthropic"), **options}
    run(out, [task or make_task()], [vm.url], [evaluator.url], agent="vision", model="anthropic:m",
        config={"agent_options": given}, **more)  # fmt: skip
    return only(out)


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


def test_claude_uses_the_computer_at_the_screens_own_size(
    tmp_path: Path, evaluator: FakeEvaluator, server: ModelServer, task: Task, anthropic: str
) -> None:
    server.say(
        call("computer", action="left_click", coordinate=[100, 90]),
        call("computer", action="type", text="Grüße"),
        call("computer", action="key", text="ctrl+s"),
        call("done"),
    )
    with FakeVm(size=(1440, 900)) as vm:
        config = {"agent_options": {"base_url": server.base_url("anthropic")}}
        run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="computer-use",
            model="anthropic:claude-opus-4-6", config=config)  # fmt: skip
        assert vm.computer.clicks == [("left", 100, 90)]
        assert vm.computer.typed == "Grüße"
        assert "/accessibility" not in vm.paths()
    (tool,) = [t for t in server.requests[0].body["tools"] if t["name"] == "computer"]
    assert (tool["display_width_px"], tool["display_height_px"]) == (1440, 900)


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
        "Start",
    ]
    assert "config" not in asked[0]["task"]


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
def test_an_agent_of_a_checkout_runs_as_it_is(  # noqa: PLR0913, PLR0917  # fixtures
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
        ({"class": "json:JSONDecoder", "arguments": "["}, "is no JSON"),
    ],
)
def test_a_class_that_cannot_be_used_is_named(  # noqa: PLR0913, PLR0917  # fixtures
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


@pytest.mark.parametrize("name", ["checkout", "http", "replay", "vision"])
def test_agents_with_a_name_of_their_own_are_installed_ones(name: str) -> None:
    (found,) = [each for each in find_plugins("agent") if each.name == name]
    assert (found.distribution, load_agent(name).name) == ("waa-client", name)


def test_an_agent_that_swallows_a_fault_of_the_vm_is_still_not_scored(
    tmp_path: Path, evaluator: FakeEvaluator, task: Task
) -> None:
    with FakeVm(always={"/screenshot": Reply(500, b"x", "text/html")}) as vm:
        run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="own_agents:Swallowing")
    assert only(tmp_path / "run").status is Status.ENVIRONMENT_ERROR


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    folder = tmp_path / "demos"
    (folder / "vlc").mkdir(parents=True)
    (folder / "notepad_0a1b2c3d.txt").write_text("Press Ctrl+S.\n")
    (folder / "vlc" / "ffff0000-WOS.md").write_text("Open the menu.")
    return folder


def test_demonstrations_are_found_by_the_tasks_id(demos: Path) -> None:
    found = Demonstrations(demos)
    begun = found.find(make_task("0a1b2c3d-4e5f-WOS"))
    assert begun is not None
    assert (begun.text, begun.source) == ("Press Ctrl+S.", "notepad_0a1b2c3d.txt")
    exact = found.find(make_task("ffff0000-WOS", domain="vlc"))
    assert exact is not None
    assert exact.source == "vlc/ffff0000-WOS.md"
    assert found.find(make_task("ffff0000-WOS")) is None


def test_one_file_is_for_every_task(demos: Path) -> None:
    single = Demonstrations(demos / "notepad_0a1b2c3d.txt").find(make_task("other"))
    assert single is not None


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"x" * 100_001])
def test_a_demonstration_that_cannot_be_shown_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "demo.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"demo\.txt"):
        Demonstrations(tmp_path / "demo.txt")


def test_a_demonstration_reaches_the_model_and_the_record(  # noqa: PLR0913, PLR0917  # fixtures
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, server: ModelServer, demos: Path,
    anthropic: str,
) -> None:  # fmt: skip
    server.say(call("done"))
    given = {"demonstrations": Demonstrations(demos)}
    task = make_task("0a1b2c3d-WOS")
    result = vision(tmp_path / "run", vm, evaluator, server, {}, task, benchmark=given)
    assert "demonstration: Press Ctrl+S." in str(server.requests[0].body)
    assert "demo" in result.flags
    shown = result.details["demonstration"]
    assert isinstance(shown, dict)
    assert shown["source"] == "notepad_0a1b2c3d.txt"


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


def test_runs_with_and_without_demonstrations_are_compared_task_by_task(
    tmp_path: Path, vm: FakeVm, demos: Path
) -> None:
    tasks = [make_task(f"0a1b2c3d-{number}") for number in range(4)]
    with FakeEvaluator(lambda _: verdict(0.0)) as evaluator:
        run(tmp_path / "a", tasks, [vm.url], [evaluator.url])
        evaluator.judge = lambda _: verdict(1.0)
        given = {"demonstrations": Demonstrations(demos)}
        run(tmp_path / "b", tasks, [vm.url], [evaluator.url], benchmark=given)
    found = compare_runs(tmp_path / "a", tmp_path / "b")
    assert found.difference is not None
    assert (found.difference.better, found.difference.difference.estimate) == (4, 1.0)


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
def test_v2s_own_agent_runs_unchanged(  # noqa: PLR0913, PLR0917  # fixtures
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


@pytest.mark.skipif(bool(find_plugins("world")), reason="a simulated desktop is installed here")
@pytest.mark.parametrize("command", [["demo"], ["run", "--world", "built-in"]], ids=["demo", "run"])
def test_without_a_simulated_desktop_it_is_said_what_to_install(
    tmp_path: Path, command: list[str]
) -> None:
    found = CliRunner().invoke(main, [*command, "--out", str(tmp_path)])
    assert found.exit_code == 2
    assert "`pip install 'waa-server-ext[simulate]'` adds 'waa'" in found.output
