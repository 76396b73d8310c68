"""Virtual machines of QEMU: the contract on real ones, saved states, and states that are bad.

Set `REAL_MACHINES=1` for those with a guest; `nox -s machines` does.
"""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import statistics
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from small_guest import build_guest, missing_programs
from test_support.machines import FaultyBackend, faulty_sequence

from bench_core.errors import InputError
from bench_core.machines import (
    JournaledProvider,
    Leases,
    MachineError,
    Owner,
    QuarantinedError,
    Waits,
    open_provider,
)
from bench_core.process_table import command_lines
from bench_core.providers import QemuBackend
from bench_core.providers.probes import filled
from bench_core.providers.qemu_spec import QemuSpec, qemu_command
from bench_core.providers.saved_states import keep_state, load_state
from bench_core.testing import ProviderConformance

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

RESETS = int(os.environ.get("RESETS", "200"))
BOOTS = 5
BAD_STATES = int(os.environ.get("BAD_STATES", "50"))
SEQUENCES = int(os.environ.get("SEQUENCES", "5"))
FIRST_SEED = int(os.environ.get("FIRST_SEED", "0"))
real = pytest.mark.skipif(
    not os.environ.get("REAL_MACHINES") or bool(missing_programs()),
    reason=f"asked for by REAL_MACHINES=1; not installed: {missing_programs()}",
)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, JsonValue]:
    return dict(build_guest(tmp_path_factory.mktemp("guest")))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose initial state is made once for all tests of this file."""
    return tmp_path_factory.mktemp("qemu")


@real
class TestQemuProvider(ProviderConformance):
    @pytest.fixture
    def backend(self, shared: Path) -> QemuBackend:
        return QemuBackend(shared)

    @pytest.fixture
    def spec(self, guest: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return guest

    @pytest.fixture
    def waits(self) -> Waits:
        return Waits(ready_s=300.0, grace_s=60.0, listed_s=1.0, poll_s=0.05)


@real
async def test_resets_are_clean_and_take_a_tenth_of_a_boot(
    guest: dict[str, JsonValue], tmp_path: Path
) -> None:
    with Owner(Leases(tmp_path)) as owner:
        provider = open_provider("qemu", owner, tmp_path)
        boots: list[float] = []
        resets: list[float] = []
        try:
            machine = await provider.start("slot", guest)
            for number in range(RESETS):
                if (
                    number % max(1, RESETS // BOOTS) == 0
                ):  # among the resets: others' load is that of both
                    began = time.monotonic()
                    booted = await provider.start("boot", {**guest, "boot_s": 601 + number})
                    boots.append(time.monotonic() - began)
                    await provider.stop(booted)
                await provider.backend.soil(machine.name, f"written-{number}")
                began = time.monotonic()
                machine = await provider.reset(machine)  # raises unless it is proven clean
                resets.append(time.monotonic() - began)
                assert await _said(provider, machine.urls["guest"]) == "clean clean clean"
        finally:
            await provider.stop_all()
    boot, reset = statistics.median(boots), statistics.median(resets)
    print(  # noqa: T201  # shown by `pytest -s`
        f"{len(resets)} resets clean, median {reset:.2f} s; boots {boots}; {boot / reset:.1f} x"
    )
    assert reset <= boot / 10


@real
async def test_machines_of_one_state_run_beside_each_other(
    guest: dict[str, JsonValue], tmp_path: Path
) -> None:
    with Owner(Leases(tmp_path)) as owner:
        provider = open_provider("qemu", owner, tmp_path)
        try:
            found = await asyncio.gather(*(provider.start(f"slot-{n}", guest) for n in range(3)))
            assert len({each.urls["guest"] for each in found}) == 3
            await provider.backend.soil(found[0].name, "written")
            said = [await _said(provider, each.urls["guest"]) for each in found]
            assert said == ["written written written", *["clean clean clean"] * 2]
            assert len(list((tmp_path / "qemu" / "states").glob("*/memory"))) == 1
        finally:
            await provider.stop_all()
        assert (list((tmp_path / "qemu" / "machines").iterdir()), await provider.list()) == ([], [])


def _cut(state: Path) -> None:
    memory = state / "memory"
    data = memory.read_bytes()
    _written(memory, data[: len(data) // 2])


def _changed(state: Path) -> None:
    memory = state / "memory"
    data = bytearray(memory.read_bytes())
    data[len(data) // 2] ^= 255
    _written(memory, bytes(data))
    # where the clock of files ticks every few ms both writes may have one time
    os.utime(memory, ns=(0, memory.stat().st_mtime_ns + 10**9))


def _gone(state: Path) -> None:
    (state / "memory").unlink()


def _undescribed(state: Path) -> None:
    (state / "state.json").write_text("{}")


def _cut_unseen(state: Path) -> None:
    """As one that was half written when it was described."""
    machine = _machine(state)
    _cut(state)
    _described_again(state, machine)


def _written(file: Path, data: bytes) -> None:
    file.chmod(0o644)
    file.write_bytes(data)


def _machine(state: Path) -> str:
    return state.name.rpartition("-")[0]


def _described_again(state: Path, machine: str) -> None:
    made = state.with_name("again")
    state.rename(made)
    keep_state(made, state, machine)


DAMAGES: tuple[Callable[[Path], None], ...] = (_cut, _changed, _gone, _undescribed, _cut_unseen)


@real
async def test_no_trial_follows_a_bad_state(guest: dict[str, JsonValue], tmp_path: Path) -> None:
    """Damaged, dirty or missing: the reset quarantines, and the next start makes the state again."""
    with Owner(Leases(tmp_path)) as owner:
        provider = open_provider("qemu", owner, tmp_path)
        trials = 0
        try:
            machine = await provider.start("slot", guest)
            (state,) = [each for each in (tmp_path / "qemu" / "states").iterdir() if each.is_dir()]
            whole = tmp_path / "whole"
            shutil.copytree(state, whole)
            for number in range(BAD_STATES):
                DAMAGES[number % len(DAMAGES)](state)
                try:
                    machine = await provider.reset(machine)
                    trials += 1
                except QuarantinedError:
                    pass
                shutil.rmtree(state)
                shutil.copytree(whole, state)
                _described_again(state, _machine(state))
                machine = await provider.start("slot", guest)
        finally:
            await provider.stop_all()
    print(f"{BAD_STATES} bad states, {trials} trials")  # noqa: T201  # shown by `pytest -s`
    assert trials == 0


@real
async def test_a_dirty_state_is_noticed_by_what_the_guest_shows(
    guest: dict[str, JsonValue], tmp_path: Path
) -> None:
    with Owner(Leases(tmp_path)) as owner:
        provider = open_provider("qemu", owner, tmp_path)
        try:
            machine = await provider.start("slot", guest)
            (state,) = [each for each in (tmp_path / "qemu" / "states").iterdir() if each.is_dir()]
            await provider.snapshot(machine, "ready")
            (saved,) = (tmp_path / "qemu" / "machines" / machine.name / "saved").iterdir()
            await provider.backend.soil(machine.name, "written")
            await provider.backend.save(machine.name, "ready")  # behind the provider's back
            assert load_state(saved, _machine(state))
            with pytest.raises(QuarantinedError):
                await provider.reset(machine, "ready")
        finally:
            await provider.stop_all()


@real
async def test_fault_sequences_leave_no_guest(
    guest: dict[str, JsonValue], shared: Path, tmp_path: Path
) -> None:
    """Neither a process of QEMU nor a folder, and with it no overlay and no socket."""
    drawn: Counter[str] = Counter()
    initramfs = Path(str(guest["disk"])).with_name("initramfs")

    def partly(name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]) -> None:
        del labels, spec
        (shared / "machines" / name).mkdir(parents=True)

    for seed in range(FIRST_SEED, FIRST_SEED + SEQUENCES):
        chance = random.Random(seed)  # noqa: S311  # chance
        backend = FaultyBackend(QemuBackend(shared), chance, create_partly=partly)
        wrong = await faulty_sequence(seed, backend, guest, tmp_path / str(seed), steps=12)
        left = [each.name for each in (shared / "machines").iterdir()]
        left += [line for _, line in command_lines() if str(initramfs) in line]
        assert (seed, wrong, left) == (seed, [], [])
        drawn += backend.drawn
    print(f"{SEQUENCES} sequences, {dict(drawn)}")  # noqa: T201  # shown by `pytest -s`


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"disk": "/absent.qcow2"}, "absent"),
        ({"disk": "relative.qcow2"}, "from /"),
        ({"program": "qemu-system-absent"}, "not installed"),
        ({"memory": 1}, "memory"),
    ],
)
def test_what_cannot_be_used_is_refused(
    changed: dict[str, JsonValue], said: str, tmp_path: Path
) -> None:
    disk = tmp_path / "disk.qcow2"
    disk.write_bytes(b"")
    program = {"program": sys.executable}
    spec: dict[str, JsonValue] = {
        "disk": str(disk), "state": {"url": "http://127.0.0.1:{port:80}/"}, **program, **changed,
    }  # fmt: skip
    with pytest.raises(InputError, match=f"{said}|not installed"):
        QemuBackend(tmp_path).check(spec)


def test_a_state_that_changed_is_refused(tmp_path: Path) -> None:
    def make(name: str) -> Path:
        made = tmp_path / "made"
        made.mkdir()
        (made / "disk.qcow2").write_bytes(b"disk")
        (made / "memory").write_bytes(b"memory")
        keep_state(made, tmp_path / name, "a")
        return tmp_path / name

    place = make("first")
    assert load_state(place, "a") == (place / "disk.qcow2", place / "memory")
    with pytest.raises(MachineError, match="another machine"):
        load_state(place, "b")
    for damage in DAMAGES[:4]:
        damaged = make(damage.__name__)
        damage(damaged)
        with pytest.raises(MachineError, match=r"was changed|cannot be read"):
            load_state(damaged, "a")


@pytest.mark.parametrize(
    ("shown", "ending"),
    [
        ("-incoming fd:fd", ["-S", "-incoming", "fd:3"]),  # QEMU 7
        ("-incoming fd:fd\n-incoming file:name", ["-S", "-incoming", "file:/states/memory"]),  # 10
    ],
    ids=["QEMU 7", "QEMU 10"],
)
def test_a_saved_memory_is_given_as_this_qemu_takes_it(
    shown: str, ending: list[str], tmp_path: Path
) -> None:
    program = tmp_path / "qemu"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{shown}\nEND\n", encoding="utf-8")
    program.chmod(0o755)
    spec = QemuSpec.model_validate(
        {"disk": "/disk", "program": str(program), "state": {"url": "http://127.0.0.1:{port:80}/"}}
    )
    command = qemu_command(spec, "nonce", {"80": "8080"}, Path("/states/memory"))
    assert command[-3:] == ending


def test_values_are_filled_in_and_other_braces_stay() -> None:
    assert filled('{"a": "{mark}", "b": {port:80}}', {"mark": "x", "port:80": "1"}) == (
        '{"a": "x", "b": 1}'
    )


async def _said(provider: JournaledProvider, url: str) -> str:
    def ask() -> str:
        with urllib.request.urlopen(url, timeout=60) as reply:  # noqa: S310  # the guest
            return str(reply.read().decode().strip())

    return await asyncio.to_thread(ask)
