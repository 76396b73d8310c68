"""Two real agents' processes at once: what one can do to the other, sealed, and not as the canary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from neighbours import WORK
from sums import Sums

from bench_core.records import Status, TrialKey
from bench_core.run_folder import read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.sealing.machine import how_to_seal
from bench_core.sealing.namespaces import keeps_signals_inside

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import TrialResult

pytestmark = pytest.mark.skipif(how_to_seal().way is None, reason=f"cannot: {how_to_seal().reason}")


def both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sealing: str
) -> tuple[TrialResult, TrialResult, Path]:
    meeting, out = tmp_path / "meeting", tmp_path / "runs" / "now"
    meeting.mkdir()
    monkeypatch.setenv("MEETING", str(meeting))
    process = AgentProcessSpec(process="own", variables=("MEETING",))
    spec = RunSpec(agent="neighbours:Neighbours", agent_process=process, workers=2, sealing=sealing)
    trials = Sums("victim", "attacker")
    run_benchmark_sync(trials, spec, out, run_environment=RunEnvironment(locks=NoLocks()))
    view = read_run(out)
    victim, attacker = (TrialKey(task_id=each) for each in ("victim", "attacker"))
    return view.results[victim], view.results[attacker], view.trial_folder(victim)


def test_a_sealed_agent_harms_no_neighbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim, attacker, folder = both(tmp_path, monkeypatch, "auto")
    assert attacker.ending is not None
    did = attacker.ending.answer
    assert isinstance(did, dict), (attacker.error, victim.error)
    assert did["rewrite"] == did["temporary"] == "FileNotFoundError"
    assert did["ptrace"] == did["limit"] == "PermissionError"
    if not keeps_signals_inside():
        pytest.skip("this kernel keeps no signals inside (Linux 6.12 does)")
    assert did["kill"] == "PermissionError"
    assert (victim.status, victim.score) == (Status.COMPLETED, 1.0)
    assert (folder / "agent" / "work.txt").read_text() == WORK


def test_the_same_agent_harms_its_neighbour_where_nothing_is_sealed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim, attacker, _ = both(tmp_path, monkeypatch, "off")
    assert attacker.ending is not None
    assert attacker.ending.answer == dict.fromkeys(
        ("rewrite", "temporary", "ptrace", "limit", "kill"), "done"
    )
    assert victim.status is Status.AGENT_ERROR
