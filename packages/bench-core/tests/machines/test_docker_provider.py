"""Machines that are containers: the contract on a real engine, faults on the way, volumes, ports.

Set `REAL_MACHINES=1` for those with an engine; `nox -s machines` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import sys
import urllib.request
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from small_engine import IMAGE, FaultyEngine, small_engine, why_no_engine
from test_support.machines import FaultyBackend, faulty_sequence

from bench_core.errors import InputError, MissingExtraError
from bench_core.machines import (
    JournaledProvider,
    Leases,
    MachineError,
    NameTakenError,
    Owner,
    QuarantinedError,
    Waits,
    list_machines,
    open_provider,
)
from bench_core.providers import DockerBackend, engine_room
from bench_core.providers.engine import Engine, engine_socket
from bench_core.testing import ProviderConformance

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.machines import Found

SEQUENCES = int(os.environ.get("SEQUENCES", "10"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "0"))
real = pytest.mark.skipif(why_no_engine() is not None, reason=str(why_no_engine()))
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")

URL = "http://127.0.0.1:{port:8080}/"
SITE: dict[str, JsonValue] = {"image": IMAGE, "urls": {"site": URL}}
WITH_VOLUME: dict[str, JsonValue] = {**SITE, "volumes": {"rows": {"path": "/data"}}}
SLEEPING: dict[str, JsonValue] = {
    "image": IMAGE, "command": ["/bin/sleep", "3600"], "network": "none",
}  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with small_engine(tmp_path_factory.mktemp("engine")) as socket:
        yield socket


@real
class TestDockerProvider(ProviderConformance):
    @pytest.fixture
    def backend(self, engine: Path, tmp_path: Path) -> DockerBackend:
        return DockerBackend(tmp_path, socket=str(engine))

    @pytest.fixture
    def spec(self) -> dict[str, JsonValue]:
        return WITH_VOLUME

    @pytest.fixture
    def other_spec(self) -> dict[str, JsonValue]:
        return SITE

    @pytest.fixture
    def waits(self) -> Waits:
        return Waits(ready_s=120.0, grace_s=60.0, listed_s=2.0, poll_s=0.05)


@contextlib.asynccontextmanager
async def opened(engine: Path, folder: Path) -> AsyncIterator[JournaledProvider]:
    with Owner(Leases(folder)) as owner:
        provider = open_provider("docker", owner, folder, socket=str(engine))
        try:
            yield provider
        finally:
            await provider.stop_all()
    assert await provider.backend.find() == []
    assert (await Engine(engine).ask("GET", "/volumes"))["Volumes"] in ([], None)


@real
async def test_a_reset_brings_back_what_a_volume_began_with(engine: Path, tmp_path: Path) -> None:
    """A removed container leaves its named volumes as they are: a map's database is in one."""
    async with opened(engine, tmp_path) as provider:
        machine = await provider.start("site", WITH_VOLUME)
        assert await _rows(machine.urls) == "of the image"
        await _write(machine.urls, "of an agent")
        assert await _rows(machine.urls) == "of an agent"
        machine = await provider.reset(machine)
        assert await _rows(machine.urls) == "of the image"


@real
async def test_a_volume_begins_with_a_copy_of_another(engine: Path, tmp_path: Path) -> None:
    api = Engine(engine)
    async with opened(engine, tmp_path) as provider:
        await api.ask("POST", "/volumes/create", body={"Name": "rows"})
        seeding = await provider.start("seed", {**SITE, "binds": ["rows:/data"]})
        await _write(seeding.urls, "prepared")
        await provider.stop(seeding)
        spec: dict[str, JsonValue] = {
            **SITE, "volumes": {"rows": {"path": "/data", "seed": "rows"}},
        }  # fmt: skip
        machine = await provider.start("site", spec)
        await _write(machine.urls, "of an agent")
        machine = await provider.reset(machine)
        assert await _rows(machine.urls) == "prepared"
        await provider.stop(machine)
        lost = {**SITE, "volumes": {"rows": {"path": "/data", "seed": "absent"}}}
        with pytest.raises(MachineError, match="no volume 'absent'"):
            await provider.start("site", lost)
        await api.send("DELETE", "/volumes/rows")


