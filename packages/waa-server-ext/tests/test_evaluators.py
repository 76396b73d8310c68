"""Which evaluator the settings choose, and how the process of one ends."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import InputError
from waa_server_ext.evaluation import evaluators
from waa_server_ext.evaluation.evaluators import EvaluatorSettings, make_evaluator
from waa_server_ext.evaluation.isolation import IsolatedEvaluator

if TYPE_CHECKING:
    from pathlib import Path


def test_an_installation_without_own_evaluators_asks_for_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluators, "_NATIVE", ("waa_server_ext.left_out", "NativeEvaluator"))
    with pytest.raises(InputError, match="--waa-checkout"):
        make_evaluator(EvaluatorSettings(cache=tmp_path))


def test_a_library_that_an_evaluator_lacks_is_not_taken_for_a_missing_evaluator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lacking_evaluator.py").write_text("import a_library_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(evaluators, "_NATIVE", ("lacking_evaluator", "NativeEvaluator"))
    with pytest.raises(ModuleNotFoundError, match="a_library_that_is_not_there"):
        make_evaluator(EvaluatorSettings(cache=tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="`os.kill` ends a process there")
def test_a_closed_evaluator_has_no_process_and_a_task_that_cannot_cross_is_refused(
    tmp_path: Path,
) -> None:
    evaluator = IsolatedEvaluator(EvaluatorSettings(cache=tmp_path))
    pid = evaluator.pid
    assert pid is not None
    with pytest.raises(InputError):
        evaluator.evaluate({"note": "x" * (9 << 20)}, [], vm="127.0.0.1:9")
    evaluator.close()
    evaluator.close()
    assert evaluator.pid is None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
