"""Assertions and states drawn by seed: careless, hostile and plain ones, for laws that hold for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

FIELDS = (
    "", "/id", "/status", "/total", "/when", "/name", "/flag", "/items", "/items/*/n", "/items/*", "/missing",
    "@key", "$r/status", "$end/orders", "$start/orders/0/status", "$nowhere/x", "/0", "/a~1b", "/*/id",
)  # fmt: skip
PATHS = (
    "/orders/*",
    "/map/*",
    "/items/*",
    "$start/orders/*",
    "$end/map/*",
    "/orders",
    "",
    "/missing/*",
    "/*",
    "/*/*",
)
SCALARS: tuple[Any, ...] = (
    None, True, False, 0, 1, -3, 2.5, 10**25, 1e308, float("nan"), float("inf"), "", " ", "open", "Cancelled", "o1",
    "10,00 €", "$1,234.56", "1.234", "03/04/2026", "2026-07-18", "2026-07-18T20:30:00Z", "0001-01-01T00:00:00+14:00",
    "20:30", "8:30 PM", "3. März 2026", 1784406600000, "5 km", "5000 m", "a" * 3000, "(" * 200, "https://[x", "\ud800",
    "<" * 500, "9" * 300, "1" + ",000" * 60, "\uff41\uff42", "12 Main St.", "yes", "२०२६-०७-१८",
)  # fmt: skip
_COMPARE = ("=", "!=", "<", "<=", ">", ">=", "between")


def random_assertion(rng: random.Random, depth: int = 4) -> dict[str, Any]:
    """Return an assertion as JSON that is valid, whatever it means."""
    text = [str(each) for each in rng.sample(SCALARS[11:22], 2)]
    field = {"field": rng.choice(FIELDS), "optional": rng.random() < 0.2}
    leaves: list[dict[str, Any]] = [
        {"op": "is", **field, "values": text, "kind": rng.choice(("text", "exact", "id", "phone", "address", "host", "path", "email"))},
        {"op": "contains", **field, "phrases": text},
        {"op": "word", **field, "meaning": "is open", "accept": text, "reject": ["cancelled"], "void": [rng.choice(FIELDS)]},
        {"op": "flag", **field, "value": rng.random() < 0.5},
        {"op": "empty", **field},
        {"op": "number", **field, "compare": rng.choice(_COMPARE), "value": rng.choice((0, 1, 10, 1234.56)), "high": 20,
         "unit": rng.choice((None, "km", "nonsense")), "currency": rng.choice((None, "EUR", "USD"))},
        {"op": "moment", **field, "compare": rng.choice(_COMPARE), "value": rng.choice(("2026-07-18", "20:30", "2026-07-18T20:30", "9999-99-99")),
         "high": rng.choice((None, "2026-07-19", "21:00")), "zone": rng.choice((None, "America/Denver", "No/Zone", "../x")),
         "stored": rng.choice((None, "UTC", "Asia/Tokyo"))},
        {"op": "relation", **field, "other": rng.choice(FIELDS), "kind": rng.choice(("text", "number", "moment")),
         "compare": rng.choice(_COMPARE[:-1])},
        {"op": "created"}, {"op": "deleted"}, {"op": "moved", "source": rng.choice(PATHS)},
        {"op": "changed", "field": rng.choice(FIELDS)},
    ]  # fmt: skip
    if depth <= 0 or rng.random() < 0.3:
        return rng.choice(leaves)

    def below() -> dict[str, Any]:
        return random_assertion(rng, depth - 1)

    op = rng.choice(
        (
            "and",
            "or",
            "not",
            "before",
            "exists",
            "none",
            "exactly",
            "at_least",
            "at_most",
            "all",
            "sum",
        )
    )
    if op in {"and", "or"}:
        return {"op": op, "of": [below() for _ in range(rng.randint(1, 3))]}
    if op in {"not", "before"}:
        return {"op": op, "of": below()}
    made: dict[str, Any] = {"op": op, "over": rng.choice(PATHS), "name": rng.choice((None, "r")), "optional": rng.random() < 0.5,
            "identity": rng.choice((None, None, "@key", "/name"))}  # fmt: skip
    made["where"] = below() if rng.random() < 0.8 else None
    if op == "all":
        return {**made, "holds": below(), "may_be_none": rng.random() < 0.5}
    if op == "sum":
        return {**made, "field": rng.choice(FIELDS), "compare": rng.choice(_COMPARE), "value": 11}
    return {**made, "count": rng.randint(0, 3)}


def random_state(rng: random.Random) -> Any:
    """Return any JSON: mostly orders in a list and a map, now and then something deep or wide, or of no shape."""
    kind = rng.random()
    if kind < 0.03:
        deep: Any = rng.choice(SCALARS)
        for _ in range(rng.choice((50, 3_000))):
            deep = {"orders": deep} if rng.random() < 0.5 else [deep]
        return {"orders": [deep], "map": {"a": deep}}
    if kind < 0.05:
        cyclic: dict[str, Any] = {"orders": []}
        cyclic["orders"].append(cyclic)
        return cyclic
    if kind < 0.1:
        return rng.choice(SCALARS)
    wide = 300 if kind < 0.12 else 4
    return {
        "orders": [_record(rng, n) for n in range(rng.randint(0, wide))] if rng.random() < 0.9 else rng.choice(SCALARS),
        "map": {f"k{n}": _record(rng, n) for n in range(rng.randint(0, 3))},
        "status": rng.choice(SCALARS),
    }  # fmt: skip


def _record(rng: random.Random, number: int) -> Any:
    if rng.random() < 0.1:
        return rng.choice(SCALARS)
    made = {
        name: rng.choice(SCALARS) for name in ("status", "total", "when", "name", "flag", "a/b")
    }
    made["id"] = f"o{number}" if rng.random() < 0.8 else rng.choice(SCALARS)
    made["items"] = [{"id": n, "n": rng.choice(SCALARS)} for n in range(rng.randint(0, 2))]
    return {key: value for key, value in made.items() if rng.random() < 0.9}
