"""An agent's hands: observe and act over HTTP alone, with ids of the tree or with pixels."""

from __future__ import annotations

import base64
import io
import re
from typing import Any
from xml.etree import ElementTree as ET

import httpx
from PIL import Image

from bench_core.agents import (
    Action,
    Click,
    Drag,
    Element,
    ElementRef,
    Point,
    PressKeys,
    TypeText,
    named_element,
)

_CP = "{uri:deskat:component.at-spi.gnome.org}"
_ST = "{uri:deskat:state.at-spi.gnome.org}"
_PAIR = re.compile(r"\((-?\d+), (-?\d+)\)")


class Hands:
    """Acts on a VM by `/execute_windows`, as an agent with the action space `code_block` does."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=60, trust_env=False)
        self.log: list[str] = []
        size = self._http.post("/screen_size").json()
        self.size = (size["width"], size["height"])

    def close(self) -> None:
        self._http.close()

    def elements(self) -> list[Element]:
        xml = self._http.get("/accessibility", params={"backend": "uia"}).json()["AT"]
        return leaves(xml)

    def screenshot(self) -> Image.Image:
        return Image.open(io.BytesIO(self._http.get("/screenshot").content))

    def act(self, action: Action) -> tuple[int, int] | None:
        """Do one action; returns the pixel it was aimed at."""
        place = None
        if isinstance(action, Click):
            place, lines = self._aim(action.target)
            press = {
                ("left", 1): "single_click",
                ("left", 2): "double_click",
                ("right", 1): "right_click",
            }
            lines.append(f"computer.mouse.{press[action.button, action.count]}()")
        elif isinstance(action, Drag):
            place, lines = self._aim(action.start)
            end, _ = self._aim(action.end)
            lines.append(f"computer.mouse.drag(screen_x={end[0]}, screen_y={end[1]})")
        elif isinstance(action, TypeText):
            lines = [f"computer.keyboard.write({action.text!r})"]
        elif isinstance(action, PressKeys):
            lines = [f"computer.keyboard.press({'+'.join(action.keys)!r})"]
        else:
            raise TypeError(action)
        self.run("\n".join(lines))
        return place

    def run(self, code: str) -> None:
        answer = self._http.post("/execute_windows", json={"command": code})
        assert answer.status_code == 200, (code, answer.text)
        self.log.append(code)

    def update(self, rects: list[list[int]]) -> None:
        image = io.BytesIO()
        Image.new("RGB", self.size).save(image, "PNG")
        body: dict[str, Any] = {
            "rects": rects, "window_rect": [0, 0, *self.size], "scale": [1.0, 1.0],
            "screenshot": base64.b64encode(image.getvalue()).decode(),
        }  # fmt: skip
        assert self._http.post("/update_computer", json=body).status_code == 200

    def _aim(self, target: Point | ElementRef) -> tuple[tuple[int, int], list[str]]:
        if isinstance(target, Point):
            width, height = self.size
            x, y = (target.x + 0.5) / width, (target.y + 0.5) / height
            return (int(target.x), int(target.y)), [f"computer.mouse.move_abs(x={x!r}, y={y!r})"]
        elements = self.elements()
        rects = [
            [int(x), int(y), int(x + w), int(y + h)]
            for x, y, w, h in (e.rect or (0, 0, 0, 0) for e in elements)
        ]
        self.update(rects)
        name, dx, dy = _offset(target.element)
        number = int(named_element(elements, name).id)
        rect = rects[number]
        center = ((rect[0] + rect[2]) // 2 + dx, (rect[1] + rect[3]) // 2 + dy)
        code = f"computer.mouse.move_id(id={number})"
        if dx or dy:
            code += f"\nimport pyautogui\npyautogui.moveRel({dx}, {dy})"
        return center, [code]


def leaves(xml: str) -> list[Element]:
    """Return what can be acted on, front windows first, with what other windows hide left out."""
    found: list[Element] = []
    above: list[tuple[int, int, int, int]] = []
    for window in ET.fromstring(xml):  # noqa: S314  # of the server under test
        for node in window.iter():
            rect = _rect(node)
            usable = node.get(f"{_ST}enabled") == "true" and node.get(f"{_ST}visible") == "true"
            if len(node) or rect is None or not usable or _hidden(rect, above):
                continue
            left, top, right, bottom = rect
            found.append(
                Element(
                    id=str(len(found)),
                    role=str(node.tag),
                    name=node.get("name", ""),
                    rect=(left, top, right - left, bottom - top),
                )
            )
        whole = _rect(window)
        if whole is not None:
            above.append(whole)
    return found


def _rect(node: ET.Element) -> tuple[int, int, int, int] | None:
    place, size = (
        _PAIR.fullmatch(node.get(f"{_CP}screencoord", "")),
        _PAIR.fullmatch(node.get(f"{_CP}size", "")),
    )
    if place is None or size is None:
        return None
    left, top = int(place[1]), int(place[2])
    return left, top, left + int(size[1]), top + int(size[2])


def _hidden(rect: tuple[int, int, int, int], above: list[tuple[int, int, int, int]]) -> bool:
    x, y = (rect[0] + rect[2]) // 2, (rect[1] + rect[3]) // 2
    return any(left <= x < right and top <= y < bottom for left, top, right, bottom in above)


def _offset(name: str) -> tuple[str, int, int]:
    moved = re.fullmatch(r"(.+)@([+-]\d+),([+-]\d+)", name)
    return (moved[1], int(moved[2]), int(moved[3])) if moved else (name, 0, 0)
