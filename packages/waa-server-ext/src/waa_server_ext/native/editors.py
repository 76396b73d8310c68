"""Visual Studio Code: its settings, key bindings and extensions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from waa_server_ext.native.files import read_text
from waa_server_ext.native.refusals import or_else
from waa_server_ext.native.registry import metric

__all__: list[str] = []


@metric("vscode.py")
def check_json_settings(actual: str | None, expected: Mapping[str, Any], **_: Any) -> float:
    """Whether a settings file has the expected values.

    Fails as: 0.0 for None; settings with comments are not JSON and raise.

    Oddities: Only the expected keys count, each with its whole value.
    """
    if not actual:
        return 0.0
    data = json.loads(read_text(actual))
    merged = data.copy()
    merged.update(expected["expected"])
    return float(data == merged)


@metric("vscode.py")
def check_json_keybindings(actual: str | None, expected: Mapping[str, Any], **_: Any) -> float:
    """Whether a file of key bindings has the expected one.

    Fails as: 0.0 for anything but a list, with or without a first line of comment.
    """
    text = or_else("", read_text, actual)
    for candidate in (text, text.partition("\n")[2]):
        bindings = or_else(None, json.loads, candidate)
        if type(bindings) is list:
            return float(expected["expected"] in bindings)
    return 0.0


@metric("vscode.py")
def is_extension_installed(actual: str, rules: Mapping[str, Any], **_: Any) -> float:
    """Whether a command's output contains `expected`, or does not (`not_contain`).

    Fails as: TypeError for None.
    """
    if rules["type"] == "contain":
        return float(rules["expected"] in actual)
    if rules["type"] == "not_contain":
        return float(rules["expected"] not in actual)
    raise NotImplementedError(f"unknown rule type {rules['type']!r}")


@metric("vscode.py")
def check_python_file_by_gold_file(actual_files: Any, gold_file: Any, **_: Any) -> None:
    """Nothing: upstream never wrote it.

    Fails as: None always, which counts as zero.
    """
