"""Copies of a site on a real engine, beside the container that webarena-verified's own manager makes.

Set `REAL_MACHINES=1` for it; `nox -s machines` does.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cdp_use.client import CDPClient

sys.path.insert(0, str(Path(__file__).parents[2] / "bench-core" / "tests" / "machines"))

from small_engine import small_engine, why_no_engine

from bench_core.browser import ChromiumOptions, websocket_url
from bench_core.machines import list_machines
from bench_core.records import AgentOutcome, Status
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import FileLocks
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.config import EnvironmentConfig
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.evaluator_loader import evaluator_module
from webarena_runner.site_control import reset_site, start_site, stop_site
from webarena_runner.site_copies import copy_configs, reset_copy, start_copy, stop_copy
from webarena_runner.site_needs import site_needs
from webarena_runner.tasks import task_sites, task_type
from webarena_runner.world.launch import Environment, with_resets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

IMAGE = "am1n3e/webarena-verified-shopping"
MAP = "am1n3e/webarena-verified-map"
READY = '#!/bin/sh\necho \'{"success": true, "message": "ready", "details": {}}\'\n'
LOGIN = '<form><input name="user"><input type="password" name="password"></form>'
FILES = {
    "www/customer/account/login/index.html": LOGIN,
    "www/customer/account/index.html": "an account",
    "bin/env-ctrl": READY,
    "var/lib/postgresql/14/main/rows": "of the image",
    "data/database/rows": "of the image",
}
pytestmark = pytest.mark.skipif(why_no_engine() is not None, reason=str(why_no_engine()))


@pytest.fixture
def docker(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A program `docker` on PATH that asks a small engine, which has stubs of the shop's and the map's images."""
    folder = tmp_path_factory.mktemp("engine")  # short: Podman refuses paths over 50 characters
    with small_engine(folder) as socket:
        program = folder / "bin" / "docker"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec podman --remote --url unix://{socket} "$@"\n', "utf-8")
        program.chmod(0o755)
        archive = _packed(folder)
        for image, port in ((IMAGE, "80"), (MAP, "8080")):
            command = json.dumps(["/bin/httpd", "-f", "-p", port, "-h", "/www"])
            subprocess.run(
                [str(program), "import", "--change", f"CMD {command}", str(archive),
                 f"docker.io/{image}:latest"],
                check=True, capture_output=True,
            )  # fmt: skip
        monkeypatch.setenv(
            "PATH", f"{program.parent}:{Path('/usr/bin')}:{Path('/bin')}:/usr/sbin:/sbin"
        )
        monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
        monkeypatch.setenv("PROCTOR_MACHINES", str(folder / "machines"))
        yield program


def _packed(folder: Path) -> Path:
    """Pack the files of the small image, and what the two sites have beside them."""
    root = folder / "site"
    shutil.copytree(folder / "image", root, symlinks=True)
    for name, text in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        file.chmod(0o755)
    archive = folder / "site.tar"
    with tarfile.open(archive, "w") as packed:
        packed.add(root, ".")
    return archive


def inspected(docker: Path, name: str) -> dict[str, Any]:
    """Return what an engine says of a container, without what has to differ: names, ids, times, labels."""
    ran = subprocess.run([str(docker), "inspect", name], check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout)[0]
    own = ("WA_ENV_CTRL_EXTERNAL_SITE_URL=",)
    ports = found["HostConfig"]["PortBindings"]
    return {
        "image": found["Image"],
        "command": found["Config"]["Cmd"],
        "entrypoint": found["Config"]["Entrypoint"],
        "variables": [each for each in found["Config"]["Env"] if each.startswith(own)],
        "ports": {port: [each["HostPort"] for each in bound] for port, bound in ports.items()},
        "mounts": found["Mounts"],
        "network": found["HostConfig"]["NetworkMode"],
        "shared memory": found["HostConfig"]["ShmSize"],
        "memory": found["HostConfig"]["Memory"],
        "privileged": found["HostConfig"]["Privileged"],
        "restart": found["HostConfig"]["RestartPolicy"]["Name"],
    }


def test_a_container_is_what_webarena_verified_makes(docker: Path, tmp_path: Path) -> None:
    make = evaluator_module("environments.container.manager").ContainerManager
    site = evaluator_module("types.task").WebArenaSite.SHOPPING
    manager = make(site=site, hostname="shopping.localhost")
    manager.start(port=7770, env_ctrl_port=7771, wait=False)
    theirs = inspected(docker, manager.container_name)
    manager.stop()
    shop = {"url": "http://shopping.localhost:7770", "copies": 2}
    config = EnvironmentConfig.model_validate({"sites": {"shopping": shop}})
    folder = tmp_path / "machines"
    first, second = copy_configs(config, "shopping")
    machines = [
        asyncio.run(start_copy(each, "shopping", 120.0, folder)) for each in (first, second)
    ]
    try:
        ours = inspected(docker, machines[0].name)
        assert ours == theirs
        other = inspected(docker, machines[1].name)
        assert other["ports"] == {"80/tcp": ["7870"], "8877/tcp": ["7871"]}
        again = asyncio.run(reset_copy(second, "shopping", 120.0, folder))
        assert again.id != machines[1].id
        assert inspected(docker, again.name) == other
        assert inspected(docker, machines[0].name) == ours
    finally:
        for each in (first, second):
            asyncio.run(stop_copy(each, "shopping", folder))
    assert asyncio.run(list_machines(folder, provider="docker")) == []


