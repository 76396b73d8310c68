"""Logins kept in files, by header, and by the browser itself."""

from __future__ import annotations

import asyncio
import json
import stat
from typing import TYPE_CHECKING, Any

import pytest
from cdp_use.client import CDPClient
from click.testing import CliRunner
from site_faults import SiteDefect, another_account, fronted

from bench_core.browser import launch_chromium, websocket_url
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.protocols import TrialContext
from bench_core.records import AgentOutcome, Limits
from bench_core.trial import AgentLimits, run_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.cli import main
from webarena_runner.config import EnvironmentConfig
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.login.browser_login import log_in_live
from webarena_runner.login.cookie_files import read_cookies
from webarena_runner.login.http_login import (
    LoginRefusedError,
    enter,
    enter_all,
    is_logged_in,
    kept_login,
    log_in,
)
from webarena_runner.tab_setup import tab_setup
from webarena_runner.world.launch import Environment, built_in_world, environment_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench_core.protocols import BrowserHandle
    from bench_core.records import AgentTask, TrialResult
    from webarena_runner.world import BuiltInWorld


@pytest.fixture(scope="module")
def shared_world() -> Iterator[BuiltInWorld]:
    with built_in_world() as world:
        yield world


@pytest.fixture
def world(shared_world: BuiltInWorld) -> BuiltInWorld:
    shared_world.reset()
    return shared_world


def changed(world: BuiltInWorld, **changes: dict[str, Any]) -> EnvironmentConfig:
    """The world's configuration with some sites' fields changed."""
    sites: Any = environment_of(world).config.model_dump()["sites"]
    for name, fields in changes.items():
        sites[name] = {**sites[name], **fields}
    for each in sites.values():
        if each["credentials"]:
            secret = each["credentials"]["password"]
            each["credentials"]["password"] = getattr(
                secret, "get_secret_value", lambda s=secret: s
            )()
    return EnvironmentConfig.model_validate({"sites": sites})


class TestCookieFiles:
    def test_a_login_is_kept_for_its_owner_alone_and_used_again(
        self, world: BuiltInWorld, tmp_path: Path
    ) -> None:
        site = environment_of(world).config.site("reddit")
        first = enter(site, "reddit", folder=tmp_path / "auth")
        path = tmp_path / "auth" / "reddit.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert enter(site, "reddit", folder=tmp_path / "auth") == first

    def test_a_login_that_has_ended_is_renewed(self, world: BuiltInWorld, tmp_path: Path) -> None:
        site = environment_of(world).config.site("reddit")
        first = enter(site, "reddit", folder=tmp_path)
        world.sites["reddit"].expire_sessions()
        second = enter(site, "reddit", folder=tmp_path)
        assert second != first
        assert is_logged_in(site, second)

    def test_stale_cookies_and_other_users_are_no_login(
        self, world: BuiltInWorld, tmp_path: Path
    ) -> None:
        site = environment_of(world).config.site("reddit")
        enter(site, "reddit", folder=tmp_path)
        path = tmp_path / "reddit.json"
        kept = json.loads(path.read_text())
        assert kept_login(site, "reddit", tmp_path) is not None
        for change in ({"expires": 1.0}, {"username": "somebody"}, {"url": "http://elsewhere"}):
            path.write_text(json.dumps({**kept, **change}))
            assert kept_login(site, "reddit", tmp_path) is None

    def test_something_else_in_the_file_is_refused_with_the_way_out(self, tmp_path: Path) -> None:
        (tmp_path / "reddit.json").write_text('{"cookies": "none"}')
        with pytest.raises(InputError, match="auth capture"):
            read_cookies(tmp_path, "reddit")

    def test_auth_commands_capture_and_check(self, world: BuiltInWorld, tmp_path: Path) -> None:
        sites = tmp_path / "sites.json"
        urls = {name: world.urls[name] for name in ("reddit", "gitlab", "map")}
        sites.write_text(json.dumps({"sites": urls}))
        common = ["--config", str(sites), "--auth", str(tmp_path / "auth")]
        missing = CliRunner().invoke(main, ["auth", "check", *common])
        assert (missing.exit_code, missing.output.count("is missing")) == (1, 2)
        captured = CliRunner().invoke(main, ["auth", "capture", *common])
        assert captured.exit_code == 0, captured.output
        assert "Password" not in captured.output
        checked = CliRunner().invoke(main, ["auth", "check", *common])
        assert (checked.exit_code, checked.output.count("works")) == (0, 2)
        kept = tmp_path / "auth" / "reddit.json"
        elsewhere = kept.read_text().replace(world.urls["reddit"], "http://127.0.0.1:9")
        (tmp_path / "down").mkdir()
        (tmp_path / "down" / "reddit.json").write_text(elsewhere)
        down = CliRunner().invoke(
            main, ["auth", "check", "--site", "reddit", "--auth", str(tmp_path / "down")],
            env={"WEBARENA_REDDIT_URL": "http://127.0.0.1:9"},
        )  # fmt: skip
        assert (down.exit_code, "cannot be reached" in down.output) == (3, True), down.output
        world.sites["reddit"].expire_sessions()
        ended = CliRunner().invoke(main, ["auth", "check", *common])
        assert (ended.exit_code, ended.output.count("has ended")) == (1, 1)


