"""How an attempt of browser-use ends, and what it leaves."""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import asynccontextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from asking_pages import KINDS, asking_pages
from pydantic import BaseModel, Field

from bench_core.browser import launch_chromium, websocket_url
from bench_core.browser.connection import CdpConnection, CdpError
from bench_core.browser_use import Attempt, Patience, ScriptedChat, chat_for
from bench_core.browser_use.scripted_chat import act, answer, click, go
from bench_core.browser_use.session import watched_pages
from bench_core.dialogs import FOLLOW, look_again
from bench_core.errors import BrowserError, BudgetExceededError, EnvironmentFaultError
from bench_core.protocols import BrowserHandle, TrialContext
from bench_core.records import Limits, Status, Step, StepView, Usage
from bench_core.run_folder import TRAJECTORY, read_lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from conftest import ModelServer

    from bench_core.browser import Chromium
    from bench_core.records import AgentOutcome

pytestmark = pytest.mark.browser

GOAL = "Open nothing"
DONE = act("done", text="nothing is open", success=True)
EXCLUDED = ("search", "evaluate", "write_file", "read_file", "replace_file", "upload_file")
IMPATIENT = Patience(retries=1, backoff_s=0.0, call_timeout_s=60.0)


@pytest.fixture
async def chromium() -> AsyncIterator[Chromium]:
    async with launch_chromium() as chromium:
        yield chromium


@pytest.fixture
def browser(chromium: Chromium) -> BrowserHandle:
    return BrowserHandle(cdp_url=chromium.cdp_url)


@pytest.fixture
def context(tmp_path: Path) -> TrialContext:
    folder = tmp_path / "trial"
    folder.mkdir()
    return TrialContext(run_id="test", folder=folder)


async def play(
    browser: BrowserHandle, context: TrialContext, script: Any, **limits: Any
) -> AgentOutcome:
    bounds = Limits(**{"max_steps": 8, "time_limit_s": 300, **limits})
    return await Attempt(ScriptedChat(script), browser, context, limits=bounds).run(GOAL)


def asking(server: ModelServer, browser: BrowserHandle, context: TrialContext) -> Attempt:
    """An attempt with browser-use's own chat class and little patience."""
    chat = chat_for("openai:local-1", base_url=server.url)
    return Attempt(chat, browser, context, limits=Limits(time_limit_s=300), patience=IMPATIENT)


async def test_what_it_says_when_done_is_the_answer(
    browser: BrowserHandle, context: TrialContext
) -> None:
    outcome = await play(browser, context, [go("about:blank"), DONE])

    assert (outcome.status, outcome.answer) == (Status.COMPLETED, "nothing is open")
    assert (outcome.steps, outcome.usage) == (2, Usage(requests=2))


async def test_giving_up_is_kept_beside_what_it_says(
    browser: BrowserHandle, context: TrialContext
) -> None:
    outcome = await play(browser, context, [act("done", text="no such shop", success=False)])

    assert (outcome.status, outcome.answer) == (Status.COMPLETED, "no such shop")
    assert outcome.flags == ("gave_up",)


async def test_actions_that_browser_use_leaves_out_are_told(
    browser: BrowserHandle, context: TrialContext
) -> None:
    waits = tuple(act("wait", seconds=0) for _ in range(7))
    outcome = await play(browser, context, [waits, (go("about:blank"), DONE), DONE])

    steps = read_lines(context.folder / TRAJECTORY, Step).records
    assert [each.results[-1] for each in steps[:2]] == [
        "only 5 of the 7 actions asked for have a result",
        "only 1 of the 2 actions asked for have a result",
    ]
    assert (outcome.answer, outcome.flags) == ("nothing is open", ("actions_left_out",))


async def test_the_model_is_told_of_nothing_that_is_not_there(
    browser: BrowserHandle, context: TrialContext
) -> None:
    class Form(BaseModel):
        verdict: str = Field(description="what became of it")

    asked: list[tuple[str, str]] = []

    class Reader(ScriptedChat):
        async def ainvoke(self, messages: Any, output_format: Any = None, **options: Any) -> Any:
            said = [(each.role, each.text) for each in messages]
            asked.append(
                (
                    "\n".join(t for r, t in said if r == "system"),
                    "\n".join(t for r, t in said if r == "user"),
                )
            )
            return await super().ainvoke(messages, output_format, **options)

    chat = Reader([*[act("wait", seconds=0)] * 5, answer({"verdict": "SAVED"})])
    attempt = Attempt(chat, browser, context, limits=Limits(max_steps=8, time_limit_s=300))
    await attempt.run(
        GOAL,
        exclude_actions=EXCLUDED,
        extend_system_message="The file of Maria is in todo.md.",
        output_model_schema=Form,
    )

    system, _ = asked[0]
    assert system.endswith("The file of Maria is in todo.md.")
    assert not re.search(
        r"todo\.md|_file\b|file.?system|files_to|`(search|evaluate)`|web search|search engine"
        r"|bounding box|used screenshot|use screenshot",
        system[: -len("The file of Maria is in todo.md.")],
        re.IGNORECASE,
    )
    assert "Remaining actions after them are skipped automatically." in system
    assert "critically evaluate whether" in system
    assert "`navigate`, `go_back`" in system
    assert "your previous action was extract." in system
    for _, user in asked:
        assert GOAL in user
        assert not re.search(
            r"todo_contents|file_system|Today|without creating a plan|what became of it", user
        )
        assert "maximum:8" in user.replace(" ", "")


