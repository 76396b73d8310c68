from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench_core.browser import ChromiumOptions, launch_chromium
from bench_core.errors import BrowserError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Mentions = Callable[[Path], list[int]]
    Eventually = Callable[[float, Callable[[], bool]], Awaitable[bool]]

pytestmark = [pytest.mark.browser, pytest.mark.full_chromium]


@pytest.fixture
def options(tmp_path: Path) -> ChromiumOptions:
    return ChromiumOptions(temporary_root=tmp_path / "profiles")


def nothing_is_left(options: ChromiumOptions) -> bool:
    assert options.temporary_root is not None
    return not list(options.temporary_root.iterdir())


async def version(cdp_url: str) -> dict[str, str]:
    def ask() -> dict[str, str]:
        with urllib.request.urlopen(f"{cdp_url}/json/version", timeout=60) as answer:  # noqa: S310
            return dict(json.load(answer))

    return await asyncio.to_thread(ask)


async def test_a_launched_chromium_answers_at_both_urls(options: ChromiumOptions) -> None:
    async with launch_chromium(options) as chromium:
        assert (await version(chromium.cdp_url))["webSocketDebuggerUrl"] == chromium.ws_url
        assert chromium.alive


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_time_zone_reaches_the_browser(options: ChromiumOptions) -> None:
    async with launch_chromium(replace(options, timezone="Asia/Tokyo")) as chromium:
        environ = Path(f"/proc/{chromium.pid}/environ").read_bytes()
    assert b"TZ=Asia/Tokyo" in environ.split(b"\0")


async def test_leaving_the_block_ends_every_process_and_removes_the_profile(
    options: ChromiumOptions, mentions: Mentions, eventually: Eventually
) -> None:
    async with launch_chromium(options) as chromium:
        assert len(mentions(chromium.profile)) > 1
    assert await eventually(60, lambda: mentions(chromium.profile) == [])
    assert nothing_is_left(options)
    assert not chromium.alive


async def test_a_polite_close_lets_chromium_exit_by_itself(options: ChromiumOptions) -> None:
    async with launch_chromium(replace(options, close_s=60.0)) as chromium:
        pass
    assert chromium.exit_code == 0


async def test_an_exception_ends_it_too(
    options: ChromiumOptions, mentions: Mentions, eventually: Eventually
) -> None:
    with pytest.raises(LookupError):
        async with launch_chromium(options) as chromium:
            raise LookupError
    assert await eventually(60, lambda: mentions(chromium.profile) == [])
    assert nothing_is_left(options)


async def test_cancellation_ends_it_too(
    options: ChromiumOptions, mentions: Mentions, eventually: Eventually
) -> None:
    up: asyncio.Future[Path] = asyncio.get_running_loop().create_future()

    async def browse() -> None:
        async with launch_chromium(options) as chromium:
            up.set_result(chromium.profile)
            await asyncio.sleep(60)

    task = asyncio.create_task(browse())
    profile = await up
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await eventually(60, lambda: mentions(profile) == [])
    assert nothing_is_left(options)


async def test_cancelling_a_launch_leaves_nothing(
    options: ChromiumOptions, mentions: Mentions, eventually: Eventually
) -> None:
    root = options.temporary_root
    assert root is not None

    async def browse() -> None:
        async with launch_chromium(options):
            await asyncio.sleep(60)

    for delay in (0.0, 0.02, 0.05, 0.1, 0.2):
        task = asyncio.create_task(browse())
        await asyncio.sleep(delay)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await eventually(60, lambda: mentions(root) == [])


async def test_cancelling_twice_leaves_the_rest_to_the_supervisor(
    options: ChromiumOptions, mentions: Mentions, eventually: Eventually
) -> None:
    up: asyncio.Future[Path] = asyncio.get_running_loop().create_future()

    async def browse() -> None:
        async with launch_chromium(options) as chromium:
            up.set_result(chromium.profile)
            await asyncio.sleep(60)

    task = asyncio.create_task(browse())
    profile = await up
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await eventually(60, lambda: mentions(profile) == [] and nothing_is_left(options))


