"""Runs whose attempts are carried out on two nodes of a Ray cluster; skipped without Ray, or where no node starts."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from worker_runs import NAMES, Runs, comparable

from bench_core.errors import InputError
from bench_core.records import Status
from bench_core.run_spec import ExecutorSpec
from bench_core.scheduling import FileLocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
BROKER, NAMESPACE = "proctor-leases-1", "proctor"  # whose module imports Ray
KEY = "toys-0123456789-planted-abc"
pytestmark = pytest.mark.filterwarnings("default")  # those of Ray's own code


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    if find_spec("ray") is None:
        pytest.skip("needs the extra ray")
    path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    given = {
        "PYTHONPATH": path,
        "TOYS_API_KEY": KEY,
        "RAY_worker_niceness": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        from ray.cluster_utils import Cluster  # Ray reads them when it is imported

        node = {"num_cpus": 1, "resources": {"proctor": 1}, "node_ip_address": "127.0.0.1"}
        made = None
        try:
            made = Cluster(
                initialize_head=True, head_node_args={**node, "include_dashboard": False}
            )
            made.add_node(**{**node, "resources": {"proctor": 1, "proctor-lab": 1}})
            made.wait_for_nodes(60)
        except Exception as error:  # noqa: BLE001  # Ray raises what it likes
            if made is not None:
                made.shutdown()
            pytest.skip(f"Ray gives its daemons half a minute, and here none starts in it: {error}")
        patch.delenv("TOYS_API_KEY")  # from here on only nodes have it
        yield made
        made.shutdown()


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path, dict(os.environ))


def by_ray(cluster: Any) -> dict[str, Any]:
    spec = {"executor": ExecutorSpec(kind="ray", address=cluster.address)}
    return {"transport": None, "spec": spec}


def test_the_records_are_those_of_the_process_of_the_run(
    cluster: Any, runs: Runs, tmp_path: Path
) -> None:
    runs.run(*NAMES, **by_ray(cluster))
    inline = Runs(tmp_path / "inline", dict(os.environ))
    inline.place.mkdir()
    inline.run(*NAMES, workers=False)

    def of(each: Runs) -> dict[str, Any]:
        return {name: comparable(result) for name, result in sorted(each.results.items())}

    assert of(runs) == of(inline)
    assert {each["niceness"] for each in runs.events("worker_ready")} == {os.nice(0)}


def test_a_run_goes_on_by_ray_and_ends_here(cluster: Any, runs: Runs) -> None:
    runs.run("quick-1", "wrong-1", workers=False, spec={"trials": 1})
    there = by_ray(cluster)
    runs.run("quick-1", "wrong-1", transport=None, spec={**there["spec"], "trials": 2})
    outcome = runs.run("quick-1", "wrong-1", workers=False, spec={"trials": 3})
    assert (outcome.planned, outcome.remaining, outcome.succeeded) == (6, 0, 3)


def test_what_is_bound_runs_on_the_node_that_carries_its_label(cluster: Any, runs: Runs) -> None:
    bind = ("private=proctor-lab",)
    spec = {"executor": ExecutorSpec(kind="ray", address=cluster.address, bind=bind)}
    names = ("quick-1", "secret-1", "private-1", "private-2")
    assert runs.run(*names, at_once=2, transport=None, spec=spec).succeeded == 4
    ready = {each["pid"]: each.get("labels") for each in runs.events("worker_ready")}
    for name in names[1:]:
        assert ready[runs.results[name].details["process"]] == ["proctor-lab"]
    assert None in ready.values()


def test_what_no_node_can_run_is_refused_before_the_first_trial(cluster: Any, runs: Runs) -> None:
    bind = ("private=proctor-moon",)
    spec = {"executor": ExecutorSpec(kind="ray", address=cluster.address, bind=bind)}
    with pytest.raises(InputError, match="carries 'proctor-moon', and private is bound to it"):
        runs.run("private-1", transport=None, spec=spec)
    assert not runs.events("attempt_started")


def test_an_attempt_whose_worker_dies_is_tried_again(cluster: Any, runs: Runs) -> None:
    runs.run("once-1", "browser-1", **by_ray(cluster))
    for name in ("once-1", "browser-1"):
        first, second = runs.results[name].attempts
        assert first.error is not None
        assert "was ended by SIGKILL" in first.error.message
        assert second.status is Status.COMPLETED


def test_a_key_is_in_no_file_of_ray_in_nothing_that_its_dashboard_shows_and_not_in_the_run(
    cluster: Any, runs: Runs
) -> None:
    runs.run("key-1", attempts=1, **by_ray(cluster))
    error = runs.results["key-1"].error
    assert error is not None
    assert "[REDACTED]" in error.message
    folders = [runs.out, Path(cluster.head_node.get_session_dir_path())]
    files = [each for folder in folders for each in folder.rglob("*") if each.is_file()]
    assert len(files) > 10
    assert not [each for each in files if KEY.encode() in each.read_bytes()]
    shown = asyncio.run(told_of_the_cluster(cluster))
    assert len(shown) > 10
    assert [name for name, each in shown.items() if b"SlotActor" in each]  # it is the right place
    assert not [name for name, each in shown.items() if KEY.encode() in each]


async def told_of_the_cluster(cluster: Any) -> dict[str, bytes]:
    """Return what the head knows of nodes, jobs and actors, and all that it stores: what a dashboard shows."""
    from bench_core.ray import cluster as joined  # imports Ray

    transport = joined(cluster.address)
    await transport.connected()
    import ray
    from ray._private import state  # what the dashboard reads has no public name
    from ray.experimental import internal_kv

    try:
        found = {"nodes": repr(ray.nodes()).encode()}
        found |= {each: repr(getattr(state, each)()).encode() for each in ("actors", "jobs")}
        spaces = [None, b"fun", b"session", b"job", b"cluster", b"_ray_internal", b"dashboard"]
        for space in spaces:
            for key in internal_kv._internal_kv_list(b"", namespace=space):
                found[f"{space}/{key}"] = key + (
                    internal_kv._internal_kv_get(key, namespace=space) or b""
                )
        return found
    finally:
        await transport.close()


def test_a_site_of_another_run_is_waited_for_and_free_again_when_its_lease_has_run_out(
    cluster: Any, runs: Runs, tmp_path: Path
) -> None:
    command = [sys.executable, str(HERE / "holding.py"), cluster.address, "30"]
    other = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(runs.run, "quick-1", locks=FileLocks(tmp_path), **by_ray(cluster))
            try:
                wait_for(lambda: (runs.out / "run.json").exists() and runs.events("waiting"))
                restart_broker()  # which takes the lease over: it is renewed
                wait_for(lambda: restarted_broker_has(["the other run"]))
                assert not runs.results
            finally:
                other.kill()
            assert running.result().succeeded == 1
        assert runs.events("waiting") == [{"resource": "toys", "mode": "shared"}]
        assert asyncio.run(leases_of(cluster)) == []  # the run's own is given back
    finally:
        other.kill()
        other.communicate()


def restart_broker() -> None:
    """End the process of the leases' actor as a crash would; Ray starts it again."""
    import ray  # may be absent

    ray.kill(ray.get_actor(BROKER, namespace=NAMESPACE), no_restart=False)


