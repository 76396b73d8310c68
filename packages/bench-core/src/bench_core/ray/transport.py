"""The transport of workers on a Ray cluster."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import threading
from collections import deque
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from bench_core.child_process.framing import decode_line
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.files.removal import remove_folder
from bench_core.ray.actor import SlotActor
from bench_core.ray.broker import RayBroker
from bench_core.ray.calls import in_thread, value_of
from bench_core.workers.attempt import WorkerLimits
from bench_core.workers.placement import NodeRoom

RESOURCE = "proctor"
"""The custom resource; a node offers one for each worker that it has room for."""

_A_BIT = 0.0001
"""A worker's share of a label: Ray's least amount, so that `1` is enough for all workers of a node."""
_CONNECT_S = 150.0
_CALL_S = 45.0
_SHUTDOWN_S = 60.0
_LEASE_S = WorkerLimits().lease_s
_LOOK_S = 10.0
_SOON_S = 5.0
# a cluster of the run's own has room for any number of workers: --workers bounds them
_LOCAL_SLOTS = 4096
_NO_ANSWER = "the head of the cluster does not answer"
_SHORT = Path("/tmp")  # noqa: S108  # a folder of its own is made in it


class RayTransport:
    """Workers as actors, one for each slot, on the nodes that offer the resource `proctor`.

    Nothing is restarted or repeated by Ray: a second paid attempt is the scheduler's decision.

    Args:
        address: The cluster's; None starts one on this machine, which ends with the run.
    """

    name = "ray"

    def __init__(self, address: str | None = None) -> None:
        self._address = address
        self._connecting: asyncio.Task[None] | None = None
        self._folder: Path | None = None
        self._closed = threading.Event()

    async def nodes(self) -> tuple[NodeRoom, ...] | None:
        """Return the nodes that are alive; None for a cluster that is started for this run.

        Raises:
            InputError: The cluster is not there.
            EnvironmentFaultError: Its head does not answer.
        """
        if self._address is None:
            return None
        await self.connected()
        try:
            found = await in_thread(ray.nodes, _LOOK_S)
        except (RayError, asyncio.TimeoutError):
            raise EnvironmentFaultError(_NO_ANSWER) from None
        offered = [each["Resources"] for each in found if each["Alive"]]
        return tuple(NodeRoom(int(each.get(RESOURCE, 0)), frozenset(each)) for each in offered)

    async def open(self, slot: int, folder: Path, labels: frozenset[str] = frozenset()) -> RayLink:
        """Start the worker of a slot on some node that carries all these labels.

        Raises:
            InputError: The cluster is not there, or offers no room for workers.
            EnvironmentFaultError: No worker starts in time.
        """
        del folder
        await self.connected()
        await self._require_room(slot, labels)
        made = ray.remote(SlotActor).options(
            # `proctor` alone bounds the workers of a node, not its processors: trials mostly wait
            num_cpus=0,
            resources={RESOURCE: 1, **dict.fromkeys(labels, _A_BIT)},
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=16,
            # Ray's default packs actors onto the first nodes
            scheduling_strategy="SPREAD",
        )
        try:
            actor = await in_thread(made.remote, _CONNECT_S)
        except (RayError, asyncio.TimeoutError) as error:
            raise EnvironmentFaultError(f"the cluster takes no worker: {error!r}"[:500]) from None
        try:
            facts = await value_of(actor.start.remote(f"worker {slot + 1}"), _CONNECT_S)
        except (RayError, asyncio.TimeoutError) as error:
            with contextlib.suppress(Exception):
                # it may not exist, or the head may be gone: nothing is left to end then
                ray.kill(actor)
            why = _lines_of(error) if isinstance(error, RayError) else ""
            raise EnvironmentFaultError(
                f"no worker starts on the cluster: {why or repr(error)}"[:500]
            ) from None
        name = f"worker {slot + 1} on {facts['host']}, process {facts['pid']}"
        return RayLink(actor, name, facts["node"])

    async def connected(self) -> None:
        """Wait until this process is part of the cluster.

        Raises:
            InputError: The cluster is not there.
        """
        if self._connecting is None:
            self._connecting = asyncio.ensure_future(self._connect())
        await asyncio.shield(self._connecting)

    def broker(self) -> RayBroker | None:
        """Return the cluster's; a cluster that was started for this run has no other."""
        return None if self._address is None else RayBroker(self.connected)

    async def close(self) -> None:
        """Leave the cluster; end a cluster that was started for the run."""
        if self._connecting is not None and not self._connecting.cancelled():
            with contextlib.suppress(asyncio.TimeoutError):
                # it may wait forever if the head of the cluster is gone
                await in_thread(ray.shutdown, _SHUTDOWN_S)
            self._closed.set()
            if self._folder is not None:
                await asyncio.to_thread(remove_folder, self._folder)

    def _files(self) -> Path:
        """Make the folder of a cluster of this run; a run's own is too long for the paths of sockets."""
        self._folder = Path(
            tempfile.mkdtemp(prefix="proctor-ray-", dir=_SHORT if _SHORT.is_dir() else None)
        )
        return self._folder

    async def _connect(self) -> None:
        try:
            # the daemons that Ray starts are killed when the thread that started them ends
            await in_thread(self._connect_now, _CONNECT_S, until=self._closed)
        except Exception as error:  # noqa: BLE001  # a node that does not start it tells no more
            answer = str(error)[:500] or "no answer"
            start = f"`ray start --head --resources='{{\"{RESOURCE}\": 4}}'`"
            if self._address is None:
                raise InputError(
                    f"Ray does not start on this machine: {answer}. Start a cluster with {start} and "
                    "give its --address, or leave out --executor"
                ) from None
            raise InputError(
                f"there is no Ray cluster at {self._address}: {answer}. Start one with {start}, or "
                "leave out --address"
            ) from None

    async def _require_room(self, slot: int, labels: frozenset[str]) -> None:
        try:
            offered = await in_thread(ray.cluster_resources, _LOOK_S)
        except (RayError, asyncio.TimeoutError):
            raise EnvironmentFaultError(_NO_ANSWER) from None
        if absent := labels - {*offered}:
            # its nodes were there when the run began, and may come back
            raise EnvironmentFaultError(f"no node of the cluster carries {min(absent)!r} any more")
        if (room := int(offered.get(RESOURCE, 0))) <= slot:
            raise InputError(
                f"the nodes of the cluster have room for {room} workers: give --workers {room or 1} at most, "
                f"and start each node with `ray start --resources='{{\"{RESOURCE}\": 4}}'`, where 4 is how "
                "many trials it runs at once"
            )

    def _connect_now(self) -> None:
        quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        if self._address is not None:
            ray.init(address=self._address, **quiet)
            return
        ray.init(
            address="local",
            num_cpus=1,
            resources={RESOURCE: _LOCAL_SLOTS},
            include_dashboard=False,
            _temp_dir=str(self._files()),
            # Ray asks for no password: whoever reaches a cluster can run code on it
            _node_ip_address="127.0.0.1",
            **quiet,
        )


