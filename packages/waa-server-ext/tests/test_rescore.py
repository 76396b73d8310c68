"""Stored verdicts can be scored again from their transcripts, without VM and web."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.errors import InputError
from waa_server_ext.cli import main
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.server import Service, ServiceSettings, create_app
from waa_server_ext.server.rescore import rescore
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).parent
CASES = json.loads((TESTS / "cases" / "vanilla.json").read_text(encoding="utf-8"))
LONG = "long " * 5000


@pytest.fixture(scope="module")
def server_cache(
    tmp_path_factory: pytest.TempPathFactory, next_vm_host: Callable[[], str]
) -> tuple[Path, dict[str, Any]]:
    """The cache of a server that evaluated the committed cases, and what it answered."""
    cache = tmp_path_factory.mktemp("rescore")
    settings = EvaluatorSettings(
        cache=cache, checkout=TESTS / "miniature", skip_sleeps=True, allow_hosts=("127.0.0.1",)
    )
    long_case = {
        "id": "long-file",
        "task": {
            "id": "long", "instruction": "", "evaluator": {
                "func": "compare_text_file",
                "result": {"type": "vm_file", "path": "C:\\a.txt", "dest": "a.txt"},
                "expected": {"type": "cloud_file", "path": "${CLOUD_BASE}/a", "dest": "g.txt"},
            },
        },
        "vm_state": {"files": {"C:\\a.txt": {"text": LONG}}, "cloud": {"a": {"text": LONG}}},
        "action_history": ["DONE"],
    }  # fmt: skip
    answers: dict[str, Any] = {}
    with IsolatedEvaluator(settings) as evaluator:
        for case in [*CASES[::4], long_case]:
            state = VmState.load(case["vm_state"])
            with (
                FixtureVm(state, port=0) as web,
                FixtureVm(state, host=next_vm_host()) as vm,
                Service(evaluator, ServiceSettings(vm=vm.address, cache=cache)) as service,
            ):
                task = json.loads(json.dumps(case["task"]).replace("${CLOUD_BASE}", web.cloud_base))
                body = {
                    "task": task, "action_history": case["action_history"],
                    "idempotency_key": case["id"],
                }  # fmt: skip
                client = create_app(service).test_client()
                answers[case["id"]] = client.post("/evaluate", json=body).json
    return cache, answers


def test_the_same_evaluators_give_the_same_scores_from_the_transcripts(
    server_cache: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    cache, answers = server_cache
    settings = EvaluatorSettings(cache=tmp_path, checkout=TESTS / "miniature")
    found = list(rescore(settings, cache))
    assert [each.key for each in found] == list(answers)
    wrong = [(each.key, each.before.score, each.after) for each in found if each.changed]
    assert wrong == []
    assert {each.key: each.after.score for each in found}["long-file"] == 1.0


def test_a_call_that_was_never_recorded_is_no_score(
    server_cache: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    cache, _ = server_cache
    other = tmp_path / "cache"
    other.mkdir()
    lines = (cache / "journal.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    [line] = [x for x in lines if '"state":"done"' in x and '"key":"single-pass"' in x]
    before, task, after = line.partition('"task":')
    changed = before + task + after.replace('"/c","one"', '"/c","elsewhere"')
    assert changed != line
    (other / "journal.jsonl").write_text(changed, encoding="utf-8")
    settings = EvaluatorSettings(cache=tmp_path, checkout=TESTS / "miniature")
    [found] = rescore(settings, other)
    assert found.after.score is None
    assert found.missed == ("POST /execute",)


def test_the_command_shows_stored_and_new_scores(
    server_cache: tuple[Path, dict[str, Any]],
) -> None:
    cache, _ = server_cache
    arguments = ["rescore", "--cache", str(cache), "--waa-checkout", str(TESTS / "miniature")]
    result = CliRunner().invoke(main, [*arguments, "--key", "single-pass"])
    assert result.exit_code == 0, result.output
    assert "1 scored again, 0 changed" in result.output
    as_json = CliRunner().invoke(main, [*arguments, "--key", "single-pass", "--json"])
    assert json.loads(as_json.output)[0]["after"]["score"] == 1.0


def test_a_key_or_cache_that_is_not_there_is_named(
    server_cache: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    settings = EvaluatorSettings(cache=tmp_path, checkout=TESTS / "miniature")
    with pytest.raises(InputError, match="no verdict of the key 'nope'"):
        list(rescore(settings, server_cache[0], ["nope"]))
    with pytest.raises(InputError, match="holds no stored verdicts"):
        list(rescore(settings, tmp_path))


def test_vanilla_has_no_score_where_a_browser_would_have_to_be_asked_again(
    tmp_path: Path,
) -> None:
    settings = EvaluatorSettings(cache=tmp_path, checkout=TESTS / "miniature", skip_sleeps=True)
    with IsolatedEvaluator(settings) as vanilla:
        for name in ("open_tabs_info", "page_info", "active_tab_info", "pdf_from_url"):
            for part in ("result", "expected"):
                rule = {"func": "exact_match", "result": {"type": "vm_file"}, part: {"type": name}}
                task = {"id": "live", "instruction": "look", "evaluator": rule}
                found = vanilla.evaluate(task, [], vm="127.0.0.1", replayed=True)
                fault = found.evaluation_error
                assert found.score is None
                assert fault is not None
                assert (fault.func, fault.type) == (name, "NotRecorded")
