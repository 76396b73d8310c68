"""VMs that are kept for runs: used first, given back, saved by tag; what they are asked to be."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from memory_vms import Vms

from bench_core.errors import InputError
from bench_core.machines import (
    Leases,
    MachineBusyError,
    MachineError,
    Owner,
    list_machines,
    machine_folder,
    open_provider,
)
from bench_core.providers import (
    AttachSpec,
    DockerSpec,
    GuestSpec,
    QemuSpec,
    check_clock,
    mark_of,
    read_spec,
    soil,
    state_digest,
)
from bench_core.records import Task
from bench_core.runs import Purpose
from waa_client.benchmark import WaaBenchmark
from waa_client.cli import main
from waa_client.kept_vms import give_back, kept_owner, measure_vm, reset_vm, start_vms, vm_key
from waa_client.options import WaaRunOptions
from waa_client.provided import ProvidedVms
from waa_client.vm_specs import VmWishes, waa_spec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result
    from pydantic import JsonValue

TASK = Task(benchmark="waa", task_id="a", goal="Do it.")
SPEC: dict[str, JsonValue] = {"size": 1}
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")


PROVIDER = "memory_vms:Vms"


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    yield
    for each in (Vms.there, Vms.bad_resets, Vms.bad_starts):
        each.clear()


def pool_of(folder: Path, count: int = 1, **settings: Any) -> ProvidedVms:
    return ProvidedVms(PROVIDER, count, SPEC, folder=folder, **settings)


async def used(pool: ProvidedVms) -> str:
    async with pool.lease(TASK) as machine:
        return machine.url


async def owners(folder: Path) -> dict[str, str]:
    provider = open_provider(PROVIDER, Owner(Leases(folder)), folder)
    return {each.key: each.owner for each in await provider.list()}


async def test_a_run_uses_what_is_kept_and_gives_it_back(tmp_path: Path) -> None:
    (kept,) = await start_vms(PROVIDER, 1, SPEC, hours=1.0, folder=tmp_path)
    until = Leases(tmp_path).read(kept_owner(kept.key))
    assert until is not None
    pool = pool_of(tmp_path, 2)
    urls = await asyncio.gather(used(pool), used(pool))
    assert f"http://{kept.name}:5000" in urls
    assert len({*urls}) == 2
    assert kept_owner(kept.key) not in (await owners(tmp_path)).values()
    pool.stop()
    assert await owners(tmp_path) == {kept.key: kept_owner(kept.key)}
    after = Leases(tmp_path).read(kept_owner(kept.key))
    assert after is not None
    assert abs((after.until - until.until).total_seconds()) < 1.0


async def test_two_runs_share_no_kept_vm(tmp_path: Path) -> None:
    await start_vms(PROVIDER, 2, SPEC, hours=1.0, folder=tmp_path)
    pools = [pool_of(tmp_path), pool_of(tmp_path)]
    urls = [await used(each) for each in pools]
    assert len({*urls}) == 2
    assert len(Vms.there) == 2
    for each in pools:
        each.stop()
    assert await owners(tmp_path) == {
        vm_key(SPEC, n): kept_owner(vm_key(SPEC, n)) for n in range(2)
    }


async def test_what_replaced_a_kept_vm_is_kept_in_its_place(tmp_path: Path) -> None:
    (kept,) = await start_vms(PROVIDER, 1, SPEC, hours=1.0, folder=tmp_path)
    Vms.bad_resets.append("vm-0")
    pool = pool_of(tmp_path)
    assert await used(pool) != f"http://{kept.name}:5000"
    pool.stop()
    assert await owners(tmp_path) == {kept.key: kept_owner(kept.key)}
    assert [*Vms.there] == [kept.name.removesuffix("1") + "2"]


async def test_a_failed_start_keeps_nothing(tmp_path: Path) -> None:
    Vms.bad_starts.append("vm-1")
    with pytest.raises(MachineError, match="planted"):
        await start_vms(PROVIDER, 2, SPEC, hours=1.0, folder=tmp_path)
    assert Vms.there == {}
    assert [*(tmp_path / "leases").glob("*.json")] == []


async def test_a_failed_start_leaves_what_a_run_uses(tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    await used(pool)
    with pytest.raises(MachineBusyError):
        await start_vms(PROVIDER, 2, SPEC, hours=1.0, folder=tmp_path)
    assert [*await owners(tmp_path)] == [vm_key(SPEC, 0)]
    pool.stop()
    assert Vms.there == {}


async def test_trials_begin_in_the_saved_state(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vm start"):
        pool_of(tmp_path, tag="ready").refuse_unsaved()
    kept = await start_vms(PROVIDER, 2, SPEC, hours=1.0, folder=tmp_path)
    for each in kept:
        owner = Owner(Leases(tmp_path), each.owner, detached=True)
        Vms.there[each.name].state = "prepared"
        await open_provider(PROVIDER, owner, tmp_path).snapshot(each, "ready")
        Vms.there[each.name].state = "dirty"
    pool = pool_of(tmp_path, 2, tag="ready")
    pool.refuse_unsaved()
    assert len({*await asyncio.gather(used(pool), used(pool))}) == 2
    assert {each.state for each in Vms.there.values()} == {"prepared"}
    pool_of(tmp_path, tag="initial").refuse_unsaved()
    with pytest.raises(InputError, match="'other'"):
        pool_of(tmp_path, tag="other").refuse_unsaved()
    pool.stop()


async def test_a_vm_without_the_state_gets_no_trial(tmp_path: Path) -> None:
    events: list[tuple[str, Any]] = []
    pool = pool_of(tmp_path, tag="ready")
    pool.keep_events(lambda kind, data: events.append((kind, dict(data))))
    with pytest.raises(MachineError, match="no state 'ready'"):
        await used(pool)
    assert {data["what"] for _, data in events} == {"started", "not reset"}
    pool.stop()


async def test_what_becomes_of_each_vm_is_told(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    pool = pool_of(tmp_path)
    pool.keep_events(lambda kind, data: events.append({"kind": kind, **data}))
    Vms.bad_resets.append("vm-0")
    await used(pool)
    async with pool.lease(TASK) as machine:
        machine.fault = MachineError("it went away")
    pool.keep_events(None)
    with pytest.raises(MachineError, match="again"):
        async with pool.lease(TASK):
            raise MachineError("again")
    pool.stop()
    assert {each["kind"] for each in events} == {"vm"}
    assert [(each["what"], each["vm"][-3:]) for each in events] == [
        ("started", "-g1"), ("quarantined", "-g1"), ("started", "-g2"), ("reset", "-g2"),
        ("reset", "-g2"), ("failed", "-g2"),
    ]  # fmt: skip
    assert events[1]["reason"].endswith("planted; `start` replaces it")
    assert (events[-1]["task"], events[-1]["reason"]) == ("a", "it went away")
    assert all(each["slot"] == 0 for each in events)


async def test_a_lease_that_ran_out_meanwhile_is_short(tmp_path: Path) -> None:
    (kept,) = await start_vms(PROVIDER, 1, SPEC, hours=1.0, folder=tmp_path)
    lease = Leases(tmp_path).read(kept.owner)
    assert lease is not None
    past = lease.model_copy(update={"until": lease.until.replace(year=2000)})
    await give_back(PROVIDER, kept.key, SPEC, past, tmp_path)
    after = Leases(tmp_path).read(kept.owner)
    assert after is not None
    assert after.ttl_s == 1.0


async def test_measuring_leaves_nothing(tmp_path: Path) -> None:
    found = await measure_vm(PROVIDER, SPEC, 3, folder=tmp_path)
    assert len(found.resets_s) == 3
    assert "154 trials" in found.text
    assert Vms.there == {}


# --- commands


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROCTOR_MACHINES", str(tmp_path / "machines"))
    return machine_folder()


def vm(*words: str) -> Result:
    return CliRunner().invoke(main, ["vm", *words])


@pytest.fixture
def sleeping(tmp_path: Path) -> Path:
    path = tmp_path / "sleeping.json"
    path.write_text(json.dumps({"command": ["/bin/sleep", "3600"]}), encoding="utf-8")
    return path


@posix
def test_vms_are_kept_reset_and_stopped_by_name(machines: Path, sleeping: Path) -> None:
    spec = ("--vm-spec", str(sleeping))
    checked = vm("doctor", "--vm", "process:1", *spec)
    assert checked.exit_code == 0, checked.output
    started = vm("start", "--vm", "process:2", *spec, "--hours", "1", "--json")
    assert started.exit_code == 0, started.output
    first, second = json.loads(started.stdout)
    try:
        again = vm("reset", first["key"], "--json")
        assert again.exit_code == 0, again.output
        assert json.loads(again.stdout)[0]["id"] != first["id"]
        refused = vm("snapshot", first["key"], "ready")
        assert (refused.exit_code, "cannot save" in refused.output) == (2, True)
        assert vm("reset", "absent").exit_code == 2
        listed = json.loads(vm("list", "--json").stdout)
        assert [each["name"] for each in listed] == [first["name"], second["name"]]
        assert json.loads(vm("reap", "--json").stdout)["process"]["kept"] == 2
    finally:
        stopped = vm("stop", first["key"], second["name"])
    assert stopped.exit_code == 0, stopped.output
    assert asyncio.run(list_machines(machines)) == []


@posix
async def test_what_a_program_uses_is_not_reset_by_name(machines: Path) -> None:
    with Owner(Leases(machines)) as owner:
        provider = open_provider("process", owner, machines)
        machine = await provider.start("a", {"command": ["/bin/sleep", "3600"]})
        try:
            with pytest.raises(MachineBusyError):
                await reset_vm(machine.name, folder=machines)
        finally:
            await provider.stop_all()


def test_what_cannot_be_used_is_said(machines: Path, tmp_path: Path) -> None:
    wrong = vm("doctor", "--vm", "process")
    assert (wrong.exit_code, "such as qemu:4" in wrong.output) == (2, True)
    bad = tmp_path / "bad.json"
    bad.write_text('{"word": 1}', encoding="utf-8")
    checked = vm("doctor", "--vm", "process:1", "--vm-spec", str(bad))
    assert (checked.exit_code, "specification" in checked.output) == (1, True)


def test_a_specification_is_written_once(machines: Path, tmp_path: Path) -> None:
    path = tmp_path / "windows.json"
    words = ("prepare", "--vm", "attached:2", "--vm-spec", str(path), "--write-only")
    missing = vm(*words)
    assert (missing.exit_code, "--qmp" in missing.output) == (2, True)
    made = vm(*words, "--qmp", "127.0.0.1:7200", "--qmp", "127.0.0.1:7201")
    assert made.exit_code == 0, made.output
    written = path.read_text(encoding="utf-8")
    spec = read_spec(AttachSpec, json.loads(written))
    assert [each.ports for each in spec.vms] == [
        {"5000": "5000", "5050": "5050"}, {"5000": "5001", "5050": "5051"},
    ]  # fmt: skip
    assert spec.urls == {"vm": "http://127.0.0.1:{port:5000}/", "evaluate": "http://127.0.0.1:{port:5050}"}  # fmt: skip
    assert vm(*words, "--qmp", "127.0.0.1:7300").exit_code == 0
    assert path.read_text(encoding="utf-8") == written


@pytest.mark.parametrize(
    ("provider", "wishes", "record"),
    [
        ("qemu", {"disk": "/w.qcow2"}, QemuSpec),
        ("qemu", {"disk": "/w.qcow2", "accelerator": "tcg", "scored": False}, QemuSpec),
        ("docker", {"image": "winarena", "storage": "windows"}, DockerSpec),
    ],
)
def test_specifications_can_be_read(provider: str, wishes: dict[str, Any], record: Any) -> None:
    spec = read_spec(record, waa_spec(provider, VmWishes(**wishes)))
    assert ("evaluate" in spec.urls) == wishes.get("scored", True)


@pytest.mark.parametrize(
    ("provider", "said"), [("qemu", "--disk"), ("docker", "--storage"), ("process", "attached")]
)
def test_what_a_specification_needs_is_named(provider: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        waa_spec(provider, VmWishes())


@pytest.mark.parametrize("given", ["restart", "snapshot:", ""])
def test_a_reset_that_does_not_exist_is_refused(given: str) -> None:
    asked = WaaRunOptions(reset=given or "x")
    with pytest.raises(InputError, match="snapshot:TAG"):
        asked.reset_tag()


def test_a_snapshot_needs_a_provider(folder: Path) -> None:
    asked = WaaRunOptions(
        agent="do-nothing", vms=("localhost",), reset="snapshot", tasks_dir=folder
    )
    with pytest.raises(InputError, match="attached:N"), WaaBenchmark.prepare(asked, Purpose.PLAN):
        pass


def test_the_state_before_trials_makes_another_run() -> None:
    assert WaaRunOptions(reset="snapshot").reset_tag() == "initial"
    assert WaaRunOptions().reset_tag() == "initial"
    assert WaaRunOptions(reset="snapshot:ready").reset_tag() == "ready"


# --- the programs that a specification has WAA's server run


class Execute(BaseHTTPRequestHandler):
    """`POST /execute` as WAA's server does it: whatever the program's exit code, the answer is a success."""

    home = ""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        command = [sys.executable if word == "python" else word for word in asked["command"]]
        ran = subprocess.run(
            command, capture_output=True, text=True, check=False, env={"HOME": self.home}
        )
        found = {"status": "success", "output": ran.stdout, "error": ran.stderr, "returncode": ran.returncode}  # fmt: skip
        body = json.dumps(found).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@posix
async def test_a_guest_shows_its_files_its_mark_and_its_clock(tmp_path: Path) -> None:
    (tmp_path / "Documents").mkdir()
    home = type("Home", (Execute,), {"home": str(tmp_path)})
    with ThreadingHTTPServer(("127.0.0.1", 0), home) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        values = {"port:5000": str(server.server_address[1])}
        spec: GuestSpec = read_spec(QemuSpec, waa_spec("qemu", VmWishes(disk="/w.qcow2")))
        try:
            empty = await state_digest(spec, values)
            assert await mark_of(spec, values) is None
            await soil(spec, values, "a1")
            assert await mark_of(spec, values) == "a1"
            assert await state_digest(spec, values) == empty
            (tmp_path / "Documents" / "left.txt").write_text("by an agent", encoding="utf-8")
            assert await state_digest(spec, values) != empty
            await check_clock(spec, values)
            (tmp_path / "proctor-mark").unlink()
            (tmp_path / "proctor-mark").mkdir()
            with pytest.raises(MachineError):
                await soil(spec, values, "b2")
        finally:
            server.shutdown()
