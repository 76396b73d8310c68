"""The simulated desktop beside WAA's own server: the same questions, and each difference with its reason.

The answers of WAA's server are kept; `nox -s real_windows -- CHECKOUT` asks it again, under Wine.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from integration_tests.real_windows.answers import answers_of, kept_answers, unlike
from integration_tests.real_windows.questions import questions

from waa_server_ext.built_in import SimulatedDesktopWorld

DIFFERENCES = Path(__file__).parent / "real_windows/differences.toml"


def explained() -> list[str]:
    groups: dict[str, list[dict[str, Any]]] = tomllib.loads(DIFFERENCES.read_text(encoding="utf-8"))
    return [pattern for each in groups.values() for entry in each for pattern in entry["questions"]]


async def test_the_simulation_answers_as_waas_own_server_but_for_what_is_explained() -> None:
    world = SimulatedDesktopWorld()
    info = await world.start()
    try:
        found = answers_of(info.urls["vm"])
    finally:
        await world.stop()
    kept = kept_answers()
    assert [*kept] == [each.name for each in questions()]
    patterns = explained()
    different = [*unlike(found, kept)]
    assert [name for name in different if not any(re.fullmatch(p, name) for p in patterns)] == []
    assert [p for p in patterns if not any(re.fullmatch(p, name) for name in different)] == []
