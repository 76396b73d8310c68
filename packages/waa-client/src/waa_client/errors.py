"""Errors of the client, the VM and the evaluator.

The tree, below bench-core's::

    EnvironmentFaultError
    ├── VmError                a VM failed a call
    │   ├── VmUnreachableError no answer: refused, reset
    │   │   └── VmTimeoutError it accepted the call and did not answer in time
    │   ├── VmAnswerError      an answer that cannot be used: an incomplete picture, broken XML, a 500
    │   │   └── TreeUnreadableError the current screen cannot be read as a tree
    │   └── RouteMissingError  its server has no such route
    ├── EvaluatorDownError     `/evaluate` does not answer, so nothing can be scored
    └── WrongWorldError        a simulation in a run on real VMs, or the other way round

None of them is ever a score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from bench_core.records import World


class VmError(EnvironmentFaultError):
    """The VM at `url` failed a call."""

    def __init__(self, url: str, message: str) -> None:
        self.url = url
        super().__init__(f"{url}: {message}")


class VmUnreachableError(VmError):
    """The VM gave no answer at all."""


class VmTimeoutError(VmUnreachableError):
    """The VM accepted the call and gave no answer in time."""


class VmAnswerError(VmError):
    """The VM's answer cannot be used."""


class TreeUnreadableError(VmAnswerError):
    """The server cannot read the current screen: a control character, a window that vanished."""


class RouteMissingError(VmError):
    """The server has no such route: another version, or another program on that port."""


class WrongWorldError(EnvironmentFaultError):
    """The server at `url` is of the world `found`, and the run of the world `wanted`."""

    def __init__(self, url: str, found: World, wanted: World) -> None:
        self.url = url
        self.found = found
        self.wanted = wanted
        super().__init__(
            f"{url} reports the world {found}, and this run is recorded as {wanted}: a run is on one "
            f"world, start another run"
        )


class EvaluatorDownError(EnvironmentFaultError):
    """The evaluator at `url` does not answer."""

    def __init__(self, url: str, message: str) -> None:
        self.url = url
        super().__init__(f"{url}: {message}")
