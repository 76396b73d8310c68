"""Process groups that are written down in folders of machines."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.providers.machine_folders import MachineFolders

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")


@pytest.mark.parametrize(
    "written", ["", "{pid} another-boot -\n"], ids=["cut-short", "before-a-restart"]
)
async def test_a_group_that_need_not_be_the_machine_s_is_left_alone(
    written: str, tmp_path: Path
) -> None:
    folders = MachineFolders(tmp_path / "machines")
    folder = folders.make("slot-1", {}, {})
    sleep = "import time; time.sleep(600)"
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", sleep, start_new_session=True
    )
    try:
        (folder / "process").write_text(written.format(pid=other.pid))
        assert not folders.runs("slot-1")
        await folders.remove("slot-1")
        assert other.returncode is None
    finally:
        other.kill()
        await other.wait()
    assert folders.names() == []