def test_the_doctor_looks_at_every_node(
    cluster: Any, run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    doctor = ["nodes", "doctor", "--address", cluster.address, "--json"]
    reach = ["--reach", cluster.address, "--reach", f"{cluster.address}=proctor-lab"]
    told = run_command(*doctor, "--key", "TOYS_API_KEY", *reach)
    assert told.returncode == 0, told.stdout + told.stderr
    answer = json.loads(told.stdout)
    assert [each["room"] for each in answer["nodes"]] == [1, 1]
    assert len({each["node"] for each in answer["nodes"]}) == 2
    assert sorted(each["labels"] for each in answer["nodes"]) == [[], ["proctor-lab"]]
    assert KEY not in told.stdout
    told = run_command(*doctor, "--label", "proctor-moon")
    assert (told.returncode, json.loads(told.stdout)["missing_labels"]) == (1, ["proctor-moon"])
    told = run_command(*doctor, "--key", "OTHER_API_KEY", "--package", "no-such-package")
    assert told.returncode == 1
    wrong = {
        each["of"]: each["detail"]
        for node in json.loads(told.stdout)["nodes"]
        for each in node["checks"]
        if each["status"] == "fail"
    }
    assert wrong == {
        "keys": "not set: OTHER_API_KEY",
        "packages": "no_such_package is absent, is absent here",
    }


async def leases_of(cluster: Any) -> list[Any]:
    from bench_core.ray import cluster as joined  # imports Ray

    transport = joined(cluster.address)
    try:
        return await transport.broker().leases()
    finally:
        await transport.close()


def restarted_broker_has(owners: list[str]) -> bool:
    import ray  # may be absent

    try:
        leases = ray.get(ray.get_actor(BROKER, namespace=NAMESPACE).leases.remote(), timeout=10)
    except (ValueError, ray.exceptions.RayError):
        return False  # it is just started again
    return [each["owner"] for each in leases] == owners


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 300.0
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def folders_of_clusters() -> set[Path]:
    return set(Path("/tmp").glob("proctor-ray-*"))  # noqa: S108  # where a run's own cluster has its files


def test_a_run_without_an_address_starts_a_cluster_and_ends_it(cluster: Any, runs: Runs) -> None:
    del cluster  # Ray, and a machine on which nodes start, are there
    before = folders_of_clusters()
    outcome = runs.run(
        "quick-1", "wrong-1", transport=None, spec={"executor": ExecutorSpec(kind="ray")}
    )
    assert (outcome.planned, outcome.remaining, outcome.succeeded) == (2, 0, 1)
    assert len({each["pid"] for each in runs.events("worker_ready")} - {os.getpid()}) == 2
    assert folders_of_clusters() == before
    lines = [each.read_bytes() for each in Path("/proc").glob("[0-9]*/cmdline") if readable(each)]
    assert not [each for each in lines if b"proctor-ray-" in each]


def readable(path: Path) -> bool:
    try:
        return bool(path.read_bytes())
    except OSError:  # it has ended since
        return False


def test_nothing_of_ray_is_imported_without_it() -> None:
    code = (
        "import sys, bench_core.runs.execute, bench_core.runs.executors, bench_core.cli.main;"
        "assert 'ray' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
