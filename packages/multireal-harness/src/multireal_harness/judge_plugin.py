"""Loading of the judge of a run through its entry point."""

from __future__ import annotations

from typing import Any

from bench_core.discovery import load_plugin
from bench_core.errors import InputError
from bench_core.protocols import Judge

__all__ = ["load_judge"]


def load_judge(name: str, model: str | None = None, **options: Any) -> Judge:
    """Return the judge `name`, made with its model.

    Args:
        name: An entry point of `bench_core.judges`, or `my_package.my_module:MyJudge`.
        model: `provider:model`, `replay:CASSETTE` or `scripted:FILE`.
        options: Its other options, those that are None left out: `llm-judge` has `second`, `base_url`,
            `samples`, `claims`, `calibration` and `max_cost_usd`.

    Raises:
        UnknownPluginError: No installed distribution offers it; `llm-judge` is one.
        InputError: It cannot be made from these arguments, or is not a judge.
    """
    factory = load_plugin("judge", name)
    given = {key: value for key, value in options.items() if value is not None}
    # the protocol's check passes for classes too, because they have the same attributes
    if isinstance(factory, Judge) and not isinstance(factory, type):
        if given:
            raise InputError(
                f"the judge {name!r} is an object already and takes no {', '.join(given)}"
            )
        return factory
    arguments = [] if model is None else [model]
    try:
        judge = factory(*arguments, **given)
    except TypeError as error:
        hint = ": pass --judge-model provider:model" if model is None else ""
        raise InputError(f"the judge {name!r} cannot be made{hint} ({error})") from error
    if not isinstance(judge, Judge):
        raise InputError(f"{name!r} is not a judge: it needs a `name` and an async `judge`")
    return judge
