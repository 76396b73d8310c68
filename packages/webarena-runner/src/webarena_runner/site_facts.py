"""Facts about the sites as their images serve them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Literal, get_args

from pydantic import TypeAdapter

SiteName = Literal["gitlab", "map", "reddit", "shopping", "shopping_admin", "wikipedia"]
SITES: tuple[SiteName, ...] = get_args(SiteName)


@dataclass(frozen=True)
class KnownRequest:
    """A request that the site of an image answers in a known way.

    Attributes:
        name: The part of the site that it needs.
        path: Below the site's URL, or below its host.
        from_root: Whether it is below the host.
        type: The start of the answer's Content-Type.
        shows: A pattern of what the answer contains.
        below: Start of paths of a trial's requests that need the same part.
    """

    name: str
    path: str
    from_root: bool = False
    type: str = "text/html"
    shows: str | None = None
    below: tuple[str, ...] = ()


@dataclass(frozen=True)
class SiteFacts:
    """One site of the benchmark as its image serves it.

    Attributes:
        port: The port on which webarena-verified's container manager publishes it.
        other_ports: Other ports in webarena-verified's documentation.
        base_path: The path that is part of the site's URL in the task definitions.
        account: Public user name and password documented with the image.
        login_path: The page with the login form, below the site's URL; None without accounts.
        private_path: A page that only a logged-in user sees; `{username}` is filled in.
        private_user: A pattern of the user whom that page names; None if the path has the name.
        known: Requests whose answers show its health; the front page is the first.
        login_header: The header that logs in without a form; its value is `user:password`.
        logout_path: The path below which a user logs out.
        image_gb: Size of its image, as its registry has it.
        data_gb: Size of the volumes that webarena-verified's set-up fills.
        data_note: A note on that set-up.
        memory_gb: Memory of a container, if it is known to need much.
        shm_mb: Shared memory that the image's compose file asks for.
    """

    port: int
    other_ports: tuple[int, ...] = ()
    base_path: str = ""
    account: tuple[str, str] | None = None
    login_path: str | None = None
    private_path: str = "/"
    private_user: str | None = None
    known: tuple[KnownRequest, ...] = (KnownRequest("front page", "/"),)
    login_header: str | None = None
    logout_path: str | None = None
    image_gb: float = 0.0
    data_gb: float = 0.0
    data_note: str | None = None
    memory_gb: int | None = None
    shm_mb: int | None = None


SITE_FACTS = TypeAdapter(dict[str, SiteFacts]).validate_json(
    resources.files(__package__).joinpath("site_facts.json").read_bytes()
)
"""Each site's facts by its name, from `site_facts.json`.

GitLab's image has no login header. Of the map, webarena-verified's documentation and compose file publish 3030
instead. The data set's start URL of wikipedia is the whole path of its landing page.
"""
