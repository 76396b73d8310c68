"""Models that read: what to do, on what, and how to end comes from the request and from nowhere else.

Each plan is what a person would do who has read the goal: it names things by the words that stand on the screen.
A reader that is not sent its goal, the form of its answer, the elements or a tool does not solve its task.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from test_support.model_requests import ReadRequest
from test_support.model_server import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from test_support.model_server import Seen

__all__ = ["Reader"]

Call = tuple[str, dict[str, Any]]
Plan = "Generator[Call, Screen, None]"
_GOAL = re.compile(r"^Task: (.+)$", re.MULTILINE)
_ELEMENT = re.compile(r'\[(\w+)\] ([a-z]+) "((?:[^"\\]|\\.)*)"([^\[\n]*)')
_TAB = re.compile(r"^(?:Tab|Window) (\w+): (.*)$", re.MULTILINE)


class NotThereError(Exception):
    """The reader looks for something that the request does not show."""


class Screen:
    """What a request shows, as a reader takes it in."""

    def __init__(self, request: ReadRequest) -> None:
        self.tools = request.tools
        self.system = request.system
        last = max(
            (n for n, turn in enumerate(request.turns) if turn[0] == "assistant"), default=-1
        )
        latest = [part for _, parts in request.turns[last + 1 :] for part in parts]
        self.text = "\n".join(each.text for part in latest for each in part.flat() if each.text)
        self.everything = request.text

    def find(self, name: str, *roles: str) -> str:
        """Return the id of the element called `name`, or whose name begins so."""
        for text in (self.text, self.everything):
            found = [each for each in _ELEMENT.findall(text) if not roles or each[1] in roles]
            for fits in (str.__eq__, str.startswith, str.__contains__):
                called = [each for each in found if fits(each[2].lower(), name.lower())]
                if called:
                    return str(called[-1 if text is self.everything else 0][0])
        raise NotThereError(f"no {name!r} in:\n{self.text}")

    def click(self, name: str, *roles: str) -> Call:
        return self.call("click", element=self.find(name, *roles))

    def write(self, name: str, text: str, *, enter: bool = False) -> Call:
        field = self.find(name, "textbox", "searchbox", "combobox", "spinbutton", "date", "edit")
        return self.call("type_text", element=field, text=text, clear=True, enter=enter)

    def tab(self, title: str) -> Call:
        for number, shown in _TAB.findall(self.everything):
            if title.lower() in shown.lower():
                return self.call("switch_tab", index=int(number))
        raise NotThereError(f"no tab {title!r} in:\n{self.text}")

    def end(self, kind: str = "", data: Any = None) -> Call:
        """End in the form that the tool `done` asks for; its fields are known by what they allow."""
        form = self.tools["done"]["parameters"].get("properties") or {}
        given: dict[str, Any] = {}
        for name, field in form.items():
            choices = [each for each in _choices(field) if isinstance(each, str)]
            fitting = [each for each in choices if each in {kind, "SUCCESS"}]
            if fitting:
                given[name] = fitting[0]
            elif name == "answer" or "data" in name:
                given[name] = data
        return self.call("done", **given)

    def call(self, name: str, **arguments: Any) -> Call:
        if name not in self.tools:
            raise NotThereError(f"there is no tool {name!r} among {', '.join(self.tools)}")
        known = self.tools[name]["parameters"].get("properties") or {}
        return name, {
            key: value for key, value in arguments.items() if key in known and value is not False
        }


def _choices(field: dict[str, Any]) -> list[Any]:
    own = list(field.get("enum") or ())
    return own + [each for other in field.get("anyOf") or () for each in other.get("enum") or ()]


class Reader:
    """The model of one trial; `fault` is why it stopped where it did not end by itself."""

    def __init__(
        self, altered: Callable[[ReadRequest], ReadRequest] = lambda request: request
    ) -> None:
        self.fault: Exception | None = None
        self._altered = altered
        self._plan: Any = None

    def __call__(self, seen: Seen) -> Answer:
        """Answer a request."""
        screen = Screen(self._altered(ReadRequest.of(seen)))
        try:
            if self._plan is None:
                self._plan = _plan_for(screen)
                call = next(self._plan)
            else:
                call = self._plan.send(screen)
        except (NotThereError, StopIteration) as error:
            self.fault = self.fault or error
            return Answer(text="I do not know how to go on.", stop="refusal")
        return Answer(tool_calls=(call,), stop="tool_use")


def _plan_for(screen: Screen) -> Any:
    goal = _GOAL.search(screen.everything)
    if goal is None:
        raise NotThereError("no goal")
    for pattern, plan in PLANS.items():
        if found := re.search(pattern, goal[1]):
            return plan(screen, *found.groups())
    raise NotThereError(f"the reader knows nothing of {goal[1]!r}")


# ---- sites ----------------------------------------------------------------


def _open(screen: Screen, link: str) -> Any:
    screen = yield screen.click(link, "link")
    yield screen.end("NAVIGATE")


def _open_category(screen: Screen, name: str) -> Any:
    words = set(re.findall(r"[a-z]{3,}", name.lower()))
    links = [each for each in _ELEMENT.findall(screen.text) if each[1] == "link"]
    best = max(links, key=lambda each: len([word for word in words if word in each[2].lower()]))
    screen = yield screen.call("click", element=best[0])
    yield screen.end("NAVIGATE")


def _search(screen: Screen, words: str) -> Any:
    screen = yield screen.write("search", words)
    screen = yield screen.click("Search", "button")
    yield screen.end("NAVIGATE")


def _write_biography(screen: Screen, biography: str) -> Any:
    account = next(
        each[0] for each in _ELEMENT.findall(screen.text) if re.fullmatch(r"[A-Z]\w+\d", each[2])
    )
    screen = yield screen.call("click", element=account)
    screen = yield screen.click("Edit biography")
    screen = yield screen.write("biography", biography)
    screen = yield screen.click("Save", "button")
    yield screen.end("MUTATE")


def _set_status(screen: Screen, status: str) -> Any:
    screen = yield screen.click("Set status", "link")
    if status == "Busy":
        screen = yield screen.click("busy", "checkbox")
    else:
        screen = yield screen.write("status", status + ".")
    screen = yield screen.click("Set status", "button")
    yield screen.end("MUTATE")


def _set_homepage(screen: Screen, url: str) -> Any:
    screen = yield screen.click("Edit profile", "link")
    screen = yield screen.write("website", url)
    screen = yield screen.click("Update profile", "button")
    yield screen.end("MUTATE")


def _invoice_total(screen: Screen, number: str) -> Any:
    screen = yield screen.click("Invoices", "link")
    total = re.search(rf"{number}[^$]*\$([\d.]+)", screen.text)
    if total is None:
        raise NotThereError(f"no invoice {number} in:\n{screen.text}")
    yield screen.end("RETRIEVE", [float(total[1])])


# ---- apps -----------------------------------------------------------------


def _mail(screen: Screen, to: str, subject: str, body: str, button: str = "Send") -> Any:
    screen = yield screen.tab("Mail")
    screen = yield screen.click("Compose", "button")
    for field, text in (("to", to), ("subject", subject), ("message", body)):
        screen = yield screen.write(field, text)
    return (yield screen.click(button, "button"))


def _reserve(screen: Screen, place: str, day: str, guests: str, time: str) -> Any:
    screen = yield screen.tab("Dining")
    screen = yield screen.click(place, "button")
    screen = yield screen.write("date", _iso(day))
    screen = yield screen.write("guests", guests)
    screen = yield screen.click(time, "button")
    return (yield screen.click("Confirm reservation", "button"))


def _event(screen: Screen, **fields: str) -> Any:
    screen = yield screen.tab("Calendar")
    screen = yield screen.click("New event", "button")
    for field, text in fields.items():
        screen = yield screen.write(field, text)
    return (yield screen.click("Save", "button"))


def _iso(day: str) -> str:
    return datetime.strptime(day, "%B %d, %Y").strftime("%Y-%m-%d")  # noqa: DTZ007  # a day has no zone


def _hours(time: str) -> str:
    return datetime.strptime(time, "%I:%M %p").strftime("%H:%M")  # noqa: DTZ007  # as above


def _cancel_table(screen: Screen, place: str, to: str, subject: str) -> Any:
    screen = yield screen.tab("Dining")
    screen = yield screen.click("Reservations", "button")
    screen = yield screen.click(f"Cancel {place}", "button")
    screen = yield from _mail(screen, to, subject, f"{place} is cancelled.")
    yield screen.end()


def _delete_event(screen: Screen, title: str, first: str, second: str, subject: str) -> Any:
    screen = yield screen.tab("Calendar")
    screen = yield screen.click(title)
    screen = yield screen.click("Delete", "button")
    screen = yield from _mail(screen, f"{first}, {second}", subject, "It is off.")
    yield screen.end()


def _table_and_event(
    screen: Screen, guests: str, place: str, day: str, time: str, start: str, end: str, title: str
) -> Any:
    screen = yield from _reserve(screen, place, day, guests, time)
    screen = yield from _event(
        screen, title=title, date=_iso(day), start=_hours(start), end=_hours(end)
    )
    yield screen.end()


def _best_table(
    screen: Screen, guests: str, kind: str, day: str, time: str, to: str, subject: str
) -> Any:
    screen = yield screen.tab("Dining")
    rated = re.findall(rf'"([^"]+?) {kind}, rated ([\d.]+)', screen.everything)
    if not rated:
        raise NotThereError(f"no {kind} restaurant in:\n{screen.text}")
    place = max(rated, key=lambda each: float(each[1]))[0]
    screen = yield from _reserve(screen, place, day, guests, time)
    screen = yield from _mail(screen, to, subject, f"We eat at {place} at {time}.")
    yield screen.end()


def _cheapest_flight(screen: Screen, start: str, end: str, day: str, to: str, subject: str) -> Any:
    screen = yield screen.tab("Travel")
    for field, text in (("from", start), ("to", end), ("date", _iso(day))):
        screen = yield screen.write(field, text)
    screen = yield screen.click("Search flights", "button")
    flights = re.findall(r'"(\w+) \$(\d+) [^"]+non-stop"', screen.text)
    number, price = min(flights, key=lambda each: int(each[1]))
    screen = yield from _mail(screen, to, subject, f"{number} for ${price}")
    yield screen.end()


def _cheapest_stay(screen: Screen, city: str, to: str, subject: str) -> Any:
    screen = yield screen.tab("Travel")
    screen = yield screen.click("Stays", "button")
    screen = yield screen.write("city", city)
    screen = yield screen.click("Search stays", "button")
    stays = re.findall(rf'"([^"$]+) \$(\d+) {city}', screen.text)
    stay, price = min(stays, key=lambda each: int(each[1]))
    screen = yield from _mail(screen, to, subject, f"{stay}, ${price} a night", "Save draft")
    yield screen.end()


def _stay_and_restaurant(
    screen: Screen, extra: str, city: str, first: str, last: str, year: str, restaurant: str
) -> Any:
    screen = yield screen.tab("Travel")
    screen = yield screen.click("Stays", "button")
    screen = yield screen.write("city", city)
    screen = yield screen.click("Search stays", "button")
    stays = re.findall(rf'"([^"$]+) \$\d+ {city}, rated ([\d.]+), [^"]*{extra}', screen.text)
    screen = yield screen.click(max(stays, key=lambda each: float(each[1]))[0], "button")
    for field, text in (
        ("check-in", _iso(f"{first}, {year}")),
        ("check-out", _iso(f"{last}, {year}")),
    ):
        screen = yield screen.write(field, text)
    screen = yield screen.write("guests", "1")
    screen = yield screen.click("Reserve", "button")
    screen = yield screen.tab("Dining")
    screen = yield screen.click(restaurant, "button")
    screen = yield screen.click("Save restaurant", "button")
    yield screen.end()


def _asked_by_mail(screen: Screen, asker: str, title: str, subject: str, body: str) -> Any:
    screen = yield screen.tab("Mail")
    screen = yield screen.click(title, "button")
    asked = re.search(r"on \w+, (\w+ \d+), from (\d+:\d+) to (\d+:\d+)", screen.text)
    if asked is None:
        raise NotThereError(f"no day in:\n{screen.text}")
    day = _iso(f"{asked[1]}, 2024")
    screen = yield from _event(
        screen, title=title, date=day, start=asked[2], end=asked[3], guests=asker
    )
    screen = yield from _mail(screen, asker, subject, body)
    yield screen.end()


# ---- the desktop ----------------------------------------------------------


def _press(screen: Screen, *names: str) -> Any:
    for name in names:
        screen = yield screen.click(name)
    yield screen.end()


def _show_time(screen: Screen, city: str) -> Any:
    screen = yield screen.click("World clock", "button")
    screen = yield screen.click("Add a new city")
    screen = yield screen.call("type_text", text=city.partition(",")[0])
    screen = yield screen.click(city)
    screen = yield screen.click("Add", "button")
    yield screen.end()


def _write_note(screen: Screen, text: str, file: str, folder: str) -> Any:
    screen = yield screen.click("Notepad", "button")
    screen = yield screen.call("type_text", text=text)
    screen = yield screen.call("press_keys", keys=["ctrl", "s"])
    screen = yield screen.click(folder)
    screen = yield screen.write("File name", file)
    screen = yield screen.click("Save", "button")
    yield screen.end()


def _install(screen: Screen, extension: str) -> Any:
    screen = yield screen.click("Extensions")
    screen = yield screen.call("type_text", text=extension)
    screen = yield screen.click(f"Install {extension}")
    yield screen.end()


# ---- what a reader does, by what the goal says ----------------------------

PLANS: dict[str, Callable[..., Any]] = {
    r"Open my (?:todos) page": lambda screen: _open(screen, "To-Do List"),
    r"merge requests assigned to me": lambda screen: _open(screen, "Assigned to you"),
    r"Open the (public projects) listing": _open,
    r"Open the (.+) category page": _open_category,
    r'Open the search results for "(.+)"': _search,
    r'Change my bio to "(.+)"': _write_biography,
    r"Set my gitlab status as (.+)\.": _set_status,
    r"set the homepage URL .+ to (\S+)": _set_homepage,
    r"grand total of invoice (\d+)": _invoice_total,
    r"Cancel the reservation at (.+) and tell (\S+) by mail with the subject '(.+?)'": _cancel_table,
    r"cannot make the '(.+?)'.+both of its guests, (\S+) and (\S+), one mail with the subject '(.+?)'": _delete_event,
    (
        r"Reserve a table for (\d+) at (.+) on (\w+ \d+, \d+) at (\S+ [AP]M) and block the calendar "
        r"from (\S+ [AP]M) to (\S+ [AP]M) .+ titled '(.+?)'"
    ): _table_and_event,
    (
        r"Book a table for (\d+) at the best-rated (\w+) restaurant on (\w+ \d+, \d+) at (\S+ [AP]M)\. Then send (\S+) "
        r"a mail with the subject '(.+?)'"
    ): _best_table,
    (
        r"cheapest non-stop flight from \w+ \((\w+)\) to \w+ \((\w+)\) on (\w+ \d+, \d+).+ to (\S+) in a mail with the "
        r"subject '(.+?)'"
    ): _cheapest_flight,
    r"Find the cheapest stay in (\w+) and prepare a draft to (\S+) with the subject '(.+?)'": _cheapest_stay,
    (
        r"best-rated stay with a (\w+) in (\w+) from (\w+ \d+) to (\w+ \d+), (\d+), and save the restaurant (.+) for later"
    ): _stay_and_restaurant,
    r"\((\S+@\S+)\) asked by mail .+ titled '(.+?)' .+ subject '(.+?)' that says '(.+?)'": _asked_by_mail,
    r"(?:Show the time of|Tomorrow I fly to) (\w+, \w+)": _show_time,
    r"Show the (Documents) folder in File Explorer": lambda screen, folder: _press(
        screen, "File Explorer", folder
    ),
    r"Switch the open folder to the view (\w+)": lambda screen, view: _press(screen, "View", view),
    r"Add the page that is open in Edge to the favourites bar": lambda screen: _press(
        screen, "Favorite this page"
    ),
    r"Let File Explorer show hidden files": lambda screen: _press(
        screen, "File Explorer", "View", "Show", "Hidden items"
    ),
    r'Write "(.+)" in a new Notepad document and save it as (\S+) among your (\w+)': _write_note,
    r"Install the extension (\w+) in VS Code": _install,
}
