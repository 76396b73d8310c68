"""Whether a run by workers loses anything when workers, nodes and its own process are killed or stopped.

Quick trials run on workers over pipes or, with `--nodes`, on that many nodes of a Ray cluster on this machine.
At moments drawn by seed a worker is killed or stopped, the run's own process is killed and started again, or a
node is, or it is cut off from the head for some seconds by a proxy between them. No result may be lost or committed
twice, no two attempts may act on what one has alone, no lease may be left after its time, and a minute after the end
no process.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))

from bench_core.run_folder import check_run, read_run  # noqa: E402  # needs the path above

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

MARK = "PROCTOR_CAMPAIGN_MARK"
LEFT_S = 60.0
LONGEST_CUT_S = 20.0
SILENT_S = 60.0
"""So long after a cut its node may still be one of which nobody knows whether it lives."""
LEASE_S = 120.0
"""After so long others get what a run had that is gone."""
LATE_S = 5.0
DIED = "was ended by SIGKILL"
WORKER, RAYLET = b"worker-process", b"raylet/raylet"


class Wire:
    """Passes a node's connections to the head of its cluster on, and can sever them all for a while.

    It is a process of its own: Ray's start of a node waits for the head without letting other threads run.
    """

    def __init__(self, head: str) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._orders, orders = spawn.Pipe()
        self._process = spawn.Process(target=_Relay.obey, args=(head, orders), daemon=True)
        self._process.start()
        self.address: str = self._orders.recv()

    def sever(self, seconds: float) -> None:
        """End all connections, and let none begin for so long."""
        self._orders.send(seconds)

    def close(self) -> None:
        """End all connections for ever."""
        self._process.kill()
        self._process.join()


class _Relay:
    def __init__(self, head: str) -> None:
        host, _, port = head.rpartition(":")
        self._head = (host, int(port))
        self._severed_until = 0.0
        self._open: set[socket.socket] = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @classmethod
    def obey(cls, head: str, orders: Connection) -> None:
        relay = cls(head)
        orders.send(f"127.0.0.1:{relay.listener.getsockname()[1]}")
        with contextlib.suppress(EOFError):
            while True:
                relay.sever(orders.recv())

    def sever(self, seconds: float) -> None:
        self._severed_until = time.monotonic() + seconds
        for each in tuple(self._open):
            _end(each)

    def _serve(self) -> None:
        while True:
            client, _ = self.listener.accept()
            if time.monotonic() < self._severed_until:
                client.close()
            else:
                threading.Thread(target=self._join, args=(client,), daemon=True).start()

    def _join(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), socket.create_connection(self._head) as head:
            both = {client, head}
            self._open |= both
            back = threading.Thread(target=_pump, args=(head, client), daemon=True)
            back.start()
            _pump(client, head)
            back.join()
            self._open -= both


class Cluster:
    """Nodes of Ray on this machine, each with room for some workers and a wire of its own to the head."""

    def __init__(self, nodes: int, room: int) -> None:
        os.environ |= {
            "RAY_worker_niceness": "0",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        from ray.cluster_utils import Cluster as Nodes  # reads them

        self._node = {"num_cpus": 1, "resources": {"proctor": room}}
        self._started = 0
        # the head is not killed: without it there is no cluster
        head = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "include_dashboard": False}
        self._nodes = Nodes(initialize_head=True, head_node_args=head)
        self.address = self._nodes.address
        self._workers = [self._new_node() for _ in range(nodes)]
        self._nodes.wait_for_nodes(120)

    def _new_node(self) -> tuple[Any, Wire]:
        """Start a node with an address of its own: a run joins a node of its own machine's, which is the head."""
        self._started += 1
        address = f"127.0.{self._started // 250}.{2 + self._started % 250}"
        wire = Wire(self.address)
        node = self._nodes.add_node(gcs_address=wire.address, node_ip_address=address, **self._node)
        return node, wire

    def kill_node(self, chance: random.Random) -> None:
        """Kill a node's daemon and start another node."""
        node, wire = self._workers.pop(chance.randrange(len(self._workers)))
        self._nodes.remove_node(node, allow_graceful=False)
        wire.close()
        self._workers.append(self._new_node())

    def mend(self) -> None:
        """Start a node for each that Ray has given up, as it does with those that were cut off for long."""
        for each in tuple(self._workers):
            node, wire = each
            if any(kind == "raylet" for kind, _ in node.dead_processes()):
                self._workers.remove(each)
                with contextlib.suppress(Exception):  # of what is dead, Ray may not find all
                    self._nodes.remove_node(node, allow_graceful=False)
                wire.close()
                self._workers.append(self._new_node())

    def sever(self, seconds: float, chance: random.Random) -> None:
        """Cut a node off from the head for so long."""
        _, wire = chance.choice(self._workers)
        wire.sever(seconds)

    def leases(self) -> list[str]:
        """Return who holds anything."""
        command = [sys.executable, "-m", "bench_core.cli.main", "nodes", "doctor", "--json"]
        for _ in range(3):  # a node may have been lost just now
            answer = subprocess.run(
                [*command, "--address", self.address], capture_output=True, text=True, check=False
            )
            with contextlib.suppress(ValueError):
                return [each["owner"] for each in json.loads(answer.stdout)["leases"]]
            time.sleep(20)
        return [f"nobody knows whom: {answer.stderr[-500:]}"]

    def close(self) -> None:
        """End all nodes."""
        self._nodes.shutdown()


