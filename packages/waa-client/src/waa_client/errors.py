"""What can go wrong between the client, the VM and the evaluator.

The tree, below bench-core's::

    EnvironmentFaultError
    ├── VmError                a VM did not do what was asked of it
    │   ├── VmUnreachableError no answer: refused, reset, timed out
    │   ├── VmAnswerError      an answer that makes no sense: a torn picture, broken XML, a 500
    │   └── RouteMissingError  its server has no such route
    └── EvaluatorDownError     `/evaluate` does not answer, so nothing can be scored

None of them is ever a score.
"""

from __future__ import annotations

from bench_core.errors import EnvironmentFaultError

__all__ = [
    "EvaluatorDownError",
    "RouteMissingError",
    "VmAnswerError",
    "VmError",
    "VmUnreachableError",
]


class VmError(EnvironmentFaultError):
    """The VM at `url` did not do what was asked of it."""

    def __init__(self, url: str, message: str) -> None:
        self.url = url
        super().__init__(f"{url}: {message}")


class VmUnreachableError(VmError):
    """The VM gave no answer at all."""


class VmAnswerError(VmError):
    """The VM answered something that cannot be used."""


class RouteMissingError(VmError):
    """The server has no such route: another version, or another program on that port."""


class EvaluatorDownError(EnvironmentFaultError):
    """The evaluator at `url` does not answer."""

    def __init__(self, url: str, message: str) -> None:
        self.url = url
        super().__init__(f"{url}: {message}")
