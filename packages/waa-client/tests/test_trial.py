from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from fake_evaluator import FakeEvaluator, failure, verdict
from fake_vm import NAMESPACES, FakeVm, Reply, png
from sample_tasks import NoSleep, make_task, run, script

from bench_core.records import AgentOutcome, Limits, Status
from bench_core.run_folder import read_json, read_run
from bench_core.runs import rescore_run
from bench_core.testing import BenchmarkConformance
from waa_client.actions import Block
from waa_client.benchmark import WaaBenchmark
from waa_client.browser_profile import OWN_PROFILE, with_own_profile
from waa_client.installed import started_programs
from waa_client.vm import VmOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask, Task, TrialResult
    from bench_core.trial import Benchmark

TYPE = "computer.keyboard.write('This is a draft.')"


def only(out: Path) -> TrialResult:
    (result,) = read_run(out).results.values()
    return result


def folder(out: Path, task: Task) -> Path:
    (path,) = (out / "trials" / "1").iterdir()
    return path


@pytest.fixture
def task() -> Task:
    return make_task()


@pytest.fixture
def typing(tmp_path: Path) -> dict[str, Any]:
    """Return the configuration of a scripted agent that types and is done."""
    path = script(
        tmp_path / "script.json", [TYPE, ["WAIT", {"kind": "keys", "keys": ["ctrl", "s"]}], "DONE"]
    )
    return {"agent_options": {"script": path}}


def test_a_scripted_agent_is_scored_by_the_evaluator(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, typing: dict[str, Any]
) -> None:
    out = tmp_path / "run"
    outcome = run(out, [task], [vm.url], [evaluator.url], agent="scripted", config=typing)
    result = only(out)
    assert (outcome.succeeded, result.status, result.score) == (1, Status.COMPLETED, 1.0)
    assert (result.method, result.steps) == ("/evaluate, native evaluators, v2", 3)
    assert vm.computer.typed == "This is a draft."
    assert vm.computer.pressed == [("ctrl", "s")]


def test_the_action_history_is_vanillas(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, typing: dict[str, Any]
) -> None:
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=typing)
    (asked,) = evaluator.bodies("/evaluate")
    assert asked["task"] == task.config
    assert asked["action_history"] == [TYPE, "WAIT", "computer.keyboard.press('ctrl+s')", "DONE"]


def test_everything_a_trial_leaves_is_stored(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, typing: dict[str, Any]
) -> None:
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=typing)
    kept = folder(tmp_path / "run", task)
    assert {*only(tmp_path / "run").artifact_paths} >= {
        "action_history.json", "evaluation.json", "transcript.json.gz", "setup.json",
        "trajectory.jsonl", "screenshots/step-001.png",
    }  # fmt: skip
    assert read_json(kept / "transcript.json.gz")[0]["path"] == "/file"
    assert "transcript" not in read_json(kept / "evaluation.json")


def test_what_led_to_a_verdict_is_kept_as_it_was(tmp_path: Path, vm: FakeVm, task: Task) -> None:
    shown = "sk-ant-api03-abcdefghijkl"  # the task's own text may look like a key
    asked = {"path": "/file", "body": {"text": shown}}
    with FakeEvaluator(lambda _: verdict(1.0, transcript=[asked], notes=[shown])) as evaluator:
        run(tmp_path / "run", [task], [vm.url], [evaluator.url])
    kept = folder(tmp_path / "run", task)
    assert read_json(kept / "transcript.json.gz") == [asked]
    assert read_json(kept / "evaluation.json")["notes"] == [shown]


