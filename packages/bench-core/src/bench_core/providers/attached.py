"""Virtual machines that something else started, such as a container with QEMU in it.

Each is used over its QMP port. A reset loads a snapshot that is inside its disk images, into the same
process of QEMU. Removing such a machine removes its snapshots; it goes on running.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import socket
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, model_validator
from typing_extensions import Self

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.machines import INITIAL, Finding, Found, Health, MachineError
from bench_core.machines.labels import NONCE
from bench_core.providers.guest import (
    ANSWER_S,
    GuestSpec,
    check_clock,
    guest_findings,
    mark_of,
    set_clock,
    soil,
    state_digest,
)
from bench_core.providers.machine_folders import FolderBackend, MachineFolders, lock_of
from bench_core.providers.probes import filled
from bench_core.providers.qmp import Address, Qmp, connected
from bench_core.providers.specs import read_spec
from bench_core.records import Record
from bench_core.serving import is_loopback

_JOB_S = 900.0
_POLL_S = 0.05
_NO_ONE = (ConnectionRefusedError, FileNotFoundError, socket.gaierror)


class AttachedVm(Record):
    """A virtual machine that runs.

    Attributes:
        qmp: Its QMP server, `HOST:PORT` or the path of a socket.
        ports: Addresses of the guest's ports, by the guest's number.
    """

    qmp: str = Field(min_length=1)
    ports: dict[str, str] = Field(default_factory=dict)


class AttachSpec(GuestSpec):
    """Virtual machines of one kind and the requests to their guests; each machine takes a free one.

    Attributes:
        vms: The virtual machines.
    """

    vms: tuple[AttachedVm, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _provable(self) -> Self:
        if self.soil is None or self.mark is None:
            # the same QEMU answers before and after, so nothing else shows that it was reset
            raise ValueError("give `soil` and `mark`: without them no reset is proven")
        return self


class AttachedBackend(FolderBackend):
    """A `Backend` whose machines are foreign virtual machines, each with a folder.

    Args:
        folder: Parent of the machines' folders.
    """

    name = "attached"
    begins_anew = False
    saves = True

    def __init__(self, folder: Path) -> None:
        super().__init__(MachineFolders(folder / "machines"))
        self._lock = folder

    def check(self, spec: Mapping[str, JsonValue]) -> None:
        """Refuse a specification that cannot be used.

        Raises:
            InputError: The specification cannot be used; the message says why.
        """
        for each in read_spec(AttachSpec, spec).vms:
            _address(each)

    async def findings(self, spec: Mapping[str, JsonValue]) -> list[Finding]:
        """Return findings on each virtual machine's snapshots, and on the proofs that a reset can give."""
        asked = read_spec(AttachSpec, spec)
        return [*[await self._checked(each) for each in asked.vms], *guest_findings(asked)]

    async def create(
        self, name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]
    ) -> Found:
        """Take a virtual machine that no other machine has, wait for its guest, and save that.

        Raises:
            NameTakenError: There is a folder of that name.
            MachineError: None is free, its guest does not answer, or it cannot be saved.
        """
        self._folders.make(name, labels, spec)
        asked = self._spec(name)
        try:
            await self._take(name, asked)
            await self._refuse_stopped(name)
            await self._await_guest(name, asked)
            await set_clock(asked, self._values(name))
            await self.save(name, INITIAL)
            # from here on `remove` brings it back to that state
            (self._folders.folder / name / "saved").touch()
        except MachineError:
            with contextlib.suppress(MachineError):
                await self.remove(name)
            raise
        return await self._found(name)

    async def find(self) -> Sequence[Found]:
        """Return all machines, and the folders that are left of any."""
        return [await self._found(name) for name in self._folders.names()]

    async def remove(self, name: str) -> None:
        """Bring the virtual machine back to where it was taken, and remove its snapshots and the folder.

        It goes on running; if it cannot be brought back, it stays stopped and is not taken again.
        If it no longer runs, its snapshots stay in its images.

        Raises:
            MachineError: Some part of it is still there.
        """
        if self._vm(name) is not None:
            try:
                if (self._folders.folder / name / "saved").exists():
                    with contextlib.suppress(MachineError):
                        # the next machine begins with the state left here
                        await self.restore(name, INITIAL)
                async with self._connected(name) as qmp:
                    nodes = await _nodes(qmp)
                    for tag in _tags(nodes, self._prefix(name)):
                        await _job(qmp, "snapshot-delete", tag=tag, devices=list(nodes))
            except MachineError as error:
                if not isinstance(error.__cause__, _NO_ONE):
                    place = self._folders.folder / name
                    raise MachineError(
                        f"{error}; if that virtual machine is gone for good, remove {place}"
                    ) from error
        await self._folders.remove(name)

    async def health(self, name: str) -> Health:
        """Look whether QEMU runs the machine, has its snapshots, and the guest has the right time."""
        health = Health(ok=False, urls=self._urls(name))
        try:
            spec, values = self._spec(name), self._values(name)
            async with self._connected(name) as qmp:
                status = (await qmp.run("query-status"))["status"]
                tags = _tags(await _nodes(qmp), self._prefix(name))
            if status != "running":
                return health.model_copy(update={"reason": f"it is {status}"})
            found = {
                # a machine there without our snapshots is another one
                "nonce": self._nonce(name) if self._tag(name, INITIAL) in tags else "",
                "state": await state_digest(spec, values),
                "soiled": await mark_of(spec, values),
            }
            await check_clock(spec, values)
        except MachineError as error:
            return health.model_copy(update={"reason": str(error)})
        return health.model_copy(update={"ok": True, **found})

    async def soil(self, name: str, mark: str) -> None:
        """Have the guest write `mark`.

        Raises:
            MachineError: It does not.
        """
        await soil(self._spec(name), self._values(name), mark)

    async def save(self, name: str, tag: str) -> None:
        """Save memory and disks inside the disk images; the machine is paused meanwhile.

        Raises:
            MachineError: They were not saved, or a disk cannot hold snapshots.
        """
        async with self._connected(name) as qmp:
            nodes = _usable(await _nodes(qmp))
            await qmp.run("stop")
            try:
                wanted = self._tag(name, tag)
                if wanted in _tags(nodes, wanted):
                    await _job(qmp, "snapshot-delete", tag=wanted, devices=list(nodes))
                await _job(
                    qmp, "snapshot-save", tag=wanted, devices=list(nodes), vmstate=next(iter(nodes))
                )
            finally:
                await qmp.run("cont")

    async def restore(self, name: str, tag: str) -> Found:
        """Load a snapshot; if it does not load, the machine stays stopped.

        Raises:
            MachineError: The snapshot is missing or does not load.
        """
        async with self._connected(name) as qmp:
            nodes = _usable(await _nodes(qmp))
            await qmp.run("stop")
            await _job(
                qmp, "snapshot-load", tag=self._tag(name, tag), devices=list(nodes),
                vmstate=next(iter(nodes)),
            )  # fmt: skip
            # only now: a failed load leaves the earlier state, which must not go on
            await qmp.run("cont")
        await self._await_guest(name, self._spec(name))
        await set_clock(self._spec(name), self._values(name))
        return await self._found(name)

    async def _take(self, name: str, spec: AttachSpec) -> None:
        """Write down which of the virtual machines is this machine's."""
        async with lock_of("attached:", self._lock):
            taken = {vm.qmp for each in self._folders.names() if (vm := self._vm(each)) is not None}
            for each in spec.vms:
                if each.qmp not in taken:
                    place = self._folders.folder / name / "vm.json"
                    write_atomic(place, each.model_dump_json().encode())
                    return
        raise MachineError(f"all {len(spec.vms)} virtual machines are taken")

    async def _refuse_stopped(self, name: str) -> None:
        async with self._connected(name) as qmp:
            status = (await qmp.run("query-status"))["status"]
        if status != "running":
            raise MachineError(
                f"the virtual machine is {status}: a reset may have failed on it; start it anew"
            )

    # --- asking

    async def _checked(self, vm: AttachedVm) -> Finding:
        name, address = f"QMP {vm.qmp}", _address(vm)
        try:
            async with (
                lock_of(f"attached:{vm.qmp}", self._lock),
                connected(address, ANSWER_S) as qmp,
            ):
                disks = _usable(await _nodes(qmp))
                status = (await qmp.run("query-status"))["status"]
        except MachineError as error:
            fix = "start it with `-qmp`, and with disks that are qcow2; no other program may hold its QMP"
            return Finding(name=name, status="fail", detail=str(error), fix=fix)
        if not isinstance(address, Path) and not is_loopback(address[0]):
            fix = "publish it on 127.0.0.1 alone, and bring it here by `ssh -L`"
            return Finding(name=name, status="warn", detail="QMP has no password", fix=fix)
        return Finding(name=name, status="ok", detail=f"{status}, {len(disks)} disk(s) in qcow2")

    async def _await_guest(self, name: str, spec: AttachSpec) -> None:
        deadline = time.monotonic() + spec.boot_s
        while True:
            try:
                await state_digest(spec, self._values(name))
            except MachineError:
                if time.monotonic() >= deadline:
                    raise
            else:
                return
            await asyncio.sleep(_POLL_S)

    async def _found(self, name: str) -> Found:
        found = self._folders.found(name)
        runs = False
        if self._vm(name) is not None:
            with contextlib.suppress(MachineError):
                async with self._connected(name) as qmp:
                    tags = _tags(await _nodes(qmp), self._prefix(name))
                    runs = self._tag(name, INITIAL) in tags
        return found.model_copy(update={"running": runs, "urls": self._urls(name)})

    @contextlib.asynccontextmanager
    async def _connected(self, name: str) -> AsyncIterator[Qmp]:
        vm = self._vm(name)
        if vm is None:
            raise MachineError(f"{name!r} is gone, or took no virtual machine")
        # one client at a time is served, so that all of this computer's wait for one another here
        async with (
            lock_of(f"attached:{vm.qmp}", self._lock),
            connected(_address(vm), ANSWER_S) as qmp,
        ):
            yield qmp

    def _vm(self, name: str) -> AttachedVm | None:
        try:
            text = (self._folders.folder / name / "vm.json").read_bytes()
            return AttachedVm.model_validate(json.loads(text))
        except (OSError, ValueError):
            return None

    def _values(self, name: str) -> dict[str, str]:
        vm = self._vm(name)
        return {} if vm is None else {f"port:{key}": port for key, port in vm.ports.items()}

    def _urls(self, name: str) -> dict[str, str]:
        try:
            spec = self._spec(name)
        except MachineError:
            return {}
        return {key: filled(url, self._values(name)) for key, url in spec.urls.items()}

    def _spec(self, name: str) -> AttachSpec:
        try:
            return read_spec(AttachSpec, self._folders.described(name).spec)
        except InputError as error:
            raise MachineError(f"{name!r} is gone, or was created in part") from error

    def _nonce(self, name: str) -> str:
        return self._folders.described(name).labels.get(NONCE, "")

    def _prefix(self, name: str) -> str:
        return f"proctor-{self._nonce(name)[:16]}-"

    def _tag(self, name: str, tag: str) -> str:
        return self._prefix(name) + tag


