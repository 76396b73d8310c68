"""What version 0.1 documented can still be imported, with a notice that names the new place."""

from __future__ import annotations

import pytest

import waa_client.agents
import waa_client.timing


def test_the_module_of_timings_is_found_at_its_earlier_path() -> None:
    with pytest.warns(DeprecationWarning, match=r"waa_client\.pace is now waa_client\.timing"):
        import waa_client.pace as earlier  # noqa: PLC0415  # the import is what is tested
    assert earlier is waa_client.timing


@pytest.mark.parametrize(
    ("earlier", "now"), [("PACES", "TIMINGS"), ("Pace", "Timing"), ("pace_of", "timing_of")]
)
def test_names_of_timings_are_found_under_their_earlier_names(earlier: str, now: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"{earlier} is now waa_client\.timing\.{now}"):
        found = getattr(waa_client.timing, earlier)
    assert found is getattr(waa_client.timing, now)


def test_the_scripted_agent_is_that_of_bench_core() -> None:
    from bench_core.agents.plugins import ScriptedPlugin  # noqa: PLC0415  # beside its earlier name

    with pytest.warns(DeprecationWarning, match=r"is now bench_core\.agents\.plugins"):
        found = waa_client.agents.ScriptedAgent
    assert found is ScriptedPlugin


@pytest.mark.parametrize("module", [waa_client.agents, waa_client.timing])
def test_a_name_that_never_was_is_an_error(module: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = module.Nothing  # type: ignore[attr-defined]  # that is the point
