from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("PIL", reason="needs the extra [simulate]")
# the helpers beside the tests, which every import mode finds this way
sys.path.insert(0, str(Path(__file__).parent))

from actions import Hands  # after the path is known
from in_process import InProcessVm  # same

from waa_server_ext.simulate.desktop.composition import Desktop  # same
from waa_server_ext.simulate.machine.computer import Machine  # same

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def desktop() -> Desktop:
    return Desktop(Machine.fresh())


@pytest.fixture
def vm(vm_host: str) -> Iterator[InProcessVm]:
    with InProcessVm(vm_host) as running:
        yield running


@pytest.fixture
def hands(vm: InProcessVm) -> Iterator[Hands]:
    made = Hands(vm.url)
    made.update([])
    yield made
    made.close()
