"""Whether a client of a served session ever gets a final frame with a reward where a part of its world was killed.

Each world is served by `bench-core serve --openenv`: Windows Agent Arena's over a desktop and an evaluator that are
programs of their own, Multi-REAL's and WebArena's in Chromium. By seed one part is killed, at a moment that is drawn:
before or while the episode begins, between its steps, or before its end, when there is nothing left but to score it.
The law: the last frame is an error, and the episode after it begins in a world that is whole again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from websockets.sync.client import connect

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from integration_tests.served_sessions import (  # noqa: E402
    ENDED,
    LATE_S,
    TOKEN,
    below,
    served_process,
)

from waa_server_ext.built_in import SimulatedDesktopWorld  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACES = ("before the reset", "in the reset", "before a step", "before the end")
LONGEST_DELAY_S = 1.0
HOST = "127.0.0.1"
STEP = {"kind": "wait", "seconds": 0}
BIN = Path(sys.executable).parent


class Rig(ABC):
    """A served world of which a part can be killed."""

    benchmark = ""
    task = ""
    parts: tuple[str, ...] = ()
    places = PLACES

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.url, self.server = stack.enter_context(served_process(self.benchmark, *self.options()))

    def options(self) -> tuple[str, ...]:
        """Return the options of `bench-core serve`."""
        return ()

    @abstractmethod
    def kill(self, part: str) -> None:
        """Kill a part."""

    def mend(self) -> None:  # noqa: B027  # most need nothing
        """Start again what has been killed and does not start by itself."""

    @contextmanager
    def session(self) -> Iterator[Any]:
        where = self.url.replace("http://", "ws://") + "/ws"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with connect(
            where, additional_headers=headers, proxy=None, open_timeout=LATE_S,
            ping_interval=None, max_size=None,
        ) as found:  # fmt: skip
            yield found


class BrowserRig(Rig):
    parts = ("browser",)
    # before, there is none: it begins with the first episode of its session
    places = PLACES[1:]

    def kill(self, part: str) -> None:
        del part
        end = time.monotonic() + LATE_S
        # what a session starts first only tries how files can be hidden from the browser
        while not any(map(_is_browser, below(self.server.pid))) and time.monotonic() < end:
            time.sleep(0.02)
        for each in below(self.server.pid):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)


class CloneRig(BrowserRig):
    benchmark = "multireal"
    task = "multi.calendar-travel-1"


class SiteRig(BrowserRig):
    benchmark = "webarena"
    task = "44"


class DesktopRig(Rig):
    benchmark = "waa"
    task = min(SimulatedDesktopWorld.solutions())
    parts = ("desktop", "evaluator")

    def __init__(self, stack: ExitStack) -> None:
        self.ports = {part: _free_port() for part in self.parts}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.folder = str(SimulatedDesktopWorld().tasks_folder())
        self.cache = stack.enter_context(tempfile.TemporaryDirectory())
        stack.callback(self.end)
        self.mend()
        super().__init__(stack)

    def options(self) -> tuple[str, ...]:
        desktop, evaluator = (f"http://{HOST}:{port}" for port in self.ports.values())
        return (
            "--world", "real", "--option", f"vms={json.dumps([desktop])}",
            "--option", f"evaluators={json.dumps([evaluator])}",
            "--option", f"tasks_dir={self.folder}",
        )  # fmt: skip

    def kill(self, part: str) -> None:
        self.running[part].kill()
        self.running[part].wait()

    def mend(self) -> None:
        port, other = self.ports["desktop"], self.ports["evaluator"]
        commands = {
            "desktop": ["simulate", "--port", str(port)],
            "evaluator": ["serve", "--vm", f"{HOST}:{port}", "--port", str(other),
                          "--tasks-dir", self.folder, "--offline", "--cache", self.cache],
        }  # fmt: skip
        for part, command in commands.items():
            running = self.running.get(part)
            if running is None or running.poll() is not None:
                self.running[part] = subprocess.Popen(
                    [BIN / "waa-server-ext", *command], stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )  # fmt: skip
        for each in self.ports.values():
            _wait_for(each)

    def end(self) -> None:
        for each in self.running.values():
            each.kill()
            each.wait()


RIGS: tuple[type[Rig], ...] = (DesktopRig, DesktopRig, DesktopRig, CloneRig, SiteRig)


def _is_browser(pid: int) -> bool:
    try:
        return "chrom" in Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").lower()
    except OSError:  # it has ended
        return False


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as found:
        port: int = found.getsockname()[1]
    return port


def _wait_for(port: int) -> None:
    end = time.monotonic() + LATE_S
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection((HOST, port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")


def play(rig: Rig, draw: random.Random) -> tuple[str, str, list[dict[str, Any]]]:
    """Play an episode in which a part is killed; return the part, the place and the frames."""
    part, place = draw.choice(rig.parts), draw.choice(rig.places)
    delay_s, step = draw.uniform(0.0, LONGEST_DELAY_S), draw.randrange(3)
    frames: list[dict[str, Any]] = []
    with rig.session() as client:

        def ask(kind: str, data: dict[str, Any]) -> None:
            if not frames or frames[-1]["type"] != "error":
                client.send(json.dumps({"type": kind, "data": data}))
                frames.append(json.loads(client.recv(LATE_S)))

        timer = threading.Timer(delay_s, rig.kill, (part,))
        if place == PLACES[0]:
            rig.kill(part)
        if place == PLACES[1]:
            timer.start()
        ask("reset", {"task": rig.task, "view": "elements"})
        if place == PLACES[1]:
            timer.join()
        for number in range(3):
            if place == PLACES[2] and number == step:
                rig.kill(part)
            ask("step", STEP)
        if place == PLACES[3]:
            rig.kill(part)
        ask("step", ENDED)
    return part, place, frames


def main() -> int:
    """Run the campaign and return the exit code: 1 where a frame broke the law."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200, help="faults in all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seeds, lock = count(options.seed), threading.Lock()
    last = options.seed + options.times
    seen: Counter[str] = Counter()

    def work(kind: type[Rig]) -> None:
        with ExitStack() as stack:
            rig = kind(stack)
            while True:
                with lock:
                    seed = next(seeds)
                if seed >= last:
                    return
                began = time.monotonic()
                part, place, frames = play(rig, random.Random(seed))  # no secret
                rig.mend()
                said = frames[-1]
                final = [each for each in frames if each["data"].get("done")]
                kind_of = said["data"].get("failure_kind", "-") if said["type"] == "error" else "-"
                wrong = bool(final) or said["type"] != "error"
                with lock:
                    seen["faults"] += 1
                    seen[f"{rig.benchmark}: {part} {place}"] += 1
                    seen["final frames with a reward"] += len(final)
                    seen["broken"] += wrong
                print(  # a campaign's report
                    f"seed {seed:4} {rig.benchmark:10} {part:9} {place:16} "
                    f"{time.monotonic() - began:5.1f} s  {kind_of:18} "
                    f"{'BROKEN ' + json.dumps(said)[:300] if wrong else 'error frame'}",
                    flush=True,
                )

    with ThreadPoolExecutor(len(RIGS)) as pool:
        for each in [pool.submit(work, kind) for kind in RIGS]:
            each.result()
    for name in sorted(set(seen) - {"faults", "final frames with a reward", "broken"}):
        print(f"{seen[name]:5} {name}")  # as above
    print(  # as above
        f"{seen['faults']} faults, {seen['final frames with a reward']} final frames with a reward, "
        f"{seen['broken']} broken"
    )
    return 1 if seen["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
