"""What is looked at before machines are started, and requests that pick a part of an answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.machines import (
    Leases,
    MachineError,
    Owner,
    machine_findings,
    open_provider,
    stop_machines,
)
from bench_core.providers.boot_check import boot_finding
from bench_core.providers.guest import GuestSpec, mark_of, soil, state_digest
from bench_core.providers.probes import Probe, ask
from bench_core.providers.qemu_spec import QemuSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")
SLEEP = {"command": ["/bin/sleep", "3600"]}
PROGRAM = "qemu-system-x86_64"


class Guest:
    """Answers every request with what its functions give, and writes marks unless it is told not to."""

    def __init__(self) -> None:
        self.answer = "clean"
        self.mark = ""
        self.writes = True

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        async with server:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        size = int(head.partition("content-length:")[2].partition("\r\n")[0] or 0)
        body = (await reader.readexactly(size)).decode()
        if body and self.writes:
            self.mark = body
        text = self.mark if head.startswith("get /mark") else self.answer
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
        await writer.drain()
        writer.close()


def asking(url: str) -> GuestSpec:
    return GuestSpec(
        state=Probe(url=f"{url}/state"),
        soil=Probe(url=f"{url}/soil", method="POST", body="{mark}"),
        mark=Probe(url=f"{url}/mark"),
    )


async def test_a_field_of_the_answer_is_picked() -> None:
    guest = Guest()
    async with guest.listening() as url:
        guest.answer = json.dumps({"output": "clean\n", "returncode": 0, "error": None})
        assert await ask(Probe(url=url, field="output"), {}, within_s=10) == "clean\n"
        assert await ask(Probe(url=url, field="returncode"), {}, within_s=10) == "0"
        for field, answer in (
            ("error", guest.answer), ("absent", guest.answer), ("output", "[1]"), ("output", "{"),
            ("output", "[" * 100_000),
        ):  # fmt: skip
            guest.answer = answer
            with pytest.raises(MachineError, match=f"without '{field}'"):
                await ask(Probe(url=url, field=field), {}, within_s=10)


async def test_a_mark_that_was_not_written_is_no_mark() -> None:
    """Else a reset that did nothing would be proven by a mark that was never there."""
    guest = Guest()
    async with guest.listening() as url:
        spec = asking(url)
        await soil(spec, {}, "a1")
        assert await mark_of(spec, {}) == "a1"
        guest.writes = False
        with pytest.raises(MachineError, match="did not write"):
            await soil(spec, {}, "b2")
        with pytest.raises(MachineError, match="does not say"):
            await soil(spec.model_copy(update={"mark": None}), {}, "b2")


async def test_an_empty_state_is_none() -> None:
    guest = Guest()
    async with guest.listening() as url:
        assert await state_digest(asking(url), {})
        guest.answer = " \n"
        with pytest.raises(MachineError, match="empty"):
            await state_digest(asking(url), {})


def qemu(**changed: object) -> QemuSpec:
    asked = {"disk": "/d", "accelerator": "tcg", "state": {"url": "http://a"}, **changed}
    return QemuSpec.model_validate(asked)


@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason=f"{PROGRAM} is not installed")
async def test_a_machine_boots_where_one_can() -> None:
    found = await boot_finding(qemu(), within_s=300.0)
    assert (found.name, found.status) == ("tcg boots", "ok")


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("exit 33", "ok"),
        ("echo 'no KVM' >&2; exit 1", "fail"),
        ("exit 0", "fail"),
        ("exec sleep 3600", "fail"),
    ],
)
async def test_only_what_booted_counts(script: str, status: str, tmp_path: Path) -> None:
    program = tmp_path / "qemu"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    within_s = 0.5 if "sleep" in script else 300.0
    found = await boot_finding(qemu(program=str(program)), within_s=within_s)
    assert found.status == status
    assert found.status == "ok" or found.fix
    if "no KVM" in script:
        assert "no KVM" in found.detail


async def test_a_specification_that_cannot_be_used_is_all_that_is_said(tmp_path: Path) -> None:
    (found,) = await machine_findings("process", {"word": "waa"}, tmp_path)
    assert (found.name, found.status) == ("specification", "fail")
    assert "word" in found.detail


async def test_what_an_ended_machine_left_is_seen(tmp_path: Path) -> None:
    with Owner(Leases(tmp_path)) as owner:
        provider = open_provider("process", owner, tmp_path)
        machine = await provider.start("slot", SLEEP)
        try:
            assert [each.status for each in await machine_findings("process", SLEEP, tmp_path)] == [
                "ok",
                "ok",
            ]
            os.killpg(int(machine.id), 9)
            await asyncio.to_thread(_await_gone, provider.backend.find)
            *_, found = await machine_findings("process", SLEEP, tmp_path)
            assert (found.status, "reap" in found.fix) == ("warn", True)
            assert machine.name in found.detail
        finally:
            await provider.stop_all()


def _await_gone(find: Callable[[], object]) -> None:
    while any(each.running for each in asyncio.run(find())):  # type: ignore[arg-type, union-attr]
        pass


async def test_an_engine_that_is_off_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/absent.sock")
    *_, found = await machine_findings("docker", {"image": "a"}, tmp_path)
    assert (found.name, found.status) == ("docker", "fail")


async def test_a_control_port_without_an_answer_is_a_finding(tmp_path: Path) -> None:
    probe = {"url": "http://127.0.0.1:9/"}
    spec = {
        "vms": [{"qmp": str(tmp_path / "absent.sock")}],
        "state": probe, "soil": {**probe, "body": "{mark}", "method": "POST"}, "mark": probe,
    }  # fmt: skip
    found = {each.name: each for each in await machine_findings("attached", spec, tmp_path)}
    assert found[f"QMP {tmp_path}/absent.sock"].status == "fail"
    assert found["clock"].status == "warn"
    assert found["mark"].status == "ok"


async def test_what_is_kept_by_no_program_is_stopped_by_name(tmp_path: Path) -> None:
    owner = Owner(Leases(tmp_path), "kept", ttl_s=3600.0, detached=True)
    provider = open_provider("process", owner, tmp_path)
    machine = await provider.start("slot", SLEEP)
    (stopped,) = await stop_machines(["slot"], tmp_path)
    assert stopped.name == machine.name
    assert await provider.list() == []
