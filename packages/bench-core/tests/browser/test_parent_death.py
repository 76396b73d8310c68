from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from bench_core.files import sweep_leftovers
from bench_core.files.temporary import create_profile, owned_folder, owned_name
from bench_core.process_table import namespace, start_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Mentions = Callable[[Path], list[int]]
    Within = Callable[[float, Callable[[], bool]], bool]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sweeping needs /proc or ps")

BROWSE = """
import asyncio, json, sys
from pathlib import Path
from bench_core.browser import ChromiumOptions, launch_chromium

async def main():
    print("starting", flush=True)
    async with launch_chromium(ChromiumOptions(temporary_root=Path(sys.argv[1]))) as chromium:
        print(json.dumps({"pid": chromium.pid, "profile": str(chromium.profile)}), flush=True)
        await asyncio.sleep(300)

asyncio.run(main())
"""

FORK = """
import os, time
child = os.fork()
if not child:
    time.sleep(30)
    os._exit(0)
print(json.dumps({"child": child}), flush=True)
"""

LEAVE = """
import sys
from pathlib import Path
from bench_core.files.temporary import create_profile

print(create_profile(Path(sys.argv[1])))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "profiles"


@contextmanager
def parent_running(script: str, root: Path) -> Iterator[subprocess.Popen[str]]:
    root.mkdir()
    command = [sys.executable, "-c", script, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
def parent(root: Path) -> Iterator[subprocess.Popen[str]]:
    with parent_running(BROWSE, root) as process:
        yield process


def leave_a_profile(root: Path) -> Path:
    command = [sys.executable, "-c", LEAVE, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return root / done.stdout.strip().rpartition("/")[2]


def facts(parent: subprocess.Popen[str]) -> dict[str, int]:
    assert parent.stdout is not None
    assert parent.stdout.readline() == "starting\n"
    return dict(json.loads(parent.stdout.readline()))


@pytest.mark.browser
@pytest.mark.full_chromium
def test_killing_the_parent_ends_chromium_and_removes_the_profile_within_5_s(
    parent: subprocess.Popen[str], root: Path, mentions: Mentions, within: Within
) -> None:
    facts(parent)
    assert mentions(root)
    parent.kill()
    parent.wait()
    assert within(60, lambda: mentions(root) == [] and list(root.iterdir()) == [])


@pytest.mark.browser
@pytest.mark.full_chromium
def test_a_fork_of_the_parent_that_lives_on_does_not_keep_chromium(
    root: Path, mentions: Mentions, within: Within
) -> None:
    forking = BROWSE.replace("        await", "        exec(FORK)\n        await")
    script = f"FORK = {FORK!r}\n{forking}"
    with parent_running(script, root) as parent:
        facts(parent)
        assert parent.stdout is not None
        child = json.loads(parent.stdout.readline())["child"]
        parent.kill()
        parent.wait()
        try:
            assert within(60, lambda: mentions(root) == [child] and list(root.iterdir()) == [])
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.browser
@pytest.mark.full_chromium
@pytest.mark.parametrize("delay_ms", [0, 40, 80, 120, 200, 300])
def test_killing_the_parent_while_it_launches_leaves_no_process(
    parent: subprocess.Popen[str], root: Path, mentions: Mentions, within: Within, delay_ms: int
) -> None:
    assert parent.stdout is not None
    assert parent.stdout.readline() == "starting\n"
    within(delay_ms / 1000, lambda: False)
    parent.kill()
    parent.wait()
    assert within(60, lambda: mentions(root) == [])
    sweep_leftovers(root)  # a profile made before its supervisor
    assert list(root.iterdir()) == []


@pytest.mark.browser
@pytest.mark.full_chromium
def test_when_supervisor_and_parent_are_killed_chromium_ends_and_the_next_start_sweeps(
    parent: subprocess.Popen[str], root: Path, mentions: Mentions, within: Within
) -> None:
    chromium = facts(parent)["pid"]
    for pid in (parent.pid, parent_of(chromium)):
        os.kill(pid, signal.SIGKILL)
    parent.wait()
    assert within(60, lambda: mentions(root) == [])
    (left,) = root.iterdir()
    assert sweep_leftovers(root) == [left]
    assert not left.exists()


def parent_of(pid: int) -> int:
    command = ["ps", "-o", "ppid=", "-p", str(pid)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_the_sweep_ends_a_browser_that_outlived_its_owner(
    root: Path, mentions: Mentions, within: Within
) -> None:
    left = leave_a_profile(root)
    command = [sys.executable, "-c", "input()", f"--user-data-dir={left}", "about:blank"]
    survivor = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    with survivor:
        assert within(60, lambda: mentions(left) != [])
        sweep_leftovers(root)
        assert within(60, lambda: survivor.poll() == -signal.SIGKILL)


def test_the_sweep_never_touches_a_live_owners_profile(root: Path) -> None:
    mine = create_profile(root)
    assert sweep_leftovers(root) == []
    assert mine.is_dir()


@pytest.mark.parametrize("prefix", ["proctor-agent", "proctor-browser-use", "proctor-c"])
def test_every_folder_of_a_dead_owner_is_swept(root: Path, prefix: str) -> None:
    root.mkdir()
    mine = owned_folder(prefix, root)
    (mine / "file").write_text("")
    started = f"-{start_token(os.getpid())}-"
    dead = mine.rename(mine.with_name(mine.name.replace(started, "-1-")))
    # as browser-use names the folder of its agent
    name = f"browser_use_agent_{owned_name('proctor')}-0a1b2c3d_1700000000"
    theirs = root / name
    theirs.mkdir()
    assert sweep_leftovers(root) == [dead]
    left = theirs.rename(root / name.replace(started, "-1-"))
    foreign = root / "browser_use_agent_0690_1700000000"
    foreign.mkdir()
    assert sweep_leftovers(root) == [left]
    assert list(root.iterdir()) == [foreign]


def test_the_sweep_knows_a_recycled_process_id_by_its_start(root: Path) -> None:
    mine = create_profile(root)
    started = start_token(os.getpid())
    stale = mine.with_name(mine.name.replace(f"-{started}-", "-1-"))
    stale.mkdir()
    assert sweep_leftovers(root) == [stale]
    assert mine.is_dir()


def test_the_sweep_leaves_profiles_of_other_containers_and_foreign_folders(root: Path) -> None:
    left = leave_a_profile(root)
    elsewhere = left.rename(left.with_name(left.name.replace(f"-{namespace()}-", "-abc123-")))
    foreign = root / "proctor-c-notes"
    foreign.mkdir()
    assert sweep_leftovers(root) == []
    assert elsewhere.is_dir()
    assert foreign.is_dir()


def test_a_dead_process_has_no_start_even_before_it_is_reaped(within: Within) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert start_token(process.pid) is not None
        process.kill()
        assert within(60, lambda: start_token(process.pid) is None)
