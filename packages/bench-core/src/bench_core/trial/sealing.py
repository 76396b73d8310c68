"""A result's statement on whether answers were out of the agent's reach."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bench_core.protocols import BrowserHandle
from bench_core.records.sealing import Sealing
from bench_core.run_folder.provenance import PROCTOR_DISTRIBUTIONS
from bench_core.sealing.parts import unsealed_parts

if TYPE_CHECKING:
    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentCode
    from bench_core.trial.hooks import TrialEnvironment

_PACKAGES = frozenset(name.replace("-", "_") for name in PROCTOR_DISTRIBUTIONS)

_AGENT = "nothing is hidden from the agent's process"
_BROWSER = "the browser sees the files of this machine"


def sealing_of(
    environment: TrialEnvironment, context: TrialContext, agent: Agent, code: AgentCode | None
) -> Sealing:
    """Return whether the run's files were hidden from the agent of a trial, and from its browser."""
    way = code.sealed if code is not None else None
    agents = "hidden" if way is not None else "trusted" if _is_proctors(agent, code) else "open"
    browser = "none"
    if isinstance(environment.handle, BrowserHandle):
        browser = "hidden" if environment.browser_sealed is not None else "open"
    reasons = [_AGENT] * (agents == "open") + [_BROWSER] * (browser == "open")
    why = (context.unsealed or "; ".join(reasons)) if reasons else None
    return _sealing(agents, browser, way or environment.browser_sealed, why)


@lru_cache(maxsize=64)
def _sealing(agent: str, browser: str, way: str | None, reason: str | None) -> Sealing:
    """Return the record, which is the same for nearly all trials of a run."""
    lacks = () if way is None else tuple(unsealed_parts())
    return Sealing.model_validate(
        {"agent": agent, "browser": browser, "way": way, "reason": reason, "lacks": lacks}
    )


def _is_proctors(agent: Agent, code: AgentCode | None) -> bool:
    if code is not None and code.process == "own":
        return (code.distribution or "").partition("==")[0] in PROCTOR_DISTRIBUTIONS
    return type(agent).__module__.partition(".")[0] in _PACKAGES
