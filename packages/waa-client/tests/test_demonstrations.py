"""Demonstrations that models are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from agent_runs import call, vision
from fake_evaluator import FakeEvaluator, verdict
from sample_tasks import make_task, run

from bench_core.errors import InputError
from waa_client.baseline_comparison import compare_runs
from waa_client.demonstrations import Demonstrations

if TYPE_CHECKING:
    from pathlib import Path

    from fake_vm import FakeVm
    from test_support.model_server import ModelServer


@pytest.fixture
def demos(tmp_path: Path) -> Path:
    folder = tmp_path / "demos"
    (folder / "vlc").mkdir(parents=True)
    (folder / "notepad_0a1b2c3d.txt").write_text("Press Ctrl+S.\n")
    (folder / "vlc" / "ffff0000-WOS.md").write_text("Open the menu.")
    return folder


def test_demonstrations_are_found_by_the_tasks_id(demos: Path) -> None:
    found = Demonstrations(demos)
    begun = found.find(make_task("0a1b2c3d-4e5f-WOS"))
    assert begun is not None
    assert (begun.text, begun.source) == ("Press Ctrl+S.", "notepad_0a1b2c3d.txt")
    exact = found.find(make_task("ffff0000-WOS", domain="vlc"))
    assert exact is not None
    assert exact.source == "vlc/ffff0000-WOS.md"
    assert found.find(make_task("ffff0000-WOS")) is None


def test_one_file_is_for_every_task(demos: Path) -> None:
    single = Demonstrations(demos / "notepad_0a1b2c3d.txt").find(make_task("other"))
    assert single is not None


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"x" * 100_001])
def test_a_demonstration_that_cannot_be_shown_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "demo.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"demo\.txt"):
        Demonstrations(tmp_path / "demo.txt")


def test_a_demonstration_reaches_the_model_and_the_record(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, server: ModelServer, demos: Path,
    anthropic: str,
) -> None:  # fmt: skip
    server.say(call("done"))
    given = {"demonstrations": Demonstrations(demos)}
    task = make_task("0a1b2c3d-WOS")
    result = vision(tmp_path / "run", vm, evaluator, server, {}, task, benchmark=given)
    told = str(server.requests[0].body)
    assert told.count("Press Ctrl+S.") == 1
    assert "follow what it does" in told
    assert "'fail'" in told
    assert "demo" in result.flags
    shown = result.details["demonstration"]
    assert isinstance(shown, dict)
    assert shown["source"] == "notepad_0a1b2c3d.txt"


def test_runs_with_and_without_demonstrations_are_compared_task_by_task(
    tmp_path: Path, vm: FakeVm, demos: Path
) -> None:
    tasks = [make_task(f"0a1b2c3d-{number}") for number in range(4)]
    with FakeEvaluator(lambda _: verdict(0.0)) as evaluator:
        run(tmp_path / "a", tasks, [vm.url], [evaluator.url])
        evaluator.judge = lambda _: verdict(1.0)
        given = {"demonstrations": Demonstrations(demos)}
        run(tmp_path / "b", tasks, [vm.url], [evaluator.url], benchmark=given)
    found = compare_runs(tmp_path / "a", tmp_path / "b")
    assert found.difference is not None
    assert (found.difference.better, found.difference.difference.estimate) == (4, 1.0)
