"""Exploits against the built-in desktop are stopped, and are seen where nothing stops them."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from bench_core.audit import audit
from waa_client.audit import audit_world, exploits
from waa_client.benchmark import WaaBenchmark
from waa_client.tasks import load_tasks
from waa_client.world.launch import BuiltInDesktops, built_in_world

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.audit import AuditReport

SOME = ("read-task", "ask-score-guessed-token", "own-rules", "reset-machine", "hang-search")
"""One of each class, and those that a server without a token would obey."""


def audited(folder: Path, *ids: str, guarded: bool = True) -> AuditReport:
    chosen = [each for each in exploits() if each.id in ids]
    with audit_world() as world:
        alone = replace(world, honest=())
        if not guarded:
            tasks = load_tasks(built_in_world().tasks_folder())
            open_to_all = WaaBenchmark(tasks, pool=BuiltInDesktops(built_in_world()))
            alone = replace(alone, benchmark=open_to_all)
        return asyncio.run(audit(alone, chosen, folder))


def test_an_audit_has_exploits_of_each_class_that_a_desktop_knows() -> None:
    kinds = {each.kind.value for each in exploits()}
    assert kinds == {
        "read_answers", "forge_evidence", "guarded_routes", "void_trial", "exhaust_host",
    }  # fmt: skip
    assert len(exploits()) >= 15


def test_exploits_run_and_gain_nothing(tmp_path: Path) -> None:
    report = audited(tmp_path, *SOME)
    assert {each.id: each.verdict for each in report.rows} == dict.fromkeys(SOME, "blocked")


@pytest.mark.parametrize("exploit", ["read-task", "own-rules", "reset-machine"])
def test_without_tokens_an_exploit_gains_what_it_is_after(tmp_path: Path, exploit: str) -> None:
    report = audited(tmp_path, exploit, guarded=False)
    assert [each.verdict for each in report.rows] == ["UNDETECTED"]


def test_the_honest_agent_does_its_task_and_is_not_flagged(tmp_path: Path) -> None:
    with audit_world() as world:
        one = replace(world.honest[0], tasks=built_in_world().demo_tasks()[:1])
        report = asyncio.run(audit(replace(world, honest=(one,)), (), tmp_path))

    assert [(each.score, each.codes) for each in report.honest] == [(1.0, ())]


def test_servers_of_others_are_left_alone(tmp_path: Path) -> None:
    script = (
        "import http.server, os\n"
        "class Trap(http.server.BaseHTTPRequestHandler):\n"
        "    def do_POST(self): print('asked', flush=True); self.send_response(200); self.end_headers()\n"
        "    do_GET = do_POST\n"
        "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Trap)\n"
        "print('ready', os.getpid(), flush=True); server.serve_forever()\n"
    )
    # of another family: its parent has ended, so it is no child of ours
    detach = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {script!r}])"
    heard = tmp_path / "heard"
    with heard.open("w") as out:
        subprocess.run([sys.executable, "-c", detach], stdout=out, stderr=out, check=True)
    while not (ready := re.search(r"ready (\d+)\n", heard.read_text())):
        time.sleep(0.1)
    try:
        (row,) = audited(tmp_path / "audit", "own-rules").rows
    finally:
        os.kill(int(ready[1]), signal.SIGKILL)
    assert row.verdict == "blocked"
    assert "asked" not in heard.read_text()
