"""The files of the stand-in sites: style sheet, scripts, and the data with which every trial begins."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")


@cache
def asset(name: str) -> str:
    """Return the text of a style sheet or script."""
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def initial(site: str, part: str, kind: type[T]) -> T:
    """Return a fresh copy of a part of a site's data, of the type `kind`."""
    file = resources.files(__package__).joinpath("data", f"{site}.json")
    return TypeAdapter(kind).validate_python(json.loads(file.read_text(encoding="utf-8"))[part])
