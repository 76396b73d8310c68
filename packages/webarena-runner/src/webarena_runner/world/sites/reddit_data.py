"""The forums and posts of the stand-in discussion boards."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Forum", "Submission", "forums"]


@dataclass
class Submission:
    """A post; `hot` ranks it, `ident` grows with time."""

    ident: int
    title: str
    slug: str
    author: str = "lurker"
    body: str = ""
    score: int = 1
    hot: int = 0
    comments: list[str] = field(default_factory=list)


@dataclass
class Forum:
    """A forum and its posts."""

    ident: int
    name: str
    title: str
    submissions: list[Submission]
    subscribed: bool = False


def forums() -> dict[str, Forum]:
    """Return every forum by name."""
    moon = "the-moon-saturn-and-jupiter-through-my-4-telescope-and"
    return {
        "books": Forum(10037, "books", "Books", [
            Submission(124260, "A quiet novel about lighthouses", "a-quiet-novel", hot=2),
            Submission(59421, "Support your local bookshop", "support-your-local-bookshop",
                       score=20, hot=9),
        ]),
        "DIY": Forum(10007, "DIY", "Do it yourself", [
            Submission(119019, "Shelf from one plank", "shelf-from-one-plank", hot=1),
            Submission(118000, "How to fix a squeaky floor", "squeaky-floor", score=11, hot=5),
        ]),
        "space": Forum(10042, "space", "Space", [
            Submission(69581, "The Moon, Saturn and Jupiter through a small telescope", moon,
                       score=42, hot=30),
            Submission(70110, "Launch schedule for this week", "launch-schedule", hot=4),
        ]),
        "gadgets": Forum(10050, "gadgets", "Gadgets", [
            Submission(19459, "The phone that folds three times", "the-phone-that-folds",
                       score=120, hot=12),
            Submission(20001, "A kettle with a clock", "a-kettle-with-a-clock", score=3, hot=14),
        ]),
        "gaming": Forum(10048, "gaming", "Gaming", [
            Submission(30110, "What are you playing this week?", "what-are-you-playing", hot=3),
        ]),
    }  # fmt: skip