class RayLink:
    """The connection to a worker on a node, over its actor.

    Every call has a deadline of its own: Ray's calls may wait forever on a cluster without its head.
    """

    def __init__(self, actor: Any, name: str, node: str) -> None:
        self.name = name
        self._node = node
        self._actor = actor
        self._sent = 0
        self._lines: deque[bytes] = deque()
        self._last = False
        self._dead: str | None = None

    @property
    def alive(self) -> bool:
        """Whether its end is still unknown."""
        return self._dead is None and not self._last

    def send(self, line: bytes) -> None:
        """Send a message; ignored if the actor is gone."""
        if self._dead is None:
            with contextlib.suppress(RayError):
                self._actor.send.remote(self._sent, line)
                self._sent += 1

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, None if no more can come."""
        while not self._lines:
            if self._last or self._dead is not None:
                return None
            try:
                lines, self._last = await value_of(self._actor.receive.remote(), _CALL_S)
            except RayError as error:
                self._dead = _in_words(error)
            except asyncio.TimeoutError:
                self._dead = f"its node did not answer for {_CALL_S:g} s"
            else:
                self._lines.extend(lines)
        return decode_line(self._lines.popleft())

    def hang_up(self) -> None:
        """Close the worker's input."""
        with contextlib.suppress(RayError):
            self._actor.hang_up.remote()

    def kill(self) -> None:
        """End the worker and its children."""
        with contextlib.suppress(RayError):
            self._actor.kill.remote()

    async def how_ended(self) -> str:
        """Wait until the worker has ended, or its lease has, if its node cannot be asked."""
        try:
            if self._dead is None:
                self._dead = await value_of(self._actor.how_ended.remote(), _CALL_S)
                return self._dead
        except RayError as error:
            self._dead = _in_words(error)
        except asyncio.TimeoutError:
            self._dead = f"its node did not answer for {_CALL_S:g} s"
        finally:
            with contextlib.suppress(Exception):
                ray.kill(self._actor)
        # its worker reads the end of its input; if the node is gone, it knows by its lease alone
        await asyncio.sleep(_SOON_S if await self._node_lives() else _LEASE_S)
        return self._dead

    async def _node_lives(self) -> bool:
        try:
            nodes = await in_thread(ray.nodes, _LOOK_S)
        except (RayError, asyncio.TimeoutError):
            return False
        return any(each["NodeID"] == self._node and each["Alive"] for each in nodes)


def _in_words(error: RayError) -> str:
    return f"was lost with its actor: {_lines_of(error)}"[:500]


def _lines_of(error: RayError) -> str:
    return " ".join(line.strip() for line in str(error).splitlines() if line.strip())
