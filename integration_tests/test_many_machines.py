"""The built-in worlds of all runners on two nodes of a Ray cluster, beside runs in one process; skipped without Ray."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.run_folder import read_run

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = {
    "webarena-runner": ["--limit", "4"],
    "multireal-harness": ["--limit", "3"],
    "waa-client": ["--limit", "4"],
}
SAME = {
    "status", "score", "success", "checks", "flags", "suspect", "integrity", "steps", "ending", "world",
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    if find_spec("ray") is None:
        pytest.skip("needs the extra ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        from ray.cluster_utils import Cluster  # Ray reads them when it is imported

        node = {"num_cpus": 1, "resources": {"proctor": 1}, "node_ip_address": "127.0.0.1"}
        made = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
        try:
            made.add_node(**node)
            made.wait_for_nodes(60)
            yield made
        finally:
            made.shutdown()


def run(program: str, out: Path, *options: str) -> dict[Any, dict[str, Any]]:
    """Run a program's scripted agent on its built-in world and return what is the same wherever trials run."""
    command = [str(Path(sys.executable).parent / program), "run", "--world", "built-in"]
    command += ["--agent", "scripted", "--workers", "2", "--out", str(out), *PROGRAMS[program]]
    told = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    return {
        key: {
            **result.model_dump(mode="json", include=SAME),
            "files": [each.path for each in result.artifacts if each.path != "log.txt"],
        }
        for key, result in read_run(out).results.items()
    }


@pytest.mark.parametrize("program", PROGRAMS)
def test_trials_on_two_nodes_are_those_of_one_process(
    program: str, cluster: Any, tmp_path: Path
) -> None:
    there = run(program, tmp_path / "ray", "--executor", "ray", "--address", cluster.address)
    here = run(program, tmp_path / "inline")
    assert there == here
    assert {each["score"] for each in here.values()} == {1.0}
    ready = [each for each in read_run(tmp_path / "ray").events if each.kind == "worker_ready"]
    # a node has room for one
    assert len({each.data["worker"] for each in ready}) == 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_run_of_one_process_goes_on_by_ray(program: str, cluster: Any, tmp_path: Path) -> None:
    first = run(program, tmp_path / "run", "--trials", "1")
    both = run(
        program,
        tmp_path / "run",
        "--trials",
        "2",
        "--executor",
        "ray",
        "--address",
        cluster.address,
    )
    assert (len(both), set(first) < set(both)) == (2 * len(first), True)
    assert {each["score"] for each in both.values()} == {1.0}
