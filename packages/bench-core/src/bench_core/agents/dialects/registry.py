"""Finding the dialect of a model."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from bench_core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench_core.agents.dialects.interface import Dialect

_PLACES = {"browser": " in a browser", "desktop": " on a desktop"}


class UnknownDialectError(InputError):
    """No dialect is known for a model, or there is none of that name."""


@lru_cache(maxsize=1)
def all_dialects() -> Mapping[str, Dialect]:
    """Return all dialects by name."""
    from bench_core.agents.dialects import claude, claude_browser, google, openai, qwen, ui_tars

    modules = (claude_browser, claude, google, openai, qwen, ui_tars)
    return {each.name: each for module in modules for each in module.DIALECTS}


def keeps_thinking(model: str) -> bool:
    """Whether `provider:model` is a Claude whose thinking depends on earlier turns, in any dialect."""
    provider, _, name = model.partition(":")
    return provider == "anthropic" and any(
        each.append_only and each.speaks(provider, name) for each in all_dialects().values()
    )


def dialect_named(name: str) -> Dialect:
    """Return the dialect called `name`.

    Raises:
        UnknownDialectError: There is none.
    """
    found = all_dialects().get(name)
    if found is None:
        raise UnknownDialectError(
            f"there is no dialect {name!r}: known are {', '.join(all_dialects())}"
        )
    return found


def dialect_for(model: str, environment: str) -> Dialect:
    """Return the dialect for `provider:model` in a `browser` or on a `desktop`.

    Raises:
        UnknownDialectError: None is documented for it.

    >>> dialect_for("anthropic:claude-opus-5-5", "desktop").name
    'computer_toolset_20260801'
    """
    provider, _, name = model.partition(":")
    spoken = [
        each for each in all_dialects().values() if each.default and each.speaks(provider, name)
    ]
    found = next((each for each in spoken if environment in each.environments), None)
    if found is None:
        place = _PLACES[environment] if spoken else ""
        listed = ", ".join(f"{each.name} ({each.provider})" for each in all_dialects().values())
        raise UnknownDialectError(
            f"no computer-use tool is known for {model}{place}: name one with `--dialect`, "
            f"one of {listed}; or use the agent 'tool-calling'"
        )
    return found
