"""Vanilla's code is kept within bounds: of time, of names, of files, of hosts."""

from __future__ import annotations

import base64
import contextlib
import io
import socket
import threading
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import InputError
from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from waa_server_ext.evaluation.verdicts import Verdict

MINIATURE = Path(__file__).resolve().parents[1] / "miniature"
GOLD = "https://raw.githubusercontent.com/rogeriobonatti/winarenafiles/main/gold.txt"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> EvaluatorSettings:
    folder = tmp_path_factory.mktemp("bounds")
    AssetStore(folder / "assets").add(GOLD, b"draft")
    return EvaluatorSettings(
        cache=folder / "cache", checkout=MINIATURE, assets=folder / "assets", offline=True
    )


@pytest.fixture(scope="module")
def evaluator(settings: EvaluatorSettings) -> Iterator[IsolatedEvaluator]:
    with IsolatedEvaluator(settings) as made:
        yield made


@pytest.fixture
def vm(vm_host: str) -> Iterator[FixtureVm]:
    state = VmState.load(
        {
            "files": {"C:\\a.txt": {"text": "draft"}, "C:\\bomb.docx": {"b64": BOMB}},
            "commands": [
                {"match": "names", "output": "['a.png']"},
                {"match": "evil", "output": "__import__('os').getpid()"},
            ],
        }
    )
    with FixtureVm(state, host=vm_host) as running:
        yield running


