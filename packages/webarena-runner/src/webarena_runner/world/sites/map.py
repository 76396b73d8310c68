"""The stand-in map: a search that finds a few places."""

from __future__ import annotations

from typing import ClassVar

from webarena_runner.world.files import initial
from webarena_runner.world.markup import Markup, link, tag
from webarena_runner.world.messages import Response
from webarena_runner.world.router import Router
from webarena_runner.world.site import SiteAccount, StandInSite, Visit


class Map(StandInSite):
    """Search for places, without accounts."""

    name = "map"
    hostname = "map.localhost"
    colours = ("#2f7d32", "#22402a")
    account = SiteAccount("visitor", "visitor")
    login_path = "/"
    session_cookie = "_map_session"
    token_fields = ("authenticity_token",)
    routes: ClassVar[Router] = Router()

    def populate(self) -> None:
        """Reset the places."""
        self.places = initial("map", "places", dict[str, str])

    @routes.get("/")
    def front(self, visit: Visit) -> Response:
        """Show the search form."""
        return self._page(visit, "Map", tag("p", "Search for a place."))

    @routes.get("/search")
    def search(self, visit: Visit) -> Response:
        """List the places whose name contains every word of the query."""
        words = visit.query.get("query", "").lower().split()
        found = [
            tag("li", f"{name}, {where}")
            for name, where in self.places.items()
            if all(word in name.lower() for word in words)
        ]
        return self._page(
            visit, "Search", tag("ul", *found) if found else tag("p", "No results found")
        )

    def _page(self, visit: Visit, title: str, body: Markup) -> Response:
        search = tag(
            "form",
            tag("input", type="text", name="query", placeholder="Search"),
            tag("button", "Go", type="submit"),
            action="/search",
            method="get",
        )
        header = tag("header", tag("span", link("Map", "/"), class_="brand"), search)
        return self.page(visit, title, body, header=[header])
