"""Histories and cookies, which Chrome and Edge keep alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from getter_recipes.file_builders import case, database, each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cookies", "histories"]

URLS = "CREATE TABLE urls (id INTEGER, url TEXT, title TEXT, last_visit_time INTEGER)"
VISIT = "INSERT INTO urls VALUES (1, 'https://{}/watch', 't', 1)"
COOKIES = "CREATE TABLE cookies (creation_utc INTEGER, host_key TEXT, name TEXT)"
COOKIE = "INSERT INTO cookies VALUES (1, '{}', 'n')"


def histories(getter: str, path: str) -> Iterator[Case]:
    """Yield the cases of a getter of histories."""
    rule = {"type": "keywords", "keywords": ["youtube"]}
    stores = {
        "deleted": database(URLS, VISIT.format("a.example")),
        "left": database(URLS, VISIT.format("www.youtube.com")),
        "other-schema": database("CREATE TABLE x (y)"),
    }
    states = {name: {"files": {path: store}} for name, store in stores.items()}
    metric = "check_history_deleted"
    yield from each(getter, {"dest": "h.sqlite"}, rule, states, metric=metric)
    yield case(getter, "absent", {"dest": "h.sqlite"}, rule, metric=metric)


def cookies(getter: str, path: str) -> Iterator[Case]:
    """Yield the cases of a getter of cookies."""
    rule = {"type": "domains", "domains": [".amazon.com"]}
    stores = {
        "deleted": database(COOKIES, COOKIE.format(".a.example")),
        "left": database(COOKIES, COOKIE.format(".amazon.com")),
        "left-on-www": database(COOKIES, COOKIE.format("www.amazon.com")),
        "empty": database(COOKIES),
        "locked": {**database(COOKIES), "locked": True},
    }
    states = {name: {"files": {path: store}} for name, store in stores.items()}
    yield from each(getter, {"dest": "c.sqlite"}, rule, states, metric="is_cookie_deleted")
