"""The reference of all getters and metrics, written from their declarations.

python packages/waa-server-ext/differential/reference.py > docs/reference/waa-evaluators.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from waa_server_ext.native.registry import declared
from waa_server_ext.native.setup_steps import STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waa_server_ext.native.registry import EvaluatorDeclaration, Kind

__all__ = ["fidelity_table", "reference_page"]

_INTRODUCTION = """# WAA's getters and metrics

Written from the declarations in `waa_server_ext.native`; do not edit. A getter takes the evaluation's
environment and its configuration in the task, a metric what the getters gave. *Fails as* says what
becomes of an absent or broken input; in a task with one metric whatever a result getter raises counts as
zero. *Source* is the file in `desktop_env/evaluators` of Windows Agent Arena whose behaviour it has.
"""


def reference_page() -> str:
    """Return the page as Markdown."""
    parts = [_INTRODUCTION]
    for kind, title in (("getter", "Getters"), ("metric", "Metrics")):
        parts.append(f"## {title}\n")
        by_area: dict[str, list[EvaluatorDeclaration]] = {}
        for each in declared(kind).values():  # type: ignore[arg-type]  # one of two literals
            by_area.setdefault(each.area, []).append(each)
        for area in sorted(by_area):
            parts.append(f"### {area.replace('_', ' ').capitalize()}\n")
            found = sorted(by_area[area], key=lambda declaration: declaration.name)
            parts += ["\n".join(_lines(each)) + "\n" for each in found]
    steps = ", ".join(f"`{name}`" for name in sorted(STEPS))
    parts.append(f"## Set-up and postconfig steps\n\n{steps}\n")
    return "\n".join(parts)


def fidelity_table() -> str:
    """Return what differs by fidelity, as a Markdown table."""
    rows = [
        f"| `{each.name}` | {each.variants.get('orig', '')} | {each.variants.get('fixed', '')} |"
        for each in _all()
        if each.variants
    ]
    head = "| function | `orig` differs from `v2` | `fixed` mends |\n|---|---|---|"
    return "\n".join([head, *rows]) + "\n"


def _all() -> Iterator[EvaluatorDeclaration]:
    kinds: tuple[Kind, ...] = ("getter", "metric")
    for kind in kinds:
        yield from sorted(declared(kind).values(), key=lambda declaration: declaration.name)


def _lines(each: EvaluatorDeclaration) -> Iterator[str]:
    extra = f" · extra `{each.extra}`" if each.extra else ""
    yield f"`{each.name}`"
    yield f": {each.summary}"
    yield f"  *Fails as* {each.failure}."
    if each.notes:
        yield f"  {each.notes}"
    for fidelity, how in each.variants.items():
        yield f"  `{fidelity}`: {how}."
    yield f"  *Source* `{each.source}`{extra}"


if __name__ == "__main__":
    print(reference_page(), end="")