class Campaign:
    """One run, what is done to it, and what is broken then."""

    def __init__(self, place: Path, asked: argparse.Namespace, cluster: Cluster | None) -> None:
        self._place = place
        self._run = place / "run"
        self._cluster = cluster
        self._chance = random.Random(asked.seed)  # not cryptography
        self._asked = asked
        self._driver: subprocess.Popen[bytes]
        self.faults: Counter[str] = Counter()
        self._committed: dict[tuple[str, int], str] = {}
        self._stopped: list[int] = []
        self._killed: dict[int, float] = {}
        self._cut_until = 0.0
        self._run_killed = 0.0
        self._done: list[tuple[float, str]] = []

    def run(self) -> list[str]:
        """Run to the end, with faults between, and return what is broken."""
        self._start()
        broken: list[str] = []
        while self.faults.total() < self._asked.faults:
            self._pause()
            broken += self._look()
            if self._driver.poll() is not None:
                break
            self._fault()
        deadline = time.monotonic() + self._asked.most_s
        while self._driver.poll() is None and time.monotonic() < deadline:
            self._mend()
            time.sleep(0.5)
        if self._driver.poll() != 0:
            self._driver.kill()
            printed = (self._place / "driver.log").read_text("utf-8", "replace")[-3000:]
            return [*broken, f"the run ended with {self._driver.poll()}: {printed}"]
        return [*broken, *self._look(), *self._broken()]

    def _start(self) -> None:
        command = [sys.executable, str(HERE / "marking_runs.py"), str(self._place)]
        command += ["--tasks", str(self._asked.trials), "--workers", str(self._asked.workers)]
        if self._cluster is not None:
            command += ["--address", self._cluster.address]
        with (self._place / "driver.log").open("ab") as log:
            self._driver = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def _pause(self) -> None:
        """Let some trials end, so that faults meet a run that goes on."""
        wanted = len(self._committed) + self._chance.randrange(self._asked.every * 2)
        end = time.monotonic() + self._asked.most_s
        while time.monotonic() < end and self._driver.poll() is None:
            if sum(each["score"] is not None for each in self._results()) >= wanted:
                break
            time.sleep(0.1)
        time.sleep(self._chance.uniform(0.0, 0.5))

    def _mend(self) -> None:
        if self._cluster is not None:
            self._cluster.mend()

    def _fault(self) -> None:
        self._mend()
        kinds: dict[str, Callable[[], bool]] = {
            "worker killed": lambda: self._signal_worker(signal.SIGKILL),
            "worker stopped": lambda: self._signal_worker(signal.SIGSTOP),
            "run killed": self._kill_driver,
        }
        weights = [6, 1, 2]
        if self._cluster is not None:
            kinds |= {"node killed": self._kill_node, "node cut off": self._sever}
            # the leases of a run that was killed run out after two minutes, in which nothing goes on
            weights = [12, 1, 1, 1, 2]
        kind = self._chance.choices(list(kinds), weights)[0]
        self._done.append((time.time(), kind))
        self.faults[kind] += kinds[kind]()

    def _signal_worker(self, number: int) -> bool:
        workers = [pid for pid in self.processes() if WORKER in _command(pid)]
        if not workers:
            return False
        pid = self._chance.choice(workers)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            # who is cut off from a worker learns of its end when the node can be asked again
            if number == signal.SIGKILL and time.time() > self._cut_until:
                self._killed[pid] = time.time()
            return True
        return False

    def _kill_driver(self) -> bool:
        self._driver.kill()
        self._driver.wait()
        self._run_killed = time.time()
        self._mend()
        self._start()
        return True

    def _kill_node(self) -> bool:
        assert self._cluster is not None  # drawn only then
        self._cluster.kill_node(self._chance)
        return True

    def _sever(self) -> bool:
        assert self._cluster is not None  # as above
        seconds = self._chance.uniform(1.0, LONGEST_CUT_S)
        self._cut_until = time.time() + seconds + SILENT_S
        self._cluster.sever(seconds, self._chance)
        return True

    def processes(self) -> list[int]:
        """Return the processes that this campaign has started, directly or not, but for nodes of Ray."""
        mark = f"{MARK}={os.environ[MARK]}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if int(path.name) != os.getpid() and mark in (path / "environ").read_bytes():
                    found.append(int(path.name))
        return found

    def _results(self) -> Iterator[dict[str, Any]]:
        """Yield what is committed; the last line may be torn while it is written."""
        with contextlib.suppress(FileNotFoundError):
            for line in (self._run / "results.jsonl").read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    yield json.loads(line)

    def _look(self) -> Iterator[str]:
        """Yield what was committed before and is not any more, or was committed again."""
        now: dict[tuple[str, int], str] = {}
        for each in self._results():
            if each["score"] is None:
                continue
            key, token = (each["task_id"], each["trial"]), each["details"]["token"]
            if now.setdefault(key, token) != token:
                yield f"{key} was committed twice"
        yield from (
            f"{key} was committed and is lost or another's"
            for key, token in self._committed.items()
            if now.get(key) != token
        )
        self._committed |= now

    def _broken(self) -> Iterator[str]:
        yield from (f"check: {each}" for each in check_run(self._run).problems)
        view = read_run(self._run)
        yield from (f"{key} has no result" for key in view.remaining())
        yield from (
            f"{key} scored {each.score}" for key, each in view.results.items() if each.score != 1.0
        )
        if (clashes := self._place / "clashes").exists():
            yield from clashes.read_text().splitlines()
        yield from (f"{each} is left" for each in ("incoming",) if (self._run / each).exists())
        if self.faults["worker killed"] and not any(
            each.error is not None and DIED in each.error.message
            for result in view.results.values()
            for each in result.attempts
        ):
            yield "no attempt says that its worker was killed"
        yield from self._left()

    def attributed_s(self) -> list[tuple[float, list[str]]]:
        """Return, for each attempt whose worker was killed, the seconds until that was known, and what else was done."""
        found = []
        attempts = [one for each in read_run(self._run).results.values() for one in each.attempts]
        for each in attempts:
            message = "" if each.error is None else each.error.message
            for pid in map(int, re.findall(r"process (\d+)", message if DIED in message else "")):
                if pid in self._killed:
                    started = each.started.timestamp()
                    known = started + each.duration_s
                    # of a worker that was killed while it was idle, the next attempt learns
                    began = max(started, self._killed[pid])
                    others = [kind for at, kind in self._done if self._killed[pid] < at < known]
                    found.append((known - began, others))
        return sorted(found)

    def _left(self) -> Iterator[str]:
        end = time.monotonic() + LEFT_S
        while (left := self._left_now()) and time.monotonic() < end:
            time.sleep(0.5)
        yield from (f"process {pid} is left: {_command(pid)[:200]!r}" for pid in left)
        if self._cluster is not None:
            yield from (f"a lease of {owner} is left" for owner in self._leases(self._cluster))

    def _leases(self, cluster: Cluster) -> list[str]:
        """Return who holds anything when the leases of the run that was killed last must have run out."""
        while (owners := cluster.leases()) and time.time() < self._run_killed + LEASE_S + LATE_S:
            time.sleep(LATE_S)
        return owners

    def _left_now(self) -> list[int]:
        pids = self.processes()
        # the nodes, and the actor of the leases, stay until the cluster ends
        return [each for each in pids if self._cluster is None or WORKER in _command(each)
                or b"time.sleep(600)" in _command(each)]  # fmt: skip


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    _end(source)
    _end(sink)


