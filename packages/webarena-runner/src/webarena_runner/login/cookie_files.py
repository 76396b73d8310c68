"""Files of logins, readable by their owner alone, with the time at which they expire."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.records import Record
from bench_core.records.problems import problems_of
from webarena_runner.web import Cookie

_STALE_S = 60.0
"""A login that expires within a minute is not used: it would expire in the trial."""


@dataclass(frozen=True)
class SiteSession:
    """The cookies of one logged-in user on one site."""

    site: str
    username: str
    cookies: tuple[Cookie, ...]


class CookieFile(Record):
    """One logged-in user's cookies on one site.

    Attributes:
        expires: Seconds since the epoch at which the first of the cookies expires; None when the
            server alone decides.
    """

    schema_version: Literal[1] = 1
    site: str
    url: str
    username: str
    captured: datetime
    expires: float | None = None
    cookies: tuple[dict[str, Any], ...]

    @property
    def stale(self) -> bool:
        """Whether a cookie has expired or is about to."""
        return self.expires is not None and self.expires < time.time() + _STALE_S

    def as_cookies(self) -> tuple[Cookie, ...]:
        """Return the cookies."""
        return tuple(Cookie(**each) for each in self.cookies)


def write_cookies(folder: Path, session: SiteSession, url: str) -> Path:
    """Write a login to `<folder>/<site>.json`, readable by the owner alone, and return the path."""
    ends = [each.expires for each in session.cookies if each.expires is not None]
    record = CookieFile(
        site=session.site,
        url=url,
        username=session.username,
        captured=datetime.now(timezone.utc),
        expires=min(ends, default=None),
        cookies=tuple(asdict(each) for each in session.cookies),
    )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{session.site}.json"
    temporary = folder / f".{session.site}.{os.getpid()}.tmp"
    # private from its creation on: a later chmod would leave the cookies readable for a moment
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(record.model_dump_json(indent=2) + "\n")
    temporary.replace(path)
    return path


def read_cookies(folder: Path, site: str) -> CookieFile | None:
    """Return the login stored for `site`, None when there is none.

    Raises:
        InputError: The file is not a login.
    """
    path = folder / f"{site}.json"
    try:
        return CookieFile.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        what = problems_of(error, CookieFile) if isinstance(error, ValidationError) else error
        raise InputError(
            f"{path} is not a login: {what}; write a new one with `webarena-runner auth capture`"
        ) from error
