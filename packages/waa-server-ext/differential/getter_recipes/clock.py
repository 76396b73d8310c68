"""The Clock app: timers and world clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from getter_recipes.file_builders import case, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cases"]


def cases() -> Iterator[Case]:
    """Yield all cases."""
    timer = {"hours": "3", "minutes": "0", "seconds": "0"}
    city = {"city": "Boston", "country": "USA"}
    for check, config in (
        ("check_if_timer_started", timer),
        ("check_if_world_clock_exists", city),
    ):
        holds = {"checks": {check: True}}
        yield from table(
            check,
            config,
            ("holds", holds, "True"),
            ("not", {"checks": {check: False}}, "True"),
            ("a-boolean-is-no-string", holds, True),
        )
    yield case("check_if_timer_started", "no-seconds", {"hours": "3", "minutes": "0"}, "True")
