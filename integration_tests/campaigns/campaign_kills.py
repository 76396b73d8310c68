"""Whether a run that is killed at any moment, or whose disk fails at any call, loses anything.

First the run's process, and those of its agents, are killed with SIGKILL at moments drawn by seed, and the
same command goes on. Then each write, sync, rename and creation below the run's folder fails once, or
from then on, as on a full disk (`failing_disk.c`, which needs a C compiler), and the same command goes on
without the fault. No result that was acknowledged may be lost or made twice, no state may be torn, no
dollar forgotten, and after the last session nothing may be left: no process, no temporary file.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import itertools
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import crashing  # needs the path above
from forked_runs import ForkedRun, InterpreterPool  # same

from bench_core import exit_codes  # same
from bench_core.run_folder import check_run, read_run  # same
from bench_core.runs import spent_before  # same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHIM = Path(__file__).with_name("failing_disk.c")
AGENTS_KILLED = (0, 0, 1, 2)
"""How many processes of agents are killed in a session before the run's own is, each as probable."""
OF_A_RUN = 25
"""How often one run is killed before the next one is begun."""
WORKERS = 3
SLOWLY = {crashing.PAUSE: "0.1"}
"""Trials last long enough that a kill meets some of them."""
OF_AN_AGENT = "of a process for agents"
ENDED = {exit_codes.OK, exit_codes.FELL_SHORT}
DOES_NOT_START = (
    "an agent's process did not start",
    "agents are forked from does not start",
    "cannot be loaded: its process was ended by SIGKILL",
    "cannot be loaded: its process ended together with its supervisor",
)
"""What a run says, rightly, where a process for agents is killed while the run asks what its agent is."""
EVER = "1000"
"""So many attempts that no trial is given up: what ends their processes is this campaign."""


class Found(NamedTuple):
    """What part of the campaign did, and the promises it found broken."""

    done: Mapping[str, int]
    broken: list[str]


