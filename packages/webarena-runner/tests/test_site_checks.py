"""Where a site's pages may be, and which pages are not a site's own."""

from __future__ import annotations

import pytest

from webarena_runner.config import EnvironmentConfig
from webarena_runner.site_checks import foreign_page, unlisted_root

SHOP = "http://shop.test:7770"
CONFIG = EnvironmentConfig.model_validate(
    {
        "sites": {
            "shopping": {"url": SHOP, "aliases": ["http://10.0.0.5:7770"]},
            "shopping_admin": "http://shop.test:7780",
        }
    }
)


@pytest.mark.parametrize(
    ("name", "url", "asked", "root"),
    [
        ("shopping", f"{SHOP}/cart", None, None),
        ("shopping", "http://SHOP.test:7770/cart", None, None),
        ("shopping", "http://10.0.0.5:7770/cart", f"{SHOP}/cart", None),
        ("shopping", f"{SHOP}/customer/account/login/", f"{SHOP}/", None),
        ("shopping", f"{SHOP}/login", f"{SHOP}/search", None),
        ("shopping", "http://www.shop.test:7770/cart", None, "http://www.shop.test:7770"),
        ("shopping", "http://shop.test/cart", None, "http://shop.test"),
        ("shopping", "https://shop.test:7770/cart", None, "https://shop.test:7770"),
        ("shopping", f"{SHOP}/us/search", f"{SHOP}/search", f"{SHOP}/us"),
        ("shopping_admin", "http://a.test/admin/x", None, "http://a.test/admin"),
        ("shopping_admin", "http://a.test/backend", None, "http://a.test"),
        (
            "shopping_admin",
            "http://shop.test:7780/backend/",
            "http://shop.test:7780/admin",
            "http://shop.test:7780/backend",
        ),
    ],
)
def test_page_elsewhere_names_the_root_that_is_not_listed(
    name: str, url: str, asked: str | None, root: str | None
) -> None:
    assert unlisted_root(CONFIG.site(name), url, asked) == root


@pytest.mark.parametrize(
    ("title", "is_foreign"),
    [
        ("Down for maintenance", True),
        ("Maintenance mode", True),
        ("503 Service Unavailable", True),
        ("Just a moment...", True),
        ("Are you a robot?", True),
        ("Welcome to nginx!", True),
        ("One Stop Market", False),
        ("Maintenance kits for bikes - One Stop Market", False),
        ("Captchas are getting worse : technology", False),
        ("Write a robot that passes as human", False),
        ("", False),
    ],
)
def test_page_in_the_way_is_known_by_its_title(title: str, *, is_foreign: bool) -> None:
    page = f"<!doctype html><html><head><title class=x>\n{title} </title></head>"
    assert (foreign_page(page) is not None) == is_foreign