@real
async def test_two_containers_of_one_image_have_ports_of_their_own(
    engine: Path, tmp_path: Path
) -> None:
    async with opened(engine, tmp_path) as provider:
        found = await asyncio.gather(*(provider.start(f"{n}", WITH_VOLUME) for n in range(2)))
        assert found[0].urls != found[1].urls
        await _write(found[0].urls, "of the first")
        assert [await _rows(each.urls) for each in found] == ["of the first", "of the image"]


@real
async def test_settings_reach_the_container(engine: Path, tmp_path: Path) -> None:
    async with opened(engine, tmp_path) as provider:
        spec: dict[str, JsonValue] = {
            **SITE, "shm_mb": 128, "memory_mb": 64, "env": {"A": "b"},
            "command": ["/bin/httpd", "-f", "-p", "8080", "-h", "/www"],
            "begin": [{"url": "http://127.0.0.1:{port:8080}/cgi-bin/write", "method": "POST",
                       "body": "{port:8080}"}],
        }  # fmt: skip
        machine = await provider.start("site", spec)
        inspected = await Engine(engine).ask("GET", f"/containers/{machine.name}/json")
        assert inspected["HostConfig"]["ShmSize"] == 128 * 1024 * 1024
        assert inspected["HostConfig"]["Memory"] == 64 * 1024 * 1024
        assert "A=b" in inspected["Config"]["Env"]
        for _ in range(2):  # what it has to begin with is sent after each reset, too
            assert machine.urls["site"] == f"http://127.0.0.1:{await _rows(machine.urls)}/"
            machine = await provider.reset(machine)


@real
async def test_a_fixed_port_that_is_taken_is_said_and_leaves_nothing(
    engine: Path, tmp_path: Path
) -> None:
    async with opened(engine, tmp_path) as provider:
        first = await provider.start("first", SITE)
        port = int(first.urls["site"].rstrip("/").rpartition(":")[2])
        with pytest.raises(MachineError, match=r"(?s)500.*(in use|already)"):
            await provider.start("second", {**SITE, "host_ports": {"8080": port}})
        assert [each.name for each in await provider.backend.find()] == [first.name]
        await provider.stop(first)
        again = await provider.start("second", {**SITE, "host_ports": {"8080": port}})
        assert again.urls == first.urls


@real
async def test_others_containers_and_volumes_stay(engine: Path, tmp_path: Path) -> None:
    """What has a name that ours needs, or that ours had, is neither used nor removed."""
    api = Engine(engine)
    async with opened(engine, tmp_path) as provider:
        machine = await provider.start("site", WITH_VOLUME)
        await provider.stop(machine)
        next_name = machine.name.removesuffix("1") + "2"
        await api.ask("POST", "/containers/create", body={"Image": IMAGE}, name=next_name)
        await api.ask("POST", "/volumes/create", body={"Name": f"{machine.name[:-1]}3-rows"})
        again = await provider.start("site", WITH_VOLUME)
        assert again.generation == 4
        await provider.stop(again)
        await provider.backend.remove(next_name)
        await api.send("DELETE", f"/containers/{next_name}")
        await api.send("DELETE", f"/volumes/{machine.name[:-1]}3-rows")


@real
async def test_an_image_that_was_removed_quarantines(engine: Path, tmp_path: Path) -> None:
    api = Engine(engine)
    async with opened(engine, tmp_path) as provider:
        with pytest.raises(MachineError, match=r"docker pull localhost/absent:1"):
            await provider.start("absent", {**SITE, "image": "localhost/absent:1"})
        await api.send("POST", f"/images/{IMAGE}/tag", repo="localhost/proctor-moved", tag="1")
        machine = await provider.start("site", {**SITE, "image": "localhost/proctor-moved:1"})
        await api.send("DELETE", "/images/localhost/proctor-moved:1")
        machine = await provider.reset(machine)  # by the image's id
        await api.send("POST", f"/containers/{machine.name}/kill")
        assert "exited" in (await provider.health(machine)).reason
        machine = await provider.reset(machine)
        assert (await provider.health(machine)).ok
        await provider.backend.remove(machine.name)
        with pytest.raises(QuarantinedError):
            await provider.reset(machine)


