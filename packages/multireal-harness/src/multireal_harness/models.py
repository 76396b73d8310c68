"""Model configurations: API and model, prices, limits and tool version, as YAML files.

The configurations that come with the package are named without `.yaml`.
"""

from __future__ import annotations

import os
import re
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, ValidationError

from bench_core.agent_process import Upstream
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.models import (
    PROVIDERS,
    MissingKeyError,
    Model,
    ModelRequest,
    PriceList,
    PriceRow,
    Prices,
    Reply,
    open_model,
    parse_yaml,
    published_prices,
)
from bench_core.protocols import Meter, TrialContext
from bench_core.records import Limits, Record
from bench_core.records.problems import problems_of

# a key is often put where the name of its variable belongs
_KEY_SHAPED = re.compile(r"(?:sk-|AIza)[\w-]{8,}")


class ModelMismatchError(EnvironmentFaultError):
    """The API answered with another model than the one asked for.

    Providers route requests for retired models to newer ones without an error.
    """

    lasting = True
    flag = "model_mismatch"


class ModelPrice(Record):
    """US dollars per million tokens; a tier applies to calls with more input than its threshold."""

    input: NonNegativeFloat
    output: NonNegativeFloat
    cached_input: NonNegativeFloat | None = None
    cache_write: NonNegativeFloat | None = None
    above_input_tokens: int = 0


class ModelConfig(Record):
    """The configuration of one model.

    Attributes:
        name: Its name in reports.
        model: `provider:model`, or `by-hand`: a person.
        agent: The agent (scaffold); results are labelled by agent and model.
        api_key_env: The variable that holds the key; by default the provider's usual one.
        api_key: The key itself, for a quick test: accepted with a warning, and never written.
        prices: The price and its tiers; by default those of the published table.
        prices_as_of: The date of these prices.
        accepts: Further ids the API may report; dated snapshots of `model` are always accepted.
        dialect: Version of Claude's native tool; newer models refuse older tools.
        note: A note for users, such as a date of retirement.
    """

    schema_version: Literal[1] = 1
    name: str = Field(min_length=1)
    model: str = Field(pattern=r"^([\w-]+:.+|by-hand)$")
    agent: str = "tool-calling"
    api_key_env: str | None = None
    # excluded from dumps and reprs, which end in run folders and logs
    api_key: str | None = Field(default=None, exclude=True, repr=False)
    base_url: str | None = None
    prices: tuple[ModelPrice, ...] = ()
    prices_as_of: date | None = None
    accepts: tuple[str, ...] = ()
    max_steps: PositiveInt | None = None
    time_limit_s: PositiveFloat | None = None
    dialect: str | None = None
    images: PositiveInt = 3
    note: str = ""

    @property
    def limits(self) -> Limits:
        """Limits of steps and time, if the configuration sets them."""
        return Limits(max_steps=self.max_steps, time_limit_s=self.time_limit_s)

    @property
    def price_list(self) -> Prices:
        """The prices of its calls."""
        if not self.prices:
            return published_prices() or PriceList([])
        rows = [
            PriceRow(model=self.model, as_of=self.prices_as_of, **price.model_dump())
            for price in self.prices
        ]
        # an API reports dated ids, at the model's price
        return _AnyName(PriceList(rows, source=f"model config {self.name!r}"), self.model)

    def key(self) -> str | None:
        """Return the key, or None to use the provider's own variables.

        Raises:
            InputError: The variable it names is not set.
        """
        if self.api_key is not None:
            return self.api_key
        if self.api_key_env is None:
            return None
        found = os.environ.get(self.api_key_env)
        if not found:
            raise MissingKeyError(f"the model config {self.name!r}", self.api_key_env)
        return found

    def open(self, context: TrialContext | None = None, *, allow_mismatch: bool = False) -> Model:
        """Open the model for a trial.

        Raises:
            InputError: Its key or SDK is missing.
        """
        opened = open_model(
            self.model,
            api_key=self.key(),
            base_url=self.base_url,
            prices=self.price_list,
            seed=0 if context is None else context.seed,
        )
        return opened if allow_mismatch else _CheckedModel(opened, self)

    def upstream(self) -> Upstream:
        """Return where the model proxy passes the model's calls on to.

        Raises:
            InputError: The variable of its key is not set.
        """
        return Upstream(key=self.key(), base_url=self.base_url, prices=self.price_list)

    def public(self) -> dict[str, Any]:
        """Return the settings recorded with a run: everything but the key."""
        return self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)

    def for_agent(self) -> dict[str, Any]:
        """Return the settings for agents, if they are not the default."""
        chosen = self.model_dump(include={"dialect", "images"}, exclude_defaults=True)
        return dict(chosen)

    def accepts_model(self, reported: str | None) -> bool:
        """Return whether a model that an API reports is the one asked for.

        >>> config = ModelConfig(name="x", model="openai:gpt-5.2")
        >>> config.accepts_model("gpt-5.2-2025-12-11"), config.accepts_model("gpt-5.2-mini")
        (True, False)
        """
        asked = self.model.partition(":")[2]
        if not asked or reported is None or reported in {asked, f"models/{asked}", *self.accepts}:
            return True
        rest = reported.removeprefix("models/").removeprefix(asked)
        return (
            rest != reported and re.fullmatch(r"-(?:\d{4}-\d\d-\d\d|\d{8}|\d{3})", rest) is not None
        )


