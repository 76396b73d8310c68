"""Read YAML that others wrote: plain values, nested and repeated no more than people do by hand, and lists in files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench_core.errors import InputError, pip_install
from bench_core.records.codec import decode_json

_MAX_CHARS = 8 << 20
_MAX_DEPTH = 64
_MAX_NODES = 1_000_000
"""Values where aliases stand for what they name: a few lines of aliases can name billions."""
_VALUES = frozenset({"ScalarEvent", "SequenceStartEvent", "MappingStartEvent"})


def parse_yaml(text: str | bytes) -> Any:
    """Return the value of a YAML document, made of plain values alone.

    Args:
        text: The document, of up to 8 million characters.

    Raises:
        ValueError: It is not YAML, is nested deeper than 64 levels, or is of more than a million values,
            those that aliases repeat included.
        ImportError: PyYAML is not installed.

    >>> parse_yaml("sites: {shop: http://shop}")
    {'sites': {'shop': 'http://shop'}}
    >>> parse_yaml("a: &a [*a]")
    Traceback (most recent call last):
    ValueError: the alias *a is inside what it names
    """
    import yaml  # only where a file is given

    if len(text) > _MAX_CHARS:
        raise ValueError(f"it has {len(text):,} characters; up to {_MAX_CHARS:,} are read")
    try:
        _refuse_excess(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(_where(error)) from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_list(path: Path, what: str) -> list[Any]:
    """Return the list in `path`; JSON where the name ends in `.json`, YAML otherwise.

    Raises:
        InputError: The file cannot be read, is not a list, or YAML is not installed; the message
            calls the file `what`.
    """
    try:
        text = path.read_text(encoding="utf-8")
        found = decode_json(text) if path.suffix == ".json" else parse_yaml(text)
    except ImportError as error:
        raise InputError(
            f"{path}: YAML files need PyYAML: `{pip_install('bench-core[yaml]')}`, or write JSON"
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot read {what}: {error}") from error
    if not isinstance(found, list):
        raise InputError(f"{path}: {what} is a list, not {type(found).__name__}")
    return found


def _refuse_excess(events: Iterable[Any]) -> None:
    """Count values as if each alias were written out, without writing any out."""
    inside: list[tuple[str | None, int]] = []  # anchor, and how many values there were before it
    sizes: dict[str, int] = {}
    values = 0
    for event in events:
        kind, anchor = type(event).__name__, getattr(event, "anchor", None)
        if kind == "AliasEvent":
            if any(anchor == name for name, _ in inside):
                raise ValueError(f"the alias *{anchor} is inside what it names")
            values += sizes.get(str(anchor), 1)
        elif kind.endswith("EndEvent") and inside and not kind.startswith(("Stream", "Document")):
            name, before = inside.pop()
            sizes[str(name)] = values - before
        elif kind in _VALUES:
            if kind != "ScalarEvent":
                inside.append((anchor, values))
            sizes[str(anchor)] = 1
            values += 1
        if len(inside) > _MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {_MAX_DEPTH} levels")
        if values > _MAX_NODES:
            raise ValueError(f"it is of more than {_MAX_NODES:,} values, repeated ones included")


def _where(error: Exception) -> str:
    """Return what PyYAML found, in one line where it would take four."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or not problem:
        return " ".join(str(error).split())
    return f"{problem} (line {mark.line + 1}, column {mark.column + 1})"
