"""Prices of model calls, by the table of `genai-prices` or by custom rows.

An unknown price is None, never zero; a run with a dollar budget refuses such a model.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from datetime import date, datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Protocol

from pydantic import Field, JsonValue, NonNegativeFloat, ValidationError

from bench_core.errors import InputError, pip_install
from bench_core.models.records import Price
from bench_core.models.yaml_text import read_list
from bench_core.records import Record, Usage
from bench_core.records.problems import problems_of

_MILLION = 1_000_000


class Prices(Protocol):
    """Computes the cost of calls."""

    def price(self, provider: str, model: str, usage: Usage) -> Price | None:
        """Return the price of one call, None when unknown."""
        ...


class PriceRow(Record):
    """The price of one model, in US dollars per million tokens.

    `above_input_tokens` makes a tier: the row then holds for calls with more input than that. The
    row with the highest threshold below the call's input wins.
    """

    model: str
    input: NonNegativeFloat
    output: NonNegativeFloat
    cached_input: NonNegativeFloat | None = None
    cache_write: NonNegativeFloat | None = None
    above_input_tokens: Annotated[int, Field(ge=0)] = 0
    as_of: date | None = None


class PriceList:
    """Custom rows; models they do not name fall back to `otherwise`."""

    def __init__(
        self, rows: Sequence[PriceRow], *, source: str = "own", otherwise: Prices | None = None
    ) -> None:
        self.rows = tuple(rows)
        self.source = source
        self._otherwise = otherwise

    def price(self, provider: str, model: str, usage: Usage) -> Price | None:
        """Return the price of one call, None when unknown."""
        tiers = [
            row
            for row in self.rows
            if row.model in (model, f"{provider}:{model}")
            and (row.above_input_tokens == 0 or usage.input_tokens > row.above_input_tokens)
        ]
        if not tiers:
            return self._otherwise.price(provider, model, usage) if self._otherwise else None
        row = max(tiers, key=lambda each: each.above_input_tokens)
        cached, written = usage.cached_input_tokens, usage.cache_write_tokens
        dollars = (
            max(0, usage.input_tokens - cached - written) * row.input
            + cached * (row.input if row.cached_input is None else row.cached_input)
            + written * (row.input if row.cache_write is None else row.cache_write)
            + usage.output_tokens * row.output
        )
        return Price(
            usd=dollars / _MILLION,
            source=self.source,
            as_of=row.as_of.isoformat() if row.as_of else None,
            row=row.model_dump(mode="json", exclude_none=True),
        )


class PublishedPrices:
    """The table of the `genai-prices` distribution, loaded at the first lookup."""

    def price(self, provider: str, model: str, usage: Usage) -> Price | None:
        """Return the price of one call today, None when the table does not know the model.

        Raises:
            InputError: `genai-prices` is not installed.
        """
        try:
            import genai_prices  # 0.3 s; only when a price is asked for
        except ImportError as error:
            raise InputError(
                f"prices need the table of genai-prices: `{pip_install('bench-core[prices]')}`"
            ) from error
        try:
            found = genai_prices.calc_price(
                genai_prices.Usage(
                    input_tokens=usage.input_tokens,
                    cache_read_tokens=usage.cached_input_tokens,
                    cache_write_tokens=usage.cache_write_tokens,
                    output_tokens=usage.output_tokens,
                ),
                model_ref=model,
                # two APIs of one provider, with the same prices
                provider_id="openai" if provider == "openai-chat" else provider,
                genai_request_timestamp=datetime.now(timezone.utc),
            )
        # genai-prices says so that it does not know a model
        except LookupError:
            return None
        return Price(
            usd=float(found.total_price),
            source=f"genai-prices {version('genai-prices')}",
            as_of=datetime.now(timezone.utc).date().isoformat(),
            row={"model": found.model.id, "price": str(found.model_price)},
        )


def price_row(name: str, prices: Prices | None = None) -> dict[str, JsonValue] | None:
    """Return the price of a million tokens of the model `provider:name`, None when unknown.

    Pass it as `price_of` of a run's `RunEnvironment`: a dollar budget is then checked up front and the
    row is kept in `run.json`.

    >>> price_row("openai:no-such-model", PriceList([])) is None
    True
    """
    provider, _, model = name.partition(":")
    usage = Usage(input_tokens=_MILLION, output_tokens=_MILLION)
    price = (prices or PublishedPrices()).price(provider, model, usage)
    if price is None:
        return None
    return {"model": name, "source": price.source, "as_of": price.as_of, **price.row}


def published_prices() -> PublishedPrices | None:
    """Return the published table if it is installed, None otherwise."""
    installed = importlib.util.find_spec("genai_prices") is not None
    return PublishedPrices() if installed else None


def load_prices(path: Path, *, otherwise: Prices | None = None) -> PriceList:
    """Read a YAML (or JSON) file with a list of price rows.

    Raises:
        InputError: The file is missing or a row does not fit `PriceRow`.
    """
    raw = read_list(path, "a price list")
    try:
        rows = [PriceRow.model_validate(each) for each in raw]
    except ValidationError as error:
        raise InputError(
            f"{path}: not a list of price rows (`- model: openai:gpt-5.2`, `input: 1.75`, "
            f"`output: 14`): {problems_of(error, PriceRow)}"
        ) from error
    return PriceList(rows, source=path.name, otherwise=otherwise)