async def test_every_step_is_written_down_with_its_screenshot(
    browser: BrowserHandle, context: TrialContext
) -> None:
    await play(browser, context, [go("about:blank"), DONE])

    steps = read_lines(context.folder / TRAJECTORY, Step).records
    assert [(step.step, next(iter(step.actions[0]))) for step in steps] == [
        (1, "navigate"),
        (2, "done"),
    ]
    shots = [step.screenshot for step in steps if step.screenshot]
    kept = sorted(path.name for path in context.folder.glob("screenshots/*"))
    assert [f"screenshots/{name}" for name in kept] == shots
    assert all((context.folder / shot).read_bytes().startswith(b"\x89PNG") for shot in shots)


@pytest.fixture
def scrolled_page() -> Iterator[str]:
    """Serve a page that scrolls down to its button."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(
                b"<!doctype html><title>Long</title><body style='margin:0;height:3000px'><button style='position:"
                b"absolute;left:40px;top:1230px;width:120px;height:30px'>Send</button><script>scrollTo(0, 1000)</script>"
            )

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


async def test_every_step_has_the_elements_that_the_agent_could_name_where_they_were(
    browser: BrowserHandle, context: TrialContext, scrolled_page: str
) -> None:
    await play(browser, context, [go(scrolled_page), click("Send"), DONE])

    views = read_lines(context.folder / "observations.jsonl", StepView).records
    steps = read_lines(context.folder / TRAJECTORY, Step).records
    assert [each.step for each in views] == [each.step for each in steps] == [1, 2, 3]
    action: Any = steps[1].actions[0]
    (found,) = [each for each in views[1].elements if each.id == str(action["click"]["index"])]
    assert (found.role, found.name) == ("button", "Send")
    assert found.rect == (40, 230, 120, 30)  # in the scrolled window, not on the page
    assert len(views[1].tabs) == 1
    assert views[1].size is not None


async def test_nothing_is_left_in_temporary_folders(
    browser: BrowserHandle, context: TrialContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))

    await play(browser, context, [DONE])

    assert list(scratch.iterdir()) == []


async def test_running_out_of_steps_is_a_step_limit(
    browser: BrowserHandle, context: TrialContext
) -> None:
    outcome = await play(browser, context, [go("about:blank")] * 5, max_steps=2)

    assert (outcome.status, outcome.steps) == (Status.STEP_LIMIT, 2)


async def test_a_spent_budget_is_no_failure_of_the_agent(
    browser: BrowserHandle, context: TrialContext
) -> None:
    class Spent:
        def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
            raise BudgetExceededError("the run's budget is spent")

    outcome = await play(browser, context.with_meter(Spent()), [go("about:blank"), DONE])

    assert outcome.status is Status.BUDGET_EXCEEDED


async def test_a_browser_that_dies_is_no_failure_of_the_agent(
    chromium: Chromium, browser: BrowserHandle, context: TrialContext
) -> None:
    def script() -> Any:
        yield go("about:blank")
        chromium.kill()
        yield go("about:blank")

    with pytest.raises(BrowserError, match="died during the trial"):
        await play(browser, context, script())


async def test_a_browser_that_is_not_there_is_named(
    chromium: Chromium, browser: BrowserHandle, context: TrialContext
) -> None:
    await chromium.close()

    with pytest.raises(BrowserError, match=browser.cdp_url):
        await play(browser, context, [DONE])


async def test_cancelling_ends_the_attempt(browser: BrowserHandle, context: TrialContext) -> None:
    started = asyncio.Event()

    def script() -> Any:
        started.set()
        while True:
            yield go("about:blank")

    work = asyncio.create_task(play(browser, context, script()))
    await started.wait()
    work.cancel()
    done, _ = await asyncio.wait({work}, timeout=120)

    assert done
    assert work.cancelled()


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("error", "status 500"),
        ("html", "not answer in its API's format"),
        ("nothing", "not answer in its API's format"),
    ],
)
async def test_a_model_server_that_fails_is_no_failure_of_the_agent(
    browser: BrowserHandle,
    context: TrialContext,
    model_server: ModelServer,
    mode: str,
    words: str,
) -> None:
    model_server.mode = mode

    with pytest.raises(EnvironmentFaultError, match=words):
        await asking(model_server, browser, context).run(GOAL, use_vision=False)

    assert len(model_server.asked) == 2


async def test_a_model_that_never_makes_sense_is_the_agents_error(
    browser: BrowserHandle, context: TrialContext, model_server: ModelServer
) -> None:
    model_server.content = "I would rather talk."

    outcome = await asking(model_server, browser, context).run(GOAL, use_vision=False)

    assert outcome.status is Status.AGENT_ERROR
    assert outcome.error is not None
    assert (outcome.error.kind, outcome.steps) == ("AgentGaveUpError", outcome.steps)
    assert outcome.details["unusable_answers"] == len(model_server.asked)


async def test_a_page_that_crashes_is_no_failure_of_the_agent(
    browser: BrowserHandle, context: TrialContext
) -> None:
    async with attached_page(browser) as (connection, session):

        class Striking(ScriptedChat):
            """Has its page crash with its first answer."""

            async def ainvoke(self, *arguments: Any, **options: Any) -> Any:
                connection.post("Page.crash", {}, session)
                return await super().ainvoke(*arguments, **options)

        chat = Striking([act("wait", seconds=5)] * 3)
        attempt = Attempt(chat, browser, context, limits=Limits(max_steps=3, time_limit_s=120))
        with pytest.raises(BrowserError, match="crashed") as caught:
            await attempt.run(GOAL)
    assert caught.value.fault == "page_crashed"


async def test_a_page_that_hangs_is_found(browser: BrowserHandle) -> None:
    async with (
        attached_page(browser) as (connection, session),
        watched_pages(browser.cdp_url) as pages,
    ):
        await pages.find_silent(None)
        assert pages.lost is None
        connection.post("Runtime.evaluate", {"expression": "for (;;) {}"}, session)
        await pages.find_silent(None, timeout_s=2.0)
        assert pages.lost == "the page about:blank hangs"


@pytest.mark.full_chromium
async def test_refusal_that_a_page_has_no_time_to_report_is_told(
    browser: BrowserHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    *others, (command, script) = FOLLOW
    silent = script["source"].replace(".onchange", ".never")
    assert silent != script["source"]
    follow = (*others, (command, {**script, "source": silent}))
    monkeypatch.setattr("bench_core.browser_use.session.FOLLOW", follow)
    async with (
        attached_page(browser) as (connection, session),
        watched_pages(browser.cdp_url) as pages,
    ):
        with asking_pages() as url:
            await connection.call("Page.navigate", {"url": f"{url}notification"}, session)
            await until(connection, session, "typeof act === 'function' && !!said")
            pressed = {"expression": "act()", "userGesture": True}
            await connection.call("Runtime.evaluate", pressed, session)
            await until(connection, session, "said.textContent")
            await pages.look_again()
    (told,) = pages.dialogs.take()
    assert KINDS["notification"][1] in told


async def until(connection: CdpConnection, session: str, script: str) -> None:
    """Wait until a script of a page is true; between two documents there is none."""
    question = {"expression": script, "returnByValue": True}
    while True:
        with suppress(CdpError):
            answer = await connection.call("Runtime.evaluate", question, session, timeout_s=60.0)
            if answer["result"].get("value"):
                return
        await asyncio.sleep(0.05)


async def test_page_that_stands_still_is_waited_for_once(
    browser: BrowserHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []

    async def look(frame: str, send: Any) -> None:
        looked.append(frame)
        await look_again(frame, send)

    monkeypatch.setattr("bench_core.browser_use.session.look_again", look)
    async with (
        attached_page(browser) as (connection, session),
        watched_pages(browser.cdp_url) as pages,
    ):
        for _ in range(2):
            await pages.look_again()
        connection.post("Runtime.evaluate", {"expression": "for (;;) {}"}, session)
        for _ in range(3):
            await pages.look_again()
    assert len(looked) == 3


@asynccontextmanager
async def attached_page(browser: BrowserHandle) -> AsyncIterator[tuple[CdpConnection, str]]:
    connection = await CdpConnection.open(await websocket_url(browser.cdp_url))
    targets = (await connection.call("Target.getTargets"))["targetInfos"]
    page = next(each["targetId"] for each in targets if each["type"] == "page")
    order = {"targetId": page, "flatten": True}
    yield connection, (await connection.call("Target.attachToTarget", order))["sessionId"]
    await connection.close()
