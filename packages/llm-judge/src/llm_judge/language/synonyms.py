"""Words of criteria and keys of records that mean the same: `party` of 3 and `guests`.

English words of everyday applications, none of any one application.
"""

from __future__ import annotations

from functools import cache

from llm_judge.language.values import words

__all__ = ["ATTRIBUTES", "meanings", "stem", "stems"]

# a word may be in several groups: `to` is an end, a destination and a recipient
_GROUPS: dict[str, str] = {
    "booking": "book booking booked bookings reserve reserved reservation reservations rsvp",
    "order": "order ordered orders purchase purchased purchases bought buy checkout",
    "cart": "cart basket bag",
    "trip": "trip trips ride rides taxi journey",
    "flight": "flight flights fly airfare",
    "mail": "mail mails email emails message messages inbox sent send outbox",
    "draft": "draft drafts drafted",
    "event": "event events meeting meetings appointment appointments reminder reminders calendar call calls task tasks",
    "people": "people person persons party guest guests traveler travelers traveller travellers passenger passengers "
    "adult adults pax diners seats covers",
    "start": "start starts starting begin begins beginning from",
    "end": "to end ends ending until finish finishes",
    "pickup": "from pickup pick origin pickuptime",
    "dropoff": "to dropoff drop destination",
    "checkin": "from checkin arrival arrive arrives arriving arrived",
    "arrive": "to arrival arrive arrives arriving arrived land lands landing landed",
    "checkout": "to checkout departure leave leaves leaving",
    "depart": "depart departs departing departure",
    "return": "return returns returning inbound",
    "price": "price prices cost costs total amount fare fee budget subtotal charge",
    "rate": "hourly nightly rate",
    "rating": "rating ratings rated star stars score",
    "quantity": "quantity qty count amount units pieces copies",
    "name": "title titled name named called subject headline heading label",
    "recipient": "recipient recipients to addressee addressed",
    "cc": "cc bcc",
    "sender": "sender",
    "address": "address addresses location street place venue where",
    "content": "content contents body text description note notes message mention mentions mentioning include includes "
    "including contain contains containing state states stating say says list lists detail details detailing summary "
    "bio comment comments review",
    "status": "status stage",
    "job": "job jobs posting postings position positions role roles post posts gig",
    "stay": "stay stays hotel hotels room rooms lodging property properties listing listings home homes house houses "
    "apartment accommodation",
    "attendee": "attendee attendees invite invited invitee invitees participant participants guest guests",
    "restaurant": "restaurant restaurants table tables dining dinner lunch",
    "item": "item items product products",
    "link": "link links url urls href",
    "bedroom": "bedroom bedrooms",
    "bathroom": "bathroom bathrooms baths",
    "saved": "saved save favorite favorites favorited favourite favourites wishlist wishlists bookmark bookmarked",
    "application": "application applications applicant applicants candidate candidates",
    "phone": "phone telephone tel mobile",
    "date": "date day days",
    "time": "time hour clock",
    "cuisine": "cuisine food",
    "confirmation": "confirmation confirmed confirm reference",
    "night": "night nights",
    "duration": "duration minutes length long",
    "payment": "card pay paid payment",
    "color": "color colour",
    "review": "review reviews reviewed feedback",
    "transfer": "transfer transferred transfers transaction transactions",
    "account": "account accounts balance",
}  # fmt: skip
ATTRIBUTES = frozenset({
    "address", "arrive", "attendee", "bathroom", "bedroom", "cc", "checkin", "checkout", "content", "depart", "dropoff", "duration",
    "end", "name", "night", "people", "pickup", "price", "quantity", "rate", "rating", "recipient", "return", "sender",
    "start", "status",
})  # fmt: skip
"""Meanings of words that say which field of a record holds a value."""

_COMMON = frozenset(
    [
        "a",
        "an",
        "the",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "has",
        "have",
        "had",
        "that",
        "this",
        "these",
        "those",
        "it",
        "its",
        "of",
        "for",
        "on",
        "in",
        "at",
        "by",
        "with",
        "and",
        "or",
        "as",
        "to",
        "from",
        "not",
        "no",
        "any",
        "all",
        "some",
        "only",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "verify",
        "check",
        "ensure",
        "correct",
        "correctly",
        "successfully",
        "new",
        "user",
        "agent",
        "system",
        "app",
        "application",
        "state",
        "record",
        "end",
        "final",
        "least",
        "most",
        "exactly",
        "more",
        "less",
        "than",
        "than",
        "there",
        "which",
        "who",
        "whose",
        "will",
        "would",
        "should",
        "must",
        "may",
        "can",
        "via",
        "using",
    ]  # a list of so many words reads worse
)
_LEAST = 3
_LEAST_STEM = 4  # shorter stems are in too many words
_SUFFIXES = ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "e", "y")


def _of_words() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for meaning, members in _GROUPS.items():
        for word in members.split():
            found.setdefault(word, set()).add(meaning)
    return {word: frozenset(meant) for word, meant in found.items()}


_MEANINGS = _of_words()


@cache
def stem(word: str) -> str:
    """Return what is left of an English word without its ending.

    >>> stem("lamps"), stem("cancelled"), stem("cancellation")
    ('lamp', 'cancel', 'cancel')
    """
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _LEAST:
            word = word[: -len(suffix)]
            break
    return word[:-1] if len(word) > _LEAST and word[-1] == word[-2] else word


_BY_STEM = {
    stem(word): meant for word, meant in _MEANINGS.items() if len(stem(word)) >= _LEAST_STEM
}


def meanings(word: str) -> frozenset[str]:
    """Return what a word may mean; empty for words without a group."""
    return _MEANINGS.get(word, _BY_STEM.get(stem(word), frozenset()))


def stems(text: str) -> frozenset[str]:
    """Return stems and meanings (`=price`) of the words of a text or name, common words left out."""
    found: set[str] = set()
    for word in words(text):
        if word not in _COMMON and (len(word) >= _LEAST or meanings(word)):
            found.add(stem(word))
            found |= {f"={each}" for each in meanings(word)}
    return frozenset(found)
