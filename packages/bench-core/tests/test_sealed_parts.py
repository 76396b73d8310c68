"""What this machine can keep from agents, as the doctors tell it."""

from __future__ import annotations

import os

import pytest

from bench_core.cli.doctor import run_checks, sealing_checks
from bench_core.sealing import parts
from bench_core.sealing.machine import Ability
from bench_core.sealing.namespaces import MOUNTS, USERS


def doctors(
    monkeypatch: pytest.MonkeyPatch, way: str | None, *, signals: bool = True, user: int = 1000
) -> dict[str, tuple[str, str]]:
    found = Ability(way, None if way else "no namespaces here")
    monkeypatch.setattr(parts, "how_to_seal", lambda: found)
    monkeypatch.setattr(parts, "keeps_signals_inside", lambda: signals)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    rows = run_checks(sealing_checks())
    return {name.removeprefix("sealed: "): (row.status, row.detail) for name, row in rows}


def lacking(rows: dict[str, tuple[str, str]]) -> list[str]:
    return [name for name, (_, detail) in rows.items() if detail.startswith("no: ")]


@pytest.mark.parametrize(
    ("way", "signals", "user", "lacks"),
    [
        (USERS, True, 1000, ["network"]),
        (MOUNTS, True, 1000, ["neighbours", "network"]),
        (USERS, False, 1000, ["signals", "network"]),
        (USERS, True, 0, ["user", "network"]),
    ],
)
def test_each_part_has_a_row(
    way: str, signals: bool, user: int, lacks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = doctors(monkeypatch, way, signals=signals, user=user)
    assert list(rows) == ["answers", "programs", "neighbours", "signals", "user", "network"]
    assert {status for status, _ in rows.values()} == {"ok"}
    assert lacking(rows) == lacks == list(parts.unsealed_parts())


def test_where_nothing_can_be_hidden_nothing_is_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = doctors(monkeypatch, None)
    assert rows["answers"] == (
        "warn", "answers cannot be hidden, results will say so: no namespaces here",
    )  # fmt: skip
    assert lacking(rows) == ["programs", "neighbours", "signals", "user", "network"]
