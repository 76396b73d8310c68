"""The doctor finds what is wrong and says what to do about it."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from waa_server_ext.cli import main
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.server.doctor import checks

MINIATURE = Path(__file__).parent / "miniature"


def findings(tmp_path: Path, **given: Any) -> dict[str, tuple[str, str, str]]:
    settings = EvaluatorSettings(cache=tmp_path, checkout=given.pop("checkout", None))
    results = {check.name: check.run() for check in checks(settings, **given)}
    return {name: (found.status, found.detail, found.fix) for name, found in results.items()}


def test_a_checkout_and_a_vm_in_order_are_ok(tmp_path: Path, vm_host: str) -> None:
    with FixtureVm(host=vm_host), socket.create_server((vm_host, 9222)):
        found = findings(tmp_path, checkout=MINIATURE, vm=vm_host, environ={})
    assert {status for status, _, _ in found.values()} == {"ok"}
    assert "left out: easyocr" in found["evaluators"][1]
    assert found["VM server"][1] == "answers, a simulation of Windows"


def test_a_vm_that_refuses_may_still_boot(tmp_path: Path, vm_host: str) -> None:
    status, _, fix = findings(tmp_path, vm=vm_host)["VM server"]
    assert status == "fail"
    assert "the VM boots" in fix


def test_a_forward_without_a_vm_behind_it_is_told_apart(tmp_path: Path, vm_host: str) -> None:
    def drop(server: socket.socket) -> None:
        connection, _ = server.accept()
        connection.close()

    with socket.create_server((vm_host, 5000)) as forward:
        thread = threading.Thread(target=drop, args=(forward,))
        thread.start()
        _, _, fix = findings(tmp_path, vm=vm_host)["VM server"]
        thread.join()
    assert "a forward accepts connections" in fix


def test_vanilla_code_and_another_port_do_not_go_together(tmp_path: Path) -> None:
    found = findings(tmp_path, checkout=MINIATURE, vm="127.0.0.1:5001")
    assert found["VM address"][0] == "fail"
    assert "socat" in found["VM address"][2]


def test_a_proxy_in_the_way_of_vanilla_is_mentioned(tmp_path: Path, vm_host: str) -> None:
    environ = {"HTTP_PROXY": "http://proxy:1", "NO_PROXY": "localhost"}
    with FixtureVm(host=vm_host):
        status, _, fix = findings(tmp_path, vm=vm_host, environ=environ)["proxy"]
    assert (status, fix) == ("warn", f"for run.py: export NO_PROXY=localhost,{vm_host}")


def test_waa_s_own_server_without_evaluate_is_recognised(tmp_path: Path) -> None:
    with FixtureVm(port=0) as vm:
        status, detail, _ = findings(tmp_path, url=f"http://{vm.address}")["this server"]
    assert (status, detail) == ("fail", "WAA's own server answers, without /evaluate")


def test_what_is_not_a_checkout_is_told(tmp_path: Path) -> None:
    status, detail, _ = findings(tmp_path, checkout=tmp_path)["evaluators"]
    assert status == "fail"
    assert "is not a Windows Agent Arena checkout" in detail


@pytest.mark.parametrize("name", ["main.py", "none.py"])
def test_the_command_gives_json_and_fails_where_something_must_be_fixed(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "main.py").write_text("x = 1\n", encoding="utf-8")
    arguments = [
        "doctor",
        "--cache",
        str(tmp_path / "c"),
        "--server",
        str(tmp_path / name),
        "--json",
    ]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == (0 if name == "main.py" else 1)
    assert [each["name"] for each in json.loads(result.output)["checks"]] == [
        "cache",
        "WAA's main.py",
    ]
