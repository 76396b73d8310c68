"""The base of all records: frozen, strict about unknown fields, the same through JSON and back."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
)

World = Literal["real", "built-in", "wine"]
"""Whether a trial ran on the benchmark's real systems, on the stand-in world of a package, or on WAA's server under Wine."""


class Record(BaseModel):
    """Base of all records: frozen, strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class _Names(dict[type[Record], set[str]]):
    """The names of a record's fields, read once: pydantic is slow to return them."""

    def __missing__(self, record: type[Record]) -> set[str]:
        return self.setdefault(record, set(record.model_fields))


_NAMES = _Names()


def share_names(record: Record) -> None:
    """Let records that state every field share the set of their names, those inside them, too.

    These sets are more than half of the memory of a result read from a file. Only records read in
    masses are worth it: done for every record that is made, it is 4% of the cost of a trivial trial.
    """
    every = _NAMES[type(record)]
    if len(record.__pydantic_fields_set__) == len(every):
        object.__setattr__(record, "__pydantic_fields_set__", every)
    for value in record.__dict__.values():
        if isinstance(value, Record):
            share_names(value)
        elif isinstance(value, tuple):
            for each in value:
                if isinstance(each, Record):
                    share_names(each)


class GitState(Record):
    """A commit, and whether tracked files differ from it."""

    commit: str
    dirty: bool


Count = Annotated[int, Field(ge=0, le=10**15)]
"""A number of tokens or requests; a larger one is a defect of its source."""


Dollars = Annotated[float, Field(ge=0, le=10**9, allow_inf_nan=False)]
"""An amount in US dollars; infinite and absurd ones are a defect of their source."""
