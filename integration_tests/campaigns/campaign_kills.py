"""Whether a run that is killed at any moment, or whose disk fails at any call, loses anything.

First the run's process, or one of its agents', is killed with SIGKILL at moments drawn by seed, and the
same command goes on. Then each write, sync, rename and creation below the run's folder fails once, or
from then on, as on a full disk (`failing_disk.c`, which needs a C compiler), and the same command goes on
without the fault. No result that was acknowledged may be lost or made twice, no state may be torn, no
dollar forgotten, and after the last session nothing may be left: no process, no temporary file.
"""

from __future__ import annotations

import argparse
import errno
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
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import crashing  # needs the path above

from bench_core import exit_codes  # same
from bench_core.run_folder import check_run, read_run  # same
from bench_core.runs import spent_before  # same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SHIM = Path(__file__).with_name("failing_disk.c")
OF_AN_AGENT = 0.3
"""The share of kills that meet an agent's process instead of the run's."""
OF_A_RUN = 50
"""How often one run is killed before the next one is begun."""


class Place:
    """A run's folder with what is beside it: ledger, acknowledgements and temporary files."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.run = folder / "run"
        self.ledger = folder / "ledger"
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.ledger.touch()
        self._command = [sys.executable, crashing.__file__, str(self.run), *options]

    def start(self, more: Mapping[str, str] = {}) -> subprocess.Popen[str]:  # never changed
        """Start or continue the run."""
        own = {crashing.LEDGER: str(self.ledger), "TMPDIR": str(self.temporary)}
        return subprocess.Popen(
            self._command,
            env=os.environ | own | dict(more),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def processes(self) -> list[int]:
        """Return the processes that work for the run."""
        sign = f"{crashing.LEDGER}={self.ledger}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if sign in (path / "environ").read_bytes().split(b"\0"):
                    found.append(int(path.name))
            except OSError:
                continue
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
        if not paid <= counted <= paid + kills:
            yield f"{counted} calls counted, {paid} in the ledger, {kills} kills"
        yield from self._left()

    def _left(self) -> Iterator[str]:
        end = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < end:
            time.sleep(0.05)
        yield from (f"process {pid} is left" for pid in left)
        yield from (f"{each} is left" for each in self.run.rglob("*.tmp"))
        yield from (f"{each} is left" for each in self.run.glob("stacks-*"))
        yield from (f"{each.name} is left in the folder of temporary files"
                    for each in self.temporary.iterdir())  # fmt: skip


def kill_at_random(folder: Path, times: int, chance: random.Random) -> list[str]:
    """Kill runs `times` times in all, let each end, and return what is broken."""
    broken: list[str] = []
    done = 0
    while done < times:
        kills, found = _kill(folder / str(done), min(OF_A_RUN, times - done), chance)
        done += max(kills, 1)
        broken += found
        # flushed: the whole takes hours
        print(f"{done} of {times} kills: {len(broken)} promises broken", flush=True)
    return broken


def _kill(folder: Path, times: int, chance: random.Random) -> tuple[int, list[str]]:
    # enough trials that the run is rarely done before its kills are, also on a busy machine
    place = Place(
        folder, "--honest", "20", "--trials", str(5 + times), "--workers", "3", "--pause", "0.2"
    )
    took = _until_first_result(place)
    killed = 0
    while killed < times:
        process = place.start()
        time.sleep(chance.uniform(0, 2 * took))
        agents = [pid for pid in place.processes() if pid != process.pid]
        victim = chance.choice(agents) if agents and chance.random() < OF_AN_AGENT else process.pid
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
        else:
            killed += 1
        if victim != process.pid:
            time.sleep(chance.uniform(0, 0.5))
            process.kill()
        process.communicate()
        if not read_run(place.run).remaining():
            break
    _, said = (last := place.start()).communicate()
    if last.returncode != exit_codes.OK:
        return killed, [f"the last session ended with {last.returncode}: {said[-500:]}"]
    return killed, list(place.broken(2 * killed))


def _until_first_result(place: Place) -> float:
    """Start the run, kill it after its first result, and return how long that took, in seconds."""
    began = time.monotonic()
    process = place.start()
    while not crashing.acknowledged(place.run) and process.poll() is None:
        time.sleep(0.01)
    took = time.monotonic() - began
    process.kill()
    process.communicate()
    return took


def fail_the_disk(folder: Path, every: int, chance: random.Random) -> tuple[int, list[str]]:
    """Fail one of `every` calls of a small run after the other; return how many, and what is broken."""
    shim = folder / "failing_disk.so"
    folder.mkdir()
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, SHIM, "-ldl"], check=True)
    calls = _fail(folder / "whole", shim, {})[0]
    broken, tried = [], 0
    for at in range(1 + chance.randrange(every), calls + 1, every):
        for code, lasting in ((errno.ENOSPC, "1"), (errno.EIO, "")):
            given = {"FAULT_AT": str(at), "FAULT_ERRNO": str(code), "FAULT_LASTING": lasting}
            _, found = _fail(folder / f"at-{at}-{code}", shim, given)
            broken += [f"call {at} of {calls}, {errno.errorcode[code]}: {each}" for each in found]
            tried += 1
    return tried, broken


def _fail(folder: Path, shim: Path, fault: Mapping[str, str]) -> tuple[int, list[str]]:
    """Run with a fault and then without; return the calls counted, and what is broken."""
    place = Place(folder, "--honest", "3", "--workers", "1")
    count = folder / "calls"
    count.touch()
    loaded = {"LD_PRELOAD": str(shim), "FAULT_BELOW": f"{place.run}/", "FAULT_COUNT": str(count)}
    first = place.start({**loaded, **fault})
    _, said = first.communicate(timeout=120)
    calls = count.stat().st_size
    if not fault:
        return calls, []
    problems = []
    if "Traceback" in said:
        problems.append(f"a fault of ours: {said[-500:]}")
    last = place.start()
    _, said = last.communicate(timeout=120)
    if last.returncode != exit_codes.OK:
        problems.append(f"cannot go on, {last.returncode}: {said[-500:]}")
    else:
        problems += place.broken(1)
    shutil.rmtree(folder)
    return calls, problems


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=2000, help="kills")
    parser.add_argument("--every", type=int, default=1, help="fail one of so many calls")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)  # not cryptography
    with tempfile.TemporaryDirectory() as place:
        broken = kill_at_random(Path(place) / "kills", asked.times, chance) if asked.times else []
        print(f"{asked.times} kills, seed {asked.seed}: {len(broken)} promises broken")
        tried, found = fail_the_disk(Path(place) / "disk", asked.every, chance)
        print(f"{tried} failing calls of the disk, seed {asked.seed}: {len(found)} promises broken")
    for each in [*broken, *found]:
        print(f"broken: {each}")
    return 1 if broken or found else 0


if __name__ == "__main__":
    raise SystemExit(main())
