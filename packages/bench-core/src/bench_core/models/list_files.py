"""Reads the small files people write by hand: lists in YAML or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError
from bench_core.models.yaml_text import parse_yaml
from bench_core.records.codec import decode_json

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_list"]


def read_list(path: Path, what: str) -> list[Any]:
    """Return the list in `path`; JSON where the name ends in `.json`, YAML otherwise.

    Raises:
        InputError: The file cannot be read, is not a list, or YAML is not installed; the message
            calls the file `what`.
    """
    try:
        text = path.read_text(encoding="utf-8")
        found = decode_json(text) if path.suffix == ".json" else _yaml(path, text)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot read {what}: {error}") from error
    if not isinstance(found, list):
        raise InputError(f"{path}: {what} is a list, not {type(found).__name__}")
    return found


def _yaml(path: Path, text: str) -> Any:
    try:
        return parse_yaml(text)
    except ImportError as error:
        raise InputError(
            f"{path}: YAML files need PyYAML: `pip install bench-core[yaml]`, or write JSON"
        ) from error
