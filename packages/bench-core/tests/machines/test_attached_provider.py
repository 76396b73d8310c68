"""Virtual machines that others started: the contract on real ones, over their QMP ports.

Set `REAL_MACHINES=1` for those with a guest; `nox -s machines` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from small_guest import build_guest, missing_programs

from bench_core.errors import InputError
from bench_core.machines import Leases, MachineError, Owner, QuarantinedError, Waits, open_provider
from bench_core.providers import AttachedBackend
from bench_core.providers.process import free_port
from bench_core.providers.qemu_spec import QemuSpec, guest_ports, qemu_command
from bench_core.providers.qmp import connected
from bench_core.providers.specs import read_spec
from bench_core.testing import ProviderConformance

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pydantic import JsonValue

    from bench_core.machines import JournaledProvider

TRIES = 5
RESETS = int(os.environ.get("RESETS", "20"))
real = pytest.mark.skipif(
    not os.environ.get("REAL_MACHINES") or bool(missing_programs()),
    reason=f"asked for by REAL_MACHINES=1; not installed: {missing_programs()}",
)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix sockets")

PROBE: dict[str, JsonValue] = {"url": "http://127.0.0.1:{port:80}/"}
VM: dict[str, JsonValue] = {"qmp": "127.0.0.1:1"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, JsonValue]]:
    """Two virtual machines that this file's tests attach to."""
    folder = tmp_path_factory.mktemp("guest")
    guest = read_spec(QemuSpec, dict(build_guest(folder)))  # type: ignore[arg-type]
    with contextlib.ExitStack() as stack:
        vms = [stack.enter_context(_running(guest, folder / f"vm-{n}")) for n in range(2)]
        asked = guest.model_dump(
            include={"urls", "state", "soil", "mark", "set_clock", "clock", "boot_s"}
        )
        yield {**asked, "vms": vms}


@contextlib.contextmanager
def _running(guest: QemuSpec, folder: Path) -> Iterator[dict[str, JsonValue]]:
    folder.mkdir()
    (folder / "disk.qcow2").write_bytes(Path(guest.disk).read_bytes())
    for _ in range(TRIES):  # other programs may take a port meanwhile
        qmp = free_port()
        ports = {each: str(free_port()) for each in guest_ports(guest)}
        command = qemu_command(guest, "of another program", ports, None)
        command += ["-qmp", f"tcp:127.0.0.1:{qmp},server=on,wait=off"]
        process = subprocess.Popen(command, cwd=folder)
        if asyncio.run(_listens(process, qmp)):
            break
    try:
        yield {"qmp": f"127.0.0.1:{qmp}", "ports": dict(ports)}
    finally:
        process.kill()
        process.wait()


async def _listens(process: subprocess.Popen[bytes], qmp: int) -> bool:
    deadline = time.monotonic() + 300.0
    while process.poll() is None:
        assert time.monotonic() < deadline, "QEMU does not answer"
        with contextlib.suppress(MachineError):
            async with connected(("127.0.0.1", qmp), 60):
                return True
        await asyncio.sleep(0.1)
    return False


@real
class TestAttachedProvider(ProviderConformance):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> AttachedBackend:
        return AttachedBackend(tmp_path)

    @pytest.fixture
    def spec(self, running: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return running

    @pytest.fixture
    def waits(self) -> Waits:
        return Waits(ready_s=300.0, grace_s=60.0, listed_s=1.0, poll_s=0.05)


@contextlib.asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[JournaledProvider]:
    with Owner(Leases(folder)) as owner:
        provider = open_provider("attached", owner, folder)
        try:
            yield provider
        finally:
            await provider.stop_all()


@real
async def test_resets_load_the_snapshot(running: dict[str, JsonValue], tmp_path: Path) -> None:
    async with opened(tmp_path) as provider:
        machine = await provider.start("slot", running)
        took = []
        for number in range(RESETS):
            await provider.backend.soil(machine.name, f"written-{number}")
            began = time.monotonic()
            machine = await provider.reset(machine)  # raises unless it is proven clean
            took.append(time.monotonic() - began)
            assert await _text(machine.urls["guest"]) == "clean clean clean"
        await provider.snapshot(machine, "again")
        await provider.snapshot(machine, "again")  # in the place of the first
        machine = await provider.reset(machine, "again")
    print(f"{len(took)} resets clean, median {statistics.median(took):.2f} s")  # noqa: T201  # shown by `pytest -s`
    assert await _snapshots(running) == []


@real
async def test_a_snapshot_that_is_gone_quarantines_and_nothing_goes_on(
    running: dict[str, JsonValue], tmp_path: Path
) -> None:
    async with opened(tmp_path) as provider:
        machine = await provider.start("slot", running)
        await provider.snapshot(machine, "ready")
        (tag,) = [each for each in await _snapshots(running) if each.endswith("-ready")]
        async with connected(_qmp(running), 60) as qmp:
            await qmp.run("human-monitor-command", **{"command-line": f"delvm {tag}"})
        with pytest.raises(QuarantinedError, match="snapshot-load"):
            await provider.reset(machine, "ready")
        async with connected(_qmp(running), 60) as qmp:
            assert (await qmp.run("query-status"))["status"] != "running"
            await qmp.run("cont")
    assert await _snapshots(running) == []


@real
async def test_a_vm_that_cannot_be_brought_back_is_not_taken_again(
    running: dict[str, JsonValue], tmp_path: Path
) -> None:
    one: dict[str, JsonValue] = {**running, "vms": running["vms"][:1]}  # type: ignore[index]
    async with opened(tmp_path) as provider:
        machine = await provider.start("slot", one)
        (tag,) = await _snapshots(running)
        async with connected(_qmp(running), 60) as qmp:
            await qmp.run("human-monitor-command", **{"command-line": f"delvm {tag}"})
        with pytest.raises(QuarantinedError):
            await provider.reset(machine)
        with pytest.raises(MachineError, match="start it anew"):
            await provider.start("slot", one)
    async with connected(_qmp(running), 60) as qmp:
        await qmp.run("cont")


@real
async def test_no_more_machines_than_there_are(
    running: dict[str, JsonValue], tmp_path: Path
) -> None:
    async with opened(tmp_path) as provider:
        found = [await provider.start(f"slot-{number}", running) for number in range(2)]
        assert found[0].urls != found[1].urls
        with pytest.raises(MachineError, match="taken"):
            await provider.start("slot-2", running)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"mark": None}, "soil"),
        ({"vms": []}, "vms"),
        ({"vms": [{"qmp": "localhost"}]}, "HOST:PORT"),
    ],
)
def test_what_cannot_be_used_is_refused(
    changed: dict[str, JsonValue], reason: str, tmp_path: Path
) -> None:
    whole: dict[str, JsonValue] = {"state": PROBE, "soil": PROBE, "mark": PROBE, "vms": [VM]}
    AttachedBackend(tmp_path).check(whole)
    with pytest.raises(InputError, match=reason):
        AttachedBackend(tmp_path).check({**whole, **changed})


