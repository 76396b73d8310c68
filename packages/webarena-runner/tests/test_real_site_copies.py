"""Copies of a site on a real engine, beside the container that webarena-verified's own manager makes.

Set `REAL_MACHINES=1` for it; `nox -s machines` does.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench-core" / "tests" / "machines"))

from small_engine import small_engine, why_no_engine

from bench_core.machines import list_machines
from webarena_runner.config import EnvironmentConfig
from webarena_runner.evaluator_loader import evaluator_module
from webarena_runner.site_copies import copy_configs, reset_copy, start_copy, stop_copy

if TYPE_CHECKING:
    from collections.abc import Iterator

IMAGE = "am1n3e/webarena-verified-shopping"
pytestmark = pytest.mark.skipif(why_no_engine() is not None, reason=str(why_no_engine()))


@pytest.fixture
def docker(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A program `docker` on PATH that asks a small engine, which has a stub of the shop's image."""
    folder = tmp_path_factory.mktemp("engine")  # short: Podman refuses paths over 50 characters
    with small_engine(folder) as socket:
        program = folder / "bin" / "docker"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec podman --remote --url unix://{socket} "$@"\n', "utf-8")
        program.chmod(0o755)
        command = json.dumps(["/bin/httpd", "-f", "-p", "80", "-h", "/www"])
        subprocess.run(
            [str(program), "import", "--change", f"CMD {command}", str(folder / "image.tar"),
             f"docker.io/{IMAGE}:latest"],
            check=True, capture_output=True,
        )  # fmt: skip
        monkeypatch.setenv(
            "PATH", f"{program.parent}:{Path('/usr/bin')}:{Path('/bin')}:/usr/sbin:/sbin"
        )
        monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
        yield program


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