async def test_two_browsers_at_once_share_nothing(options: ChromiumOptions) -> None:
    async with launch_chromium(options) as first, launch_chromium(options) as second:
        assert first.profile != second.profile
        assert first.ws_url != second.ws_url
        first.kill()
        await first.wait_closed()
        assert (await version(second.cdp_url))["webSocketDebuggerUrl"] == second.ws_url


async def test_a_browser_that_dies_midway_is_noticed(options: ChromiumOptions) -> None:
    async with launch_chromium(options) as chromium:
        assert chromium.pid is not None
        os.kill(chromium.pid, signal.SIGSEGV)
        assert await asyncio.wait_for(chromium.wait_closed(), 60) == -signal.SIGSEGV
        assert not chromium.alive
        with pytest.raises(BrowserError, match=r"died \(exit code -11\)"):
            chromium.check_alive()


async def test_kill_ends_the_whole_group_without_asking(
    options: ChromiumOptions, mentions: Mentions, eventually: Eventually
) -> None:
    async with launch_chromium(options) as chromium:
        chromium.kill()
        assert await asyncio.wait_for(chromium.wait_closed(), 60) == -signal.SIGKILL
        assert await eventually(60, lambda: mentions(chromium.profile) == [])


async def test_a_stopped_browser_is_killed_when_it_does_not_close_in_time(
    options: ChromiumOptions, mentions: Mentions, eventually: Eventually
) -> None:
    impatient = ChromiumOptions(temporary_root=options.temporary_root, close_s=0.2)
    async with launch_chromium(impatient) as chromium:
        assert chromium.pid is not None
        os.kill(chromium.pid, signal.SIGSTOP)
    assert chromium.exit_code == -signal.SIGKILL
    assert await eventually(60, lambda: mentions(chromium.profile) == [])


async def test_chromium_ends_when_its_supervisor_is_killed(
    options: ChromiumOptions, mentions: Mentions, eventually: Eventually
) -> None:
    async with launch_chromium(options) as chromium:
        assert chromium.pid is not None
        os.kill(parent_of(chromium.pid), signal.SIGKILL)
        await asyncio.wait_for(chromium.wait_closed(), 60)
        assert await eventually(60, lambda: mentions(chromium.profile) == [])
    assert nothing_is_left(options)


def parent_of(pid: int) -> int:
    done = os.popen(f"ps -o ppid= -p {pid}")  # noqa: S605
    with done:
        return int(done.read())


async def test_what_chromium_prints_is_kept_within_bounds(
    options: ChromiumOptions, program: Callable[[str], Path]
) -> None:
    noisy = program("i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done; exit 7")
    with pytest.raises(BrowserError) as caught:
        async with launch_chromium(with_executable(options, noisy)):
            pytest.fail("it never answers")
    assert "ended while it started (exit code 7)" in str(caught.value)
    assert str(caught.value).endswith("line 2999")
    assert len(str(caught.value)) < 1000


async def test_a_browser_that_never_answers_is_given_up_and_ended(
    options: ChromiumOptions,
    program: Callable[[str], Path],
    mentions: Mentions,
    eventually: Eventually,
) -> None:
    mute = program("echo waiting for nothing >&2; exec sleep 300")
    with pytest.raises(
        BrowserError, match=r"answer within 8 s; the end of its log:\n  waiting for"
    ):
        async with launch_chromium(with_executable(options, mute, startup_s=8)):
            pytest.fail("it never answers")
    root = options.temporary_root
    assert root is not None
    assert await eventually(60, lambda: mentions(root) == [])
    assert nothing_is_left(options)


async def test_a_file_that_is_no_program_is_a_clear_error(
    options: ChromiumOptions, tmp_path: Path
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a program", encoding="utf-8")
    with pytest.raises(BrowserError, match=r"cannot be started: .*[Pp]ermission denied"):
        async with launch_chromium(with_executable(options, text)):
            pytest.fail("it cannot start")
    assert nothing_is_left(options)


def with_executable(
    options: ChromiumOptions, path: Path, startup_s: float = 60.0
) -> ChromiumOptions:
    return ChromiumOptions(
        executable=path, temporary_root=options.temporary_root, startup_s=startup_s, close_s=0.2
    )