class OnABadWay(FaultyBackend):
    """Its own requests meet the faults of an engine, too; those of other programs do not."""

    def __init__(self, clean: DockerBackend, faulty: DockerBackend, chance: random.Random) -> None:
        super().__init__(clean, chance)
        self._clean, self._faulty_way = clean, faulty

    async def create(
        self, name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]
    ) -> Found:
        with self._on_the_way():
            return await super().create(name, labels, spec)

    async def remove(self, name: str) -> None:
        with self._on_the_way():
            await super().remove(name)

    async def restore(self, name: str, tag: str) -> Found:
        with self._on_the_way():
            return await super().restore(name, tag)

    @contextlib.contextmanager
    def _on_the_way(self) -> Iterator[None]:
        self.inner = self._faulty_way
        try:
            yield
        finally:
            self.inner = self._clean


@real
async def test_fault_sequences_leave_no_container(engine: Path, tmp_path: Path) -> None:
    """Drivers die and answers get lost, between driver and provider, and between it and the engine."""
    spec: dict[str, JsonValue] = {**SLEEPING, "volumes": {"rows": {"path": "/data"}}}
    drawn: Counter[str] = Counter()
    for seed in range(FIRST_SEED, FIRST_SEED + SEQUENCES):
        chance = random.Random(seed)  # noqa: S311  # chance
        socket = tmp_path / f"{seed}.sock"
        ways = [DockerBackend(tmp_path, socket=str(each)) for each in (engine, socket)]
        backend = OnABadWay(ways[0], ways[1], chance)
        way = FaultyEngine(engine, random.Random(-seed), lambda at=backend: at.rate / 4)  # type: ignore[misc]  # noqa: S311  # chance
        async with way.listening(socket):
            wrong = await faulty_sequence(seed, backend, spec, tmp_path / str(seed), steps=12)
        api = Engine(engine)
        left = (await api.ask("GET", "/volumes"))["Volumes"] or []
        left += await api.ask("GET", "/containers/json", all=True)
        assert (seed, wrong, left) == (seed, [], [])
        drawn += backend.drawn + way.drawn
    print(f"{SEQUENCES} sequences, {dict(drawn)}")  # noqa: T201  # shown by `pytest -s`
    assert drawn["/containers/create"] > SEQUENCES


# --- without an engine


class Scripted:
    """An engine whose answers are given: by method and path without the version."""

    def __init__(self, answers: Mapping[tuple[str, str], tuple[int, object]]) -> None:
        self.answers = {("GET", "/version"): (200, {"ApiVersion": "1.41"}), **answers}
        self.asked: list[tuple[str, str]] = []

    @contextlib.asynccontextmanager
    async def listening(self, socket: Path) -> AsyncIterator[None]:
        server = await asyncio.start_unix_server(self._serve, str(socket))
        try:
            yield
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split("\r\n")[0].split(" ")
        path = target.partition("?")[0].removeprefix("/v1.41")
        self.asked.append((method, path))
        status, found = self.answers.get((method, path), (404, {"message": "no such thing"}))
        if status:  # else the connection ends without an answer
            text = json.dumps(found).encode()
            writer.write(
                f"HTTP/1.1 {status} Said\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text
            )
            await writer.drain()
        writer.close()


IMAGES: dict[tuple[str, str], tuple[int, object]] = {
    ("GET", "/images/a/json"): (200, {"Id": "sha256:1"}),
    ("GET", "/containers/json"): (200, []),
    ("GET", "/volumes"): (200, {"Volumes": None}),
}


@pytest.mark.parametrize(
    ("status", "message", "raised"),
    [
        (409, "Conflict", NameTakenError),
        (500, "the name is already in use by 1", NameTakenError),
        (500, "no space left", MachineError),
        (503, "starting", MachineError),
        (0, "", MachineError),
    ],
)
async def test_answers_to_a_create_are_told_apart(
    status: int, message: str, raised: type[MachineError], tmp_path: Path
) -> None:
    engine = Scripted({**IMAGES, ("POST", "/containers/create"): (status, {"message": message})})
    async with engine.listening(tmp_path / "s"):
        backend = DockerBackend(tmp_path, socket=str(tmp_path / "s"))
        with pytest.raises(MachineError) as error:
            await backend.create("m", {}, {"image": "a"})
    assert isinstance(error.value, NameTakenError) == (raised is NameTakenError)


