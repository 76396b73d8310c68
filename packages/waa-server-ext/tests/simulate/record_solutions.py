"""Write the built-in tasks and the pixels of their solutions; run it after a change of layout.

Usage: python record_solutions.py <folder of the real tasks>. It does every solution by element, keeps
the pixels it aimed at and says which ones score 1.
"""

# ruff: noqa: T201
from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parent))

from actions import Hands
from instructions import INSTRUCTIONS

from bench_core.errors import BenchError
from waa_server_ext.built_in import solutions as solutions_module
from waa_server_ext.built_in import world as world_module

TASKS = Path(world_module.__file__).parent / "tasks"


_MENDED = {
    # "Untitled - Paint" and ctrl+s find no picture that its painter has saved; F12 asks for a name always
    '"Untitled - Paint"': '"Paint"',
    "pyautogui.hotkey('ctrl', 's'); time.sleep(1); pyautogui.typewrite(r'\\\"C:\\\\Users\\\\Docker\\\\Downloads\\\\CanvasSize":
    "pyautogui.press('f12'); time.sleep(1); pyautogui.typewrite(r'\\\"C:\\\\Users\\\\Docker\\\\Downloads\\\\CanvasSize",
}  # fmt: skip
"""What of the real tasks' text scores someone 0 who has done what is asked for."""


def write_task(real: Path, name: str) -> None:
    text = (real / f"{name}.json").read_text(encoding="utf-8")
    for wrong, right in _MENDED.items():
        text = text.replace(wrong, right)
    task = json.loads(text)
    kept = {key: task[key] for key in ("id", "snapshot", "config", "related_apps", "evaluator")}
    kept |= {"instruction": INSTRUCTIONS[name], "source": "built-in", "trajectory": ""}
    path = TASKS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def do(name: str, which: str) -> tuple[float | None, str, list[Any]]:
    world = world_module.SimulatedDesktopWorld()
    asyncio.run(world.start())
    places: list[Any] = []
    try:
        with httpx.Client(base_url=world.evaluate_url, timeout=120, trust_env=False) as server:
            setup = server.post("/setup", json={"task": name}).json()
            if not setup.get("ok"):
                print(name, "setup", setup)
            hands = Hands(world.vm_url)
            hands.update([])
            try:
                places += [
                    hands.act(action)
                    for action in getattr(solutions_module.solution_of(name), which)
                ]
            except (AssertionError, BenchError) as error:
                return None, f"{type(error).__name__}: {str(error)[:600]}", places
            verdict = server.post(
                "/evaluate", json={"task": name, "action_history": ["DONE"]}
            ).json()
        return verdict.get("score"), verdict.get("reason", str(verdict)), places
    finally:
        world.close()


def main() -> None:
    real = Path(sys.argv[1])
    wanted = [
        name for name in solutions_module.scripts() if len(sys.argv) < 3 or sys.argv[2] in name
    ]
    path = TASKS / "pixels.json"
    pixels = json.loads(path.read_text()) if path.exists() else {}
    for name in wanted:
        write_task(real, name)
    for name in wanted:
        score, reason, places = do(name, "elements")
        print(name, score, "" if score == 1.0 else reason)
        pixels[name] = places
    pixels = {name: pixels[name] for name in sorted(solutions_module.scripts()) if name in pixels}
    rows = ",\n".join(
        f" {json.dumps(name)}: {json.dumps(places)}" for name, places in pixels.items()
    )
    path.write_text("{\n" + rows + "\n}\n")
    solutions_module.pixel_targets.cache_clear()
    for name in wanted:
        for which in ("pixels", "wrong"):
            score, reason, _ = do(name, which)
            if score != (1.0 if which == "pixels" else 0.0):
                print("  ", which, name, score, reason)


if __name__ == "__main__":
    main()
