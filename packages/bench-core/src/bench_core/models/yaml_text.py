"""Read untrusted YAML: plain values with limits on nesting and repetition, and lists in files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench_core.errors import InputError, pip_install
from bench_core.records.codec import decode_json

_MAX_CHARS = 8 << 20
_MAX_DEPTH = 64
_MAX_NODES = 1_000_000
"""The most values with aliases expanded: a few lines of aliases can name billions."""
_VALUES = frozenset({"ScalarEvent", "SequenceStartEvent", "MappingStartEvent"})


class YamlError(ValueError):
    """A text is not YAML, or not of the accepted kind; `line` counts from 1, None if no line is to blame."""

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        self.problem = problem
        self.line = line
        super().__init__(problem if line is None else f"{problem} (line {line}, column {column})")


class YamlExcessError(YamlError):
    """A text is YAML, and larger, deeper or more often repeated than this reader accepts."""


def parse_yaml(text: str | bytes) -> Any:
    """Return the value of a YAML document, made of plain values alone.

    Args:
        text: The document, of up to 8 million characters.

    Raises:
        ValueError: It is not YAML, is nested deeper than 64 levels, or has more than a million values,
            those that aliases repeat included.
        ImportError: PyYAML is not installed.

    >>> parse_yaml("sites: {shop: http://shop}")
    {'sites': {'shop': 'http://shop'}}
    >>> parse_yaml("a: &a [*a]")
    Traceback (most recent call last):
    bench_core.models.yaml_text.YamlExcessError: the alias *a is inside what it names (line 1, column 8)
    """
    import yaml  # only if a file is given

    return _read(text, yaml.safe_load)


def parse_yaml_with_lines(text: str) -> tuple[Any, dict[tuple[int | str, ...], int]]:
    """Return the value of a YAML document, and the line of each place in it, from 1.

    Arguments and errors as `parse_yaml`; a key that a mapping has twice is one, too.

    >>> parse_yaml_with_lines("sites: {shop: [a]}")[1]
    {(): 1, ('sites',): 1, ('sites', 'shop'): 1, ('sites', 'shop', 0): 1}
    """
    import yaml

    lines: dict[tuple[int | str, ...], int] = {(): 1}

    def load(text: str | bytes) -> Any:
        loader = yaml.SafeLoader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _note_lines(node, (), lines)
            return loader.construct_document(node)
        finally:
            loader.dispose()

    return _read(text, load), lines


def _read(text: str | bytes, load: Callable[[str | bytes], Any]) -> Any:
    import yaml

    if len(text) > _MAX_CHARS:
        raise YamlExcessError(f"it has {len(text):,} characters; up to {_MAX_CHARS:,} are read")
    try:
        _refuse_excess(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        return load(text)
    except yaml.YAMLError as error:
        raise _as_error(error, text) from error
    except RecursionError:
        raise YamlExcessError("it is nested too deeply") from None


def read_list(path: Path, what: str) -> list[Any]:
    """Return the list in `path`; JSON if the name ends in `.json`, YAML otherwise.

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
                raise _excess(f"the alias *{anchor} is inside what it names", event)
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
            raise _excess(f"it is nested deeper than {_MAX_DEPTH} levels", event)
        if values > _MAX_NODES:
            raise _excess(
                f"it is of more than {_MAX_NODES:,} values, repeated ones included", event
            )


def _excess(problem: str, event: Any) -> YamlExcessError:
    return YamlExcessError(problem, event.start_mark.line + 1, event.start_mark.column + 1)


def _as_error(error: Exception, text: str | bytes) -> YamlError:
    """Return PyYAML's error in one line instead of its four."""
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if (
        position := getattr(error, "position", None)
    ) is not None:  # of a character that YAML has not
        before = (text.encode() if isinstance(text, str) else text)[:position]
        reason = getattr(error, "reason", "it is not YAML")
        return YamlError(reason, before.count(b"\n") + 1, len(before) - before.rfind(b"\n"))
    if mark is None or not problem:
        return YamlError(" ".join(str(error).split()))
    return YamlError(problem, mark.line + 1, mark.column + 1)


def _note_lines(
    node: Any, place: tuple[int | str, ...], lines: dict[tuple[int | str, ...], int]
) -> None:
    """Write the line of each place of a node into `lines`; values from a merge key `<<` keep their own."""
    if node.id == "sequence":
        for number, each in enumerate(node.value):
            item = (*place, number)
            lines[item] = each.start_mark.line + 1
            _note_lines(each, (*place, number), lines)
    if node.id != "mapping":
        return
    own: dict[str, int] = {}
    for key, value in node.value:
        mark = key.start_mark
        if key.tag == "tag:yaml.org,2002:merge":
            for each in value.value if value.id == "sequence" else (value,):
                merged: dict[tuple[int | str, ...], int] = {}
                _note_lines(each, place, merged)
                for inner, line in merged.items():
                    lines.setdefault(inner, line)
            continue
        if key.id != "scalar":
            raise YamlError("a key has to be a name", mark.line + 1, mark.column + 1)
        name = str(key.value)
        if name in own:
            raise YamlError(
                f"the key {name!r} is there twice, first in line {own[name]}: keep one of them",
                mark.line + 1,
                mark.column + 1,
            )
        entry = (*place, name)
        own[name] = lines[entry] = mark.line + 1
        _note_lines(value, (*place, name), lines)
