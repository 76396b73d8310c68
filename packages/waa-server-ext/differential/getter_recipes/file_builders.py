"""What cases of getters are made of: states of the VM, and files that only programs can write."""

from __future__ import annotations

import base64
import json
import sqlite3
import tempfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "HOME",
    "Case",
    "as_json",
    "case",
    "compared",
    "database",
    "each",
    "files",
    "of",
    "png",
    "seven_zip",
    "shortcut",
    "table",
    "text",
]

Case = dict[str, Any]
Row = tuple[str, Any, Any]
"""Name, state and what is expected."""

HOME = r"C:\Users\Docker"


def case(
    getter: str,
    name: str,
    config: Any,
    expected: Any,
    state: Any = None,
    *,
    metric: str = "exact_match",
) -> Case:
    """Return a case whose metric looks at what the getter gives."""
    rules = expected if metric != "exact_match" else {"expected": expected}
    return {
        "id": f"{getter}/{name}",
        "getter": getter,
        "task": {
            "id": f"{getter}-{name}",
            "instruction": name,
            "config": [],
            "evaluator": {
                "func": metric,
                "result": {"type": getter, **config},
                "expected": {"type": "rule", "rules": rules},
            },
        },
        "vm_state": state or {},
        "action_history": ["DONE"],
    }


def each(
    getter: str,
    config: Any,
    expected: Any,
    states: Mapping[str, Any],
    *,
    metric: str = "exact_match",
) -> Iterator[Case]:
    """Yield a case for every named state of the VM."""
    for name, state in states.items():
        yield case(getter, name, config, expected, state, metric=metric)


def table(getter: str, config: Any, *rows: Row, metric: str = "exact_match") -> Iterator[Case]:
    """Yield a case for every row."""
    for name, state, expected in rows:
        yield case(getter, name, config, expected, state, metric=metric)


def compared(made: Case, metric: str, result: Any, expected: Any) -> Case:
    """Return the case with an evaluator of its own."""
    made["task"]["evaluator"] = {"func": metric, "result": result, "expected": expected}
    return made


def text(content: str) -> Case:
    """Return a file of the state."""
    return {"text": content}


def of(path: str, content: str, **more: Any) -> Case:
    """Return a state with one file."""
    return {"files": {path: {"text": content, **more}}}


def files(folder: str, *names: str) -> dict[str, Case]:
    """Return files of the state that all hold an x."""
    return {f"{folder}/{name}": text("x") for name in names}


def as_json(path: str, value: Any) -> Case:
    """Return a state with one file of JSON."""
    return of(path, json.dumps(value))


def png(outline: str | None, width: int = 4) -> str:
    """Return a white picture of 160 x 140 in base64, with a circle where a color is given."""
    from PIL import Image, ImageDraw  # of the extra [media]

    image = Image.new("RGB", (160, 140), "white")
    if outline:
        ImageDraw.Draw(image).ellipse([20, 20, 120, 120], outline=outline, width=width)
    stream = BytesIO()
    image.save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def database(*statements: str) -> Case:
    """Return a file of the state: an SQLite database."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        return {"b64": base64.b64encode(path.read_bytes()).decode()}


def shortcut(description: str) -> Case:
    """Return a file of the state: a shortcut with nothing but a name string, in UTF-16."""
    head = bytes.fromhex("4c0000000114020000000000c000000000000046")
    flags = (0x04 | 0x80).to_bytes(4, "little")
    rest = bytes(76 - len(head) - 4)
    name = description.encode("utf-16-le")
    data = head + flags + rest + (len(description)).to_bytes(2, "little") + name + bytes(4)
    return {"b64": base64.b64encode(data).decode()}


def seven_zip(password: str | None) -> str:
    """Return an archive of one file in base64."""
    import py7zr  # of the extra [explorer]

    stream = BytesIO()
    with py7zr.SevenZipFile(stream, "w", password=password) as archive:
        archive.writestr("hello", "OldProjects/example.txt")
    return base64.b64encode(stream.getvalue()).decode()
