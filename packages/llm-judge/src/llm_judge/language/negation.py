"""Whether a criterion says that something is not so, leaving out its quotations and examples."""

from __future__ import annotations

import re

QUOTED = re.compile(
    r"\"([^\"]{1,200})\"|\u201c([^\u201d]{1,200})\u201d|(?<!\w)'((?:[^']|(?<=\w)'(?=\w)){1,200})'(?!\w)|\u2018([^\u2019]{1,200})\u2019"
)
# an example or an aside need not be so, and its "no" denies nothing
_ASIDE = re.compile(
    r"\(\s*(?:e\.g\.|for example|such as|like|assuming|presumably|i\.e\.|note)[^)]*\)|\bNote:.*",
    re.IGNORECASE | re.DOTALL,
)
_EXAMPLE = re.compile(
    r"\b(?:e\.g\.|for example|such as|for instance|like\s(?=['\"\u2018])|presumably|as per)[^.;]*|"
    r",\s*(?:thus |thereby )?(?:implying|indicating|suggesting|demonstrating|representing|indicated by)\b[^.;]*",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\b(?:nothing|none|nobody|no one|no longer|neither)\b|\bno\s+(?!(?:more|less|fewer|later|earlier|sooner|greater|higher|lower)\s+than\b)(?!later\b|earlier\b|doubt\b)[a-z]",
    re.IGNORECASE,
)
_NOT_DONE = re.compile(
    r"\b(?:never|not|n't|without)\s+(?:\w+\s+){0,3}?(?:any|a|an|added|booked|bought|cancell?ed|changed|created|deleted|exist|made|modified|"
    r"ordered|placed|placing|posted|purchased|reserved|removed|scheduled|sent|submitted|booking|ordering|buying|sending)\b|"
    r"\b(?:don't|do not|did not|didn't|was not|were not|wasn't|weren't|has not|have not|is not|isn't)\s+(?:\w+\s+)?(?:add|book|buy|cancel|"
    r"change|create|delete|make|order|place|post|purchase|reserve|remove|schedule|send|submit)\w*\b|\buntouched\b|\bunchanged\b",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"\b(?:is|are|was|were|been|being|got)\s+(?:\w+ly\s+)?(?:removed|deleted|cleared|emptied)\b|\b(?:is|are) (?:now )?(?:empty|gone)\b",
    re.IGNORECASE,
)
_NOT_EMPTY = re.compile(r"\bnot (?:be )?(?:empty|null|blank)\b", re.IGNORECASE)


def asks_for_absence(text: str) -> bool:
    """Return whether a criterion says that something is not there.

    >>> asks_for_absence("No other booking was made."), asks_for_absence("It costs no more than $5.")
    (True, False)
    """
    plain = QUOTED.sub(" ", without_examples(text.replace("\u2019", "'")))
    plain = re.sub(r"\([^)]*\)", " ", _NOT_EMPTY.sub(" ", plain))
    return any(each.search(plain) for each in (_NOTHING, _NOT_DONE, _GONE))


def without_examples(text: str) -> str:
    """Return a text of the same length without what it only gives as an example."""
    for pattern in (_ASIDE, _EXAMPLE):
        text = pattern.sub(lambda found: " " * len(found[0]), text)
    return text