def entity_bomb() -> str:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("word/document.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    return base64.b64encode(packed.getvalue()).decode()


BOMB = entity_bomb()


def task(**evaluator: Any) -> dict[str, Any]:
    whole = {"func": "exact_match", "result": RULE("1"), "expected": RULE({"expected": "1"})}
    return {"id": "t", "instruction": "", "config": [], "evaluator": {**whole, **evaluator}}


def RULE(rules: Any) -> dict[str, Any]:  # noqa: N802  # reads as the getter's name
    return {"type": "rule", "rules": rules}


def score(evaluator: IsolatedEvaluator, vm: str, seconds: float = 60.0, **how: Any) -> Verdict:
    return evaluator.evaluate(task(**how), ["DONE"], vm=vm, deadline=time.monotonic() + seconds)


def error_of(verdict: Verdict) -> tuple[str, str | None]:
    assert verdict.score is None
    assert verdict.evaluation_error is not None
    return verdict.evaluation_error.type, verdict.evaluation_error.stage


def test_a_sleep_ends_with_the_deadline(evaluator: IsolatedEvaluator, vm: FixtureVm) -> None:
    sleep = [{"type": "sleep", "parameters": {"seconds": 1e9}}]
    verdict = score(evaluator, vm.address, 3.0, postconfig=sleep)
    assert error_of(verdict) == ("TimeoutError", "postconfig")


def test_a_vm_that_never_answers_ends_with_the_deadline_and_is_no_score(
    evaluator: IsolatedEvaluator, vm_host: str
) -> None:
    with socket.create_server((vm_host, 5000)):
        asks = {"type": "vm_command_line", "command": "x"}
        verdict = score(evaluator, vm_host, 3.0, result=asks)
    assert error_of(verdict) == ("VmTransportError", "result")
    assert verdict.vanilla_score == 0.0


def test_a_vm_that_never_answers_ends_with_the_longest_wait_where_there_is_no_deadline(
    settings: EvaluatorSettings, vm_host: str, tmp_path: Path
) -> None:
    own = settings.model_copy(update={"cache": tmp_path, "vm_timeout_s": 0.2})
    asks = {"type": "vm_command_line", "command": "x"}
    with IsolatedEvaluator(own) as evaluator, socket.create_server((vm_host, 5000)):
        verdict = evaluator.evaluate(task(result=asks), ["DONE"], vm=vm_host)
    assert error_of(verdict) == ("VmTransportError", "result")
    assert "ReadTimeout" in (verdict.transcript[0].error or "")


def test_a_vm_that_drips_its_answer_ends_with_the_deadline(
    evaluator: IsolatedEvaluator, vm_host: str
) -> None:
    stop = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            with contextlib.suppress(OSError):
                while not stop.wait(0.02):
                    connection.sendall(b"1\r\nx\r\n")

    with socket.create_server((vm_host, 5000)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        asks = {"type": "vm_command_line", "command": "x"}
        verdict = score(evaluator, vm_host, 3.0, result=asks)
        stop.set()
        thread.join()
    assert error_of(verdict) == ("VmTransportError", "result")


def test_a_vm_that_drops_the_connection_is_no_score_though_vanilla_writes_zero(
    evaluator: IsolatedEvaluator, vm_host: str
) -> None:
    asks = {"type": "vm_command_line", "command": "x"}
    verdict = score(evaluator, vm_host, result=asks)
    assert error_of(verdict) == ("VmTransportError", "result")
    assert verdict.vanilla_score == 0.0
    assert verdict.transcript[0].error is not None


@pytest.mark.parametrize("getter", ["spin", "exit"])
def test_code_that_hangs_or_dies_costs_its_process_and_the_next_task_is_scored(
    settings: EvaluatorSettings, vm: FixtureVm, getter: str, tmp_path: Path
) -> None:
    own = settings.model_copy(update={"cache": tmp_path})
    with IsolatedEvaluator(own, grace_s=0.2) as evaluator:
        first = evaluator.pid
        verdict = score(evaluator, vm.address, 0.2, result={"type": getter, "path": "x"})
        assert error_of(verdict) == ("EvaluatorGone", None)
        assert score(evaluator, vm.address).score == 1.0
        assert evaluator.pid != first


def test_a_document_that_explodes_in_memory_is_an_error(
    evaluator: IsolatedEvaluator, vm: FixtureVm
) -> None:
    assert error_of(score(evaluator, vm.address, func="explodes")) == ("MemoryError", "metric")


def test_a_document_with_xml_entities_is_never_opened(
    evaluator: IsolatedEvaluator, vm: FixtureVm
) -> None:
    bomb = {"type": "vm_file", "path": "C:\\bomb.docx", "dest": "a.docx"}
    verdict = score(evaluator, vm.address, func="gives", result=bomb)
    assert verdict.score is None
    assert "declares XML entities" in verdict.reason


def test_nan_stays_nan_and_is_no_success(evaluator: IsolatedEvaluator, vm: FixtureVm) -> None:
    verdict = score(evaluator, vm.address, func="nan")
    assert str(verdict.score) == "nan"
    assert verdict.success is False
    assert '"score":"NaN"' in verdict.model_dump_json()


@pytest.mark.parametrize("name", ["__class__", "__dict__", "not_a_metric", "easyocr", "a.b"])
def test_names_resolve_to_exported_functions_only(
    evaluator: IsolatedEvaluator, vm: FixtureVm, name: str
) -> None:
    verdict = score(evaluator, vm.address, func=name)
    assert error_of(verdict) == ("AttributeError", None)


def test_a_metric_that_evaluates_text_is_refused(
    evaluator: IsolatedEvaluator, vm: FixtureVm
) -> None:
    verdict = score(evaluator, vm.address, func="check_gnome_favorite_apps")
    assert error_of(verdict) == ("RefusedNameError", None)


def test_a_step_that_sends_local_files_is_refused(
    evaluator: IsolatedEvaluator, vm: FixtureVm
) -> None:
    files = [{"local_path": "/etc/hostname", "path": "C:\\x"}]
    step = {"type": "upload_file", "parameters": {"files": files}}
    assert error_of(score(evaluator, vm.address, postconfig=[step]))[0] == "RefusedNameError"


@pytest.mark.parametrize(("command", "expected"), [("names", 1.0), ("evil", 0.0)])
def test_what_the_vm_prints_is_read_as_a_literal_and_never_run(
    evaluator: IsolatedEvaluator, vm: FixtureVm, command: str, expected: float
) -> None:
    verdict = score(
        evaluator, vm.address, result={"type": "all_png_file_names", "command": command},
        expected=RULE({"expected": ["a.png"]}),
    )  # fmt: skip
    assert verdict.score == expected
    assert ("malformed node" in (verdict.metrics[0].error or "")) == (command == "evil")


@pytest.mark.parametrize("dest", ["../x", "/srv/x", "a/b", "..", "C:\\x", "C:x", "a\0b"])
def test_a_dest_that_is_a_path_is_a_bad_task(
    evaluator: IsolatedEvaluator, vm: FixtureVm, dest: str
) -> None:
    with pytest.raises(InputError, match=r"evaluator\.result\.dest"):
        score(evaluator, vm.address, result={"type": "vm_file", "path": "C:\\a.txt", "dest": dest})


def test_vanilla_code_writes_nowhere_but_in_the_cache(
    evaluator: IsolatedEvaluator, vm: FixtureVm, request: pytest.FixtureRequest
) -> None:
    path = Path(__file__).with_name("written-by-a-getter")
    verdict = score(evaluator, vm.address, result={"type": "write", "path": str(path)})
    assert "only the cache may be written" in (verdict.metrics[0].error or "")
    assert not path.exists()


def test_an_evaluation_leaves_nothing_but_the_bodies_of_its_transcript(
    settings: EvaluatorSettings, vm: FixtureVm, tmp_path: Path
) -> None:
    own = settings.model_copy(update={"cache": tmp_path})
    with IsolatedEvaluator(own) as evaluator:
        score(evaluator, vm.address, result={"type": "vm_file", "path": "C:\\a.txt", "dest": "a"})
        left = {path.name.partition("-")[0] for path in tmp_path.iterdir()}
    assert left <= {"bodies", "worker"}
    assert {path.name for path in tmp_path.iterdir()} <= {"bodies"}


def test_vanilla_code_starts_no_program(evaluator: IsolatedEvaluator, vm: FixtureVm) -> None:
    verdict = score(evaluator, vm.address, result={"type": "start", "command": "true"})
    assert "os.system is refused" in (verdict.metrics[0].error or "")


def test_gold_files_come_from_the_assets_without_the_web(
    evaluator: IsolatedEvaluator, vm: FixtureVm
) -> None:
    verdict = score(
        evaluator, vm.address, func="compare_text_file",
        result={"type": "vm_file", "path": "C:\\a.txt", "dest": "a.txt"},
        expected={"type": "cloud_file", "path": GOLD, "dest": "g.txt"},
    )  # fmt: skip
    assert verdict.score == 1.0
    assert [call.target for call in verdict.transcript] == ["vm", "web"]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://169.254.169.254/latest/meta-data", "not a host of the task set"),
        ("file:///etc/passwd", "InvalidSchema"),
        (GOLD + "x", "not among the assets"),
    ],
)
def test_other_hosts_are_not_asked(
    evaluator: IsolatedEvaluator, vm: FixtureVm, url: str, why: str
) -> None:
    verdict = score(
        evaluator, vm.address, func="compare_text_file",
        expected={"type": "cloud_file", "path": url, "dest": "g.txt"},
    )  # fmt: skip
    assert verdict.score is None
    assert why in verdict.model_dump_json()


