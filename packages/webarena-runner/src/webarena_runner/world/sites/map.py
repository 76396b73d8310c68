"""The stand-in map: a search that finds a few places."""

from __future__ import annotations

from typing import ClassVar

from webarena_runner.world.markup import Markup, document, link, tag
from webarena_runner.world.messages import Response, html
from webarena_runner.world.router import Router
from webarena_runner.world.site import Credentials, Site, Visit
from webarena_runner.world.theme import stylesheet

__all__ = ["Map"]

_CSS = stylesheet(accent="#2f7d32", ink="#22402a")


class Map(Site):
    """Search for places, without accounts."""

    name = "map"
    hostname = "map.localhost"
    account = Credentials("visitor", "visitor")
    login_path = "/"
    session_cookie = "_map_session"
    token_fields = ("authenticity_token",)
    routes: ClassVar[Router] = Router()

    def populate(self) -> None:
        """Reset the places."""
        self.places = {
            "University of Pittsburgh": "4200 Fifth Avenue, Pittsburgh, Pennsylvania",
            "Carnegie Mellon University": "5000 Forbes Avenue, Pittsburgh, Pennsylvania",
        }

    @routes.get("/")
    def front(self, visit: Visit) -> Response:
        """Show the search form."""
        del visit
        return _page("Map", tag("p", "Search for a place."))

    @routes.get("/search")
    def search(self, visit: Visit) -> Response:
        """List the places whose name contains every word of the query."""
        words = visit.query.get("query", "").lower().split()
        found = [
            tag("li", f"{name}, {where}")
            for name, where in self.places.items()
            if all(word in name.lower() for word in words)
        ]
        return _page("Search", tag("ul", *found) if found else tag("p", "No results found"))


def _page(title: str, body: Markup) -> Response:
    search = tag(
        "form",
        tag("input", type="text", name="query", placeholder="Search"),
        tag("button", "Go", type="submit"),
        action="/search",
        method="get",
    )
    header = tag("header", tag("span", link("Map", "/"), class_="brand"), search)
    return html(document(title, _CSS, header, tag("main", tag("h1", title), body)))
