"""Translation between agents' actions and the code that WAA's server runs."""

from __future__ import annotations

from waa_client.actions.code import OFFERS, Block, DesktopScreen, UntranslatableError, translate
from waa_client.actions.keys import UnknownKeyError, key_name
from waa_client.actions.replies import ReplyError, actions_of_reply, parse_block, parse_reply

__all__ = [
    "OFFERS",
    "Block",
    "DesktopScreen",
    "ReplyError",
    "UnknownKeyError",
    "UntranslatableError",
    "actions_of_reply",
    "key_name",
    "parse_block",
    "parse_reply",
    "translate",
]