async def test_the_room_of_an_engine_is_what_its_disk_and_memory_have_free(tmp_path: Path) -> None:
    answers: dict[tuple[str, str], tuple[int, object]] = {
        ("GET", "/info"): (200, {"DockerRootDir": str(tmp_path), "MemTotal": 8_000_000}),
        ("GET", "/images/a/json"): (200, {}),
        ("GET", "/volumes/rows"): (200, {}),
    }
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9 kB\nMemAvailable:   6000 kB\n", encoding="ascii")
    async with Scripted(answers).listening(tmp_path / "s"):
        engine = Engine(tmp_path / "s")
        room = await engine_room(["a", "b"], ["rows"], engine=engine, meminfo=meminfo)
    assert (room.folder, room.memory, room.memory_free) == (str(tmp_path), 8_000_000, 6_144_000)
    assert room.there == {"a", "rows"}
    disk = shutil.disk_usage(tmp_path)
    assert 0 < (room.disk_free or 0) <= disk.total


async def test_what_is_free_in_the_vm_of_an_engine_is_not_known(tmp_path: Path) -> None:
    answers = {("GET", "/info"): (200, {"DockerRootDir": "/absent/docker", "MemTotal": 8_000_000})}
    async with Scripted(answers).listening(tmp_path / "s"):
        room = await engine_room(engine=Engine(tmp_path / "s"))
    assert (room.disk_free, room.memory_free, room.memory) == (None, None, 8_000_000)


@pytest.mark.parametrize(("memory_mb", "status"), [(None, "ok"), (7000, "ok"), (9000, "warn")])
async def test_a_container_that_may_take_more_memory_than_there_is_is_a_finding(
    memory_mb: int | None, status: str, tmp_path: Path
) -> None:
    info = (200, {"DockerRootDir": "/absent/docker", "MemTotal": 8_000_000_000})
    async with Scripted({**IMAGES, ("GET", "/info"): info}).listening(tmp_path / "s"):
        backend = DockerBackend(tmp_path, socket=str(tmp_path / "s"))
        found = await backend.findings({"image": "a", "memory_mb": memory_mb})
    (room,) = [each for each in found if each.name == "room"]
    assert (room.status, "8.0 GB of memory are free" in room.detail) == (status, True)


async def test_no_engine_is_a_fault_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="did not answer"):
        await DockerBackend(tmp_path, socket=str(tmp_path / "absent")).find()
    assert not (await DockerBackend(tmp_path, socket=str(tmp_path / "absent")).health("m")).ok


async def test_without_httpx_other_machines_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.setenv("DOCKER_HOST", "unix:///absent.sock")
    assert await list_machines(tmp_path) == []
    with pytest.raises(MissingExtraError, match=r"bench-core\[docker\]"):
        await list_machines(tmp_path, provider="docker")


def test_the_socket_is_the_one_that_was_named() -> None:
    assert str(engine_socket({"DOCKER_HOST": "unix:///run/a.sock"})) == "/run/a.sock"
    with pytest.raises(MachineError, match="ssh -L"):
        engine_socket({"DOCKER_HOST": "tcp://10.0.0.1:2375"})


@pytest.mark.parametrize(
    "spec",
    [{}, {"image": ""}, {"image": "a", "volumes": {"v": {"path": "data"}}}, {"images": "a"}],
)
def test_what_cannot_be_used_is_refused(spec: dict[str, JsonValue], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="specification"):
        DockerBackend(tmp_path).check(spec)


async def _rows(urls: Mapping[str, str]) -> str:
    return await _ask(f"{urls['site']}cgi-bin/rows")


async def _write(urls: Mapping[str, str], text: str) -> None:
    await _ask(f"{urls['site']}cgi-bin/write", text.encode())


async def _ask(url: str, data: bytes | None = None) -> str:
    def ask() -> str:
        with urllib.request.urlopen(url, data, timeout=60) as reply:  # noqa: S310  # the container
            return str(reply.read().decode())

    return await asyncio.to_thread(ask)
