"""Texts, JSON settings, key bindings and plain values."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from recipes.common import Call, Drawn, file, sentence, sometimes, value

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "check_direct_json_object",
    "check_json_keybindings",
    "check_json_settings",
    "compare_text_file",
    "exact_match",
    "is_extension_installed",
]


def _text_pair(rng: Random) -> tuple[str, str]:
    lines = [sentence(rng) for _ in range(rng.randint(0, 5))]
    text = rng.choice(["\n", "\n", "\r\n"]).join(lines)
    other = rng.choice(
        [
            text,
            text,
            text + "\n",
            text.upper(),
            text.replace("\n", "  \n"),
            text.replace("a", "b", 1),
            " " + text,
            "\ufeff" + text,
        ]
    )
    return text, other


def compare_text_file(rng: Random) -> Drawn:
    one, other = _text_pair(rng)
    options = {
        name: rng.choice([True, False])
        for name in ("ignore_blanks", "ignore_case")
        if sometimes(rng, 0.5)
    }
    expected = file("expected.txt", text=other)
    if sometimes(rng, 0.05):
        expected = file("absent.txt")
    actual = file("actual.txt", text=one)
    if sometimes(rng, 0.05):
        actual = rng.choice([value(None), value(""), file("absent-too.txt"), file("a", raw="/w==")])
    return [actual, expected], options


_SETTINGS: list[tuple[str, Any]] = [
    ("editor.wordWrapColumn", 100),
    ("files.autoSave", "afterDelay"),
    ("files.autoSaveDelay", 1000),
    ("debug.focusEditorOnBreak", False),
    ("files.exclude", {"**/__pycache__": True}),
    ("workbench.colorTheme", "Solarized Dark"),
    ("none", None),
    ("list", [1, 2, {"a": None}]),
]


def _settings(rng: Random) -> Call:
    return dict(rng.sample(_SETTINGS, rng.randint(0, len(_SETTINGS))))


def _nearly(rng: Random, value: Any) -> Any:
    """Return the value or something easily taken for it."""
    if sometimes(rng, 0.6):
        return value
    close: list[Any] = [None, str(value), not value, [value], value]
    if isinstance(value, (int, float)):
        close += [float(value), value + 1, bool(value)]
    if isinstance(value, dict):
        close += [{**value, "more": 1}, {}]
    return rng.choice(close)


def check_json_settings(rng: Random) -> Drawn:
    data = _settings(rng)
    expected = {key: _nearly(rng, value) for key, value in rng.sample(_SETTINGS, rng.randint(0, 2))}
    if sometimes(rng, 0.6):
        data.update(copy.deepcopy(expected))
    content: Any = data if sometimes(rng, 0.92) else rng.choice([[], [data], "x", 3, None])
    actual = file("settings.json", json=content)
    if sometimes(rng, 0.1):
        odd = ["", "// comment\n{}", '{"a": NaN}', '{"a": 1,}', "\ufeff{}"]
        actual = rng.choice(
            [file("settings.json", text=rng.choice(odd)), value(None), file("none")]
        )
    return [actual, value({"expected": expected})], {}


def check_json_keybindings(rng: Random) -> Drawn:
    binding = {"key": "ctrl+j", "command": "workbench.action.focusActiveEditorGroup"}
    if sometimes(rng, 0.5):
        binding["when"] = "terminalFocus"
    data: Any = [{"key": "ctrl+f", "command": "-list.find"} for _ in range(rng.randint(0, 2))]
    if sometimes(rng, 0.6):
        data.insert(rng.randint(0, len(data)), dict(binding))
    if sometimes(rng, 0.1):
        data = rng.choice([{}, binding, "x"])
    actual = file("keybindings.json", json=data)
    if sometimes(rng, 0.4):
        import json

        first = rng.choice(["// Place your key bindings in this file\n", "\n", "[]\n", "\n\n//\n"])
        actual = file("keybindings.json", text=first + json.dumps(data))
    if sometimes(rng, 0.05):
        actual = rng.choice([file("nowhere.json"), value(None)])
    return [actual, value({"expected": binding})], {}


def check_direct_json_object(rng: Random) -> Drawn:
    whole = {
        "fromStation": "BOM",
        "toStation": "STO",
        "time": "2026-01-05",
        "n": 3,
        "tags": ["a", "b"],
    }
    expected: Call = {
        key: _nearly(rng, value) for key, value in whole.items() if sometimes(rng, 0.5)
    }
    result: Any = {key: _nearly(rng, value) for key, value in whole.items() if sometimes(rng, 0.9)}
    if sometimes(rng, 0.2):
        result = rng.choice(
            [None, str(result), " {'fromStation': 'BOM'} ", "no json", [], 5, "null"]
        )
    rules: Call = {"expected": expected}
    if sometimes(rng, 0.4):
        rules["expect_in_result"] = rng.choice([True, True, False])
    if sometimes(rng, 0.05):
        rules = {"nothing": 1}
    return [value(result), value(rules)], {}


def exact_match(rng: Random) -> Drawn:
    values: list[Any] = [
        1,
        1.0,
        True,
        "1",
        "",
        None,
        [],
        {},
        "True",
        0,
        False,
        {"a": [1]},
        "tamiflu",
    ]
    expected = rng.choice(values)
    result = expected if sometimes(rng, 0.5) else rng.choice(values)
    rules = {"expected": expected} if sometimes(rng, 0.95) else {"match": expected}
    return [value(result), value(rules)], {}


def is_extension_installed(rng: Random) -> Drawn:
    listed = "\n".join(rng.sample(["ms-python.python", "njpwerner.autodocstring", "0x1", "a"], 2))
    rules = {
        "type": rng.choice(["contain", "contain", "not_contain", "other"]),
        "expected": rng.choice(["ms-python.python", "0x1", "", "MS-Python.python", 3]),
    }
    actual: Any = listed if sometimes(rng, 0.9) else rng.choice([None, "", [], ["0x1"], {"a": 1}])
    return [value(actual), value(rules)], {}
