"""The `doctor` commands' checks of a model's cost: its price, and one token with the real key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from bench_core.cli.doctor import Check, CheckResult, failed, ok, warned
from bench_core.errors import EnvironmentFaultError, InputError, pip_install
from bench_core.models.checking import pay_for_one_token
from bench_core.models.client import Model
from bench_core.models.factory import model_of
from bench_core.models.prices import price_row
from bench_core.models.records import Reply
from bench_core.protocols import TrialContext


def paid_checks(
    model: str | None, *, paid: bool, open_model: Callable[[], Model] | None = None
) -> list[Check]:
    """Return the check that buys one token, if it is asked for.

    Args:
        model: `provider:model`.
        paid: Whether it is asked for.
        open_model: Opens the model if its name is not enough.

    Raises:
        InputError: No model is named.
    """
    if not paid:
        return []
    if model is None:
        raise InputError("--paid buys a token of a model: add --model")

    def opened() -> Model:
        return model_of(TrialContext(run_id="doctor", folder=Path(), model=model), calls=None)

    return [Check("one paid token", lambda: _pay(open_model or opened))]


def price_checks(model: str | None) -> list[Check]:
    """Return the check that a run's model has a known price; none for a run without a model."""
    return [] if model is None else [Check("price", lambda: _price(model))]


def _price(model: str) -> CheckResult:
    if model.partition(":")[0] == "replay":
        return ok("recorded replies cost nothing")
    try:
        row = price_row(model)
    except InputError as error:
        return warned(f"costs are not counted: {error}", pip_install("bench-core[prices]"))
    if row is None:
        return warned(f"unknown for {model}, so --max-cost is refused", "use --max-tokens")
    return ok(f"{model} as of {row['as_of']}")


def _pay(open_model: Callable[[], Model]) -> CheckResult:
    """Buy the fewest tokens that the model sells, with the real key, and report their cost."""

    async def pay() -> Reply:
        async with open_model() as model:
            return await pay_for_one_token(model)

    try:
        found = asyncio.run(pay())
    except InputError as error:
        return failed(
            str(error), "set the key of an account with money, and a model that it may use"
        )
    except EnvironmentFaultError as error:
        return failed(str(error), "try again later; see the provider's status page")
    usage = found.usage
    cost = "price unknown" if found.cost_usd is None else f"cost ${found.cost_usd:.6f}"
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    return ok(f"answers as {found.model_reported or 'a model without a name'}: {tokens}, {cost}")
