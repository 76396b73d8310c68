"""The stand-in map: a search that finds a few places."""

from __future__ import annotations

from base64 import b64decode
from typing import ClassVar

from webarena_runner.world.files import initial
from webarena_runner.world.markup import Markup, link, tag
from webarena_runner.world.messages import Response, json_response
from webarena_runner.world.router import Router
from webarena_runner.world.site import SiteAccount, StandInSite, Visit

_TILE = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)


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

    @routes.get("/tile/{place:path}.png")
    def tile(self, _: Visit, place: str) -> Response:
        """Show the same empty tile everywhere."""
        del place
        return Response(body=_TILE, headers=[("Content-Type", "image/png")])

    @routes.get("/nominatim/search")
    def geocode(self, visit: Visit) -> Response:
        """Return where a place is, as the image's geocoder does; all are in one place."""
        return json_response(
            [{"display_name": visit.query.get("q", ""), "lat": "40.44", "lon": "-79.94"}]
        )

    @routes.get("/osrm/{mode}/route/v1/{profile}/{ends:path}")
    def route(self, _: Visit, mode: str, profile: str, ends: str) -> Response:
        """Return a route, as the image's router does; all have one length."""
        del mode, profile, ends
        return json_response({"code": "Ok", "routes": [{"distance": 1000.0, "duration": 60.0}]})

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
