"""Every method of the browser's protocol has been looked at, and what no one has looked at is refused."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import Any

import pytest
from test_support.own_port import OWN_PORT, own_port

from bench_core.browser import AGENT_RULES, RuleBook, launch_chromium
from bench_core.browser.rules import protocol_methods

RULED = {rule.method for rule in AGENT_RULES}


def has_rule(method: str) -> bool:
    return bool(RULED & {method, f"{method.partition('.')[0]}.*"})


def decided(method: str, **params: Any) -> Any:
    command = {"id": 1, "method": method, "params": params}
    return RuleBook().decide(json.dumps(command).encode())


async def test_every_method_of_the_installed_chromium_has_been_looked_at() -> None:
    async with launch_chromium(OWN_PORT) as chromium:
        url = f"http://127.0.0.1:{await own_port(chromium)}/json/protocol"
        opened = await asyncio.to_thread(urllib.request.urlopen, url, timeout=60)
        with opened as answer:
            protocol = json.load(answer)
    offered = {
        f"{domain['domain']}.{command['name']}"
        for domain in protocol["domains"]
        for command in domain.get("commands", ())
    }
    assert len(offered) > 400
    assert sorted(offered - set(protocol_methods())) == []


def test_the_filtered_methods_are_those_with_a_rule() -> None:
    kinds = protocol_methods()
    assert {name for name, kind in kinds.items() if kind == "filtered"} == {
        name for name in kinds if has_rule(name)
    }
    assert {name for name in RULED if not name.endswith("*")} <= set(kinds)
    assert set(kinds.values()) == {"allowed", "filtered", "refused"}


@pytest.mark.parametrize(
    "method",
    [
        "SystemInfo.getInfo", "SystemInfo.getProcessInfo", "Browser.getBrowserCommandLine", "Tracing.start",
        "DOM.getFileInfo", "Nobody.knows", "Page.futureMethod", "page.navigate", "",
    ],
)  # fmt: skip
def test_what_tells_of_the_machine_or_is_unknown_is_refused_and_no_finding(method: str) -> None:
    decision = decided(method)
    assert (decision.message, decision.code) == (None, None)
    assert b"is refused" in decision.answer


@pytest.mark.parametrize(
    "method", ["Page.captureScreenshot", "Runtime.evaluate", "Browser.getVersion"]
)
def test_what_agents_work_with_passes(method: str) -> None:
    decision = decided(method)
    assert decision.message is not None
    assert decision.answer is None


def test_without_rules_everything_passes() -> None:
    message = b'{"id": 1, "method": "SystemInfo.getInfo"}'
    assert RuleBook(()).decide(message).message == message
