"""Holders of resources that stay open as long as a `with` statement lasts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Closing"]


class Closing(ABC):
    """Leaving its `with` block closes it.

    Example:
        >>> class Session(Closing):
        ...     def close(self) -> None:
        ...         print("closed")
        >>> with Session():
        ...     print("open")
        open
        closed
    """

    @abstractmethod
    def close(self) -> None:
        """Give back the held resource; has to be safe to call twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
