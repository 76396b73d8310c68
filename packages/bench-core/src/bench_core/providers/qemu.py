"""Machines that are virtual machines of QEMU, all of one image and one saved memory.

The first machine of a kind boots, and is saved once it answers. Every other start and every reset is
a new process with a new overlay that begins in this state, which takes a small part of a boot.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Mapping
from pathlib import Path

from pydantic import JsonValue

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.machines import INITIAL, Finding, Found, Health, MachineError
from bench_core.machines.labels import NONCE
from bench_core.providers.boot_check import boot_finding
from bench_core.providers.guest import (
    ANSWER_S,
    check_clock,
    guest_findings,
    mark_of,
    set_clock,
    soil,
    state_digest,
)
from bench_core.providers.machine_folders import (
    FolderBackend,
    MachineFolders,
    lock_of,
    require_posix,
)
from bench_core.providers.probes import filled
from bench_core.providers.process import free_port
from bench_core.providers.qemu_spec import (
    QemuSpec,
    guest_ports,
    machine_uuid,
    qemu_command,
    same_machine,
)
from bench_core.providers.qmp import Qmp, connected
from bench_core.providers.saved_states import keep_state, load_state
from bench_core.providers.specs import read_spec

_TRIES = 3
_BEGIN_S = 120.0
_SAVE_S = 600.0
_POLL_S = 0.01
_MB = 1024 * 1024
_FASTEST = 10**11  # bytes per second: QEMU would keep to 128 MB


class QemuBackend(FolderBackend):
    """A `Backend` whose machines are processes of QEMU, each with a folder and an overlay.

    Args:
        folder: Parent of the folders of machines and saved states.
        stop_s: How long QEMU may take to end by itself before it is killed, in seconds.
    """

    name = "qemu"
    begins_anew = True
    saves = True

    def __init__(self, folder: Path, *, stop_s: float = 10.0) -> None:
        super().__init__(MachineFolders(folder / "machines", stop_s=stop_s))
        self._states = folder / "states"

    def check(self, spec: Mapping[str, JsonValue]) -> None:
        """Refuse a specification that cannot be used.

        Raises:
            InputError: The specification is unusable, or a program or image is missing.
        """
        require_posix()
        asked = read_spec(QemuSpec, spec)
        for program in (asked.program, "qemu-img"):
            if shutil.which(program) is None:
                raise InputError(f"{program} is not installed: install QEMU")
        if not os.access(asked.disk, os.R_OK) or not Path(asked.disk).is_absolute():
            raise InputError(f"the image {asked.disk!r} must be a path from / that can be read")
        if asked.accelerator == "kvm" and not os.access("/dev/kvm", os.R_OK | os.W_OK):
            raise InputError("there is no /dev/kvm to use here: set the accelerator `tcg`")

    async def findings(self, spec: Mapping[str, JsonValue]) -> list[Finding]:
        """Return whether a machine boots, whether its state has room, and which proofs a reset can give."""
        asked = read_spec(QemuSpec, spec)
        self._states.mkdir(parents=True, exist_ok=True)
        free_mb = shutil.disk_usage(self._states).free // _MB
        enough = free_mb > 2 * asked.memory_mb
        room = Finding(
            name="room for states",
            status="ok" if enough else "warn",
            detail=f"{free_mb} MB free at {self._states}; a state has up to {asked.memory_mb} MB of memory",
            fix="" if enough else "free some, or set PROCTOR_MACHINES to a folder on another disk",
        )
        return [await boot_finding(asked), room, *guest_findings(asked)]

    async def create(
        self, name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]
    ) -> Found:
        """Make the machine's folder, and begin in the saved state, or boot and save it.

        Raises:
            NameTakenError: There is a folder of that name.
            MachineError: It did not start, or did not answer in time.
        """
        self._folders.make(name, labels, spec)
        asked = self._spec(name)
        # a process that waits for the same machine's boot then begins in its saved state
        async with lock_of(same_machine(asked), self._states):
            state = self._state(asked, rebuild=True)
            if state is None:
                await self._boot(name, asked)
                return self._folders.found(name)
        await self._load(name, asked, state)
        return self._folders.found(name)

    async def health(self, name: str) -> Health:
        """Look whether QEMU runs, is this machine, and the guest answers with the right time."""
        if not self._folders.runs(name):
            return Health(ok=False, reason=f"QEMU has ended: {self._log(name)}")
        health = Health(ok=True, urls=self._folders.urls(name) or {})
        try:
            spec = self._spec(name)
            nonce = self._folders.described(name).labels.get(NONCE, "")
            async with connected(self._socket(name), ANSWER_S) as qmp:
                uuid = (await qmp.run("query-uuid"))["UUID"]
                status = (await qmp.run("query-status"))["status"]
            if status != "running":
                return health.model_copy(update={"ok": False, "reason": f"it is {status}"})
            found = {
                "nonce": nonce if uuid == machine_uuid(nonce) else "",
                "state": await state_digest(spec, self._values(name)),
                "soiled": await mark_of(spec, self._values(name)),
            }
            await check_clock(spec, self._values(name))
        except MachineError as error:
            return health.model_copy(update={"ok": False, "reason": str(error)})
        return health.model_copy(update=found)

    async def soil(self, name: str, mark: str) -> None:
        """Have the guest write `mark`.

        Raises:
            MachineError: It does not, or the specification does not say how.
        """
        await soil(self._spec(name), self._values(name), mark)

    async def save(self, name: str, tag: str) -> None:
        """Save the machine's memory and disk; it is paused meanwhile.

        Raises:
            MachineError: They were not saved.
        """
        await self._save(name, self._spec(name), self._tagged(name, tag))

    async def restore(self, name: str, tag: str) -> Found:
        """End QEMU and begin again in a saved state, with a new overlay.

        Raises:
            MachineError: The state is gone, was changed or does not load.
        """
        spec = self._spec(name)
        state = self._state(spec) if tag == INITIAL else self._tagged(name, tag)
        if state is None:
            raise MachineError(f"no state was saved when {name!r} first booted")
        load_state(state, same_machine(spec))  # before anything is ended
        await self._folders.end(name)
        await self._folders.empty(name)
        await self._load(name, spec, state)
        return self._folders.found(name)

    # --- starting

    async def _boot(self, name: str, spec: QemuSpec) -> None:
        """Boot from the image, wait until the guest answers, and save that as the initial state."""
        await self._overlay(name, spec.disk, spec.disk_format)
        await self._launch(name, spec, None)
        deadline = time.monotonic() + spec.boot_s
        while True:
            try:
                await state_digest(spec, self._values(name))
                break
            except MachineError as error:
                if time.monotonic() >= deadline or not self._folders.runs(name):
                    raise MachineError(
                        f"{name!r} did not boot: {error}; {self._log(name)}"
                    ) from error
            await asyncio.sleep(_POLL_S)
        await set_clock(spec, self._values(name))
        place = self._states / f"{same_machine(spec)}-{secrets.token_hex(4)}"
        await self._save(name, spec, place)

    async def _load(self, name: str, spec: QemuSpec, state: Path) -> None:
        disk, memory = load_state(state, same_machine(spec))
        await self._overlay(name, str(disk), "qcow2")
        await self._launch(name, spec, memory)
        async with self._connected(name) as qmp:
            await _within(_BEGIN_S, qmp.until("query-status", lambda a: a["status"] != "inmigrate"))
            await qmp.run("cont")
        await set_clock(spec, self._values(name))

    async def _launch(self, name: str, spec: QemuSpec, memory: Path | None) -> None:
        """Start QEMU and return when it answers; with other ports if some were taken meanwhile."""
        nonce = self._folders.described(name).labels.get(NONCE, "")
        place = self._folders.folder / name
        for left in reversed(range(_TRIES)):
            ports = {guest: str(free_port()) for guest in guest_ports(spec)}
            values = {f"port:{guest}": port for guest, port in ports.items()}
            urls = {key: filled(url, values) for key, url in spec.urls.items()}
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile: `launch` says so
                write_atomic(place / "ports.json", json.dumps(values).encode())
                write_atomic(place / "urls.json", json.dumps(urls).encode())
            await self._folders.launch(name, qemu_command(spec, nonce, ports, memory), {})
            try:
                async with self._connected(name):
                    return
            except MachineError:
                await self._folders.end(name)
                if not left:
                    raise

    @contextlib.asynccontextmanager
    async def _connected(self, name: str) -> AsyncIterator[Qmp]:
        """Connect to a QEMU that may not listen yet."""
        deadline = time.monotonic() + _BEGIN_S
        async with contextlib.AsyncExitStack() as stack:
            while True:
                try:
                    qmp = await stack.enter_async_context(connected(self._socket(name), ANSWER_S))
                    break
                except MachineError as error:
                    if time.monotonic() >= deadline or not self._folders.runs(name):
                        raise MachineError(f"{error}; {self._log(name)}") from error
                await asyncio.sleep(_POLL_S)
            yield qmp

    async def _overlay(self, name: str, disk: str, disk_format: str) -> None:
        process = await asyncio.create_subprocess_exec(
            "qemu-img", "create", "-q", "-f", "qcow2", "-b", disk, "-F", disk_format,
            str(self._folders.work(name) / "disk.qcow2"),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        output, _ = await process.communicate()
        if process.returncode:
            raise MachineError(f"no overlay was made: {output.decode(errors='replace').strip()}")

    # --- states

    def _state(self, spec: QemuSpec, *, rebuild: bool = False) -> Path | None:
        """Return the initial state of all machines of a kind; None if there is none yet.

        With `rebuild`, one that cannot be used is removed. It is never written again in its place:
        saved states may have overlays over its disk.
        """
        machine = same_machine(spec)
        for place in sorted(self._states.glob(f"{machine}-*")):
            if not rebuild:
                return place
            try:
                load_state(place, machine)
            except MachineError:
                shutil.rmtree(place, ignore_errors=True)
            else:
                return place
        return None

    def _tagged(self, name: str, tag: str) -> Path:
        digest = hashlib.sha256(tag.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        return self._folders.folder / name / "saved" / digest

    async def _save(self, name: str, spec: QemuSpec, place: Path) -> None:
        work = self._folders.work(name)
        made = work / "saving"
        try:
            await asyncio.to_thread(shutil.rmtree, made, ignore_errors=True)
            made.mkdir()
            async with connected(self._socket(name), ANSWER_S) as qmp:
                await qmp.run("stop")
                try:
                    await _within(_SAVE_S, _write_memory(qmp, made))
                    await asyncio.to_thread(
                        shutil.copyfile, work / "disk.qcow2", made / "disk.qcow2"
                    )
                finally:
                    await qmp.run("cont")
            await asyncio.to_thread(keep_state, made, place, same_machine(spec))
        except OSError as error:
            raise MachineError(f"the state of {name!r} was not saved: {error}") from error

    # --- asking

    def _spec(self, name: str) -> QemuSpec:
        try:
            return read_spec(QemuSpec, self._folders.described(name).spec)
        except InputError as error:
            raise MachineError(f"{name!r} is gone, or was created in part") from error

    def _values(self, name: str) -> dict[str, str]:
        try:
            found = json.loads((self._folders.folder / name / "ports.json").read_bytes())
        except (OSError, ValueError) as error:
            raise MachineError(f"the ports of {name!r} are not known: {error}") from error
        return {str(key): str(value) for key, value in found.items()}

    def _socket(self, name: str) -> Path:
        return self._folders.work(name) / "qmp.sock"

    def _log(self, name: str) -> str:
        with contextlib.suppress(OSError):
            text = (self._folders.folder / name / "log.txt").read_text("utf-8", "replace")
            return text.strip().rpartition("\n")[2] or "it printed nothing"
        return "it left no log"


async def _write_memory(qmp: Qmp, folder: Path) -> None:
    await qmp.run("migrate-set-parameters", **{"max-bandwidth": _FASTEST})
    # QEMU says that it is done before the program that writes has ended, so that renames the file.
    await qmp.run("migrate", uri="exec:cat > saving/part && mv saving/part saving/memory")
    answer = await qmp.until(
        "query-migrate", lambda a: a.get("status") in {"completed", "failed", "cancelled"}
    )
    if answer["status"] != "completed":
        raise MachineError(f"QEMU did not save the memory: {answer.get('error-desc', 'failed')}")
    while not (folder / "memory").exists():  # noqa: ASYNC110  # another program makes it
        await asyncio.sleep(_POLL_S)


async def _within(seconds: float, call: Awaitable[object]) -> None:
    try:
        await asyncio.wait_for(call, seconds)
    except asyncio.TimeoutError as error:
        raise MachineError(f"QEMU did not finish within {seconds:.0f} s") from error
