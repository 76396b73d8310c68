"""What is known of each site's pages, and whether a site answers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from bench_core.errors import EnvironmentFaultError
from webarena_runner.web import WebClient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webarena_runner.config import EnvironmentConfig

__all__ = ["SITES", "SITE_FACTS", "SiteFacts", "SiteName", "check_sites", "site_fault"]

SiteName = Literal["gitlab", "map", "reddit", "shopping", "shopping_admin", "wikipedia"]
SITES: tuple[SiteName, ...] = get_args(SiteName)

_SERVER_ERROR = 500


@dataclass(frozen=True)
class SiteFacts:
    """One site of the benchmark as its image serves it.

    Attributes:
        port: Where webarena-verified's container manager publishes it.
        other_ports: Where else documentation publishes it.
        base_path: What belongs to the site's URL in the task definitions.
        account: Public user name and password documented with the image.
        login_path: The page with the login form, below the site's URL; null: nobody logs in.
        private_path: A page only a logged-in user sees; `{username}` is filled in.
        health_path: A page that answers below 500 when the site is up.
        login_header: By which the image logs in without a form; the value is `user:password`.
        logout_path: Below which a user logs out.
        login_field: Of the login form, where the image shows it at any address.
    """

    port: int
    other_ports: tuple[int, ...] = ()
    base_path: str = ""
    account: tuple[str, str] | None = None
    login_path: str | None = None
    private_path: str = "/"
    health_path: str = "/"
    login_header: str | None = None
    logout_path: str | None = None
    login_field: str | None = None


SITE_FACTS: dict[str, SiteFacts] = {
    "gitlab": SiteFacts(
        port=8023,
        account=("byteblaze", "hello1234"),
        login_path="/users/sign_in",
        logout_path="/users/sign_out",
        private_path="/dashboard/todos",
        health_path="/users/sign_in",
    ),
    # webarena-verified's documentation and compose file publish the map on 3030 instead.
    "map": SiteFacts(port=3000, other_ports=(3030,)),
    "reddit": SiteFacts(
        port=9999,
        account=("MarvelsGrantMan136", "test1234"),
        login_path="/login",
        private_path="/user/{username}/edit_biography",
        login_header="X-Postmill-Auto-Login",
        logout_path="/logout",
        health_path="/login",
    ),
    "shopping": SiteFacts(
        port=7770,
        account=("emma.lopez@gmail.com", "Password.123"),
        login_path="/customer/account/login/",
        private_path="/customer/account/",
        login_header="X-M2-Customer-Auto-Login",
        logout_path="/customer/account/logout",
        health_path="/customer/account/login/",
    ),
    "shopping_admin": SiteFacts(
        port=7780,
        base_path="/admin",
        account=("admin", "admin1234"),
        login_path="",
        private_path="",
        login_header="X-M2-Admin-Auto-Login",
        logout_path="/admin/auth/logout",
        login_field="login[password]",
        health_path="",
    ),
    "wikipedia": SiteFacts(
        port=8888,
        base_path="/wikipedia_en_all_maxi_2022-05/A/User:The_other_Kiwix_guy/Landing",
        health_path="",
    ),
}


async def check_sites(
    config: EnvironmentConfig, names: Iterable[str], timeout_s: float = 20.0
) -> dict[str, str | None]:
    """Return for each site what is wrong with it, or null when it answers."""
    wanted = sorted(set(names))
    faults = await asyncio.gather(
        *(asyncio.to_thread(site_fault, config, name, timeout_s) for name in wanted)
    )
    return dict(zip(wanted, faults, strict=True))


def site_fault(config: EnvironmentConfig, name: str, timeout_s: float = 20.0) -> str | None:
    """Return why the site `name` cannot be used, or null when it answers below 500."""
    url = config.site(name).url + SITE_FACTS[name].health_path
    try:
        page = WebClient(timeout_s).get(url)
    except EnvironmentFaultError as error:
        return str(error)
    if page.status >= _SERVER_ERROR:
        return f"{page.url} answers with status {page.status}"
    return None
