"""What version 0.1 documented can still be imported, with a notice that names the new place."""

from __future__ import annotations

import importlib

import pytest

import webarena_runner.agents
import webarena_runner.world.launch


def test_the_module_of_worlds_is_found_at_its_earlier_path() -> None:
    with pytest.warns(DeprecationWarning, match=r"worlds is now webarena_runner\.world\.launch"):
        import webarena_runner.worlds as earlier  # noqa: PLC0415  # the import is what is tested
    assert earlier is webarena_runner.world.launch


@pytest.mark.parametrize(
    ("earlier", "module", "now"),
    [
        ("BrowserUseAgent", "bench_core.browser_use", "BrowserUseAgent"),
        ("DoNothingAgent", "bench_core.agents.plugins", "DoNothingPlugin"),
        ("ScriptedAgent", "bench_core.agents.plugins", "ScriptedPlugin"),
    ],
)
def test_agents_are_those_of_bench_core(earlier: str, module: str, now: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"{earlier} is now {module}\.{now}"):
        found = getattr(webarena_runner.agents, earlier)
    assert found is getattr(importlib.import_module(module), now)
