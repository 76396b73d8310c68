"""UI-TARS's own parser over texts: `python reference_ui_tars.py ASKED`, with `ui-tars`. Prints what it makes of each as JSON."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ui_tars.action_parser import parse_action_to_structure_output

SIZE = (1280, 720)
SAME = {"left_single": "click", "press": "hotkey"}


def place(box: str | None) -> Any:
    """Return the middle of a box, which the parser gives in parts of the screen."""
    if box is None:
        return None
    x1, y1, x2, y2 = ast.literal_eval(box)
    middle = (x1 + x2) / 2 * SIZE[0], (y1 + y2) / 2 * SIZE[1]
    # the far edge is the last pixel
    return [min(int(at), side - 1) for at, side in zip(middle, SIZE, strict=True)]


def plain(action: dict[str, Any]) -> Any:
    """Return an action as a list: its name, its places, its text."""
    inputs, name = action["action_inputs"], action["action_type"]
    where = [place(inputs[key]) for key in ("start_box", "end_box") if key in inputs]
    if name == "scroll":
        where = where or [None]
    text = [inputs[k] for k in ("content", "key", "hotkey", "direction") if k in inputs]
    if name == "finished":
        text = text or [None]
    return [SAME.get(name, name), *where, *text]


def main() -> None:
    """Parse each text."""
    made = {}
    for name, text in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")).items():
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                found = parse_action_to_structure_output(text, 1000, SIZE[1], SIZE[0])
            made[name] = [plain(each) for each in found]
        # it has no errors of its own
        except Exception:  # noqa: BLE001
            made[name] = ["refused"]
    print(json.dumps({"version": version("ui-tars"), "made": made}))


if __name__ == "__main__":
    main()
