"""How the 812 tasks of WebArena-Verified use its sites."""

from __future__ import annotations

__all__ = ["WEBARENA"]

# sites, tasks that change them, tasks that read them
WEBARENA = (
    (("gitlab",), 111, 69),
    (("gitlab", "reddit"), 18, 0),
    (("gitlab", "wikipedia"), 6, 0),
    (("map",), 0, 109),
    (("map", "shopping_admin"), 0, 2),
    (("map", "wikipedia"), 0, 17),
    (("reddit",), 95, 11),
    (("reddit", "shopping"), 5, 0),
    (("shopping",), 61, 126),
    (("shopping_admin",), 78, 104),
)
