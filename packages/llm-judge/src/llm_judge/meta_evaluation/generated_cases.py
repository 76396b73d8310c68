"""Labelled cases without a data set: end states of five made-up applications, half of them wrong in one thing.

For a first look at a judge without a labelled set: `llm-judge bench generated:200 -m ...`.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench_core.records.judge import Criterion, JudgeCase
from bench_core.seeded import seeded
from llm_judge.meta_evaluation.labelled_set import LabelledCase

_PLACES = (
    "Steakhouse 101",
    "Old Mill",
    "Sushi Zen",
    "La Trattoria",
    "Foreign Cinema",
    "Taco Loco",
    "The Royal Dine",
)
_PEOPLE = ("ben.carter", "ana.lopez", "kenji.tanaka", "chloe.smith", "helena.vogt", "tom.hardy")
_STREETS = (
    "100 Van Ness Ave",
    "8 Mission Street",
    "1001 Castro Street",
    "55 Pine Road",
    "410 Lake Drive",
)
_ITEMS = ("Lamp", "Kettle", "Desk", "Mug", "Backpack", "Webcam")
_TITLES = ("Client dinner", "Team lunch", "Budget review", "Farewell party", "Design workshop")
_MONTHS = ("January", "March", "May", "July", "August", "October")
_NUMBERS = {"January": 1, "March": 3, "May": 5, "July": 7, "August": 8, "October": 10}


@dataclass(frozen=True)
class _Request:
    """The request of one case."""

    place: str
    guests: int
    hour: int
    minute: int
    month: str
    day: int
    title: str
    person: str
    item: str
    quantity: int
    pickup: str
    dropoff: str

    @property
    def clock(self) -> str:
        return f"{self.hour}:{self.minute:02d} PM"

    @property
    def date(self) -> str:
        return f"2026-{_NUMBERS[self.month]:02d}-{self.day:02d}"

    @property
    def start(self) -> str:
        return f"{self.date}T{self.hour + 12}:{self.minute:02d}:00"


def generated_cases(n: int, *, seed: int = 0) -> tuple[LabelledCase, ...]:
    """Return `n` cases; every second one is wrong, by the operators of `DEFECTS` in turn.

    >>> [each.outcome for each in generated_cases(4)]
    [True, False, True, False]
    """
    rng = seeded(seed)
    names = list(DEFECTS)
    found = []
    for number in range(n):
        pickup, dropoff = rng.sample(_STREETS, 2)
        plan = _Request(
            rng.choice(_PLACES), rng.randint(2, 9), rng.randint(5, 9), rng.choice((0, 15, 30, 45)), rng.choice(_MONTHS),
            rng.randint(2, 27), rng.choice(_TITLES), rng.choice(_PEOPLE), rng.choice(_ITEMS), rng.randint(2, 6), pickup, dropoff,
        )  # fmt: skip
        state = _state(plan, rng)
        operator = "as labelled"
        if number % 2:
            operator = names[number // 2 % len(names)]
            DEFECTS[operator](state, plan)
        case = JudgeCase(
            case_id=f"generated-{seed}-{number}",
            goal=(
                f"Book a table for {plan.guests} at {plan.place} on Tablely for {plan.month} {plan.day} at {plan.clock}, put "
                f"'{plan.title}' into Daybook for that time, tell {plan.person}@corp.example by email with the subject "
                f"'{plan.title}', order {plan.quantity} {plan.item}s on Cartly and book a Rideline from {plan.pickup} to {plan.dropoff}."
            ),
            criteria=tuple(
                Criterion(id=f"c{i}", text=text) for i, text in enumerate(_criteria(plan, rng), 1)
            ),
            state=state,
            metadata={"apps": list(state)},
        )
        found.append(LabelledCase(case, outcome=not number % 2, operator=operator))
    return tuple(found)


def _criteria(plan: _Request, rng: random.Random) -> tuple[str, ...]:
    table = (
        f"A table for {plan.guests} is booked at {plan.place} on {plan.month} {plan.day} at {plan.clock}.",
        f"Verify that a Tablely reservation for {plan.guests} people at {plan.place} was made for {plan.clock} on {plan.date}.",
    )
    event = (
        f"The calendar holds an event titled '{plan.title}' on {plan.month} {plan.day} that starts at {plan.clock}.",
        f"An event '{plan.title}' was added to Daybook for {plan.hour + 12}:{plan.minute:02d} on {plan.month} {plan.day}.",
    )
    mail = (
        f"An email was sent to {plan.person}@corp.example with the subject '{plan.title}'.",
        f"Verify an email with the subject '{plan.title}' was sent to {plan.person}@corp.example.",
    )
    order = (
        f"{plan.quantity} {plan.item}s were ordered on Cartly.",
        f"Verify that an order of exactly {plan.quantity} {plan.item}s was placed.",
    )
    ride = (
        f"A ride was booked from {plan.pickup} to {plan.dropoff}.",
        f"Verify that a Rideline from {plan.pickup} to {plan.dropoff} was booked.",
    )
    return tuple(rng.choice(each) for each in (table, event, mail, order, ride))


def _state(plan: _Request, rng: random.Random) -> dict[str, Any]:
    other = rng.choice([each for each in _PLACES if each != plan.place])
    old_table = {
        "id": "b0",
        "restaurant": other,
        "date": "2026-02-01",
        "time": "12:10 PM",
        "guests": 1,
        "status": "confirmed",
    }
    table = {
        "id": "b1",
        "restaurant": plan.place,
        "date": plan.date,
        "time": plan.clock,
        "guests": plan.guests,
        "status": "confirmed",
    }
    old_event = {
        "id": "e0",
        "title": "Standup",
        "start": "2026-02-01T09:05:00",
        "end": "2026-02-01T09:20:00",
    }
    event = {"id": "e1", "title": plan.title, "start": plan.start, "end": f"{plan.date}T23:40:00"}
    old_mail = {
        "id": 1,
        "to": ["office@corp.example"],
        "subject": "Minutes",
        "content": "See attachment.",
        "sent": True,
    }
    mail = {
        "id": 2,
        "to": [f"{plan.person}@corp.example"],
        "subject": plan.title,
        "content": "See you there.",
        "sent": True,
    }
    old_order = {"orderId": "o0", "product": "Chair", "quantity": 1, "status": "delivered"}
    order = {"orderId": "o1", "product": plan.item, "quantity": plan.quantity, "status": "placed"}
    old_ride = {"tripId": "t0", "pickup": "Airport", "destination": "Pier 39", "status": "done"}
    ride = {"tripId": "t1", "pickup": plan.pickup, "destination": plan.dropoff, "status": "pending"}
    return {
        # in half of the cases, the app also lists its own changes
        "tablely": _app("bookings", [old_table], [table], listed=rng.random() < 0.5),
        "daybook": _app("events", [old_event], [event], listed=True),
        "webmail": _app("emails", [old_mail], [mail], listed=rng.random() < 0.5),
        "cartly": _app("orders", [old_order], [order], listed=False),
        "rideline": _app("trips", [old_ride], [ride], listed=False),
    }


def _app(name: str, old: list[Any], new: list[Any], *, listed: bool) -> dict[str, Any]:
    app: dict[str, Any] = {
        "initialstate": {name: copy.deepcopy(old), "search": {"term": ""}},
        "finalstate": {name: copy.deepcopy([*old, *new]), "search": {"term": str(new[0])[:40]}},
    }
    if listed:
        app["differences"] = {name: {"added": copy.deepcopy(new), "deleted": [], "updated": []}}
    return app


def _records(app: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The record that the run made, in all its copies."""
    listed = app.get("differences", {}).get(name, {}).get("added", [])
    return [app["finalstate"][name][-1], *listed]


