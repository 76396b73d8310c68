"""Every getter and metric by name, with the declaration that documents it.

A function declares itself at its definition; a name from a task is never looked up by `getattr`. A
rule that differs between trees, or whose known mistake can be corrected, has one function per
fidelity; a fidelity without its own uses V2's.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from bench_core.errors import MissingExtraError, pip_install
from waa_server_ext.evaluation.evaluators import Fidelity

__all__ = ["EvaluatorDeclaration", "Kind", "declared", "find", "getter", "metric"]

Kind = Literal["getter", "metric"]

EXTRAS: dict[str, tuple[str, ...]] = {
    "office": ("docx", "openpyxl", "lxml", "defusedxml", "pypdf", "rapidfuzz"),
    "pdf-agpl": ("pymupdf", "rapidfuzz"),
    "media": ("numpy", "PIL", "cv2", "soundfile", "soxr"),
    "browser": ("defusedxml", "websockets"),
    "explorer": ("LnkParse3", "py7zr"),
    "accessibility": ("cssselect", "lxml", "rapidfuzz"),
}
"""The modules that each extra installs, by import name."""

_AREAS = (
    "chrome",
    "clock",
    "commands",
    "documents",
    "edge",
    "editors",
    "explorer",
    "files",
    "images",
    "live_tabs",
    "media",
    "opendocument",
    "pdfs",
    "rules",
    "screen",
    "settings",
    "spreadsheets",
    "tabs",
    "text_files",
    "vlc",
)


@dataclass(frozen=True)
class EvaluatorDeclaration:
    """The description of one getter or metric.

    Attributes:
        area: The module it is defined in, named after its program or format.
        summary: One sentence.
        extra: The extra of waa-server-ext it needs, if any.
        needs: The modules of that extra it imports.
        failure: Its result if its input is absent or unreadable.
        notes: Known oddities that are reproduced.
        variants: Fidelity to its difference from V2.
        source: The upstream file whose behavior it reproduces.
    """

    name: str
    kind: Kind
    area: str
    summary: str
    failure: str
    source: str
    function: Callable[..., Any]
    extra: str | None = None
    needs: tuple[str, ...] = ()
    notes: str = ""
    variants: dict[Fidelity, str] = field(default_factory=dict)
    functions: dict[Fidelity, Callable[..., Any]] = field(default_factory=dict)

    def missing(self) -> tuple[str, ...]:
        """Return the modules it needs that are not installed here."""
        return tuple(name for name in self.needs if importlib.util.find_spec(name) is None)

    def bind(self, fidelity: Fidelity) -> Callable[..., Any]:
        """Return the function to call; one that raises `MissingExtraError` if its extra is absent."""
        function = self.functions.get(fidelity, self.function)
        if missing := self.missing():
            return functools.partial(_refuse, self, missing[0])
        return function

    def differs(self, fidelity: Fidelity, how: str) -> Callable[..., Any]:
        """Return a decorator that registers the function to use instead under a fidelity."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.functions[fidelity] = function
            self.variants[fidelity] = how
            return function

        return register


_DECLARED: dict[Kind, dict[str, EvaluatorDeclaration]] = {"getter": {}, "metric": {}}


def getter(
    source: str, *, needs: tuple[str, ...] = ()
) -> Callable[[Callable[..., Any]], EvaluatorDeclaration]:
    """Declare a function `(env, config) -> value` as the getter of its name.

    Its docstring has a paragraph `Fails as:` and, for deliberately reproduced quirks, `Oddities:`.
    """
    return functools.partial(_declare, "getter", source=f"getters/{source}", needs=needs)


def metric(
    source: str, *, needs: tuple[str, ...] = ()
) -> Callable[[Callable[..., Any]], EvaluatorDeclaration]:
    """Declare a function `(result, expected?, **options) -> number` as the metric of its name."""
    return functools.partial(_declare, "metric", source=f"metrics/{source}", needs=needs)


def find(kind: Kind, name: str) -> EvaluatorDeclaration:
    """Return a declaration.

    Raises:
        AttributeError: The name is unknown; vanilla raises the same.
    """
    try:
        return declared(kind)[name]
    except (KeyError, TypeError):
        known = f"evaluators.{kind}s have no {name!r}"
        raise AttributeError(
            f"{known}: see `GET /capabilities`, or score with --waa-checkout"
        ) from None


def declared(kind: Kind) -> dict[str, EvaluatorDeclaration]:
    """Return all declarations of a kind, by name."""
    for area in _AREAS:
        importlib.import_module(f"waa_server_ext.native.{area}")
    return _DECLARED[kind]


@functools.cache
def missing_parts() -> dict[str, str]:
    """Return the getters and metrics that lack an extra here, each with the command that adds it."""
    return {
        each.name: f"needs {missing[0]}: `{pip_install(f'waa-server-ext[{each.extra}]')}` adds it"
        for each in (*declared("getter").values(), *declared("metric").values())
        if (missing := each.missing())
    }


def _declare(
    kind: Kind, function: Callable[..., Any], *, source: str, needs: tuple[str, ...]
) -> EvaluatorDeclaration:
    name = function.__name__
    summary, *more = (
        " ".join(each.split()) for each in str(inspect.getdoc(function)).split("\n\n")
    )
    said = dict(
        each.split(": ", 1) for each in more if each.startswith(("Fails as: ", "Oddities: "))
    )
    fitting = (extra for extra, modules in EXTRAS.items() if set(needs) <= set(modules))
    declaration = EvaluatorDeclaration(
        name=name,
        kind=kind,
        area=(function.__module__ or "").rpartition(".")[2],  # None in examples
        summary=summary,
        failure=said.get("Fails as", "").removesuffix("."),
        source=source,
        function=function,
        extra=next(fitting) if needs else None,
        needs=needs,
        notes=said.get("Oddities", ""),
    )
    _DECLARED[kind][name] = declaration
    return declaration


def _refuse(declaration: EvaluatorDeclaration, module: str, *_: Any, **__: Any) -> Any:
    purpose = f"the {declaration.kind} {declaration.name}"
    raise MissingExtraError(purpose, module, "waa-server-ext", declaration.extra or "all")