def test_an_absent_heavy_module_is_missed_by_its_one_metric_only(
    evaluator: IsolatedEvaluator, vm: FixtureVm
) -> None:
    assert "easyocr" in evaluator.describe().stubbed
    verdict = score(evaluator, vm.address, func="reads_pictures")
    assert error_of(verdict) == ("ModuleNotFoundError", "metric")


def test_the_caller_s_task_is_never_changed(evaluator: IsolatedEvaluator, vm: FixtureVm) -> None:
    own = task()
    before = repr(own)
    evaluator.evaluate(own, [], vm=vm.address)
    assert repr(own) == before


def test_another_port_than_5000_is_refused_with_the_reason(evaluator: IsolatedEvaluator) -> None:
    with pytest.raises(InputError, match="port 5000 only"):
        score(evaluator, "127.0.0.1:5001")


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a Windows Agent Arena checkout"):
        IsolatedEvaluator(EvaluatorSettings(cache=tmp_path, checkout=tmp_path))


def test_a_fidelity_the_checkout_does_not_have_is_refused(tmp_path: Path) -> None:
    settings = EvaluatorSettings(cache=tmp_path, checkout=MINIATURE, fidelity="orig")
    with pytest.raises(InputError, match="scores as 'v2', not 'orig'"):
        IsolatedEvaluator(settings)


def test_set_up_says_how_each_step_went(evaluator: IsolatedEvaluator, vm: FixtureVm) -> None:
    steps = [
        {"type": "create_folder", "parameters": {"path": "C:\\new"}},
        {"type": "download", "parameters": {"files": [{"url": GOLD, "path": "C:\\new\\g.txt"}]}},
        {"type": "activate_window", "parameters": {"window_name": "Nope"}},
        {"type": "no_such", "parameters": {}},
        {"type": "sleep", "parameters": {"seconds": 0}},
    ]
    report = evaluator.set_up({**task(), "config": steps}, vm=vm.address)
    assert [(step.type, step.ok) for step in report.steps] == [
        ("create_folder", True),
        ("download", True),
        ("activate_window", False),
        ("no_such", False),
    ]
    assert report.steps[2].error == "POST /setup/activate_window: 404"
    assert vm.disk.read("C:\\new\\g.txt") is not None
    assert (report.ok, report.abandoned) == (False, True)
