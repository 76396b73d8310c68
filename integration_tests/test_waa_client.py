"""waa-client drives the simulated desktop of waa-server-ext over HTTP, and its server scores."""

from __future__ import annotations

import asyncio
import json
import random
import re
from contextlib import contextmanager
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from test_support.model_server import Answer, ModelServer, Seen

from bench_core.agents import (
    Click,
    Done,
    Element,
    ElementRef,
    Fail,
    Move,
    Point,
    TypeText,
    named_element,
    scripted_agent,
)
from bench_core.records import Limits, Status, Task, TrialResult
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from waa_client.actions import DesktopScreen, translate
from waa_client.agents.simple import named_agent
from waa_client.agents.vision import VisionAgent
from waa_client.benchmark import WaaBenchmark
from waa_client.cli import main
from waa_client.desktop import View
from waa_client.observations import elements_of
from waa_client.pool import VmPool
from waa_client.tasks import load_tasks
from waa_client.vm import SyncVmClient, calls
from waa_client.world.launch import built_in_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bench_core.agents import Action
    from bench_core.protocols import TrialContext

CHOSEN = (
    "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS",
    "notepad/a7d4b6c5-569b-452e-9e1d-ffdb3d431d15-WOS",
    "file_explorer/016c9a9d-f2b9-4428-8fdb-f74f4439ece6-WOS",
    "file_explorer/0c9dda13-428c-492b-900b-f48562111f93-WOS",
    "file_explorer/34a4fee9-e52e-4a4a-96d2-68d35091504a-WOS",
    "file_explorer/7AB09EF1-331B-4A21-90C9-996ADE3B6E1A-WOS",
    "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS",
    "clock/91A30BE9-0E11-4374-8D43-41D4D097080A-WOS",
    "settings/37e10fc4-b4c5-4b02-a65c-bfae8bc51d3f-wos",
    "settings/a659b26e-4e31-40c1-adaf-34742b6c44ac-wos",
    "windows_calc/28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS",
    "microsoft_paint/15f8de6e-3d39-40e4-af17-bdbb2393c0d9-WOS",
    "msedge/2acd62b4-a2ab-44a7-a7e3-f5227bbd8324-wos",
    "chrome/030eeff7-b492-4218-b312-701ec99ee0cc-wos",
    "vs_code/4e60007a-f5be-4bfc-9723-c39affa0a6d3-WOS",
)
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "google": "GEMINI_API_KEY"}


class Following:
    """Follows given actions; targets may be names of elements."""

    name = "following"

    def __init__(self, actions: Sequence[Action], *, elements: bool) -> None:
        self._actions = actions
        self._elements = elements

    def view(self, _: TrialContext) -> View:
        return View(elements=self._elements)

    async def run(self, *arguments: Any) -> Any:
        make = named_agent if self._elements else scripted_agent
        return await make([(action,) for action in self._actions]).run(*arguments)


class Desk:
    """The simulated desktop and what a trial on it needs."""

    def __init__(self, world: Any, urls: dict[str, str]) -> None:
        self.world, self.urls = world, urls
        self.tasks = {task.task_id: task for task in load_tasks(world.tasks_folder())}

    def run(self, out: Path, task: Task, agent: Any, **spec: Any) -> TrialResult:
        """Run one trial on a desktop as it was at the start."""
        self.world.reset()
        benchmark = WaaBenchmark(
            [task],
            pool=VmPool([self.urls["vm"]], NoLocks(), evaluators=[self.urls["evaluate"]]),
        )
        asked = RunSpec(
            agent=agent.name, timing="fast", attempts=1, world="built-in",
            limits=Limits(max_steps=60), **spec,
        )  # fmt: skip
        run_benchmark_sync(
            benchmark, asked, out, run_environment=RunEnvironment(agent_for=lambda *_: agent)
        )
        (result,) = read_run(out).results.values()
        return result


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    world = built_in_world()()
    info = asyncio.run(world.start())
    try:
        yield Desk(world, dict(info.urls))
    finally:
        world.close()


