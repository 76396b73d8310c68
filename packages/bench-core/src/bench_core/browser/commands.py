"""The commands an agent gave its browser, and which of them end a browser: evidence for blame."""

from __future__ import annotations

import json
import re
import time
from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

_RECENT = 1000
_NAMES = 500
_TEXT = 200
_OTHERS = "(others)"
_UNREADABLE = "(unreadable)"
# The process of the graphics card is restarted a few times, then Chromium gives up with it.
_ENDS = frozenset({"Browser.close", "Browser.crash", "Browser.crashGpuProcess"})
_CLOSES_PAGE = frozenset({"Target.closeTarget", "Page.close", "/json/close"})
_OPENS_PAGE = frozenset({"Target.createTarget", "/json/new"})
_OPENS = frozenset({"Page.navigate", *_OPENS_PAGE})
_ENDING_URL = re.compile(
    r"\s*chrome://(quit|restart|inducebrowsercrashforrealz|crash/?browser)\b", re.IGNORECASE
)
_CRASHING_URL = re.compile(
    r"\s*chrome://(crash|badcastcrash|kill|memory-exhaust|memory-pressure-critical)\b",
    re.IGNORECASE,
)
_REQUEST = re.compile(r"(/json/\w+)(?:[/?](.*))?", re.DOTALL)


@dataclass(frozen=True)
class AgentCommand:
    """One command from an agent: a DevTools method or a path of the DevTools HTTP port.

    Attributes:
        subject: The page or URL it is about, if that matters for the browser's fate.
        connection: The number of the agent's connection, from 1.
        at: Its time on the clock of `time.monotonic`.
    """

    method: str
    subject: str = ""
    connection: int = 0
    at: float = field(default_factory=time.monotonic)

    def __str__(self) -> str:
        return f"{self.method} {self.subject}".rstrip()


class CommandLog:
    """The commands an agent gave its browser, by name and number, within bounds.

    Attributes:
        counts: How often each method was called; methods beyond 500 names count as one.
        recent: The last thousand commands.
        ending: The last one that ends a browser or closed its only page; None without any.
        crashed: Whether one was to crash a page.
        refused: How often each method was refused, which then never reached the browser.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.recent: deque[AgentCommand] = deque(maxlen=_RECENT)
        self.ending: AgentCommand | None = None
        self.crashed = False
        self.refused: Counter[str] = Counter()
        self._closed: set[str] = set()

    def note(self, command: AgentCommand, pages: Collection[str] = ()) -> None:
        """Add a command; `pages` are those that were open when it would close one."""
        self.counts[self._name(command.method)] += 1
        self.recent.append(command)
        opened = command.subject if command.method in _OPENS else ""
        self.crashed |= command.method == "Page.crash" or bool(_CRASHING_URL.match(opened))
        ends = command.method in _ENDS or _ENDING_URL.match(opened)
        if ends or self._closes_last(command, pages):
            self.ending = command
        elif command.method in _OPENS_PAGE and self.ending and closes_page(self.ending):
            self.ending = None  # so it did not end with its last page

    def refuse(self, command: AgentCommand) -> None:
        """Add a command that was refused: it ends nothing."""
        known = command.method in self.refused or len(self.refused) < _NAMES
        self.refused[command.method if known else _OTHERS] += 1
        self.recent.append(command)

    def _name(self, method: str) -> str:
        return method if method in self.counts or len(self.counts) < _NAMES else _OTHERS

    def _closes_last(self, command: AgentCommand, pages: Collection[str]) -> bool:
        if not closes_page(command):
            return False
        left = set(pages) - self._closed  # closing pages stay listed for a moment
        if command.subject:
            self._closed.add(command.subject)
            return bool(left) and not left - {command.subject}
        return len(left) == 1


def closes_page(command: AgentCommand) -> bool:
    """Whether a command closes one page."""
    return command.method in _CLOSES_PAGE


def command_of_message(
    message: bytes, read: Mapping[str, Any] | None, connection: int, page: str = ""
) -> AgentCommand:
    """Return the command in a message, parsed as `read`; `page` is its connection's page.

    An ambiguous message is named as far as it can be read.
    """
    try:
        command = read if read is not None else json.loads(message.decode())
        method = command["method"][:_TEXT]
    except (ValueError, TypeError, KeyError, RecursionError):
        return AgentCommand(_UNREADABLE, connection=connection)
    params = command.get("params")
    about = page if method == "Page.close" and "sessionId" not in command else ""
    subject = about or _subject(method, params if isinstance(params, dict) else {})
    return AgentCommand(method, subject, connection)


def command_of_request(path: str, connection: int) -> AgentCommand | None:
    """Return the command that an HTTP request is; None for one that opens a websocket."""
    found = _REQUEST.fullmatch(path)
    if found is None:
        return None
    return AgentCommand(found[1], (found[2] or "")[:_TEXT], connection)


def _subject(method: str, params: Mapping[str, Any]) -> str:
    name = "url" if method in _OPENS else "targetId" if method in _CLOSES_PAGE else ""
    value = params.get(name, "")
    return value[:_TEXT] if isinstance(value, str) else ""
