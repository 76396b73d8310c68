"""The model proxy of a run, if calls of its agent's own client are to be counted and bounded."""

from __future__ import annotations

import contextlib
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_core.agent_process.model_calls import ModelProxy, Upstream
    from bench_core.run_spec import RunSpec

_PROXY = "bench_core.models.proxy"
"""By name: it needs httpx, and only runs that ask for it load it."""


@contextlib.contextmanager
def opened_proxy(
    spec: RunSpec, upstream: Callable[[], Upstream] | None = None
) -> Iterator[ModelProxy | None]:
    """Open the proxy that a run asks for; yield None if it asks for none.

    Raises:
        InputError: The key to pass calls on with is missing, or httpx is not installed.
    """
    if not spec.agent_process.model_proxy:
        yield None
        return
    from bench_core.agent_process.model_calls import Upstream  # imports httpx, as the next lines do

    where = upstream() if upstream is not None else Upstream(base_url=_server_of(spec))
    with importlib.import_module(_PROXY).open_model_proxy(spec.model, where) as proxy:
        yield proxy


def _server_of(spec: RunSpec) -> str | None:
    """Return the server that the agent's option `base_url` names."""
    own = spec.config.get("agent_options")
    named = (own if isinstance(own, dict) else {}).get("base_url", spec.config.get("base_url"))
    return str(named) if named else None
