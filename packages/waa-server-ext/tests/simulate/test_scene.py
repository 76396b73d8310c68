"""Scenes: written by people, loaded from cases, and taken as snapshots."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import httpx
import pytest
from PIL import Image

from bench_core.errors import InputError
from waa_server_ext.simulate import Scene, SimulatedVm, load_scene, snapshot
from waa_server_ext.simulate.desktop.accessibility import accessibility_xml
from waa_server_ext.simulate.desktop.recorder import Recorder, screen_png

if TYPE_CHECKING:
    from pathlib import Path

    from waa_server_ext.simulate.desktop.composition import Desktop

_SCENE = """
now: 2025-03-01 08:30
screen: [1280, 720]
timezone: Pacific Standard Time
clipboard: copied
files:
  C:\\Users\\Docker\\Documents\\list.txt: |
    one
    two
  C:\\Users\\Docker\\Pictures\\big.raw: {size: 7000000}
  C:\\Users\\Docker\\Documents\\secret.txt: {text: x, hidden: true}
folders: ['C:\\Users\\Docker\\Desktop\\Projects']
registry:
  HKCU\\Software\\Me|Level: 3
windows:
  - notepad
  - [explorer, 'C:\\Users\\Docker\\Documents']
  - {launch: [calc], maximized: true}
timers:
  - {minutes: 30, name: Tea}
world_clocks: ['Munich, Germany']
"""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    path = tmp_path / "scene.yaml"
    path.write_text(_SCENE, encoding="utf-8")
    return load_scene(path)


def test_a_scene_says_what_the_desktop_starts_with(scene: Scene) -> None:
    desktop = scene.build()
    machine = desktop.machine
    assert [window.title for window in desktop.windows] == [
        "Untitled - Notepad", "Documents - File Explorer", "Calculator",
    ]  # fmt: skip
    assert desktop.size == (1280, 720)
    assert machine.files.read("C:\\Users\\Docker\\Documents\\list.txt") == b"one\ntwo\n"
    assert machine.files.entry("C:\\Users\\Docker\\Pictures\\big.raw").size == 7_000_000
    assert machine.registry.number("HKCU:\\software\\me", "level", 0) == 3
    assert (machine.zone.hours, machine.clipboard.text) == (-8, "copied")
    assert (machine.timers[0].name, machine.world_clocks) == ("Tea", [("Munich", "Germany")])
    names = [entry.name for entry in machine.files.children("C:\\Users\\Docker\\Desktop")]
    assert names == ["Projects"]


def test_hidden_files_are_not_shown(scene: Scene) -> None:
    desktop = scene.build()
    desktop.minimize(desktop.windows[-1])
    tree = accessibility_xml(desktop, "uia")
    assert 'name="list.txt"' in tree
    assert 'name="secret.txt"' not in tree


def test_a_snapshot_builds_the_same_screen(scene: Scene) -> None:
    desktop = scene.build()
    desktop.activate(desktop.windows[0])
    desktop.keyboard.write("not saved yet")
    desktop.activate(desktop.windows[0])
    again = Scene.model_validate_json(snapshot(desktop).model_dump_json()).build()
    assert [window.title for window in again.windows] == [
        window.title for window in desktop.windows
    ]
    assert snapshot(again) == snapshot(desktop)


def test_a_reset_forgets_what_was_done(vm_host: str) -> None:
    with SimulatedVm(host=vm_host) as vm:
        before = vm.call(snapshot)
        httpx.post(f"{vm.url}/setup/launch", json={"command": ["notepad"]}, timeout=600)
        body = {"path": "C:\\x.txt", "content": "x"}
        httpx.post(f"{vm.url}/setup/create_file", json=body, timeout=600)
        after = vm.call(snapshot)
        vm.reset()
        assert (vm.call(snapshot) == before, after == before) == (True, False)


@pytest.mark.parametrize(
    ("text", "message"),
    [("windows: [photoshop]", "photoshop"), ("files: 3", "files"), ("clipbord: x", "clipbord"), ("timezone: Mars", "Mars"),
     ("a: [", "not YAML"), ("files: {'C:\\a?b': x}", "syntax is incorrect"), ("registry: {'XX\\y|z': 1}", "hive"),
     ("screen: [0, 5]", "screen"), ("files: {'C:\\a': {b64: '!'}}", "cannot be built")],
)  # fmt: skip
def test_a_bad_scene_names_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "scene.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message.replace("\\", "\\\\")):
        load_scene(path).build()


def test_a_missing_scene_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.yaml cannot be read"):
        load_scene(tmp_path / "no.yaml")


def test_an_episode_is_recorded_as_an_animation(desktop: Desktop, tmp_path: Path) -> None:
    recorder = Recorder(partial(screen_png, desktop), width=320)
    recorder.add()
    recorder.add()  # the same again
    desktop.programs.launch(["calc"])
    recorder.add()
    recorder.animation(tmp_path / "film.webp")
    assert len(recorder.frames) == 2
    with Image.open(tmp_path / "film.webp") as film:
        assert (film.size, getattr(film, "n_frames", 1)) == ((320, 200), 2)


def test_nothing_recorded_is_an_error(desktop: Desktop, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing was recorded"):
        Recorder(partial(screen_png, desktop)).animation(tmp_path / "x.webp")