async def _nodes(qmp: Qmp) -> dict[str, Any]:
    """Return the writable block nodes with QEMU's description of each, by name."""
    blocks = await qmp.run("query-block")
    inserted = [each["inserted"] for each in blocks if each.get("inserted")]
    return {each["node-name"]: each for each in inserted if not each.get("ro")}


def _usable(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nodes if all of them can hold snapshots.

    Raises:
        MachineError: A node cannot, or the machine has none.
    """
    other = {name: each.get("drv") for name, each in nodes.items() if each.get("drv") != "qcow2"}
    if other or not nodes:
        raise MachineError(
            f"no snapshot can be saved: these disks are written to and are not qcow2: {other}"
            if other
            else "no snapshot can be saved: the machine has no disk that is written to"
        )
    return dict(nodes)


def _tags(nodes: Mapping[str, Any], prefix: str) -> list[str]:
    found = {
        str(each["name"])
        for node in nodes.values()
        for each in node.get("image", {}).get("snapshots", ())
    }
    return sorted(each for each in found if each.startswith(prefix))


async def _job(qmp: Qmp, command: str, **arguments: object) -> None:
    """Run a job to its end; that it failed is only in the list of jobs.

    Raises:
        MachineError: It failed, or did not end in time.
    """
    job = f"proctor-{secrets.token_hex(4)}"
    await qmp.run(command, **{"job-id": job, **arguments})
    deadline = time.monotonic() + _JOB_S
    while True:
        found = [each for each in await qmp.run("query-jobs") if each["id"] == job]
        if not found:
            raise MachineError(f"QEMU lost the job {command}")
        if found[0]["status"] == "concluded":
            break
        if time.monotonic() >= deadline:
            raise MachineError(f"QEMU did not finish {command} within {_JOB_S:.0f} s")
        await asyncio.sleep(_POLL_S)
    await qmp.run("job-dismiss", id=job)
    if found[0].get("error"):
        raise MachineError(f"QEMU did not finish {command}: {found[0]['error']}")


def _address(vm: AttachedVm) -> Path | Address:
    if vm.qmp.startswith("/"):
        return Path(vm.qmp)
    host, _, port = vm.qmp.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"{vm.qmp!r} is not a QMP server: give HOST:PORT, or the path of a socket")
    return host, int(port)
