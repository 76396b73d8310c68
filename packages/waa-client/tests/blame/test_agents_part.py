"""Attribution of failures: faults of VM and provider are not the agent's, its own acts are."""

from __future__ import annotations

import asyncio
import json
import struct
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from blamed_trials import QUICK, OwnAgent, message_of, scripted
from fake_evaluator import FakeEvaluator, verdict
from fake_vm import FakeVm, Reply
from sample_tasks import make_task, only, run

from bench_core.agents import RunCode, connect
from bench_core.errors import AgentError, EnvironmentFaultError
from bench_core.records import Limits, Status
from bench_core.records.vocabulary import SuspectCause
from bench_core.run_folder import read_run
from bench_core.scheduling import NoLocks
from waa_client.actions import Block
from waa_client.desktop import WaaDesktop
from waa_client.errors import VmTimeoutError
from waa_client.pool import VmPool
from waa_client.vm import VmClient, VmOptions

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import EnvironmentHandle

PATIENT = VmOptions(slack=0.2, tries=3, wait_s=0.01, connect_s=10)


def broken_picture() -> bytes:
    """A PNG whose chunks are whole and whose pixels cannot be unpacked."""
    header = struct.pack(">IIBBBBB", 1280, 720, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", b"\x00not zlib"), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def test_an_attribute_of_none_in_the_agents_own_code_is_its_error(
    tmp_path: Path, out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    run(out, [make_task()], [vm.url], [evaluator.url], **scripted(tmp_path, "None.foo", "DONE"))
    result = only(out)
    assert (result.status, result.score) == (Status.COMPLETED, 0.0)
    assert evaluator.bodies("/evaluate")[0]["action_history"] == ["None.foo", "DONE"]


def test_a_block_that_sleeps_past_its_time_is_the_agents_act(
    tmp_path: Path, out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    vm.faults["/execute_windows"] = [Reply(stall=True)]
    steps = scripted(tmp_path, "import time; time.sleep(300)", "DONE")
    run(out, [make_task()], [vm.url], [evaluator.url], options=QUICK, **steps)
    result = only(out)
    assert (result.status, result.score, result.suspect) == (
        Status.COMPLETED,
        0.0,
        (SuspectCause.ENVIRONMENT_FAULT,) if "nothing_runs" in result.flags else (),
    )
    (path,) = (out / "trials" / "1").iterdir()
    first = json.loads((path / "trajectory.jsonl").read_text().splitlines()[0])
    assert "did not end within" in first["error"]


def test_a_vm_that_is_gone_after_such_a_block_is_no_score(
    tmp_path: Path, out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    vm.always["/execute_windows"] = Reply(stall=True)
    first = vm.on_probe

    def probe(body: Any) -> Any:
        return Reply(reset=True) if "/execute_windows" in vm.paths() else first(body)

    vm.on_probe = probe  # type: ignore[method-assign]
    steps = scripted(tmp_path, "import time; time.sleep(300)", "DONE")
    run(out, [make_task()], [vm.url], [evaluator.url], options=QUICK, **steps)
    assert (only(out).status, only(out).score) == (Status.ENVIRONMENT_ERROR, None)
    assert "not_retried" not in only(out).flags  # the agent's part was not over


class Stalling(httpx.AsyncHTTPTransport):
    """Gives no answer to code blocks."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/execute_windows":
            raise httpx.ReadTimeout("no answer in time", request=request)
        return await super().handle_async_request(request)


async def test_a_block_that_is_done_at_once_and_gets_no_answer_is_no_act_of_the_agents(
    vm: FakeVm,
) -> None:
    async with VmClient(vm.url, transport=Stalling()) as client:
        desktop = WaaDesktop(client)
        with pytest.raises(VmTimeoutError):
            await desktop.run(Block(code="x = 1"))
        assert isinstance(desktop.fault, VmTimeoutError)


def test_code_with_half_a_character_is_the_agents_error_and_never_runs(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    errors: list[str | None] = []

    async def act(environment: EnvironmentHandle) -> None:
        errors.append((await environment.live.run(Block(code="x = '\ud800'"))).error)

    agent = OwnAgent(act, in_process=True)
    run(out, [make_task()], [vm.url], [evaluator.url], working=agent)
    assert (only(out).status, only(out).score) == (Status.COMPLETED, 0.0)
    assert "surrogates not allowed" in str(errors[0])
    assert evaluator.bodies("/evaluate")[0]["action_history"] == ["DONE"]


async def acts_over_http(environment: EnvironmentHandle) -> None:
    async with connect(environment) as desktop:
        await desktop.act(RunCode(code="x()"))


@pytest.mark.parametrize(
    ("asks", "where"),
    [
        pytest.param(lambda each: each.live.run(Block(code="x()")), "live", id="run"),
        pytest.param(lambda each: each.live.screenshot(), "live", id="screenshot"),
        pytest.param(lambda each: each.live.picture(), "live", id="picture"),
        pytest.param(acts_over_http, "over-http", id="over-http"),
    ],
)
def test_a_fault_that_an_agent_swallows_is_no_score(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator, asks: Any, where: str
) -> None:
    vm.always["/execute_windows"] = vm.always["/screenshot"] = Reply(502, b"bad", "text/html")

    async def act(environment: EnvironmentHandle) -> None:
        with suppress(EnvironmentFaultError):
            await asks(environment)

    agent = OwnAgent(act, in_process=where == "live")
    run(out, [make_task()], [vm.url], [evaluator.url], working=agent)
    assert (only(out).status, only(out).score) == (Status.ENVIRONMENT_ERROR, None)
    assert evaluator.bodies("/evaluate") == []


def test_a_second_fault_that_an_agent_swallows_hides_no_first(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    vm.always["/execute_windows"] = Reply(502, b"bad", "text/html")

    async def act(environment: EnvironmentHandle) -> None:
        for _ in range(2):
            with suppress(EnvironmentFaultError):
                await environment.live.run(Block(code="x()"))

    run(out, [make_task()], [vm.url], [evaluator.url], working=OwnAgent(act, in_process=True))
    assert (only(out).status, only(out).score) == (Status.ENVIRONMENT_ERROR, None)
    assert evaluator.bodies("/evaluate") == []


def test_a_vm_whose_fault_an_agent_swallows_rests(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    vm.always["/execute_windows"] = Reply(502, b"bad", "text/html")

    async def act(environment: EnvironmentHandle) -> None:
        with suppress(EnvironmentFaultError):
            await environment.live.run(Block(code="x = 1"))

    agent = OwnAgent(act, in_process=True)
    with FakeVm() as other, FakeEvaluator() as others:
        tasks = [make_task(f"{number:02d}-WOS") for number in range(6)]
        run(out, tasks, [vm.url, other.url], [evaluator.url, others.url], working=agent)
    lost = [each for each in read_run(out).latest if each.score is None]
    assert [each.details["vm"] for each in lost] == [vm.url]


def test_a_vm_that_is_still_starting_is_waited_for(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    vm.faults["/probe"] = [Reply(502, b"starting", "text/html")] * 5
    run(out, [make_task()], [vm.url], [evaluator.url])
    assert (only(out).status, only(out).score) == (Status.COMPLETED, 0.0)


@pytest.mark.parametrize("where", ["live", "over-http"])
def test_a_vm_that_stalls_until_the_time_is_over_is_no_score(
    tmp_path: Path, out: Path, vm: FakeVm, evaluator: FakeEvaluator, where: str
) -> None:
    vm.always["/screenshot"] = Reply(stall=True)
    task = make_task().model_copy(update={"limits": Limits(time_limit_s=1)})

    async def act(environment: EnvironmentHandle) -> None:
        async with connect(environment) as desktop:
            await desktop.observe()

    agent = OwnAgent(act, in_process=where == "live")
    run(out, [task], [vm.url], [evaluator.url], options=PATIENT, working=agent)
    result = only(out)
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "/screenshot got no answer" in message_of(result)
    assert evaluator.bodies("/evaluate") == []


def test_an_agent_that_is_too_slow_on_a_vm_that_answers_has_failed(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    vm.faults["/screenshot"] = [Reply(stall=True)]  # its call is cut off, and the next is answered
    task = make_task().model_copy(update={"limits": Limits(time_limit_s=1)})

    async def act(environment: EnvironmentHandle) -> None:
        await environment.live.observe()

    agent = OwnAgent(act, in_process=True)
    run(out, [task], [vm.url], [evaluator.url], options=PATIENT, working=agent)
    assert (only(out).status, only(out).score) == (Status.TIME_LIMIT, 0.0)


def test_nothing_an_agent_does_after_its_time_reaches_the_vm(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    task = make_task().model_copy(update={"limits": Limits(time_limit_s=0.5)})
    late: list[asyncio.Task[object]] = []

    async def act(environment: EnvironmentHandle) -> None:
        async def later() -> None:
            while True:
                await asyncio.sleep(0.2)
                await environment.live.run(Block(code="late()"))

        late.append(asyncio.create_task(later()))
        await asyncio.sleep(60)

    evaluator.judge = lambda _: verdict(float(len(vm.blocks())))
    agent = OwnAgent(act, in_process=True)
    run(out, [task], [vm.url], [evaluator.url], working=agent)
    result = only(out)
    assert result.status is Status.TIME_LIMIT
    assert late[0].done()
    assert vm.blocks().count("late()") == result.details["actions"]


def test_an_agent_that_acts_while_it_is_evaluated_is_refused(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    kept: list[Any] = []
    refused: list[BaseException | None] = []

    async def act(environment: EnvironmentHandle) -> None:
        kept.extend([environment.live, asyncio.get_running_loop()])
        await environment.live.run(Block(code="x = 1"))

    def judge(_: Any) -> Any:
        desktop, loop = kept
        late = asyncio.run_coroutine_threadsafe(desktop.run(Block(code="late()")), loop)
        refused.append(late.exception(timeout=60))
        return verdict(0.0)

    evaluator.judge = judge
    run(out, [make_task()], [vm.url], [evaluator.url], working=OwnAgent(act, in_process=True))
    assert [type(each) for each in refused] == [AgentError]
    assert "late()" not in vm.blocks()


@pytest.mark.parametrize("where", ["live", "over-http"])
def test_a_picture_that_cannot_be_decoded_is_the_vms_fault(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator, where: str
) -> None:
    vm.always["/screenshot"] = Reply(200, broken_picture(), "image/png")

    async def act(environment: EnvironmentHandle) -> None:
        async with connect(environment) as desktop:
            await desktop.observe()

    agent = OwnAgent(act, in_process=where == "live")
    run(out, [make_task()], [vm.url], [evaluator.url], working=agent)
    assert only(out).status is Status.ENVIRONMENT_ERROR
    assert "cannot be unpacked" in message_of(only(out))


def test_an_agent_whose_every_block_is_wrong_has_failed_by_itself(
    tmp_path: Path, out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    run(out, [make_task()], [vm.url], [evaluator.url], **scripted(tmp_path, "x()", "1/0", "DONE"))
    assert (only(out).score, only(out).suspect) == (0.0, ())


async def test_the_vm_that_failed_rests_and_one_whose_provider_failed_does_not() -> None:
    pool = VmPool(["http://a:1", "http://b:1"], NoLocks())
    async with pool.lease(make_task()) as machine:
        assert machine.url == "http://a:1"
    async with pool.lease(make_task()) as machine:
        assert machine.url == "http://b:1"
        machine.fault = EnvironmentFaultError("it stalls")
    for _ in range(3):
        async with pool.lease(make_task()) as machine:
            assert machine.url == "http://a:1"


def test_a_provider_that_is_down_is_not_counted_against_the_vm(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    async def act(environment: EnvironmentHandle) -> None:
        raise EnvironmentFaultError(f"the provider is down, {environment.kind}")

    with FakeVm() as other:
        tasks = [make_task(f"{number:02d}-WOS") for number in range(4)]
        run(
            tmp_path / "run", tasks, [vm.url, other.url], [evaluator.url] * 2, working=OwnAgent(act)
        )
        results = read_run(tmp_path / "run").results.values()
    assert {each.status for each in results} == {Status.ENVIRONMENT_ERROR}
    assert evaluator.bodies("/evaluate") == []


@pytest.mark.parametrize(
    ("error", "status", "score"),
    [
        # in the run's own process nothing shows who used up its disk or memory
        pytest.param(OSError(28, "No space left"), Status.ENVIRONMENT_ERROR, None, id="disk"),
        pytest.param(MemoryError("x"), Status.ENVIRONMENT_ERROR, None, id="memory"),
        pytest.param(OSError(2, "No such file"), Status.AGENT_ERROR, 0.0, id="file"),
        pytest.param(asyncio.CancelledError(), Status.AGENT_ERROR, 0.0, id="cancelled"),
    ],
)
def test_what_an_agent_raises_is_its_own_where_it_is_not_the_processs(
    out: Path,
    vm: FakeVm,
    evaluator: FakeEvaluator,
    error: BaseException,
    status: Status,
    score: float | None,
) -> None:
    async def act(environment: EnvironmentHandle) -> None:
        del environment
        raise error

    run(out, [make_task()], [vm.url], [evaluator.url], working=OwnAgent(act))
    assert (only(out).status, only(out).score) == (status, score)
    assert only(out).usage.requests == 1
