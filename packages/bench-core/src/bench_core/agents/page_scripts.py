"""The scripts that run in a page: they read it, and act on one of its nodes."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_FOLDER = files("bench_core.agents") / "scripts"


@cache
def script(name: str) -> str:
    """Return a function of `read.js` or `acts.js` as an expression that includes its dependencies.

    It takes the document's registry and one argument more: the page's own built-ins may have been replaced.
    """
    needs = _text("roles") + _text("read" if name == "read" else "acts")
    return f"(refs, asked) => {{\n{needs}return {name}(refs, asked);\n}}"


@cache
def registry() -> str:
    """Return the function that makes a document's registry."""
    return _text("registry")


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.js").read_text("utf-8")