@contextmanager
def acting(desk: Desk) -> Iterator[tuple[SyncVmClient, DesktopScreen]]:
    """The VM's API, the screen told to code blocks."""
    desk.world.reset()
    with SyncVmClient(desk.urls["vm"]) as vm:
        size = vm.send(calls.screen_size())
        picture = vm.send(calls.screenshot())
        vm.send(calls.update_computer([], (0, 0, *size), picture.data))
        yield vm, DesktopScreen(size=size)


@pytest.mark.parametrize("task_id", CHOSEN)
def test_a_task_done_right_scores_one_and_done_wrong_zero(
    tmp_path: Path, desk: Desk, task_id: str
) -> None:
    task, solution = desk.tasks[task_id], desk.world.solutions()[task_id]
    right = Following([*solution.elements, Done()], elements=True)
    wrong = Following([*solution.wrong, Done()], elements=True)
    done = desk.run(tmp_path / "right", task, right)
    assert (done.score, done.status) == (1.0, Status.COMPLETED), done.error
    missed = desk.run(tmp_path / "wrong", task, wrong)
    assert (missed.score, missed.status) == (0.0, Status.COMPLETED), missed.error


@pytest.mark.parametrize("task_id", CHOSEN[:3])
def test_a_task_is_done_by_pixels_too(tmp_path: Path, desk: Desk, task_id: str) -> None:
    agent = Following([*desk.world.solutions()[task_id].pixels, Done()], elements=False)
    result = desk.run(tmp_path / "run", desk.tasks[task_id], agent)
    assert result.score == 1.0, result.error


def test_an_infeasible_task_is_done_by_giving_up_and_by_nothing_else(
    tmp_path: Path, desk: Desk
) -> None:
    task = desk.tasks[CHOSEN[0]]
    config = {**task.config, "config": [], "evaluator": {"func": "infeasible"}}
    infeasible = task.model_copy(update={"config": config})
    ends: dict[str, Action] = {"fail": Fail(), "done": Done(), "typed": TypeText(text="FAIL")}
    scores = {}
    for name, action in ends.items():
        agent = Following([action, Done()], elements=False)
        scores[name] = desk.run(tmp_path / name, infeasible, agent).score
    assert scores == {"fail": 1.0, "done": 0.0, "typed": 0.0}


def test_giving_up_on_a_task_that_was_done_scores_zero(tmp_path: Path, desk: Desk) -> None:
    actions = [*desk.world.solutions()[CHOSEN[0]].elements, Fail()]
    result = desk.run(tmp_path / "run", desk.tasks[CHOSEN[0]], Following(actions, elements=True))
    assert (result.score, "gave_up" in result.flags) == (0.0, True)