class _CheckedModel(Model):
    """A model that checks after every reply that the model asked for has answered."""

    def __init__(self, opened: Model, config: ModelConfig) -> None:
        self.__dict__ = opened.__dict__
        self._config = config

    async def complete(
        self, request: ModelRequest, *, deadline_s: float | None = None, meter: Meter | None = None
    ) -> Reply:
        """Call the model once; see `Model.complete`.

        Raises:
            ModelMismatchError: Another model answered.
        """
        reply = await super().complete(request, deadline_s=deadline_s, meter=meter)
        if not self._config.accepts_model(reply.model_reported):
            raise ModelMismatchError(
                f"asked for {self._config.model!r}, the API answered with "
                f"{reply.model_reported!r}: name it under `accepts` in the model config, or pass "
                f"--allow-model-mismatch"
            )
        return reply


class _AnyName:
    """Prices of one model's calls under whatever dated id the API reports."""

    def __init__(self, prices: PriceList, model: str) -> None:
        self._prices = prices
        self._provider, _, self._model = model.partition(":")

    def price(self, provider: str, model: str, usage: Any) -> Any:
        del provider, model
        return self._prices.price(self._provider, self._model, usage)


def load_config(name: str, folder: Path | None = None) -> ModelConfig:
    """Return a configuration by its name or file, or one for a bare `provider:model`.

    Args:
        name: `gpt52`, `my/models/qwen.yaml` or `openai:gpt-5.2`.
        folder: Searched before the shipped ones.

    Raises:
        InputError: No configuration has that name, or the file is not one.
    """
    for path in (Path(name), *([folder / f"{name}.yaml"] if folder else [])):
        if path.suffix in {".yaml", ".yml"} and path.is_file():
            return _parse(path.read_bytes(), str(path))
    if name in shipped_configs():
        source = resources.files(__package__).joinpath("model_configs", f"{name}.yaml")
        return _parse(source.read_bytes(), f"{name}.yaml")
    if ":" in name or name == "by-hand":
        return ModelConfig(name=name, model=name)
    known = ", ".join(shipped_configs())
    raise InputError(
        f"there is no model config {name!r}: there are {known}; or name a YAML file, or a model as "
        f"provider:model ({', '.join(PROVIDERS)}) or by-hand"
    )


def shipped_configs() -> tuple[str, ...]:
    """Return the names of the configurations that come with the package."""
    folder = resources.files(__package__).joinpath("model_configs")
    names = (each.name for each in folder.iterdir() if each.name.endswith(".yaml"))
    return tuple(sorted(name.removesuffix(".yaml") for name in names))


def _parse(content: bytes, place: str) -> ModelConfig:
    try:
        data = parse_yaml(content)
        if isinstance(data, dict) and _KEY_SHAPED.fullmatch(str(data.get("api_key_env", ""))):
            data = {**data, "api_key": data["api_key_env"], "api_key_env": None}
        return ModelConfig.model_validate(data)
    except ValidationError as error:
        raise InputError(
            f"{place} is not a model config: {problems_of(error, ModelConfig)}"
        ) from error
    except ValueError as error:
        raise InputError(f"{place} is not YAML: {error}") from error
