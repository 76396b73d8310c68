"""What the fidelities do differently: upstream's rules, V2's, and V2's with known mistakes mended."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from waa_server_ext.evaluation.evaluators import EvaluatorSettings, Fidelity
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.native import NativeEvaluator
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("cv2", reason="needs the extra [all]")

HOME = r"C:\Users\Docker"
CHROME = HOME + r"\AppData\Local\Google/Chrome/User Data/Default"
EDGE = HOME + r"\AppData\Local\Microsoft/Edge/User Data/Default"
VLCRC = HOME + r"\AppData\Roaming\vlc\vlcrc"


def evaluator(metric: str, getter: dict[str, Any], rules: Any) -> dict[str, Any]:
    return {"func": metric, "result": getter, "expected": {"type": "rule", "rules": rules}}


def json_file(path: str, value: Any) -> dict[str, Any]:
    return {"files": {path: {"text": json.dumps(value)}}}


BING = {"default_search_provider_data": {"template_url_data": {"short_name": "Microsoft Bing"}}}
OWN = {
    "default_search_provider": {"synced_guid": "x"},
    "default_search_provider_data": {"template_url_data": {"short_name": "Kagi"}},
}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[Fidelity, float | None]]] = {
    "a locked cookie store": (
        evaluator("is_cookie_deleted", {"type": "cookie_data", "dest": "c"}, {"type": "domains", "domains": ["a"]}),
        {},
        {"v2": 1.0, "orig": None, "fixed": None},
    ),
    "a url rule without url": (
        evaluator("is_shortcut_on_desktop", {"type": "rule", "rules": {"a.lnk": '{"data": {"description": "see u"}}'}},
                  {"type": "url", "description": "u"}),
        {},
        {"v2": 0.0, "orig": None, "fixed": 1.0},
    ),
    "Microsoft Bing": (
        evaluator("exact_match", {"type": "default_search_engine"}, {"expected": "Bing"}),
        json_file(f"{CHROME}/Preferences", BING),
        {"v2": 0.0, "orig": 0.0, "fixed": 1.0},
    ),
    "an engine of the user's own in Edge": (
        evaluator("exact_match", {"type": "default_search_engine_from_edge"}, {"expected": "Kagi"}),
        json_file(f"{EDGE}/Preferences", OWN),
        {"v2": 0.0, "orig": 0.0, "fixed": 1.0},
    ),
    "an empty file": (
        evaluator("exact_match", {"type": "vm_file_exists_in_vm_folder", "folder_name": HOME, "file_name": "a"},
                  {"expected": 1.0}),
        {"files": {HOME + r"\a": {"text": ""}}},
        {"v2": 0.0, "orig": 0.0, "fixed": 1.0},
    ),
    "an untouched vlcrc": (
        evaluator("check_qt_video_resize", {"type": "vlc_config", "dest": "v"}, {"qt-video-autoresize": 0}),
        {"files": {VLCRC: {"text": "#qt-video-autoresize=1\n"}}},
        {"v2": 0.0, "orig": 0.0, "fixed": 0.0},
    ),
    "a vlcrc without the setting": (
        evaluator("check_qt_video_resize", {"type": "vlc_config", "dest": "v"}, {"qt-video-autoresize": 0}),
        {"files": {VLCRC: {"text": "[qt]\n"}}},
        {"v2": 1.0, "orig": 1.0, "fixed": 0.0},
    ),
    "the typing mistake in a task": (
        {
            "func": "compare_text_file",
            "result": {"type": "vm_file", "path": HOME + r"\DownloadssBackup.zip", "dest": "a"},
            "expected": {"type": "vm_file", "path": HOME + r"\gold", "dest": "b"},
        },
        {"files": {HOME + r"\DownloadsBackup.zip": {"text": "x"}, HOME + r"\gold": {"text": "x"}}},
        {"v2": 0.0, "orig": 0.0, "fixed": 1.0},
    ),
    "Notepad's byte order mark": (
        {
            "func": "compare_text_file",
            "result": {"type": "vm_file", "path": HOME + r"\a", "dest": "a"},
            "expected": {"type": "vm_file", "path": HOME + r"\b", "dest": "b"},
        },
        {"files": {HOME + r"\a": {"b64": base64.b64encode(b"\xef\xbb\xbfx").decode()}, HOME + r"\b": {"text": "x"}}},
        {"v2": 0.0, "orig": 0.0, "fixed": 1.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("fidelity", ["v2", "orig", "fixed"])
@pytest.mark.parametrize("name", CASES)
def test_scores_by_the_rules_of_its_fidelity(name: str, fidelity: Fidelity, tmp_path: Path) -> None:
    what, state, expected = CASES[name]
    task = {"id": "t", "instruction": name, "evaluator": what}
    with FixtureVm(VmState.load(state), port=0) as vm:
        settings = EvaluatorSettings(cache=tmp_path, fidelity=fidelity)
        verdict = NativeEvaluator(settings).evaluate(task, [], vm=vm.address)
    assert (verdict.score, verdict.fidelity) == (expected[fidelity], fidelity)


@pytest.mark.parametrize(("fidelity", "score"), [("v2", 1.0), ("fixed", None)])
def test_only_and_and_or_join_metrics_where_mistakes_are_mended(
    fidelity: Fidelity, score: float | None, tmp_path: Path
) -> None:
    """Upstream takes the best score for any other word, `AND` included."""
    getters = [{"type": "vm_command_line", "command": ["cmd", "/c", each]} for each in "ab"]
    expected = [{"type": "rule", "rules": {"expected": "1"}} for _ in "ab"]
    joined = {"func": ["exact_match"] * 2, "conj": "AND", "result": getters, "expected": expected}
    task = {"id": "t", "instruction": "x", "evaluator": joined}
    commands = [{"match": "cmd /c a", "output": "1"}, {"match": "cmd /c b", "output": "2"}]
    with FixtureVm(VmState.load({"commands": commands}), port=0) as vm:
        settings = EvaluatorSettings(cache=tmp_path, fidelity=fidelity)
        verdict = NativeEvaluator(settings).evaluate(task, ["DONE"], vm=vm.address)
    assert verdict.score == score
    if score is None:
        assert "conj is 'AND'" in verdict.evaluation_error.message


def test_a_correction_is_noted_in_the_verdict(tmp_path: Path) -> None:
    what, state, _ = CASES["Microsoft Bing"]
    task = {"id": "t", "instruction": "x", "evaluator": what}
    with FixtureVm(VmState.load(state), port=0) as vm:
        settings = EvaluatorSettings(cache=tmp_path, fidelity="fixed")
        verdict = NativeEvaluator(settings).evaluate(task, [], vm=vm.address)
    assert verdict.notes == ("fixed: 'Microsoft Bing' is read as 'Bing'",)


def test_the_corrections_are_listed_with_the_capabilities(tmp_path: Path) -> None:
    described = NativeEvaluator(EvaluatorSettings(cache=tmp_path, fidelity="fixed")).describe()
    variants = described.details["variants"]
    assert isinstance(variants, dict)
    assert {name for name, each in variants.items() if "fixed" in each} == {  # type: ignore[operator]
        "check_qt_video_resize", "compare_text_file", "default_search_engine",
        "default_search_engine_from_edge", "has_page_numbers_in_footers", "is_cookie_deleted",
        "is_shortcut_on_desktop", "vlc_config", "vm_file", "vm_file_exists_in_vm_folder",
    }  # fmt: skip
