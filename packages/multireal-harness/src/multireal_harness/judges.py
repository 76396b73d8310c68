"""The judge a run asks, met through its entry point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.discovery import load_plugin
from bench_core.errors import InputError
from bench_core.protocols import Judge

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["load_judge"]


def load_judge(name: str, model: str | None = None, calibration: Path | None = None) -> Judge:
    """Return the judge `name`, made with its model.

    Args:
        name: An entry point of `bench_core.judges`, or `my_package.my_module:MyJudge`.
        model: `provider:model`, `replay:CASSETTE` or `scripted:FILE`.
        calibration: A file the judge knows how to read.

    Raises:
        UnknownPluginError: No installed distribution offers it; `llm-judge` is one.
        InputError: It cannot be made from these arguments, or is no judge.
    """
    factory = load_plugin("judge", name)
    if isinstance(factory, Judge) and not isinstance(factory, type):
        return factory
    arguments = [] if model is None else [model]
    options = {} if calibration is None else {"calibration": calibration}
    try:
        judge = factory(*arguments, **options)
    except TypeError as error:
        hint = ": pass --judge-model provider:model" if model is None else ""
        raise InputError(f"the judge {name!r} cannot be made{hint} ({error})") from error
    if not isinstance(judge, Judge):
        raise InputError(f"{name!r} is no judge: it needs a `name` and an async `judge`")
    return judge
