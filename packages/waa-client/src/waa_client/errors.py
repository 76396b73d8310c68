"""What can go wrong between the client, the VM and the evaluator.

The tree, below bench-core's::

    EnvironmentFaultError
    ├── VmError                a VM did not do what was asked of it
    │   ├── VmUnreachableError no answer: refused, reset
    │   │   └── VmTimeoutError it took the call and did not answer in time
    │   ├── VmAnswerError      an answer that makes no sense: a torn picture, broken XML, a 500
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

__all__ = [
    "EvaluatorDownError",
    "RouteMissingError",
    "VmAnswerError",
    "VmError",
    "VmTimeoutError",
    "VmUnreachableError",
    "WrongWorldError",
]


class VmError(EnvironmentFaultError):
    """The VM at `url` did not do what was asked of it."""

    def __init__(self, url: str, message: str) -> None:
        self.url = url
        super().__init__(f"{url}: {message}")


class VmUnreachableError(VmError):
    """The VM gave no answer at all."""


class VmTimeoutError(VmUnreachableError):
    """The VM took the call and gave no answer in time."""


class VmAnswerError(VmError):
    """The VM answered something that cannot be used."""


class RouteMissingError(VmError):
    """The server has no such route: another version, or another program on that port."""


class WrongWorldError(EnvironmentFaultError):
    """What answers at `url` is of the world `said`, and the run of the other one."""

    def __init__(self, url: str, said: World, wanted: World) -> None:
        self.url = url
        self.said = said
        self.wanted = wanted
        super().__init__(
            f"{url} says that its world is {said}, and this run is recorded as {wanted}: a run is on "
            f"one world, begin another one"
        )


class EvaluatorDownError(EnvironmentFaultError):
    """The evaluator at `url` does not answer."""

    def __init__(self, url: str, message: str) -> None:
        self.url = url
        super().__init__(f"{url}: {message}")