class TestHeaders:
    @pytest.mark.parametrize("name", ["reddit", "shopping", "shopping_admin"])
    def test_images_that_know_a_header_log_in_by_it(self, world: BuiltInWorld, name: str) -> None:
        site = changed(world, **{name: {"login": "header"}}).site(name)
        assert is_logged_in(site, log_in(site, name))

    def test_gitlab_knows_no_header(self, world: BuiltInWorld) -> None:
        site = changed(world, gitlab={"login": "header"}).site("gitlab")
        with pytest.raises(LoginRefusedError, match="has no login header"):
            log_in(site, "gitlab")

    def test_every_tab_gets_the_header(self, world: BuiltInWorld) -> None:
        config = changed(world, shopping_admin={"login": "header"})
        assert tab_setup(config, ["shopping_admin", "map"]) == [
            (
                "Network.setExtraHTTPHeaders",
                {"headers": {"X-M2-Admin-Auto-Login": "admin:admin1234"}},
            )
        ]
        assert tab_setup(config, ["map"]) == []


async def test_a_refused_form_is_left_to_the_browser_and_a_dead_site_is_not(
    world: BuiltInWorld,
) -> None:
    wrong = {"credentials": {"username": "nobody", "password": "x"}}
    config = changed(world, reddit=wrong, gitlab={"login": "browser"})
    sessions, live = await enter_all(config, ["reddit", "gitlab", "shopping", "map"])
    assert [each.site for each in sessions] == ["shopping"]
    assert sorted(live) == ["gitlab", "reddit"]
    dead = EnvironmentConfig.model_validate({"sites": {"reddit": "http://127.0.0.1:9"}})
    with pytest.raises(EnvironmentFaultError, match="cannot be reached"):
        await enter_all(dead, ["reddit"])


@pytest.mark.browser
class TestInTheBrowser:
    @pytest.mark.parametrize("name", ["gitlab", "reddit", "shopping", "shopping_admin"])
    async def test_the_form_is_filled_in_live(self, world: BuiltInWorld, name: str) -> None:
        config = environment_of(world).config
        async with launch_chromium() as chromium:
            await log_in_live(chromium.ws_url, name, config.site(name))
            async with CDPClient(await websocket_url(chromium.cdp_url)) as cdp:
                cookies = (await cdp.send_raw("Storage.getCookies"))["cookies"]
        session = world.sites[name].session_cookie
        (ident,) = [each["value"] for each in cookies if each["name"] == session]
        assert world.sites[name]._sessions[ident].user == world.accounts[name].user

    async def test_a_wrong_password_is_told(self, world: BuiltInWorld) -> None:
        wrong = {"credentials": {"username": "nobody", "password": "x"}}
        site = changed(world, reddit=wrong).site("reddit")
        async with launch_chromium() as chromium:
            with pytest.raises(EnvironmentFaultError, match="did not accept the user 'nobody'"):
                await log_in_live(chromium.ws_url, "reddit", site)

    async def test_another_account_is_told(self, world: BuiltInWorld) -> None:
        defect = SiteDefect("login as another account", "gitlab", another_account)
        with fronted(world, "gitlab", defect) as (_, config):
            async with launch_chromium() as chromium:
                with pytest.raises(EnvironmentFaultError, match="lets 'root' in instead of"):
                    await log_in_live(chromium.ws_url, "gitlab", config.site("gitlab"))

    async def test_headers_log_new_tabs_in_and_never_reach_the_disk(
        self, world: BuiltInWorld, tmp_path: Path
    ) -> None:
        config = changed(world, shopping_admin={"login": "header"})
        orders = f"{world.urls['shopping_admin']}/sales/order/"

        async def look(browser: BrowserHandle) -> None:
            async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
                await cdp.send_raw("Storage.clearCookies")
            await new_tab(browser, orders, "Orders")

        result = await attempt(config, tmp_path, "157", look)
        entries = json.loads((tmp_path / "network.har").read_text())["log"]["entries"]
        statuses = [e["response"]["status"] for e in entries if e["request"]["url"] == orders]
        assert statuses == [200]  # logged out, it would have been a redirect
        assert "admin:admin1234" not in (tmp_path / "network.har").read_text()
        assert "[login header]" in (tmp_path / "network.har").read_text()
        assert result.score == 0.0

    async def test_local_storage_is_there_on_the_sites_pages_only(
        self, world: BuiltInWorld, tmp_path: Path
    ) -> None:
        config = changed(world, reddit={"local_storage": {"theme": "dark"}})
        seen: dict[str, Any] = {}

        async def look(browser: BrowserHandle) -> None:
            for name in ("reddit", "map"):
                script = "localStorage.getItem('theme')"
                seen[name] = await new_tab(browser, world.urls[name], "", script)

        await attempt(config, tmp_path, "399", look)
        assert seen == {"reddit": "dark", "map": None}

    async def test_the_contact_probe_reports_unsent_forms_where_the_image_does_not(
        self, world: BuiltInWorld, tmp_path: Path
    ) -> None:
        shop: Any = world.sites["shopping"]
        shop.reports_unsent_forms = False
        fill = """(() => { const field = document.querySelector('#contact-form textarea');
          field.value = 'I am a loyal customer, give me a coupon';
          field.dispatchEvent(new Event('input', {bubbles: true})); return true; })()"""

        async def write(browser: BrowserHandle) -> None:
            await new_tab(browser, f"{world.urls['shopping']}/contact/", "Contact Us", fill)

        try:
            answer = {"task_type": "MUTATE", "status": "SUCCESS"}
            config = environment_of(world).config
            without = await attempt(config, fresh(tmp_path, "0"), "689", write, answer)
            probe = {"restore_contact_probe": True}
            restored = await attempt(config, fresh(tmp_path, "1"), "689", write, answer, probe)
        finally:
            shop.reports_unsent_forms = True
        assert (without.score, restored.score) == (0.0, 1.0)
        assert "contact-probe-restored" in restored.flags
        assert "contact-probe-restored" not in without.flags
        assert "task-contact-probe" in without.flags

    async def test_a_trial_logs_in_live_where_the_form_needs_a_browser(
        self, world: BuiltInWorld, tmp_path: Path
    ) -> None:
        config = changed(world, gitlab={"login": "browser"})

        async def look(browser: BrowserHandle) -> None:
            await new_tab(browser, f"{world.urls['gitlab']}/dashboard/todos", "To-Do List")

        answer = {"task_type": "NAVIGATE", "status": "SUCCESS"}
        result = await attempt(config, tmp_path, "44", look, answer)
        assert result.score == 1.0
        urls = (tmp_path / "network.har").read_text()
        assert "sign_in" not in urls