def test_what_sites_need_is_compared_with_what_the_engine_has(docker: Path) -> None:
    sites = {"shopping": "http://shopping.localhost:7770", "gitlab": "http://gitlab.localhost:8023"}
    needs = site_needs(EnvironmentConfig.model_validate({"sites": sites}), ["gitlab", "shopping"])
    assert needs.room is not None
    assert needs.room.there == {IMAGE}
    assert needs.disk_gb == 31.6
    assert Path(needs.room.folder) == docker.parents[1] / "storage"
    assert 0 < (needs.room.memory_free or 0) < needs.room.memory
    assert needs.room.disk_free


@pytest.mark.parametrize("copies", [None, 1], ids=["by the manager", "by the provider"])
def test_a_reset_of_the_map_brings_back_its_web_sites_database(
    copies: int | None, docker: Path
) -> None:
    def run(*words: str) -> str:
        ran = subprocess.run([str(docker), *words], check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    def rows() -> list[str]:
        (name,) = run("ps", "--format", "{{.Names}}").splitlines()
        return [run("exec", name, "cat", f"{each}/rows") for each in places]

    places = ["/var/lib/postgresql/14/main", "/data/database"]
    site = {"url": "http://127.0.0.1:3000", "copies": copies}
    config = EnvironmentConfig.model_validate({"sites": {"map": site}})
    start_site(config, "map", 120.0)
    try:
        (name,) = run("ps", "--format", "{{.Names}}").splitlines()
        assert rows() == ["of the image"] * 2
        for each in places:
            run("exec", name, "sh", "-c", f"echo changed > {each}/rows")
        assert rows() == ["changed"] * 2
        reset_site(config, "map", 120.0)
        # what the set-up fills is only read, and shared
        assert rows() == ["of the image", "changed"]
    finally:
        stop_site(config, "map")
    left = {each.rpartition("_map_")[2] for each in run("volume", "ls", "-q").splitlines()}
    assert left == {"tile_db", "routing_car", "routing_bike", "routing_foot", "nominatim_db",
                    "nominatim_flatnode"}  # fmt: skip
    assert run("ps", "-a", "-q") == ""


class Changer:
    """An agent that changes the site of its trial, and ends when another trial has changed one, too."""

    name = "changer"

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, bool]] = []
        self.most: Counter[str] = Counter()
        self._on: Counter[str] = Counter()
        self._two = asyncio.Barrier(2)

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        del context
        async with CDPClient(await websocket_url(environment.cdp_url)) as cdp:
            targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
            page = next(each for each in targets if each["type"] == "page")["targetId"]
            attach = {"targetId": page, "flatten": True}
            session = (await cdp.send_raw("Target.attachToTarget", attach))["sessionId"]

            async def evaluate(script: str) -> str:
                asked = {"expression": script, "awaitPromise": True, "returnByValue": True}
                answer = await cdp.send_raw("Runtime.evaluate", asked, session)
                return str(answer["result"]["value"])

            rows = "fetch('/cgi-bin/rows').then(each => each.text())"
            change = f"{{method: 'POST', body: 'by {task.task_id}'}}"
            origin = await evaluate("location.origin")
            self._on[origin] += 1
            self.most[origin] = max(self.most[origin], self._on[origin])
            found = await evaluate(rows)
            await evaluate(f"fetch('/cgi-bin/write', {change}).then(each => each.text())")
            await self._two.wait()
            own = await evaluate(rows) == f"by {task.task_id}"
            self.seen.append((origin, found, own))
            self._on[origin] -= 1
        answer = {"task_type": "MUTATE", "status": "SUCCESS", "retrieved_data": None}
        return AgentOutcome(answer=answer, steps=1)


@pytest.mark.browser
def test_trials_that_change_a_site_run_at_once_on_two_copies_and_never_on_one(
    docker: Path, tmp_path: Path
) -> None:
    """Each finds its copy as the image has it, and what it wrote there itself."""
    shop = {"url": "http://shopping.localhost:7770", "copies": 2}
    config = EnvironmentConfig.model_validate({"sites": {"shopping": shop}})
    copies = copy_configs(config, "shopping")
    policies = ["before-mutating-trial"]
    environment, resets = with_resets(Environment(config), policies, 20, tmp_path)
    settings = EnvironmentSettings(chromium=ChromiumOptions(startup_s=300.0))
    benchmark = WebArenaBenchmark(environment, settings=settings)
    tasks = [t for t in benchmark.tasks() if task_sites(t) == ("shopping",) and task_type(t) == "MUTATE"]  # fmt: skip
    spec = RunSpec(
        agent="changer", workers=4, tasks=TaskFilter(ids=[each.task_id for each in tasks[:4]])
    )
    agent = Changer()
    try:
        for each in copies:
            start_site(each, "shopping", 120.0)
        given = RunEnvironment(locks=FileLocks(tmp_path), agent_for=lambda *_: agent)
        run_benchmark_sync(benchmark, spec, tmp_path / "run", run_environment=given)
    finally:
        for each in copies:
            stop_site(each, "shopping")
    results = read_run(tmp_path / "run").results
    assert [(each.status, each.score) for each in results.values()] == [(Status.COMPLETED, 0.0)] * 4
    ports = sorted(origin.rpartition(":")[2] for origin, _, _ in agent.seen)
    assert ports == ["7770", "7770", "7870", "7870"]
    assert {each[1:] for each in agent.seen} == {("of the image", True)}
    assert {*agent.most.values()} == {1}
    assert len(resets.done) == 4
    assert asyncio.run(list_machines(provider="docker")) == []
