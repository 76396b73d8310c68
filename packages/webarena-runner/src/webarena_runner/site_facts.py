"""Facts about the sites as their images serve them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["SITES", "SITE_FACTS", "SiteFacts", "SiteName"]

SiteName = Literal["gitlab", "map", "reddit", "shopping", "shopping_admin", "wikipedia"]
SITES: tuple[SiteName, ...] = get_args(SiteName)


@dataclass(frozen=True)
class SiteFacts:
    """One site of the benchmark as its image serves it.

    Attributes:
        port: The port on which webarena-verified's container manager publishes it.
        other_ports: Other ports in webarena-verified's documentation.
        base_path: The path that is part of the site's URL in the task definitions.
        account: Public user name and password documented with the image.
        login_path: The page with the login form, below the site's URL; None where there are no accounts.
        private_path: A page that only a logged-in user sees; `{username}` is filled in.
        health_path: A page that answers below 500 when the site is up.
        login_header: The header that logs in without a form; its value is `user:password`.
        logout_path: The path below which a user logs out.
        image_gb: Size of its image, as its registry has it.
        data_gb: Size of the volumes that webarena-verified's set-up fills.
        memory_gb: Memory of a container, where it is known to need much.
        shm_mb: Shared memory that the image's compose file asks for.
        login_field: A field of the login form, where the image shows the form at any address.
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
    image_gb: float = 0.0
    data_gb: float = 0.0
    memory_gb: int | None = None
    shm_mb: int | None = None


SITE_FACTS: dict[str, SiteFacts] = {
    # GitLab's image has no login header.
    "gitlab": SiteFacts(
        port=8023,
        image_gb=31.6,
        memory_gb=4,
        shm_mb=2048,
        account=("byteblaze", "hello1234"),
        login_path="/users/sign_in",
        logout_path="/users/sign_out",
        private_path="/dashboard/todos",
        health_path="/users/sign_in",
    ),
    # webarena-verified's documentation and compose file publish the map on 3030 instead.
    "map": SiteFacts(port=3000, other_ports=(3030,), image_gb=3.3, data_gb=60.0),
    "reddit": SiteFacts(
        port=9999,
        image_gb=8.4,
        account=("MarvelsGrantMan136", "test1234"),
        login_path="/login",
        private_path="/user/{username}/edit_biography",
        login_header="X-Postmill-Auto-Login",
        logout_path="/logout",
        health_path="/login",
    ),
    "shopping": SiteFacts(
        port=7770,
        image_gb=13.3,
        account=("emma.lopez@gmail.com", "Password.123"),
        login_path="/customer/account/login/",
        private_path="/customer/account/",
        login_header="X-M2-Customer-Auto-Login",
        logout_path="/customer/account/logout",
        health_path="/customer/account/login/",
    ),
    "shopping_admin": SiteFacts(
        port=7780,
        image_gb=2.9,
        base_path="/admin",
        account=("admin", "admin1234"),
        login_path="",
        private_path="",
        login_header="X-M2-Admin-Auto-Login",
        logout_path="/admin/auth/logout",
        login_field="login[password]",
        health_path="",
    ),
    # The data set's start URL of this site is the whole path of its landing page.
    "wikipedia": SiteFacts(
        port=8888,
        base_path="/wikipedia_en_all_maxi_2022-05/A/User:The_other_Kiwix_guy/Landing",
        health_path="",
    ),
}
