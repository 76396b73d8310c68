"""Everything that a child process may do wrong, and what follows for who talks with it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.child_process import (
    ChildGoneError,
    FrameError,
    SpawnedProcess,
    blocking,
    decode_line,
    encode_line,
)
from bench_core.child_process.framing import MAX_LINE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import TypeAlias

    Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and groups are POSIX's")

BEGINNING = """
import os, signal, subprocess, sys, time

def say(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()

def leave(**options):
    command = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    print(subprocess.Popen(command, **options).pid, file=sys.stderr, flush=True)
"""
ANSWER = """
sys.stdin.buffer.readline()
say(b'{"type": "answer"}\\n')
"""
SLEEP = "\ntime.sleep(600)"
LONG_S = 100.0
SHORT_S = 1.0


async def in_this_loop(work: Coroutine[Any, Any, Any]) -> Any:
    return await work


async def in_the_shared_loop(work: Coroutine[Any, Any, Any]) -> Any:
    return await asyncio.to_thread(blocking, work)


@pytest.fixture(params=[in_this_loop, in_the_shared_loop])
def run(request: pytest.FixtureRequest) -> Run:
    """The two ways to use a child process: by a coroutine, and by code without an event loop."""
    way: Run = request.param
    return way


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench_core.child_process.process._DRAIN_S", 0.5)
    monkeypatch.setattr("bench_core.child_process.process._EXIT_S", 0.5)


def started(program: str) -> Coroutine[Any, Any, SpawnedProcess]:
    return SpawnedProcess.start([sys.executable, "-S", "-c", BEGINNING + program])


def ends(pid: int) -> bool:
    """Whether a process is gone, or is soon: it has been killed."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in {"Z", "X"}:
            return True
        time.sleep(0.05)
    return False


WRONG = {
    "too long a line": (
        f"say(b'x' * {MAX_LINE + 2})" + SLEEP,
        "broke the protocol: .* longer than",
    ),
    "no JSON": ("say(b'\\x80garbage\\n')" + SLEEP, "broke the protocol: not a message"),
    "no object": ("say(b'[1]\\n')" + SLEEP, "broke the protocol: not a message"),
    "no type": ("say(b'{\"kind\": 1}\\n')" + SLEEP, "broke the protocol: not a message"),
    "a type that is no text": ("say(b'{\"type\": 1}\\n')" + SLEEP, "broke the protocol: not a"),
    "too deep": ("say(b'[' * 100_000 + b'\\n')" + SLEEP, "broke the protocol: not a message"),
    "ends in a line": ('say(b\'{"type": "answ\'); sys.exit(3)', "^ended with exit code 3$"),
    "dies in a line": ("say(b'{'); os.kill(os.getpid(), signal.SIGKILL)", "was ended by SIGKILL"),
    "ends": ("sys.exit(0)", "^ended with exit code 0$"),
    "fails": ("sys.exit('no room')", "^ended with exit code 1; its last lines:\nno room$"),
    "hangs up": ("os.close(1)" + SLEEP, "^hung up$"),
    "hangs up in a line": ("say(b'{'); os.close(1)" + SLEEP, "^hung up$"),
}
LATE = {
    "sleeps": "time.sleep(600)",
    "stops in a line": "say(b'{\"type\"')" + SLEEP,
    "ignores signals": "signal.signal(signal.SIGTERM, signal.SIG_IGN)" + SLEEP,
    "is stopped": "os.kill(os.getpid(), signal.SIGSTOP)" + SLEEP,
    "floods standard error": "while True: sys.stderr.write('x' * 100_000)",
}


@pytest.mark.parametrize(("program", "reason"), WRONG.values(), ids=WRONG)
async def test_a_process_that_does_not_answer_well_is_ended_with_the_cause(
    run: Run, program: str, reason: str
) -> None:
    process = await run(started(program))
    with pytest.raises(ChildGoneError, match=reason) as raised:
        await run(process.ask(encode_line("question"), LONG_S))
    assert not raised.value.is_late
    assert ends(process.pid)


@pytest.mark.parametrize("program", LATE.values(), ids=LATE)
async def test_a_process_that_does_not_answer_in_time_is_ended(run: Run, program: str) -> None:
    process = await run(started(program))
    # more than a pipe takes: none of them reads it
    with pytest.raises(ChildGoneError, match="did not answer within 1 s") as raised:
        await run(process.ask(encode_line("question", text="x" * (4 << 20)), SHORT_S))
    assert raised.value.is_late
    assert raised.value.exit.code == -signal.SIGKILL
    assert ends(process.pid)


async def test_a_flood_of_standard_error_holds_up_no_answer_and_is_kept_in_part(run: Run) -> None:
    flood = "sys.stderr.write('first' + 'x' * 3_000_000 + 'last')"
    process = await run(started(flood + ANSWER))
    assert await run(process.ask(encode_line("question"), LONG_S)) == {"type": "answer"}
    output = (await run(process.ended())).output
    assert output.startswith("firstx")
    assert output.endswith("xlast")
    assert "bytes left out" in output
    assert len(output) < 300_000


@pytest.mark.parametrize("options", ["", "start_new_session=True"], ids=["group", "session"])
async def test_nobody_waits_for_others_that_hold_the_pipes(run: Run, options: str) -> None:
    process = await run(started(f"leave({options}); sys.exit(5)"))
    with pytest.raises(ChildGoneError, match="ended with exit code 5") as raised:
        await run(process.ask(encode_line("question"), LONG_S))
    left = int(raised.value.exit.output)
    if options:
        os.kill(left, signal.SIGKILL)  # what is in a session of its own is ended by who knows of it
    else:
        assert ends(left)


async def test_a_process_ends_with_what_is_in_its_group(run: Run) -> None:
    process = await run(started("leave()" + ANSWER + SLEEP))
    await run(process.ask(encode_line("question"), LONG_S))
    process.kill()
    process.kill()
    ended = await run(process.ended())
    assert ended.code == -signal.SIGKILL
    assert ends(int(ended.output))


async def test_what_was_written_before_the_end_can_still_be_read() -> None:
    process = await started('say(b\'{"type": "last"}\\n\' * 3); sys.exit(0)')
    await process.ended()
    frames = [await process.receive() for _ in range(4)]
    assert frames == [{"type": "last"}] * 3 + [None]
    assert not process.alive
    process.send(encode_line("nobody reads this"))
    process.hang_up()


async def test_a_process_reads_the_end_when_its_parent_hangs_up() -> None:
    process = await started("sys.exit(len(sys.stdin.read()))")
    process.send(b"four")
    process.hang_up()
    assert (await process.ended()).code == 4


async def test_the_wait_for_an_end_goes_on_when_it_is_cancelled_twice() -> None:
    process = await started(SLEEP)
    for _ in range(2):
        waiting = asyncio.ensure_future(process.ended())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert not await process.ends_within(0.01)
    process.kill()
    assert (await process.ended()).code == -signal.SIGKILL


async def test_a_question_that_is_cancelled_ends_the_process_that_has_it() -> None:
    process = await started(SLEEP)
    asking = asyncio.ensure_future(process.ask(encode_line("question")))
    await asyncio.sleep(0.1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await process.ended()).code == -signal.SIGKILL


def test_a_process_is_killed_with_the_loop_that_started_it() -> None:
    process = asyncio.run(started(SLEEP))
    assert ends(process.pid)


def test_a_program_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        blocking(SpawnedProcess.start(["/no/such/program"]))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(kind=st.text(), value=VALUES)
def test_a_line_is_read_as_it_was_written(kind: str, value: Any) -> None:
    line = encode_line(kind, value=value)
    assert line.count(b"\n") == 1
    assert decode_line(line) == {"type": kind, "value": value}


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_are_a_message_or_refused(line: bytes) -> None:
    try:
        frame = decode_line(line)
    except FrameError:
        return
    assert isinstance(frame["type"], str)


@pytest.mark.parametrize("value", [object(), "x" * MAX_LINE], ids=["no JSON", "too long"])
def test_what_is_no_line_is_not_sent(value: object) -> None:
    with pytest.raises(FrameError):
        encode_line("answer", value=value)