class Knowing:
    """A model that knows the solution and finds the numbers of elements in what it is shown."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._left = list(actions)

    def __call__(self, seen: Seen) -> Answer:
        if not self._left:
            return Answer(tool_calls=(("done", {}),), stop="tool_use")
        action = self._left.pop(0)
        given = action.model_dump(exclude={"kind", "target"}, exclude_defaults=True)
        if isinstance(action, Click):
            assert isinstance(action.target, ElementRef)
            given["element"] = self._number(seen, action.target.element)
        tool = {"click": "click", "type": "type_text", "keys": "press_keys"}[action.kind]
        if tool == "press_keys":
            given["keys"] = list(given["keys"])
        return Answer(tool_calls=((tool, given),), stop="tool_use")

    @staticmethod
    def _number(seen: Seen, name: str) -> str:
        text = json.dumps(seen.body, ensure_ascii=False).rpartition("Elements:")[2]
        listed = re.findall(r'\[(\d+)\] [^ ]* \\"(.*?)\\"', text)
        return named_element([Element(id=number, name=found) for number, found in listed], name).id


@pytest.mark.parametrize("provider", KEYS)
@pytest.mark.parametrize("task_id", [CHOSEN[0], CHOSEN[7]])
def test_a_model_of_any_provider_does_the_task_over_its_wire_format(
    tmp_path: Path, desk: Desk, provider: str, task_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip({"google": "google.genai"}.get(provider, provider))
    monkeypatch.setenv(KEYS[provider], "a key of some length")
    with ModelServer(Knowing(desk.world.solutions()[task_id].elements)) as server:
        options = {"base_url": server.base_url(provider)}
        result = desk.run(
            tmp_path / "run", desk.tasks[task_id], VisionAgent(), model=f"{provider}:m",
            config={"agent_options": options},
        )  # fmt: skip
    assert (result.score, result.status) == (1.0, Status.COMPLETED), result.error
    assert result.usage.requests == result.steps


def test_a_thousand_random_pixels_are_hit_over_http(desk: Desk) -> None:
    source = random.Random(3)  # noqa: S311  # reproducible
    with acting(desk) as (vm, screen):
        for _ in range(40):
            points = [
                (source.randrange(1, screen.size[0] - 1), source.randrange(screen.size[1]))
                for _ in range(25)
            ]
            for x, y in points:
                code = translate(Move(target=Point(x=x, y=y)), screen).code
                assert vm.send(calls.execute_windows(code)).ok
                assert desk.world.vm.call(attrgetter("mouse.x", "mouse.y")) == (x, y)


def test_what_arrives_in_a_document_is_what_was_typed(desk: Desk) -> None:
    source = random.Random(4)  # noqa: S311  # reproducible
    with acting(desk) as (vm, screen):
        vm.send(calls.launch(["notepad.exe"]))
        for _ in range(60):
            low, high = source.choice(
                [(32, 126), (0xA1, 0x17F), (0x4E00, 0x4FFF), (0x1F600, 0x1F64F)]
            )
            text = "".join(chr(source.randint(low, high)) for _ in range(12)).strip() or "x"
            vm.send(calls.execute_windows(translate(TypeText(text=text, clear=True), screen).code))
            shown = elements_of(vm.send(calls.accessibility("uia")), screen.size)
            assert text in [each.value for each in shown]


def test_a_run_is_rescored_from_its_transcript_while_the_desktop_is_another(
    tmp_path: Path, desk: Desk
) -> None:
    actions = [*desk.world.solutions()[CHOSEN[0]].elements, Done()]
    agent = Following(actions, elements=True)
    assert desk.run(tmp_path / "run", desk.tasks[CHOSEN[0]], agent).score == 1.0
    desk.world.reset()
    command = ["rescore", str(tmp_path / "run"), "--evaluate", desk.urls["evaluate"], "--json"]
    found = CliRunner().invoke(main, command)
    assert found.exit_code == 0, found.output
    outcome = json.loads(found.output)
    assert (outcome["rescored"], outcome["changes"]) == (1, [])


def test_a_probe_finds_every_layer_in_order(desk: Desk) -> None:
    command = ["probe", "--vm", desk.urls["vm"], "--evaluate", desk.urls["evaluate"], "--json"]
    found = CliRunner().invoke(main, command)
    checks = json.loads(found.output)["checks"]
    assert [each["name"] for each in checks if each["status"] == "fail"] == []
    assert len(checks) == 8


def test_a_comparison_writes_bench_reports_document(tmp_path: Path, desk: Desk) -> None:
    for name in ("vanilla", "ours"):
        for task_id in CHOSEN[3:4]:
            agent = Following([Done()], elements=False)
            desk.run(tmp_path / name, desk.tasks[task_id], agent)
    command = [
        "compare",
        str(tmp_path / "vanilla"),
        str(tmp_path / "ours"),
        "--report",
        str(tmp_path / "out"),
    ]
    found = CliRunner().invoke(main, command)
    assert "Verdict:" in found.output, found.output
    assert list((tmp_path / "out").glob("*.md"))