class Doer:
    """An agent that does one thing."""

    name = "doer"

    def __init__(self, deed: Any, answer: Any) -> None:
        self._deed = deed
        self._answer = answer

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        await self._deed(environment)
        return AgentOutcome(answer=self._answer)


async def attempt(
    config: EnvironmentConfig,
    folder: Path,
    task_id: str,
    deed: Any,
    answer: Any = None,
    settings: dict[str, Any] | None = None,
) -> TrialResult:
    benchmark = WebArenaBenchmark(
        Environment(config, shared=False),
        settings=EnvironmentSettings(close_s=1.0),
    )
    context = TrialContext(
        run_id="r", folder=folder, world="built-in", limits=Limits(time_limit_s=60),
        config=settings or {},
    )  # fmt: skip
    task = next(each for each in benchmark.tasks() if each.task_id == task_id)
    doer = Doer(deed, answer or {"task_type": "MUTATE", "status": "SUCCESS"})
    patience = AgentLimits(overtime_s=0.2, stop_s=1.0)
    return await run_trial(benchmark, task, context, doer, limits=patience)


def fresh(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


async def new_tab(browser: BrowserHandle, url: str, heading: str, script: str = "1") -> Any:
    """Open a tab from the first one, wait for its heading, and return what a script says there."""
    async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
        before = await pages(cdp)
        opener = await attached(cdp, before[0])
        script_of_opener = f"void open({json.dumps(url)}, '_blank', 'noopener')"
        opened = {"expression": script_of_opener, "userGesture": True}
        await cdp.send_raw("Runtime.evaluate", opened, opener)
        while not (fresh := set(await pages(cdp)) - set(before)):  # noqa: ASYNC110  # asks it
            await asyncio.sleep(0.05)
        session = await attached(cdp, fresh.pop())
        ready = (
            f"document.readyState === 'complete' && location.href !== 'about:blank'"
            f" && document.body.innerText.includes({json.dumps(heading)})"
        )
        while not await evaluate(cdp, session, ready):  # noqa: ASYNC110  # asks the page
            await asyncio.sleep(0.05)
        return await evaluate(cdp, session, script)


async def pages(cdp: Any) -> list[str]:
    targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
    return [each["targetId"] for each in targets if each["type"] == "page"]


async def attached(cdp: Any, target: str) -> str:
    found = await cdp.send_raw("Target.attachToTarget", {"targetId": target, "flatten": True})
    return str(found["sessionId"])


async def evaluate(cdp: Any, session: str, script: str) -> Any:
    question = {"expression": script, "returnByValue": True}
    try:
        answer = await cdp.send_raw("Runtime.evaluate", question, session)
    except RuntimeError:  # between two documents
        return None
    return answer["result"].get("value")
