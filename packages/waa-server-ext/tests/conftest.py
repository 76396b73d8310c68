from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable

# How long an example takes depends on who shares the machine; no test asserts timings.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("PROCTOR_DATA", ROOT.parent / "shared" / "data")) / "waa"


@pytest.fixture(scope="session")
def waa_data() -> Path:
    """The real tasks and evaluation cases."""
    if not DATA.is_dir():
        pytest.skip("needs the real tasks; PROCTOR_DATA names the folder that holds waa/")
    return DATA


@pytest.fixture(scope="session")
def golden(waa_data: Path) -> list[dict[str, Any]]:
    """Evaluation cases with what vanilla's own code made of them."""
    lines = (waa_data / "golden.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


_numbers = itertools.count()


@pytest.fixture(scope="session")
def next_vm_host() -> Callable[[], str]:
    """Gives loopback addresses that no other test uses: vanilla knows port 5000 only."""

    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))

    def host() -> str:
        number = (os.getpid() * 251 + next(_numbers)) % (250 * 250)
        return f"127.{77 + worker}.{number // 250 + 1}.{number % 250 + 1}"

    return host


@pytest.fixture
def vm_host(next_vm_host: Callable[[], str]) -> str:
    return next_vm_host()
