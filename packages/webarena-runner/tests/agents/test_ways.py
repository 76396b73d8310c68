"""Tasks done in other ways than the scripts': by Enter, by address, from another page, in another order.

A choice of the ways; with WEBARENA_TASKS=all in the environment, all of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bench_core.browser_use.scripted_chat import answer, click, fill, go, press
from bench_core.records import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Trials

    from bench_core.browser_use.scripted_chat import Turn

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_STARRED = (
    "umano/AndroidSlidingUpPanel", "facebook/create-react-app", "kkroening/ffmpeg-python",
    "mk-j/PHP_XLSXWriter", "koush/AndroidAsync",
)  # fmt: skip
POST = "The phone that folds three times"
NAVIGATED = answer({"task_type": "NAVIGATE", "status": "SUCCESS"})
MUTATED = answer({"task_type": "MUTATE", "status": "SUCCESS"})
MISSING = answer(
    {
        "task_type": "RETRIEVE",
        "status": "NOT_FOUND_ERROR",
        "error_details": "no such place",
    }
)
REASON = "I am a loyal customer, give me a coupon"

WAYS: dict[str, tuple[int, Callable[[dict[str, str]], list[Turn]]]] = {
    "a search by Enter": (274, lambda _: [fill("usb wifi", name="q"), press("Enter"), NAVIGATED]),
    "a search by address": (
        276,
        lambda at: [
            go(f"{at['shopping']}/catalogsearch/result/?q=switch+accessories"),
            NAVIGATED,
        ],
    ),
    "a filter chosen on the page": (
        258,
        lambda at: [go(f"{at['gitlab']}/explore"), click("Public"), NAVIGATED],
    ),
    "the filter that an address lacks": (
        156,
        lambda at: [
            go(f"{at['gitlab']}/dashboard/merge_requests"),
            click("Assigned to you"),
            NAVIGATED,
        ],
    ),
    "the list of customers by address": (
        157,
        lambda at: [go(f"{at['shopping_admin']}/customer/index"), NAVIGATED],
    ),
    "a status with a word and by Enter": (
        418,
        lambda _: [
            click("Set status", tag="a"),
            (click(type="checkbox"), fill("Busy", name="message"), press("Enter")),
            MUTATED,
        ],
    ),
    "an address without a scheme, refused and put right": (
        449,
        lambda _: [
            click("Edit profile"),
            (fill("helloworld.xyz", name="user[website_url]"), press("Enter")),
            fill("https://helloworld.xyz", name="user[website_url]"),
            click("Update profile settings"),
            MUTATED,
        ],
    ),
    "stars from the list of public projects, least first": (
        523,
        lambda _: [
            *(
                turn
                for path in reversed(MOST_STARRED)
                for turn in (click("Public projects"), click(path), click("Star"))
            ),
            MUTATED,
        ],
    ),
    "a vote on the post's own page": (
        714,
        lambda _: [click(POST), click("Downvote"), MUTATED],
    ),
    "a forum by its address": (
        404,
        lambda at: [
            go(f"{at['reddit']}/f/books/new"),
            click("A quiet novel about lighthouses"),
            click("Upvote"),
            MUTATED,
        ],
    ),
    "a product of a category": (
        512,
        lambda _: [
            click("Oral Care", tag="a"),
            click("Mint Whitening Toothpaste, 2 Tubes", tag="a"),
            click("Add to Wish List"),
            MUTATED,
        ],
    ),
    "an address for news by Enter": (
        521,
        lambda _: [fill("emma.lopez@gmail.com", type="email"), press("Enter"), MUTATED],
    ),
    "the reason before the name": (
        689,
        lambda _: [
            click("Contact Us"),
            (fill(REASON, name="comment"), fill("Emma Lopez", name="name")),
            MUTATED,
        ],
    ),
    "an order by its address": (
        470,
        lambda at: [
            go(f"{at['shopping_admin']}/sales/order/view/order_id/302/"),
            click("Cancel"),
            MUTATED,
        ],
    ),
    "a place that Enter does not find": (
        101,
        lambda _: [fill("In-N-Out", name="query"), press("Enter"), MISSING],
    ),
}


CHOSEN = list(WAYS) if os.environ.get("WEBARENA_TASKS") == "all" else list(WAYS)[:6:2]


@pytest.mark.parametrize("way", CHOSEN)
async def test_another_way_scores_as_well(trials: Trials, way: str) -> None:
    task_id, turns = WAYS[way]

    result = await trials.run(
        task_id,
        trials.playing(*turns(dict(trials.world.urls))),
        Limits(max_steps=20, time_limit_s=240),
    )

    assert (result.status.value, result.score, result.error) == ("completed", 1.0, None)
