"""The Clock app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.registry import getter

__all__: list[str] = []


@getter("windows_clock.py")
def check_if_timer_started(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether a timer of that length runs: the strings 'True' and 'False'.

    Fails as: 'False', also if the VM fails.
    """
    asked = {key: config[key] for key in ("hours", "minutes", "seconds")}
    return str(env.holds("/check_if_timer_started", asked))


@getter("windows_clock.py")
def check_if_world_clock_exists(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether the world clock has a city: the strings 'True' and 'False'.

    Fails as: 'False', also if the VM fails.
    """
    asked = {key: config[key] for key in ("city", "country")}
    return str(env.holds("/check_if_world_clock_exists", asked))
