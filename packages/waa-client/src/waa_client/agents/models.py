"""The model of an agent, opened as the run says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import InputError
from bench_core.models.opening import open_model
from bench_core.models.prices import published_prices
from waa_client.agents.loading import option

if TYPE_CHECKING:
    from bench_core.models.client import Model
    from bench_core.protocols import TrialContext

__all__ = ["model_of"]


def model_of(agent: str, context: TrialContext) -> Model:
    """Open the run's model, at the option `base_url` where one is given.

    Raises:
        InputError: The run names no model, or it cannot be opened.
    """
    if context.model is None:
        raise InputError(f"the agent {agent!r} needs a model: --model provider:name")
    base_url = option(context, "base_url")
    return open_model(
        context.model,
        base_url=str(base_url) if base_url else None,
        seed=context.seed,
        prices=published_prices(),
    )
