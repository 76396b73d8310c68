"""Checks before a run, so that no money is spent on tasks whose apps do not answer."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping, Sequence

from bench_core.browser import find_chromium
from bench_core.errors import InputError
from bench_core.records import Record, Task
from multireal_harness.definitions import definition_of

_BAD_STATUS = 400
# One published app, omnizon, has answered 451 since its takedown (agi-inc/agisdk#36).
_REASONS = {451: "taken down for legal reasons", 404: "gone", 410: "gone"}


class AppStatus(Record):
    """Whether an app answers; `fault` is None when it does."""

    app: str
    url: str
    fault: str | None = None


def origins_of(tasks: Iterable[Task], origins: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the origin of each app of the tasks; `origins` overrides those in the tasks."""
    found = {site.id: site.origin for task in tasks for site in definition_of(task).sites}
    return {app: (origins or {}).get(app, url) for app, url in sorted(found.items())}


async def check_apps(apps: Mapping[str, str], timeout_s: float = 20.0) -> list[AppStatus]:
    """Return for each app whether its start page and its `/finish` answer."""
    return list(
        await asyncio.gather(
            *(asyncio.to_thread(_check, app, url, timeout_s) for app, url in apps.items())
        )
    )


def preflight(
    tasks: Sequence[Task], origins: Mapping[str, str] | None = None, timeout_s: float = 20.0
) -> list[str]:
    """Refuse a run in which no task can work, and return warnings about tasks that cannot.

    Raises:
        InputError: Every task needs an app that does not answer.
        BrowserError: Chromium is missing.
    """
    find_chromium()
    statuses = asyncio.run(check_apps(origins_of(tasks, origins), timeout_s))
    down = {each.app: each.fault for each in statuses if each.fault is not None}
    if not down:
        return []
    working = reachable_tasks(tasks, down)
    faults = "; ".join(f"{app}: {fault}" for app, fault in down.items())
    if not working:
        raise InputError(
            f"no task can be run, every one needs an app that does not answer: {faults}"
        )
    lost = len(tasks) - len(working)
    warning = (
        f"{lost} of {len(tasks)} tasks will end without a score, because apps do not answer ({faults}); "
        "--skip-unreachable leaves them out"
    )
    return [warning]


def reachable_tasks(tasks: Iterable[Task], down: Iterable[str]) -> list[Task]:
    """Return the tasks that use none of the apps that are down."""
    gone = set(down)
    return [task for task in tasks if not gone & set(task.groups["app"])]


def _check(app: str, url: str, timeout_s: float) -> AppStatus:
    # without `/finish` a trial fails at its end, when the agent has been paid for
    for path in ("", "/finish"):
        fault = _fault_of(url.rstrip("/") + path, timeout_s)
        if fault is not None:
            return AppStatus(app=app, url=url, fault=f"{path or '/'} {fault}")
    return AppStatus(app=app, url=url)


def _fault_of(url: str, timeout_s: float) -> str | None:
    if not url.startswith(("http://", "https://")):
        return "has no HTTP URL"
    request = urllib.request.Request(url, headers={"User-Agent": "Mozilla/5.0"})  # noqa: S310  # checked above
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310  # same
            return None if answer.status < _BAD_STATUS else f"answers with status {answer.status}"
    except urllib.error.HTTPError as error:
        with error:
            why = f" ({_REASONS[error.code]})" if error.code in _REASONS else ""
            return f"answers with status {error.code}{why}"
    except (OSError, ValueError) as error:
        return f"does not answer: {getattr(error, 'reason', error)}"
