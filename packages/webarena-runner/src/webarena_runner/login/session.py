"""The session that results from a login: the cookies of one user on one site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from webarena_runner.web import Cookie

__all__ = ["SiteSession"]


@dataclass(frozen=True)
class SiteSession:
    """The cookies of one logged-in user on one site."""

    site: str
    username: str
    cookies: tuple[Cookie, ...]
