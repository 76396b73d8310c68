"""Module paths of 0.1 that were documented, or written into a user's files, go on working."""

from __future__ import annotations

import importlib
import sys

import pytest

import waa_server_ext.built_in.solutions
import waa_server_ext.built_in.world
import waa_server_ext.evaluation.evaluators
import waa_server_ext.server.mount
import waa_server_ext.simulate.desktop.composition
import waa_server_ext.simulate.machine.computer
import waa_server_ext.simulate.ui.builder
import waa_server_ext.simulate.ui.geometry
import waa_server_ext.simulate.ui.text_field
import waa_server_ext.simulate.ui.windows
import waa_server_ext.vm.state

MOVED = [
    ("waa_server_ext.evaluating", "EvaluatorSettings", waa_server_ext.evaluation.evaluators),
    ("waa_server_ext.evaluating", "make_evaluator", waa_server_ext.evaluation.evaluators),
    ("waa_server_ext.vm_state", "VmState", waa_server_ext.vm.state),
    ("waa_server_ext.simulate.geometry", "Area", waa_server_ext.simulate.ui.geometry),
    ("waa_server_ext.simulate.solutions", "solutions", waa_server_ext.built_in.solutions),
    ("waa_server_ext.simulate.text_field", "TextField", waa_server_ext.simulate.ui.text_field),
    ("waa_server_ext.simulate.windows", "Builder", waa_server_ext.simulate.ui.builder),
    ("waa_server_ext.simulate.windows", "Window", waa_server_ext.simulate.ui.windows),
    ("waa_server_ext.simulate.world", "SimulatedDesktopWorld", waa_server_ext.built_in.world),
]
STILL_THERE = [
    ("waa_server_ext.simulate.desktop", "Desktop", waa_server_ext.simulate.desktop.composition),
    ("waa_server_ext.simulate.machine", "Machine", waa_server_ext.simulate.machine.computer),
]


@pytest.mark.parametrize(("path", "name", "home"), MOVED)
def test_a_documented_path_of_0_1_gives_the_same_object_with_a_notice(
    path: str, name: str, home: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, path, raising=False)
    with pytest.deprecated_call(match="is now waa_server_ext"):
        module = importlib.import_module(path)
    assert getattr(module, name) is getattr(home, name)


@pytest.mark.parametrize(("path", "name", "home"), STILL_THERE)
def test_a_path_that_became_a_package_needs_no_notice(path: str, name: str, home: object) -> None:
    assert getattr(importlib.import_module(path), name) is getattr(home, name)


def test_the_block_that_0_1_wrote_into_a_server_still_mounts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "waa_server_ext.mounting", raising=False)
    names: dict[str, object] = {}
    with pytest.deprecated_call(match=r"is now waa_server_ext\.server\.mount"):
        exec("from waa_server_ext.mounting import mount as _mount_waa_server_ext", names)  # noqa: S102  # the line as it was written
    assert names["_mount_waa_server_ext"] is waa_server_ext.server.mount.mount