async def test_a_disk_that_holds_no_snapshots_is_named(tmp_path: Path) -> None:
    """As in a container of dockur/windows, whose disk is raw: nothing is left that began."""
    blocks = [{"inserted": {"node-name": "data", "drv": "raw", "ro": False}}]
    async with _scripted(
        {"query-block": blocks, "query-status": {"status": "running"}}, tmp_path / "qmp"
    ):
        backend = AttachedBackend(tmp_path / "machines")
        site = await asyncio.start_server(_answer_ok, "127.0.0.1", 0)
        port = str(site.sockets[0].getsockname()[1])
        spec: dict[str, JsonValue] = {
            "state": PROBE, "soil": PROBE, "mark": PROBE,
            "vms": [{"qmp": str(tmp_path / "qmp"), "ports": {"80": port}}],
        }  # fmt: skip
        with pytest.raises(MachineError, match=r"not qcow2: {'data': 'raw'}"):
            await backend.create("m", {}, spec)
        assert await backend.find() == []
        site.close()


async def test_a_removal_that_fails_names_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where QEMU stands still, or its computer does not answer."""

    async def silent(*_: object) -> None:
        await asyncio.Event().wait()

    backend = AttachedBackend(tmp_path / "machines")
    vm = json.dumps({"qmp": str(tmp_path / "qmp")})
    place = tmp_path / "machines" / "machines" / "m"
    place.mkdir(parents=True)
    (place / "vm.json").write_text(vm, "utf-8")
    async with _scripted({}, tmp_path / "qmp"):
        monkeypatch.setattr("bench_core.providers.qmp._ANSWER_S", 0.1)
        monkeypatch.setattr("bench_core.providers.qmp._message", silent)
        with pytest.raises(MachineError, match="gone for good, remove"):
            await backend.remove("m")
    assert place.exists()


async def _answer_ok(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nclean")
    await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def _scripted(answers: dict[str, object], socket: Path) -> AsyncIterator[None]:
    """Serve QMP with given answers; every other command gets an empty one."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"QMP": {}}\n')
        while line := await reader.readline():
            asked = json.loads(line)["execute"]
            writer.write(json.dumps({"return": answers.get(asked, {})}).encode() + b"\n")
        writer.close()

    server = await asyncio.start_unix_server(serve, str(socket))
    try:
        yield
    finally:
        server.close()


def _qmp(spec: dict[str, JsonValue]) -> tuple[str, int]:
    host, _, port = spec["vms"][0]["qmp"].rpartition(":")  # type: ignore[index, call-overload, union-attr]
    return str(host), int(port)


async def _snapshots(spec: dict[str, JsonValue]) -> list[str]:
    async with connected(_qmp(spec), 60) as qmp:
        blocks = await qmp.run("query-block")
    images = [each["inserted"]["image"] for each in blocks if each.get("inserted")]
    return [tag["name"] for each in images for tag in each.get("snapshots", ())]


async def _text(url: str) -> str:
    def ask() -> str:
        with urllib.request.urlopen(url, timeout=60) as reply:  # noqa: S310  # the guest
            return str(reply.read().decode().strip())

    return await asyncio.to_thread(ask)
