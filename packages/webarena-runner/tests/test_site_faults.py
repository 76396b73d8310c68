"""Faults of sites: found by `doctor` and before a run, or the trial is marked with its cause; never a silent zero.

With `SITE_FAULTS=all` every fault has a trial of its own in a real Chromium.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Any

import pytest
from attempts import attempt
from playwright.async_api import async_playwright
from site_faults import (
    ANSWERS,
    AUTHORITY,
    DEFECTS,
    FURTHER,
    HELD_OUT,
    LATER,
    ONE_STYLE_MISSING,
    OTHERS,
    PAGES,
    TASKS,
    SiteDefect,
    answering,
    fronted,
    honest_trial,
)

from bench_core.agents import BrowserEnvironment, Click, ElementRef, Goto, TypeText
from bench_core.errors import EnvironmentFaultError
from bench_core.records import AgentOutcome
from bench_core.run_spec import RunSpec, TaskFilter
from webarena_runner import site_checks, traffic_faults
from webarena_runner.doctor import site_check
from webarena_runner.preflight import preflight
from webarena_runner.tasks import load_tasks, start_urls
from webarena_runner.world.launch import Environment, built_in_world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench_core.protocols import BrowserHandle
    from webarena_runner.world import BuiltInWorld

EVERY = os.environ.get("SITE_FAULTS") == "all"
CHEAP = (
    "redirect by host, late",
    "router is dead",
    "data base is read-only",
    "login form in place of pages, late",
)
"""The trials of each run of the tests: one for each way in which a trial is marked."""
LONG = ("slow", "slow, late")
EACH = (*DEFECTS, *FURTHER, *OTHERS, *HELD_OUT, *LATER)


@pytest.fixture(scope="module")
def world() -> Iterator[BuiltInWorld]:
    with built_in_world() as world:
        yield world


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A page that takes a second is slow here, and the certificates of tests are trusted."""
    monkeypatch.setattr(site_checks, "_SLOW_S", 0.8)
    monkeypatch.setattr(traffic_faults, "_STALLED_MS", 2500)
    authority = tmp_path / "authority.pem"
    AUTHORITY.cert_pem.write_to_path(str(authority))
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    own = socket.create_connection

    def connect(address: tuple[str, int], *more: Any, **options: Any) -> socket.socket:
        here = address[0].endswith(".test")  # the browser's rules say the same
        return own(("127.0.0.1", address[1]) if here else address, *more, **options)

    monkeypatch.setattr(socket, "create_connection", connect)


def found_before(config: Any, site: str) -> tuple[bool, list[str]]:
    """Return whether `doctor` finds something wrong, and what the checks before a run say of the site."""
    doctor = site_check(config, site)
    spec = RunSpec(tasks=TaskFilter(ids=(str(TASKS[site]),)), agent="do-nothing")
    said = [each for each in preflight(spec, config, timeout_s=5.0) if f"site {site!r}" in each]
    return doctor.status != "ok", said


@pytest.mark.browser
@pytest.mark.parametrize("defect", [e for e in EACH if EVERY or e.name not in LONG], ids=str)
def test_fault_is_found_before_a_run(
    world: BuiltInWorld, defect: SiteDefect, monkeypatch: pytest.MonkeyPatch
) -> None:
    if defect.name == "self-signed TLS":
        monkeypatch.delenv("SSL_CERT_FILE")
    with fronted(world, defect.site, defect) as (_, config):
        doctor, preflighted = found_before(config, defect.site)
    expected = defect.certain and not defect.late
    assert (doctor, bool(preflighted)) == (expected, expected), preflighted


@pytest.mark.browser
@pytest.mark.parametrize("defect", [each for each in EACH if EVERY or each.name in CHEAP], ids=str)
async def test_no_trial_of_an_honest_agent_is_a_silent_zero(
    world: BuiltInWorld, defect: SiteDefect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if defect.name == "self-signed TLS":
        monkeypatch.delenv("SSL_CERT_FILE")
    with fronted(world, defect.site, defect) as (front, config):
        try:
            result = await honest_trial(world, tmp_path, front, config, defect.site)
        except EnvironmentFaultError:  # before the agent began; a runner tries again
            return
    evidence = result.details.get("suspect_evidence")
    assert result.score != 0.0 or (result.suspect and evidence), result


@pytest.mark.browser
@pytest.mark.parametrize("site", ["map"] if not EVERY else sorted(TASKS))
async def test_healthy_site_is_not_suspected(
    world: BuiltInWorld, site: str, tmp_path: Path
) -> None:
    with fronted(world, site, None) as (front, config):
        assert await asyncio.to_thread(found_before, config, site) == (False, [])
        result = await honest_trial(world, tmp_path, front, config, site)
    assert result.score == (0.0 if site == "map" else 1.0)  # nobody knows the answer there
    assert result.suspect == ()


@pytest.mark.browser
@pytest.mark.parametrize("closed", [True, False])
async def test_cookie_banner_is_for_the_agent_to_close(
    world: BuiltInWorld, tmp_path: Path, closed: bool
) -> None:
    async def deed(_task: Any, browser: BrowserHandle, _context: Any) -> AgentOutcome:
        async with async_playwright() as playwright:
            chromium = await playwright.chromium.connect_over_cdp(browser.cdp_url)
            live = BrowserEnvironment(chromium.contexts[0], (1280, 720))
            await live.act(Goto(url=config.site("reddit").url + PAGES["reddit"]))
            if closed:
                await live.act(Click(target=await shown(live, "Accept all")))
            field = await shown(live, "Biography")
            await live.act(TypeText(text="I am a robot", target=field, clear=True))
            await live.act(Click(target=await shown(live, "Save")))
            await live.observe()
        return AgentOutcome(answer=ANSWERS["reddit"], steps=4)

    async def shown(live: BrowserEnvironment, name: str) -> ElementRef:
        seen = await live.observe()
        return ElementRef(element=next(each.id for each in seen.elements if each.name == name))

    with fronted(world, "reddit", LATER[-1]) as (_, config):
        environment = Environment(config, shared=False)
        result = await attempt(world, tmp_path, deed, TASKS["reddit"], environment=environment)
    assert (result.score, result.suspect) == (float(closed), ())


@pytest.mark.browser
def test_start_page_of_a_task_that_its_site_lacks_is_told_before_a_run(
    world: BuiltInWorld,
) -> None:
    page = "/elmwood-inn-fine-teas-orange-vanilla-caffeine-free-fruit-infusion-16-ounce-pouch.html"
    start = f"__SHOPPING__{page}"
    task = next(each for each in load_tasks() if start in start_urls(each))
    spec = RunSpec(tasks=TaskFilter(ids=(task.task_id,)), agent="do-nothing")
    defect = SiteDefect("a product is missing", "shopping", answering(404, page))
    told = []
    for each in (None, defect):
        with fronted(world, "shopping", each) as (front, config):
            told.append([e for e in preflight(spec, config, timeout_s=5.0) if "site 'sho" in e])
    lost = f"start page of a task: {front.server.origin}{page} answers with status 404"
    assert told == [[], [f"the site 'shopping' is not as the tasks need it: {lost}"]]


@pytest.mark.browser
def test_site_that_lacks_one_part_of_several_is_in_order(world: BuiltInWorld) -> None:
    with fronted(world, "shopping", ONE_STYLE_MISSING) as (_, config):
        assert found_before(config, "shopping") == (False, [])