def test_giving_up_is_fail_in_the_history(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    config = {"agent_options": {"script": script(tmp_path / "s.json", ["FAIL"])}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    assert evaluator.bodies("/evaluate")[0]["action_history"] == ["FAIL"]
    assert "gave_up" in only(tmp_path / "run").flags


def test_running_out_of_steps_leaves_no_last_word_and_is_scored(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    config = {"agent_options": {"script": script(tmp_path / "s.json", ["WAIT"] * 9)}}
    out = tmp_path / "run"
    run(
        out, [task.model_copy(update={"limits": Limits(max_steps=3)})], [vm.url], [evaluator.url],
        agent="scripted", config=config,
    )  # fmt: skip
    assert evaluator.bodies("/evaluate")[0]["action_history"] == ["WAIT"] * 3
    assert (only(out).status, only(out).score) == (Status.STEP_LIMIT, 1.0)


def test_an_agent_that_fails_is_scored_by_what_it_left(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    config = {"agent_options": {"script": script(tmp_path / "s.json", ["WAIT"])}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    result = only(tmp_path / "run")
    assert (result.status, result.score) == (Status.AGENT_ERROR, 1.0)
    assert result.error is not None
    assert result.error.phase == "agent"


def test_mistakes_of_the_agent_are_reported_to_it_and_not_recorded(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    steps = [{"kind": "click", "target": {"x": 5000, "y": 5}}, "1 / 0", "DONE"]
    config = {"agent_options": {"script": script(tmp_path / "s.json", steps)}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    assert evaluator.bodies("/evaluate")[0]["action_history"] == ["1 / 0", "DONE"]
    lines = (folder(tmp_path / "run", task) / "trajectory.jsonl").read_text().splitlines()
    errors = [json.loads(line).get("error") for line in lines]
    assert errors == ["(5000, 5) is not on the screen, which is 1280 x 720 pixels",
                      "division by zero", None]  # fmt: skip


def test_without_an_evaluator_nothing_is_scored(tmp_path: Path, vm: FakeVm, task: Task) -> None:
    run(tmp_path / "run", [task], [vm.url], [])
    result = only(tmp_path / "run")
    assert (result.status, result.score) == (Status.EVALUATION_ERROR, None)
    assert result.error is not None
    assert result.error.kind == "NoEvaluator"


def test_an_evaluator_that_could_not_decide_leaves_no_score(
    tmp_path: Path, vm: FakeVm, task: Task
) -> None:
    with FakeEvaluator(lambda _: failure() | {"vanilla_score": 0.0}) as evaluator:
        run(tmp_path / "run", [task], [vm.url], [evaluator.url])
    result = only(tmp_path / "run")
    assert (result.status, result.score) == (Status.EVALUATION_ERROR, None)
    assert result.error is not None
    assert result.error.message == "evaluate/expected/get_cloud_file: HTTPError: 404"
    assert result.details["vanilla_score"] == 0.0


def test_scores_are_kept_as_the_benchmark_gives_them(
    tmp_path: Path, vm: FakeVm, task: Task
) -> None:
    with FakeEvaluator(lambda _: verdict(0.83)) as evaluator:
        run(tmp_path / "run", [task], [vm.url], [evaluator.url])
    result = only(tmp_path / "run")
    assert (result.score, result.success, result.failure_mode) == (0.83, False, "not_attempted")


def test_vanillas_pace_sleeps_as_vanilla_does(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, typing: dict[str, Any]
) -> None:
    clock = NoSleep()
    run(
        tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=typing,
        timing="vanilla", clock=clock,
    )  # fmt: skip
    close, setup, wait, act = [5.0], [5.0], [3.0, 3.0], [3.0]
    assert clock.slept == [*close, *setup, *act, *wait, *act, *act]
    assert only(tmp_path / "run").timing == "vanilla"
    assert vm.paths().count("/update_computer") == 3


def test_a_vm_that_does_not_start_is_polled_as_often_as_vanilla_does(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    vm.always["/probe"] = Reply(502, b"starting", "text/html")
    clock = NoSleep()
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], timing="vanilla", clock=clock)
    assert clock.slept == [5.0, *[5.0] * 19]  # after closing windows, and between 20 polls
    assert only(tmp_path / "run").status is Status.ENVIRONMENT_ERROR


def test_the_fast_pace_asks_only_for_what_is_used(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, typing: dict[str, Any]
) -> None:
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=typing)
    assert "/accessibility" not in vm.paths()
    assert "/obs_winagent" not in vm.paths()
    assert vm.paths().count("/update_computer") == 1


class Looking:
    """An agent that looks once, then runs code."""

    name = "looking"
    in_process = True

    def __init__(self, *observes: str, then: tuple[Block, ...] = ()) -> None:
        self.seen: Any = None
        self._then = then
        if observes:
            self.observes = observes

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        self.seen = await environment.live.observe()
        for block in self._then:
            await environment.live.run(block)
        return AgentOutcome()


@pytest.mark.parametrize(
    ("observes", "paths"),
    [
        pytest.param((), {"/accessibility", "/obs_winagent"}, id="says-nothing"),
        pytest.param(("windows",), {"/obs_winagent"}, id="windows-alone"),
    ],
)
def test_an_agent_sees_elements_and_windows_but_where_it_says_otherwise(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task,
    observes: tuple[str, ...], paths: set[str],
) -> None:  # fmt: skip
    agent = Looking(*observes)
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=agent)
    assert bool(agent.seen.elements) is ("/accessibility" in paths)
    assert {"/accessibility", "/obs_winagent"} & set(vm.paths()) == paths


def test_a_tree_that_takes_too_long_is_read_the_quick_way_from_then_on(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    vm.uia_stalls = True
    agent = Looking(then=(Block(code=TYPE),))
    options = VmOptions(slack=0.06, tries=2, wait_s=0.01, connect_s=10)
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=agent, options=options)
    asked = [each.query["backend"] for each in vm.seen if each.path == "/accessibility"]
    assert asked == [["uia"], ["win32"]]
    assert "Only classic controls are in the list" in agent.seen.notices[0]
    result = only(tmp_path / "run")
    assert (result.score, "uia_too_slow" in result.flags) == (1.0, True)


def test_every_agents_tree_is_read_as_its_option_says(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    config = {"agent_options": {"tree_backend": "win32"}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=Looking(), config=config)
    asked = [each.query["backend"] for each in vm.seen if each.path == "/accessibility"]
    assert asked == [["win32"]]


def test_a_window_without_controls_in_the_tree_is_said_to_have_none(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    vm.tree = f"""<desktop {NAMESPACES}><shell st:visible="true" cp:screencoord="(0, 680)" cp:size="(1280, 40)">
        <button name="Start" st:visible="true" st:enabled="true" cp:screencoord="(4, 684)" cp:size="(32, 32)"/>
        </shell></desktop>"""
    agent = Looking()
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=agent)
    assert "no controls in the list" in agent.seen.notices[0]


def test_what_an_agent_did_that_keeps_no_steps_of_its_own_is_numbered_from_one(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    agent = Looking(then=(Block(code=TYPE), Block(code=TYPE)))
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=agent)
    lines = (folder(tmp_path / "run", task) / "trajectory.jsonl").read_text().splitlines()
    assert [json.loads(each)["step"] for each in lines] == list(range(1, len(lines) + 1))
    assert len(lines) > 1


def test_clicks_on_elements_use_the_rects_the_agent_was_shown(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    steps = [{"kind": "click", "target": {"element": "1"}}, "DONE"]
    path = script(tmp_path / "s.json", steps)
    config = {"agent_options": {"script": path}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    assert vm.computer.clicks == [("left", 300, 215)]


def test_the_set_up_is_asked_of_the_evaluator_or_done_over_the_vms_api(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    steps = [
        {"type": "launch", "parameters": {"command": ["notepad.exe"]}},
        {"type": "activate_window", "parameters": {"window_name": "Paint", "strict": True}},
        {"type": "sleep", "parameters": {"seconds": 2}},
    ]
    task = make_task(config=steps)
    run(tmp_path / "server", [task], [vm.url], [evaluator.url])
    assert evaluator.bodies("/setup")[0]["task"] == task.config
    assert "/setup/launch" not in vm.paths()
    settings = {"setup": "client"}
    run(tmp_path / "client", [task], [vm.url], [evaluator.url], settings=settings)
    assert "/setup/launch" in vm.paths()
    result = only(tmp_path / "client")
    assert "setup_incomplete" in result.flags
    kept = read_json(folder(tmp_path / "client", task) / "setup.json")
    assert [each["ok"] for each in kept["steps"]] == [True, False, True]


def executed(tmp_path: Path, vm: FakeVm, run_command: Any, **parameters: Any) -> list[str | None]:
    """Return the errors of a set-up of one command that the client carries out."""
    vm.run = run_command
    task = make_task(config=[{"type": "execute", "parameters": {"command": "it", **parameters}}])
    run(tmp_path / "run", [task], [vm.url], [], settings={"setup": "client"})
    kept = read_json(folder(tmp_path / "run", task) / "setup.json")
    assert kept["ok"] is all(each["ok"] for each in kept["steps"])
    return [each["error"] for each in kept["steps"]]


def test_a_command_of_the_set_up_that_cannot_be_started_is_told(tmp_path: Path, vm: FakeVm) -> None:
    def refused(_: Any) -> Reply:
        return Reply(500, b'{"status": "error", "message": "there is no it"}')

    assert executed(tmp_path, vm, refused) == ["there is no it"]


def test_a_command_of_the_set_up_is_repeated_until_its_condition_is_met(
    tmp_path: Path, vm: FakeVm
) -> None:
    ran: list[Any] = []

    def waited_for(command: Any) -> dict[str, Any]:
        ran.append(command)
        output = "ready" if len(ran) == 3 else "not yet"
        return {"status": "success", "output": output, "error": "", "returncode": 0}

    assert executed(tmp_path, vm, waited_for, until={"stdout": "ready"}) == [None]
    assert len(ran) == 3


def test_a_screen_that_changes_after_an_action_is_looked_at_until_it_is_still(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, typing: dict[str, Any]
) -> None:
    def looks(name: str) -> int:
        before = vm.paths().count("/screenshot")
        run(tmp_path / name, [task], [vm.url], [evaluator.url], agent="scripted", config=typing)
        return vm.paths().count("/screenshot") - before

    still = looks("still")
    pictures = [Reply(200, png(vm.size, shade), "image/png") for shade in (0, 200) * 5]
    vm.faults["/screenshot"] = pictures
    assert looks("changing") > still + 5
    assert pictures == []


def test_after_the_last_word_the_screen_is_not_waited_for(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    config = {"agent_options": {"script": script(tmp_path / "s.json", ["DONE"])}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    assert (
        vm.paths().count("/screenshot") == 2
    )  # what the agent saw before it, and whether the VM works


@pytest.mark.parametrize(
    ("answer", "flagged"),
    [
        pytest.param(Reply(200, b"All windows closed", "text/html"), False, id="closed"),
        pytest.param(Reply(500, b'{"status": "error", "message": "5"}'), True, id="refused"),
    ],
)
def test_windows_that_stay_open_before_a_trial_are_flagged(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, answer: Reply, flagged: object
) -> None:
    vm.always["/setup/close_all"] = answer
    run(tmp_path / "run", [task], [vm.url], [evaluator.url])
    assert ("windows_not_closed" in only(tmp_path / "run").flags) is flagged


def test_set_up_steps_the_client_cannot_do_are_named(tmp_path: Path, vm: FakeVm) -> None:
    steps = [{"type": "chrome_open_tabs", "parameters": {"urls_to_open": ["x"]}}]
    run(tmp_path / "run", [make_task(config=steps)], [vm.url], [])
    result = only(tmp_path / "run")
    assert result.status is Status.EVALUATION_ERROR
    assert result.error is not None
    assert "chrome_open_tabs need an evaluator" in result.error.message


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder's files on the web."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_files_that_a_set_up_downloads_are_put_on_the_vm_and_kept_for_the_next(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    contents = {"a.txt": b"words", "b.txt": b"more"}
    site = tmp_path / "site"
    site.mkdir()
    for name, content in contents.items():
        (site / name).write_bytes(content)
    settings = {"setup": "client", "asset_cache": str(tmp_path / "kept" / "downloads")}
    with served(site) as url:
        files = [{"url": f"{url}/{name}", "path": f"C:\\{name}"} for name in contents]
        task = make_task(config=[{"type": "download", "parameters": {"files": files}}])
        for out in ("first", "second"):
            vm.files.clear()
            run(tmp_path / out, [task], [vm.url], [evaluator.url], settings=settings)
            assert only(tmp_path / out).status is Status.COMPLETED
            assert vm.files == {f"C:\\{name}": content for name, content in contents.items()}
            for name in contents:
                (site / name).unlink(missing_ok=True)  # the second set-up finds it in the cache
        del settings["asset_cache"]
        run(tmp_path / "third", [task], [vm.url], [evaluator.url], settings=settings)
    result = only(tmp_path / "third")
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert result.error is not None
    assert f"{url}/a.txt cannot be downloaded" in result.error.message


def test_a_reset_command_restores_the_vm_before_each_trial(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, tasks: tuple[Task, ...]
) -> None:
    log = tmp_path / "log"
    command = f"sh -c 'echo {{host}} {{url}} >> {log}'"
    settings = {"reset_command": command}
    run(tmp_path / "run", tasks[:2], [vm.url], [evaluator.url], settings=settings)
    assert log.read_text() == f"127.0.0.1 {vm.url}\n" * 2


def test_a_reset_command_that_fails_is_an_environment_error(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    settings = {"reset_command": "sh -c 'echo no such snapshot; exit 3'"}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], settings=settings)
    result = only(tmp_path / "run")
    assert result.status is Status.ENVIRONMENT_ERROR
    assert result.error is not None
    assert result.error.message.endswith("ended with 3: no such snapshot")


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/screenshot", Reply(200, b"\x89PNG\r\n\x1a\n torn", "image/png")),
        ("/screenshot", Reply(500, b"<html>", "text/html")),
        ("/screenshot", Reply(reset=True)),
        ("/screen_size", Reply(200, b"[]")),
        ("/execute_windows", Reply(reset=True)),
        ("/execute_windows", Reply(502, b"bad gateway", "text/html")),
        ("/update_computer", Reply(500, b'{"status": "error", "message": "no"}')),
        ("/accessibility", Reply(200, b'{"AT": "<desktop><a></desktop>"}')),
        ("/accessibility", Reply(200, b'{"AT": "<!DOCTYPE x [<!ENTITY a \'b\'>]><x>&a;</x>"}')),
    ],
)
def test_a_fault_of_the_vm_is_never_a_score(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, path: str, fault: Reply
) -> None:
    steps = [{"kind": "click", "target": {"element": "Text"}}, TYPE, "DONE"]
    config = {"agent_options": {"script": script(tmp_path / "s.json", steps)}}
    vm.always[path] = fault
    out = tmp_path / "run"
    outcome = run(out, [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    result = only(out)
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "harness_error" not in result.flags
    assert (outcome.remaining, evaluator.bodies("/evaluate")) == (1, [])
    del vm.always[path]
    again = run(out, [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    assert (again.remaining, again.succeeded) == (0, 1)


def test_a_vm_that_stalls_is_never_a_score(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    vm.always["/execute_windows"] = Reply(stall=True)
    config = {"agent_options": {"script": script(tmp_path / "s.json", [TYPE, "DONE"])}}
    options = VmOptions(slack=0.06, tries=2, wait_s=0.01, connect_s=10)
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=config,
        options=options)  # fmt: skip
    result = only(tmp_path / "run")
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)


def test_a_set_up_that_vanilla_abandons_is_no_score(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    steps = [{"type": "download", "parameters": {}}, {"type": "open", "parameters": {}}]
    evaluator.steps = 1
    run(tmp_path / "run", [make_task(config=steps)], [vm.url], [evaluator.url])
    result = only(tmp_path / "run")
    assert result.status is Status.ENVIRONMENT_ERROR
    assert result.error is not None
    assert "the set-up ended at step 1 of 2: download" in result.error.message


def test_a_vm_that_restarts_during_the_trial_is_an_environment_error(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    path = script(tmp_path / "s.json", [TYPE, TYPE, "DONE"])
    config = {"agent_options": {"script": path}}
    first = vm.on_execute_windows

    def restarting(body: Any) -> Any:
        done = first(body)
        vm.computer.updated = False
        return done

    vm.on_execute_windows = restarting  # type: ignore[method-assign]
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    result = only(tmp_path / "run")
    assert result.status is Status.ENVIRONMENT_ERROR
    assert result.error is not None
    assert "restarted during the trial" in result.error.message


def test_a_pointer_stuck_in_a_corner_is_moved_out_and_reported(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    steps = ["computer.mouse.move_abs(x=0, y=0)", TYPE, TYPE, "DONE"]
    config = {"agent_options": {"script": script(tmp_path / "s.json", steps)}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    assert vm.computer.typed == "This is a draft."
    assert "failsafe_tripped" in only(tmp_path / "run").flags


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_evaluator_that_is_down_leaves_the_trial_to_be_run_again(
    tmp_path: Path, vm: FakeVm, task: Task, when: str
) -> None:
    with FakeEvaluator() as evaluator:
        if when == "before":
            evaluator.stop()
        else:
            evaluator.faults["/evaluate"] = [Reply(reset=True)] * 40
        settings = {"ask_again_s": 0.001}
        outcome = run(tmp_path / "run", [task], [vm.url], [evaluator.url], settings=settings)
        assert (only(tmp_path / "run").status, outcome.remaining) == (Status.ENVIRONMENT_ERROR, 1)


def test_four_vms_share_the_tasks_and_one_that_dies_takes_none_along(tmp_path: Path) -> None:
    tasks = [make_task(f"{number:02d}-WOS") for number in range(12)]
    vms = [FakeVm().__enter__() for _ in range(4)]
    evaluators = [FakeEvaluator().__enter__() for _ in range(4)]
    vms[2].always["/setup/close_all"] = Reply(reset=True)
    try:
        outcome = run(
            tmp_path / "run", tasks, [vm.url for vm in vms], [each.url for each in evaluators],
            attempts=3,
        )  # fmt: skip
    finally:
        for each in [*vms, *evaluators]:
            each.stop(None)
    assert (outcome.remaining, outcome.succeeded) == (0, 12)
    used = {str(each.details["vm"]) for each in read_run(tmp_path / "run").results.values()}
    assert vms[2].url not in used


def test_evaluators_and_vms_must_pair_up(tmp_path: Path, task: Task) -> None:
    with (
        pytest.raises(ValueError, match="zip")
        if False
        else pytest.raises(Exception, match="2 VMs need 2")
    ):
        run(tmp_path / "run", [task], ["http://a:1", "http://b:1"], ["http://c:1"])


async def test_a_run_is_rescored_from_its_transcripts_without_a_vm(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    out = tmp_path / "run"
    await asyncio.to_thread(run, out, [task], [vm.url], [evaluator.url])
    calls = len(vm.seen)
    evaluator.judge = lambda request: verdict(float(len(request["transcript"]) - 1))
    benchmark = WaaBenchmark((), evaluator=evaluator.url)
    outcome = await rescore_run(benchmark, out, name="again")
    assert (outcome.rescored, len(outcome.changes)) == (1, 1)
    assert (outcome.changes[0].score_before, outcome.changes[0].score) == (1.0, 0.0)
    assert len(vm.seen) == calls


class TestWaaBenchmark(BenchmarkConformance):
    @pytest.fixture
    def benchmark_under_test(self, tasks: tuple[Task, ...], evaluator: FakeEvaluator) -> Benchmark:
        return WaaBenchmark(tasks, evaluator=evaluator.url)

    @pytest.fixture
    def trial(
        self, tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, tasks: tuple[Task, ...]
    ) -> tuple[Task, TrialResult, Path]:
        out = tmp_path / "run"
        run(out, tasks[:1], [vm.url], [evaluator.url])
        return tasks[0], only(out), folder(out, tasks[0])


@pytest.mark.parametrize("code", ["import sys; sys.exit()", "raise KeyboardInterrupt", "exit()"])
def test_a_block_that_ends_its_request_has_failed_and_the_trial_goes_on(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, code: str
) -> None:
    path = script(tmp_path / "s.json", [TYPE, code, TYPE, "DONE"])
    config = {"agent_options": {"script": path}}
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], agent="scripted", config=config)
    result = only(tmp_path / "run")
    assert (result.status, result.score, len(result.attempts)) == (Status.COMPLETED, 1.0, 1)
    assert (
        "ended its own request" in (folder(tmp_path / "run", task) / "trajectory.jsonl").read_text()
    )
    assert "block_ended_server" not in result.flags


@pytest.mark.parametrize("back", [True, False])
def test_a_server_that_ends_under_a_block_is_an_environment_error_that_says_so(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, *, back: bool
) -> None:
    path = script(tmp_path / "s.json", [TYPE, "import sys; sys.exit()", "DONE"])
    first = vm.on_execute_windows

    def restarting(body: Any) -> Any:
        if "sys.exit" in body["command"]:
            vm.computer.updated = False
            if not back:
                vm.always["/probe"] = Reply(reset=True)
        return first(body)

    vm.on_execute_windows = restarting  # type: ignore[method-assign]
    config = {"agent_options": {"script": path}}
    run(
        tmp_path / "run",
        [task],
        [vm.url],
        [evaluator.url],
        agent="scripted",
        config=config,
        attempts=2 if back else 1,
    )
    result = only(tmp_path / "run")
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "block_ended_server" in result.flags
    assert ("vm_not_restored" in result.flags) is back


UNREADABLE = {
    "status": "error",
    "message": "All strings must be XML compatible: Unicode or ASCII, no NULL bytes or control characters",
}


@pytest.mark.parametrize("times", [1, 2, 4])
def test_controls_that_cannot_be_read_are_read_again_and_then_done_without(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, times: int
) -> None:
    vm.faults["/accessibility"] = [Reply(500, json.dumps(UNREADABLE).encode())] * times
    agent = Looking(then=(Block(code=TYPE),))
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=agent)
    result = only(tmp_path / "run")
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)
    assert ("tree_unknown" in result.flags, not agent.seen.elements) == (times > 1, times > 1)
    assert any("cannot be read" in each for each in agent.seen.notices) is (times > 1)
    assert bool(result.suspect) is (times > 1)


def test_a_vm_that_lacks_what_reads_trees_is_at_fault(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task
) -> None:
    missing = {"status": "error", "message": 'Backend "uia" is not registered!'}
    vm.always["/accessibility"] = Reply(500, json.dumps(missing).encode())
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=Looking())
    assert only(tmp_path / "run").status is Status.ENVIRONMENT_ERROR


@pytest.mark.parametrize(
    ("answer", "flagged"),
    [
        ("Failed to remove (['C:\\\\Users\\\\Docker\\\\Downloads\\\\a.txt']) from 'C:\\\\Users'.", True),
        ("All task files (['a.txt']) cleared successfully from 'C:\\\\Users'.", False),
    ],
)  # fmt: skip
def test_downloads_that_were_not_removed_are_told_although_the_server_says_200(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, answer: str, *, flagged: bool
) -> None:
    vm.always["/setup/clear_task_files"] = Reply(200, answer.encode(), "text/html")
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=Looking())
    assert ("downloads_not_cleared" in only(tmp_path / "run").flags) is flagged


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_what_was_done_before_the_agent_began_is_flagged(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, task: Task, score: float
) -> None:
    answers = [score, 1.0]
    evaluator.judge = lambda _: verdict(answers.pop(0), metrics=[{"metric": "m", "expected": "42"}])
    settings = {"check_before": True}
    found: list[str] = []

    class Curious(Looking):
        async def run(
            self, task: AgentTask, environment: Any, context: TrialContext
        ) -> AgentOutcome:
            found.extend(
                each.name for each in context.folder.rglob("*") if b"42" in each.read_bytes()
            )
            return await super().run(task, environment, context)

    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=Curious(), settings=settings)
    assert found == []  # a verdict tells what is expected
    result = only(tmp_path / "run")
    assert ("satisfied_before" in result.flags, bool(result.suspect)) == (score == 1, score == 1)
    assert result.score == 1.0
    assert (folder(tmp_path / "run", task) / "evaluation_before.json").is_file()


@pytest.mark.parametrize("lacks", [frozenset(), frozenset({"code"})])
def test_a_program_that_the_vm_lacks_flags_its_trials(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, lacks: frozenset[str]
) -> None:
    vm.lacks = lacks
    task = make_task(config=[{"type": "launch", "parameters": {"command": ["code"]}}])
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=Looking())
    result = only(tmp_path / "run")
    assert ("program_missing" in result.flags, bool(result.suspect)) == (bool(lacks), bool(lacks))
    assert result.details.get("missing_programs") == ([*lacks] or None)


@pytest.mark.parametrize(("layout", "pasted"), [(0x0409, False), (None, False), (0x0407, True)])
def test_signs_are_pasted_where_the_keyboard_is_not_of_the_united_states(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, *, layout: int | None, pasted: bool
) -> None:
    vm.layout = layout
    path = script(tmp_path / "s.json", [{"kind": "type", "text": "f(x) < 1"}, "DONE"])
    config = {"agent_options": {"script": path}}
    run(tmp_path / "run", [make_task()], [vm.url], [evaluator.url], agent="scripted", config=config)
    (block,) = (each for each in vm.blocks() if "f(x)" in each)
    assert ("clipboard.paste" in block) is pasted
    assert ("keyboard_layout" in only(tmp_path / "run").details) is pasted


@pytest.mark.parametrize("profile", ["default", "own"])
def test_browsers_that_the_set_up_drives_get_a_profile_of_their_own_on_request(
    tmp_path: Path, vm: FakeVm, profile: str
) -> None:
    start = {
        "type": "launch",
        "parameters": {"command": ["google-chrome", "--remote-debugging-port=1337"]},
    }
    settings = {"setup": "client", "browser_profile": profile}
    run(
        tmp_path / "run",
        [make_task(config=[start])],
        [vm.url],
        [],
        working=Looking(),
        settings=settings,
    )
    (launched,) = (each.body["command"] for each in vm.seen if each.path == "/setup/launch")
    # nothing of this task drives it
    assert launched == start["parameters"]["command"]
    driven = with_own_profile({"config": [start, {"type": "chrome_open_tabs", "parameters": {}}]})
    assert driven["config"][0]["parameters"]["command"] == [*launched, OWN_PROFILE]


@pytest.mark.parametrize(
    ("command", "programs"),
    [
        (["code", "C:\\a.txt"], {"code": False}),
        ("vlc", {"vlc": False}),
        ("vlc --start-time=1 x", {"vlc": False}),
        (["google-chrome", "--x"], {"chrome": False}),
        (["start", "msedge", "--x"], {"msedge": True}),
        (["cmd", "/c", "start msedge"], {"msedge": True}),
        (["cmd", "/c", "code", "--install-extension", "x"], {"code": False}),
        (["start", "ms-clock://"], {}),
        (["cmd", "/c", "rmdir", "/s", "C:\\x"], {}),
        (["socat", "tcp-listen:9222"], {}),
        ([], {}), ("", {}), (None, {}), (7, {"7": False}),
    ],
)  # fmt: skip
def test_programs_that_a_set_up_starts_are_found_in_every_form(
    command: Any, programs: dict[str, bool]
) -> None:
    step = {"type": "launch", "parameters": {"command": command}}
    assert started_programs({"config": [step, {"type": "sleep"}, None]}) == programs


@pytest.mark.parametrize(
    "said",
    ["", "not JSON", '["code"]', '{"missing": ["\\u001b[2J", "other"]}', '{"layout": -1}', '{"layout": 99999}', '{"missing": 3}'],
)  # fmt: skip
def test_what_a_vm_says_of_itself_names_nothing_that_was_not_asked(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, said: str
) -> None:
    vm.run = lambda _: {"status": "success", "output": said, "error": "", "returncode": 0}
    task = make_task(config=[{"type": "launch", "parameters": {"command": ["code"]}}])
    run(tmp_path / "run", [task], [vm.url], [evaluator.url], working=Looking())
    result = only(tmp_path / "run")
    assert "program_missing" not in result.flags
    assert {"missing_programs", "keyboard_layout"}.isdisjoint(result.details)