def _end(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument(
        "--nodes", type=int, default=0, help="of a Ray cluster; 0 is workers over pipes"
    )
    parser.add_argument(
        "--every", type=int, default=0, help="trials between two faults, on the average"
    )
    parser.add_argument(
        "--most-s", type=float, default=1800.0, help="so long the run may take after the last"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a new folder, in which the run stays")
    asked = parser.parse_args()
    asked.every = asked.every or max(1, asked.trials // (asked.faults + 1))
    os.environ[MARK] = secrets.token_hex(8)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(HERE), os.environ.get("PYTHONPATH")])
    )
    with contextlib.ExitStack() as stack:
        if asked.keep is None:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        else:
            place = asked.keep.resolve()
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
        cluster = None
        if asked.nodes:
            try:
                cluster = Cluster(asked.nodes, -(-asked.workers // asked.nodes))
            except Exception as error:  # noqa: BLE001  # Ray raises what it likes
                print(f"skipped: no node of Ray starts here: {error}")
                return 0
            stack.callback(cluster.close)
        campaign = Campaign(place, asked, cluster)
        broken = campaign.run()
        seconds = campaign.attributed_s()
    for each in broken:
        print(f"broken: {each}")
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(campaign.faults.items()))
    where = f"{asked.nodes} nodes" if asked.nodes else "pipes"
    print(f"{asked.trials} trials, {where}, {campaign.faults.total()} faults ({listed}), seed {asked.seed}: "
          f"{len(broken)} promises broken")  # fmt: skip
    if seconds:
        late = [(took, others) for took, others in seconds if took > 1.0]
        print(f"{len(seconds)} attempts ended with their killed worker as the cause after "
              f"{seconds[len(seconds) // 2][0]:.2f} s in the median, {len(late)} after more than 1 s")  # fmt: skip
        for took, others in late:
            print(f"  {took:.2f} s, meanwhile: {', '.join(others) or 'nothing'}")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
