"""Whether an end state holds what its goal names word for word: texts in quotation marks, and addresses.

Checked without a model, so that a state that counts as good is doubted where it shows otherwise. What a
goal only names in some case ("if there is none, ...") is left out.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from llm_judge.states.pointers import leaves
from llm_judge.states.snapshots import find_apps

if TYPE_CHECKING:
    from collections.abc import Iterator

_CASES = re.compile(
    r"(?:\A|(?<=[.!?]\s))[^.!?]*\b(?:if|otherwise|unless|either)\b.*", re.IGNORECASE | re.DOTALL
)
_QUOTED = re.compile(
    r"[\"\u201c]([^\"\u201d]{3,80})[\"\u201d]|(?<!\w)['\u2018]([^'\u2019]{3,80})['\u2019](?!\w)"
)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")


def goal_doubts(state: Any, goal: str, *, initial: Any = None) -> Iterator[tuple[str, str]]:
    """Yield code and message for each text or address of a goal that stands nowhere in an end state.

    >>> state = {"mail": {"before": {"sent": []}, "after": {"sent": [{"subject": "Gift for Ben"}]}}}
    >>> list(goal_doubts(state, "Send an email titled 'Gift for Ana'."))
    [('state.goal_missing', "the goal names 'Gift for Ana', and the end state does not")]
    """
    plain = _CASES.sub(" ", goal)
    named = [one or other for one, other in _QUOTED.findall(plain)] + _ADDRESS.findall(plain)
    if not named:
        return
    parts = [part for app in find_apps(state, initial) for part in (*app.after, *app.changes)]
    held = _words("\n".join(str(each) for part in parts for _, each in leaves(part.value)))
    for text in dict.fromkeys(named):
        if _words(text) not in held:
            yield "state.goal_missing", f"the goal names {text!r}, and the end state does not"


def _words(text: str) -> str:
    folded = unicodedata.normalize("NFKD", text).casefold()
    return " ".join(re.findall(r"\w+", folded))