class Place:
    """A run's folder with what is beside it: ledger, acknowledgements and temporary files."""

    def __init__(self, folder: Path, interpreters: InterpreterPool, *options: str) -> None:
        self._folder = folder
        self._interpreters = interpreters
        self.run = folder / "run"
        self.ledger = folder / "ledger"
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.ledger.touch()
        self._options = options

    def start(self, more: Mapping[str, str] = {}) -> ForkedRun:  # never changed
        """Start or continue the run."""
        own = {crashing.LEDGER: str(self.ledger), "TMPDIR": str(self.temporary)}
        # a machine that is busy may hold up a loop for long
        arguments = [str(self.run), "--loop-block", "60", *self._options]
        return ForkedRun(arguments, own | dict(more), self._folder, self._interpreters)

    def processes(self) -> list[int]:
        """Return the processes of the run: all of them work in its folder."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (path / "cwd").readlink() == self._folder:
                    found.append(int(path.name))
        return found

    def broken(self, kills: int) -> Iterator[str]:
        """Yield what is not as it should be after the last session."""
        view = read_run(self.run)
        yield from (f"check: {problem}" for problem in check_run(self.run).problems)
        yield from (f"{key} has no result" for key in view.remaining())
        said = [each for each in crashing.acknowledged(self.run) if each.scored]
        for trial, times in Counter((each.task_id, each.trial) for each in said).items():
            if times > 1:
                yield f"{trial} was finished {times} times"
        stored = {(key.task_id, key.trial): each for key, each in view.results.items()}
        for each in said:
            if stored[each.task_id, each.trial].score != each.score:
                yield f"{each} is not what was stored"
        paid = len(self.ledger.read_bytes().splitlines())
        counted = round(spent_before(view).cost_usd / crashing.CALL_USD)
        # a call is written down before it goes into the ledger: each kill may come between
        if not paid <= counted <= paid + kills * WORKERS:
            yield f"{counted} calls counted, {paid} in the ledger, {kills} kills"
        yield from self._left()

    def _left(self) -> Iterator[str]:
        end = time.monotonic() + 30
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        yield from (f"process {pid} is left" for pid in left)
        yield from (f"{each} is left" for each in self.run.rglob("*.tmp"))
        yield from (f"{each} is left" for each in self.run.glob("stacks-*"))
        yield from (f"{each.name} is left in the folder of temporary files"
                    for each in self.temporary.iterdir() if not _of_python_itself(each))  # fmt: skip


def _of_python_itself(file: Path) -> bool:
    """Whether `tempfile` was killed between trying whether its folder can be written and removing the trial."""
    return file.is_file() and not file.suffix and file.read_bytes() in {b"", b"blat"}


def kill_at_random(job: tuple[Path, int, str]) -> Found:
    """Kill runs below a folder so many times in all, let each end, and say what is broken."""
    folder, times, seed = job
    chance = random.Random(seed)  # not cryptography
    kills: Counter[str] = Counter()
    broken: list[str] = []
    interpreters = InterpreterPool()
    for number in itertools.count():
        if kills.total() >= times:
            break
        place = folder / str(number)
        done, found = _kill(place, times - kills.total(), chance, interpreters)
        kills += done
        broken += [f"{place.relative_to(folder.parent)}: {each}" for each in found]
        if not found:
            shutil.rmtree(place)
    interpreters.close()
    return Found(kills, broken)


def _kill(folder: Path, times: int, chance: random.Random, interpreters: InterpreterPool) -> Found:
    # some ten trials a session: enough that most runs are killed as often as they should be
    options = ("--honest", "10", "--trials", str(2 + times), "--workers", str(WORKERS))
    place = Place(folder, interpreters, *options, "--attempts", EVER)
    took = _until_first_result(place)
    kills: Counter[str] = Counter()
    while kills.total() < times:
        run = place.start(SLOWLY)
        length = chance.uniform(0, 2 * took)
        moments = sorted(chance.uniform(0, length) for _ in range(chance.choice(AGENTS_KILLED)))
        began, before = time.monotonic(), kills[OF_AN_AGENT]
        for moment in moments:
            _sleep_until(began + moment)
            kills[OF_AN_AGENT] += _kill_an_agent(place, run, chance)
        _sleep_until(began + length)
        kills["of the run's process"] += run.kill()
        if run.wait() in ENDED:
            break
        if run.wait() != -signal.SIGKILL and not _refused_rightly(run, before, kills):
            return Found(kills, [f"a session ended with {run.wait()}: {run.printed()[-2000:]}"])
    last = place.start()
    if last.wait() != exit_codes.OK:
        return Found(
            kills, [f"the last session ended with {last.wait()}: {last.printed()[-2000:]}"]
        )
    return Found(kills, list(place.broken(kills.total())))


def _refused_rightly(run: ForkedRun, before: int, kills: Counter[str]) -> bool:
    said = run.printed()
    refused = run.wait() == exit_codes.USAGE and any(each in said for each in DOES_NOT_START)
    return refused and kills[OF_AN_AGENT] > before


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


def _kill_an_agent(place: Place, run: ForkedRun, chance: random.Random) -> bool:
    """Kill one of the processes in which agents work, which fork or watch them; False where there is none."""
    agents = [each for each in place.processes() if each != run.pid]
    if not agents:
        return False
    try:
        os.kill(chance.choice(agents), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _until_first_result(place: Place) -> float:
    """Start the run, kill it after its first result, and return how long that took, in seconds."""
    began = time.monotonic()
    run = place.start(SLOWLY)
    while not crashing.acknowledged(place.run) and run.code() is None:
        time.sleep(0.01)
    took = time.monotonic() - began
    run.kill()
    return took


def fail_the_disk(job: tuple[Path, int, int]) -> Found:
    """Fail one call of a small run, by its number, with an error; a full disk stays full."""
    folder, at, code = job
    lasting = "1" if code == errno.ENOSPC else ""
    given = {"FAULT_AT": str(at), "FAULT_ERRNO": str(code), "FAULT_LASTING": lasting}
    name = errno.errorcode[code]
    _, found = _fail(folder, given)
    return Found({name: 1}, [f"call {at}, {name}: {each}" for each in found])


def _fail(folder: Path, fault: Mapping[str, str]) -> tuple[int, list[str]]:
    """Run with a fault and then without; return the calls counted, and what is broken."""
    interpreters = InterpreterPool()
    place = Place(folder, interpreters, "--honest", "3", "--workers", "1")
    count = folder / "calls"
    count.touch()
    first = place.start({"FAULT_BELOW": f"{place.run}/", "FAULT_COUNT": str(count), **fault})
    ended, said = first.wait(), first.printed()
    calls = count.stat().st_size
    problems: list[str] = []
    if not fault:
        interpreters.close()
        return calls, problems
    if ended < 0 or "Traceback" in said:
        problems.append(f"a fault of ours, {ended}: {said[-2000:]}")
    last = place.start()
    if last.wait() != exit_codes.OK:
        problems.append(f"cannot go on, {last.wait()}: {last.printed()[-2000:]}")
    else:
        problems += place.broken(1)
    interpreters.close()
    if not problems:
        shutil.rmtree(folder)
    return calls, problems


def kill_half(place: Path, asked: argparse.Namespace) -> list[str]:
    """Kill until it was done as often as asked, and return what is broken."""
    jobs = [
        (place / f"kills-{n}", min(OF_A_RUN, asked.times - n), f"{asked.seed} {n}")
        for n in range(0, asked.times, OF_A_RUN)
    ]
    kills: Counter[str] = Counter()
    broken: list[str] = []
    with multiprocessing.get_context("fork").Pool(asked.lanes) as pool:
        for done, found in pool.imap_unordered(kill_at_random, jobs):
            kills.update(done)
            broken += found
            # flushed: the whole takes long
            print(
                f"{kills.total()} of {asked.times} kills: {len(broken)} promises broken", flush=True
            )
            for each in found:
                print(f"broken: {each}", flush=True)
    print(
        f"{kills.total()} kills ({_listed(kills)}), seed {asked.seed}: {len(broken)} promises broken"
    )
    return broken


def disk_half(place: Path, asked: argparse.Namespace) -> list[str]:
    """Fail one of every so many calls, and return what is broken; this process has the shim loaded."""
    total, _ = _fail(place / "whole", {})
    chance = random.Random(asked.seed)  # not cryptography
    jobs = [
        (place / f"at-{at}-{code}", at, code)
        for at in range(1 + chance.randrange(asked.every), total + 1, asked.every)
        for code in (errno.ENOSPC, errno.EIO)
    ]
    tried: Counter[str] = Counter()
    broken: list[str] = []
    with multiprocessing.get_context("fork").Pool(asked.lanes) as pool:
        for done, found in pool.imap_unordered(fail_the_disk, jobs):
            tried.update(done)
            broken += found
            for each in found:
                print(f"broken: {each}", flush=True)
            if tried.total() % 50 == 0:
                print(
                    f"{tried.total()} of {len(jobs)} failing calls: {len(broken)} promises broken",
                    flush=True,
                )
    print(f"{tried.total()} failing calls of the disk ({_listed(tried)}), each of {total} calls with "
          f"every error where not fewer were asked for, seed {asked.seed}: {len(broken)} promises broken")  # fmt: skip
    return broken


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def _with_shim(place: Path, asked: argparse.Namespace) -> int:
    """Run the half with the failing disk in a process that has the shim loaded; return its exit code."""
    shim = place / "failing_disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, SHIM, "-ldl"], check=True)
    options = [
        "--seed",
        asked.seed,
        "--every",
        asked.every,
        "--lanes",
        asked.lanes,
        "--disk",
        place,
    ]
    command = [sys.executable, __file__, *map(str, options)]
    return subprocess.run(
        command, env=os.environ | {"LD_PRELOAD": str(shim)}, check=False
    ).returncode


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2000, help="kills")
    parser.add_argument(
        "--every", type=int, default=1, help="fail one of so many calls; 0 for none"
    )
    parser.add_argument("--lanes", type=int, default=2, help="runs at once")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a new folder, in which broken runs stay")
    parser.add_argument("--disk", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.disk is not None:
        return 1 if disk_half(asked.disk, asked) else 0
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary) if asked.keep is None else asked.keep.resolve()
        place.mkdir(exist_ok=True)
        broken = bool(kill_half(place, asked)) if asked.times else False
        if asked.every:
            broken = bool(_with_shim(place, asked)) or broken
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
