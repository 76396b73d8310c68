"""Disk and memory that containers of sites need, said and compared with what is free."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.errors import InputError
from bench_core.providers import EngineRoom
from webarena_runner.cli import main
from webarena_runner.config import EnvironmentConfig
from webarena_runner.site_facts import SITE_FACTS
from webarena_runner.site_needs import SiteNeeds, site_needs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GB = 10**9
SITES: dict[str, Any] = {
    "gitlab": {"url": "http://gitlab.localhost:8023", "copies": 2},
    "map": "http://map.localhost:3000",
    "reddit": "http://reddit.localhost:9999",
}


@pytest.fixture(autouse=True)
def no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/absent.sock")


@pytest.fixture
def needs() -> SiteNeeds:
    return site_needs(
        EnvironmentConfig.model_validate({"sites": SITES}), ["gitlab", "map", "reddit"]
    )


def with_room(needs: SiteNeeds, **room: Any) -> SiteNeeds:
    given = {"folder": "/var/lib/docker", "disk_free": 200 * GB, "memory": 32 * GB,
             "memory_free": 16 * GB, **room}  # fmt: skip
    return needs.model_copy(update={"room": EngineRoom(**given)})


def test_what_is_needed_stands_beside_what_is_free(needs: SiteNeeds) -> None:
    there = {"am1n3e/webarena-verified-reddit"}
    assert with_room(needs, there=there).text() == (
        "gitlab: 2 x, image 31.6 GB, 8.0 GB of memory\n"
        "map: 1 x, image 3.3 GB, about 116 GB of data, from `webarena-verified env setup init`, "
        f"{SITE_FACTS['map'].data_note}\n"
        "reddit: 1 x, image 8.4 GB, which is there\n"
        "together: 150.9 GB of disk, 8.0 GB of memory; "
        "free: 200.0 GB of disk in /var/lib/docker, 16.0 GB of memory"
    )


def test_what_is_there_needs_no_disk(needs: SiteNeeds) -> None:
    there = {each.image for each in needs.sites} | {
        each for site in needs.sites for each in site.data
    }
    full = with_room(needs, there=there, disk_free=0)
    assert (full.disk_gb, full.check()) == (0.0, [])
    with pytest.raises(InputError, match=r"map: what is not on the disk yet takes 116\.0 GB"):
        with_room(needs, there={*there} - {"webarena_verified_map_tile_db"}, disk_free=0).check()


def test_images_for_which_the_disk_has_no_room_are_refused(needs: SiteNeeds) -> None:
    assert with_room(needs, disk_free=160 * GB).check() == []
    with pytest.raises(
        InputError, match=r"gitlab, map, reddit: .* 159\.3 GB at least, and 159\.0 GB"
    ):
        with_room(needs, disk_free=159 * GB).check()


def test_memory_that_others_hold_is_a_warning_and_what_there_is_not_a_refusal(
    needs: SiteNeeds,
) -> None:
    assert with_room(needs, memory_free=8 * GB).check() == []
    assert with_room(needs, memory_free=6 * GB).check() == [
        "the containers take 8.0 GB of memory, and 6.0 GB are free"
    ]
    with pytest.raises(InputError, match=r"8\.0 GB of memory, and this computer has 7\.0 GB"):
        with_room(needs, memory=7 * GB).check()


def test_without_figures_nothing_is_refused(needs: SiteNeeds) -> None:
    assert needs.text().endswith("no container engine answers that could say what is free")
    in_a_vm = with_room(needs, disk_free=None, memory_free=None)
    assert in_a_vm.text().endswith("the engine's computer has 32.0 GB of memory")
    assert (needs.check(), in_a_vm.check()) == ([], [])


class _Engine(BaseHTTPRequestHandler):
    """An engine without images, on a disk whose free space is that of the folder of the test."""

    def do_GET(self) -> None:
        path = self.path.removeprefix("/v1.41")
        found = {
            "/version": {"ApiVersion": "1.41"},
            "/info": {"DockerRootDir": "/", "MemTotal": 4 * GB},
        }.get(path)
        self.send_response(404 if found is None else 200)
        self.end_headers()
        self.wfile.write(json.dumps(found or {"message": "no such thing"}).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def address_string(self) -> str:
        return "a socket"


class _Server(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True


@contextmanager
def engine(path: Path) -> Iterator[None]:
    with _Server(str(path), _Engine) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs Unix sockets")
def test_sites_that_do_not_fit_are_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/s")
    file = tmp_path / "sites.json"
    file.write_text(json.dumps({"sites": {"gitlab": SITES["gitlab"]}}), encoding="utf-8")
    with engine(tmp_path / "s"):
        ran = CliRunner().invoke(main, ["sites", "start", "--config", str(file)])
    assert ran.exit_code == 2
    assert ran.exit_code == 2
    assert "gitlab: 2 x, image 31.6 GB, 8.0 GB of memory" in ran.output
    assert ran.stdout == ""
