"""The properties of a machine on which workers would run, and its faults."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field

from bench_core.errors import InputError
from bench_core.records import Record
from bench_core.workers.recipe import load_reference, package_digests

_SHM = Path("/dev/shm")  # noqa: S108  # its size alone is looked at
_BROWSER = "bench_core.browser:find_chromium"
_REACH_S = 5.0
_PORTS = {"http": 80, "https": 443}
_MB, _GB = 1 << 20, 1 << 30
LEAST_SHM, LEAST_DISK, LITTLE_DISK = 256 * _MB, 1 * _GB, 5 * _GB
LITTLE_SKEW_S, MOST_SKEW_S = 2.0, 30.0


class NodeQuestions(Record):
    """The questions to every node.

    Attributes:
        packages: Import names; their versions and files must be those of the run's machine.
        keys: Names of environment variables that must be set.
        reach: Addresses, `HOST:PORT` or URLs, of sites and VMs; after `=` the label of the nodes that must
            reach one.
        labels: The labels that some node has to carry.
    """

    packages: tuple[str, ...] = ("bench_core",)
    keys: tuple[str, ...] = ()
    reach: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def of_node(self, labels: Collection[str]) -> NodeQuestions:
        """Return the questions to a node that carries these labels."""
        asked = [
            address for address, label in map(labelled, self.reach) if not label or label in labels
        ]
        return self.model_copy(update={"reach": tuple(asked), "labels": ()})

    def missing(self, nodes: Iterable[Collection[str]]) -> tuple[str, ...]:
        """Return the labels that none of the nodes carries."""
        wanted = [*self.labels, *(label for _, label in map(labelled, self.reach) if label)]
        carried = {label for labels in nodes for label in labels}
        return tuple(each for each in dict.fromkeys(wanted) if each not in carried)


class NodeFacts(Record):
    """A node's answers.

    Attributes:
        packages: Of each the SHA-256 over its files, `absent` if it is not installed.
        versions: The version of each, if its distribution states one.
        chromium: Its path; None with the reason in `no_chromium`.
        shm: Size of `/dev/shm` in bytes, None without one.
        disk: Free bytes in the folder of temporary files.
        keys: Whether each variable is set; never its value.
        reach: For each address the reason why it cannot be reached, empty if it can.
        clock: Seconds since 1970, by the node.
    """

    host: str
    python: str
    packages: dict[str, str]
    versions: dict[str, str]
    chromium: str | None = None
    no_chromium: str = ""
    shm: int | None = None
    disk: int
    niceness: int | None = None
    keys: dict[str, bool] = Field(default_factory=dict)
    reach: dict[str, str] = Field(default_factory=dict)
    clock: float


@dataclass(frozen=True)
class AskedNode:
    """A node of a cluster, and its answers.

    Attributes:
        name: Its address and the beginning of its id: nodes of one machine differ in the latter alone.
        room: How many workers.
        facts: None if it gave no answer, with the reason in `why`.
        skew_s: By how much its clock is off, beyond the time of the question.
        labels: The names of its custom resources, without the one that gives room.
    """

    name: str
    room: int
    facts: NodeFacts | None
    skew_s: float = 0.0
    why: str = ""
    labels: tuple[str, ...] = ()


class Finding(Record):
    """A fault of a node, and its remedy."""

    of: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""


def facts_of_this_node(questions: NodeQuestions) -> NodeFacts:
    """Return the facts of this machine, in a process with the environment that workers would have."""
    chromium, no_chromium = _chromium()
    return NodeFacts(
        host=platform.node(),
        python=platform.python_version(),
        packages=package_digests(questions.packages),
        versions=dict(_versions(questions.packages)),
        chromium=chromium,
        no_chromium=no_chromium,
        shm=shutil.disk_usage(_SHM).total if _SHM.is_dir() else None,
        disk=shutil.disk_usage(tempfile.gettempdir()).free,
        niceness=None if sys.platform == "win32" else os.getpriority(os.PRIO_PROCESS, 0),
        keys={name: bool(os.environ.get(name)) for name in questions.keys},
        reach={each: _why_not_reached(each) for each in questions.reach},
        clock=time.time(),
    )


def findings(here: NodeFacts, there: NodeFacts, skew_s: float) -> Iterator[Finding]:
    """Yield the findings on a node, one for each property.

    Args:
        here: The facts of the machine that runs would be started from.
        there: The node's.
        skew_s: Seconds by which its clock is surely off, beyond the question's own time.
    """
    same = here.python.split(".")[:2] == there.python.split(".")[:2]
    yield _either(
        "python", same, there.python, f"{there.python}, and {here.python} here",
        f"start Ray on it with Python {here.python}: Ray refuses others, too",
    )  # fmt: skip
    other = ", ".join(
        f"{name} {_named(there, name)}, {_named(here, name)} here"
        for name, digest in sorted(here.packages.items())
        if digest == "absent" or there.packages.get(name) != digest
    )
    yield _either("packages", not other, "as here", other, "install the same wheels on every node")
    yield _either(
        "chromium", there.chromium is not None, there.chromium or "", there.no_chromium,
        "install one where the benchmark needs a browser", "warn",
    )  # fmt: skip
    shm = "none" if there.shm is None else _size(there.shm)
    yield _either(
        "shared memory", there.shm is None or there.shm >= LEAST_SHM, shm,
        f"{shm}: Ray and browsers share it", "start the container with --shm-size=1g", "warn",
    )  # fmt: skip
    free = f"{_size(there.disk)} free"
    yield _either(
        "disk", there.disk >= LITTLE_DISK, free, free,
        "make room where temporary files go, or set TMPDIR",
        "fail" if there.disk < LEAST_DISK else "warn",
    )  # fmt: skip
    off, ahead = abs(skew_s), "ahead of" if skew_s > 0 else "behind"
    yield _either(
        "clock", off < LITTLE_SKEW_S, "as here", f"{off:.0f} s {ahead} this one",
        "let NTP set both clocks: logins and dates in tasks go by them",
        "fail" if off >= MOST_SKEW_S else "warn",
    )  # fmt: skip
    unset = ", ".join(sorted(name for name, is_set in there.keys.items() if not is_set))
    yield _either(
        "keys", not unset, f"{len(there.keys)} set", f"not set: {unset}",
        "set them in the shell that runs `ray start`",
    )  # fmt: skip
    missed = "; ".join(f"{each}: {why}" for each, why in sorted(there.reach.items()) if why)
    yield _either(
        "reach", not missed, f"{len(there.reach)} reached", missed,
        "open the network to it, or bind it to nodes that reach it: `run --bind NAME=LABEL`",
    )  # fmt: skip
    mine, theirs = here.niceness, there.niceness
    yield _either(
        "niceness", mine is None or theirs is None or theirs <= mine,
        "-" if theirs is None else str(theirs),
        f"{theirs}, and {mine} here: trials are slower there",
        "start the node with RAY_worker_niceness=0", "warn",
    )  # fmt: skip


def address_of(text: str) -> tuple[str, int]:
    """Return host and port of a URL or of `HOST:PORT`.

    Raises:
        InputError: It is neither.

    >>> address_of("https://gitlab.lab/users"), address_of("10.0.0.5:5000")
    (('gitlab.lab', 443), ('10.0.0.5', 5000))
    """
    parts = urlsplit(text if "://" in text else f"//{text}")
    try:
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        port = None
    if not parts.hostname or port is None:
        raise InputError(f"{text!r} is not an address: give HOST:PORT or a URL")
    return parts.hostname, port


def labelled(text: str) -> tuple[str, str]:
    """Return the address, and the label after its last `=`, empty without one.

    >>> labelled("gitlab.lab:8023=lab"), labelled("gitlab.lab:8023")
    (('gitlab.lab:8023', 'lab'), ('gitlab.lab:8023', ''))
    """
    address, _, label = text.rpartition("=")
    return (address, label) if address else (text, "")


def _chromium() -> tuple[str | None, str]:
    try:
        # by its name: the base imports no tower
        return str(load_reference(_BROWSER)()), ""
    except Exception as error:  # noqa: BLE001  # a doctor reports any error
        return None, str(error)


def _versions(packages: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for each in packages:
        with contextlib.suppress(PackageNotFoundError):
            yield each, version(each.replace("_", "-"))


def _why_not_reached(text: str) -> str:
    host, port = address_of(text)
    try:
        socket.create_connection((host, port), timeout=_REACH_S).close()
    except OSError as error:
        return str(error) or type(error).__name__
    return ""


def _either(
    of: str, fine: bool, good: str, bad: str, fix: str, status: Literal["warn", "fail"] = "fail"
) -> Finding:
    if fine:
        return Finding(of=of, status="ok", detail=good)
    return Finding(of=of, status=status, detail=bad, fix=fix)


def _named(facts: NodeFacts, name: str) -> str:
    digest = facts.packages.get(name, "absent")
    if digest == "absent":
        return "is absent"
    return f"{facts.versions.get(name, '')} with files {digest[:12]}".strip()


def _size(count: int) -> str:
    return f"{count / _GB:.1f} GB" if count >= _GB else f"{count // _MB} MB"