def _changed(
    app: str, name: str, key: str, value: Callable[[_Request], Any]
) -> Callable[[dict[str, Any], _Request], None]:
    def change(state: dict[str, Any], plan: _Request) -> None:
        for record in _records(state[app], name):
            record[key] = value(plan)

    return change


def _dropped(app: str, name: str) -> Callable[[dict[str, Any], _Request], None]:
    def drop(state: dict[str, Any], _: _Request) -> None:
        state[app]["finalstate"][name].pop()
        if "differences" in state[app]:
            state[app]["differences"][name]["added"].clear()

    return drop


def _was_there(state: dict[str, Any], _: _Request) -> None:
    """The order stood there before the run: nothing was ordered."""
    state["cartly"]["initialstate"]["orders"] = copy.deepcopy(
        state["cartly"]["finalstate"]["orders"]
    )


def _swapped(state: dict[str, Any], plan: _Request) -> None:
    for record in _records(state["rideline"], "trips"):
        record["pickup"], record["destination"] = plan.dropoff, plan.pickup


DEFECTS: dict[str, Callable[[dict[str, Any], _Request], None]] = {
    "time": _changed("tablely", "bookings", "time", lambda p: f"{p.hour % 9 + 1}:{p.minute:02d} PM"),
    "date": _changed("tablely", "bookings", "date", lambda p: f"{p.date[:8]}{p.day % 27 + 1:02d}"),
    "people": _changed("tablely", "bookings", "guests", lambda p: p.guests + 7),
    "place": _changed("tablely", "bookings", "restaurant", lambda p: _PLACES[(_PLACES.index(p.place) + 1) % len(_PLACES)]),
    "start": _changed("daybook", "events", "start", lambda p: f"{p.date}T{p.hour + 1:02d}:{p.minute:02d}:00"),
    "title": _changed("daybook", "events", "title", lambda p: f"Quaxley {p.title.split()[-1]}"),
    "recipient": _changed("webmail", "emails", "to", lambda p: [f"{_PEOPLE[(_PEOPLE.index(p.person) + 1) % len(_PEOPLE)]}@corp.example"]),
    "subject": _changed("webmail", "emails", "subject", lambda _: "Hello"),
    "quantity": _changed("cartly", "orders", "quantity", lambda p: p.quantity + 5),
    "product": _changed("cartly", "orders", "product", lambda p: _ITEMS[(_ITEMS.index(p.item) + 1) % len(_ITEMS)]),
    "swapped ends": _swapped,
    "no booking": _dropped("tablely", "bookings"),
    "no email": _dropped("webmail", "emails"),
    "order from before": _was_there,
}  # fmt: skip
"""Ways in which one thing is wrong."""
