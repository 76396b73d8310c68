"""How what pages ask their browser for is answered, and what agents read of it: the same for every agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, NamedTuple

_MOST_WORDS = 500
_MOST_TOLD = 10

ANSWER_DIALOG = (
    "Say how the page's next question (confirm, prompt, whether it may be left) is answered; call it before the "
    "act that makes the page ask. Without it, the answer is OK, with the text that the page offers."
)
"""What models read of the action that answers a question otherwise."""

_PERMISSIONS = (
    "geolocation", "notifications", "camera", "microphone", "midi", "clipboard-read", "idle-detection",
    "local-fonts", "window-management",
)  # fmt: skip
_WORLD = "proctor-requests"
# runs in a world of its own, so that nothing of the page's is another than in a browser without it
_LISTEN = f"""(() => {{
  addEventListener('beforeprint', () => told('print'));
  if (top !== self) return;
  const before = {{}};
  const seen = (name, {{state}}) => {{
    if (before[name] === 'prompt' && state === 'denied') told(name);
    before[name] = state;
  }};
  globalThis.look = () => Promise.all({list(_PERMISSIONS)}.map(
    name => navigator.permissions?.query({{name}}).then(status => (seen(name, status), [name, status]), () => {{}})));
  look().then(all => all.forEach(each => each && (each[1].onchange = () => seen(...each))));
}})()"""


def _requested(event: Mapping[str, Any]) -> str:
    name = event["payload"]
    if name == "print":
        return "the page was to be printed, which was not done"
    return f"the page asked for a permission ({name}), which was refused"


def _password_wanted(event: Mapping[str, Any]) -> str:
    response = event["response"]
    return (
        asks_for_password(response["url"], response["status"], response["headers"])
        if event["type"] == "Document"
        else ""
    )


PAGE_EVENTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = MappingProxyType(
    {
        "Page.fileChooserOpened": lambda _: "the page asked for a file: no file was chosen",
        "Page.downloadWillBegin": lambda event: (
            f"the page offered the file '{event['suggestedFilename'][:_MOST_WORDS]}' for download, which is not kept"
        ),
        "Runtime.bindingCalled": _requested,
        "Network.responseReceived": _password_wanted,
    }
)
"""Events of the DevTools protocol, and what an agent reads of them; nothing of those that are no request to a person."""
FOLLOW: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Page.enable", {}),
    ("Runtime.enable", {}),
    # a chooser would wait for a person; the page sees that no one chose
    ("Page.setInterceptFileChooserDialog", {"enabled": True, "cancel": True}),
    ("Runtime.addBinding", {"name": "told", "executionContextName": _WORLD}),
    (
        "Page.addScriptToEvaluateOnNewDocument",
        {"source": _LISTEN, "worldName": _WORLD, "runImmediately": True},
    ),
)
"""Commands after which a page reports these events, those of `Network` apart."""


async def look_again(frame: str, send: Callable[[str, dict[str, Any]], Awaitable[Any]]) -> None:
    """Let a page report the permissions that it was refused; by itself it does so only when it has the time.

    Args:
        frame: The id of the page's main frame, which is that of its target, too.
        send: Sends a command to the page, which `FOLLOW` was sent to, and returns its result.
    """
    # the world that there is already: its name stands for it
    world = await send("Page.createIsolatedWorld", {"frameId": frame, "worldName": _WORLD})
    look = {"expression": "look().then(() => 0)", "awaitPromise": True}
    await send("Runtime.evaluate", look | {"contextId": world["executionContextId"]})


def asks_for_password(url: str, status: int, headers: Mapping[str, str]) -> str:
    """Return what an agent reads of a page that is only shown for a user name and a password; nothing of others."""
    if status != HTTPStatus.UNAUTHORIZED or "www-authenticate" not in map(str.lower, headers):
        return ""
    place = url.partition("?")[0][:_MOST_WORDS]
    return f"the site asked for a user name and a password for {place}: no one entered any, and the page is not shown"


class DialogAnswer(NamedTuple):
    """How a dialog is answered: with OK or not, with which text, and what an agent reads of it."""

    accept: bool
    text: str
    words: str


class Dialogs:
    """Answers dialogs, and keeps in words what pages asked for until it is told.

    A page stands still while a dialog is open, so dialogs are answered at once: an alert is closed, a question
    (`confirm`) is answered with OK, one for a text (`prompt`) with what it offers, and a page that asks whether it may
    be left is left. What asks for a confirmation has been asked for, and a task that deletes something could not be
    done otherwise. `answer_next` answers the next question otherwise.
    """

    def __init__(self) -> None:
        self._next: tuple[bool, str | None] | None = None
        self._told: list[str] = []

    def answer_next(self, *, accept: bool, text: str | None) -> str:
        """Say how the next question is answered; return what the agent reads."""
        self._next = (accept, text)
        given = (
            f", and with {text[:_MOST_WORDS]!r} if it asks for a text" if text and accept else ""
        )
        return f"the next question of a page will be answered with {'OK' if accept else 'Cancel'}{given}"

    def answer(self, kind: str, message: str, offered: str = "") -> DialogAnswer:
        """Return how a dialog is answered: `alert`, `confirm`, `prompt` or `beforeunload`."""
        words = f"'{message[:_MOST_WORDS]}'"
        if kind == "alert":
            return self._tell(True, "", f"the page showed a dialog, which was closed: {words}")
        accept, text = self._next or (True, None)
        said = ", as you said" if self._next else ""
        self._next = None
        given = offered if text is None else text
        if kind == "beforeunload":
            answer = "yes" if accept else "no"
            asked = f"the page asked whether it may be left, which was answered with {answer}"
        elif kind == "prompt" and accept:
            offer = "what it offered: " if text is None else ""
            asked = (
                f"the page asked for a text, {words}, and was given {offer}'{given[:_MOST_WORDS]}'"
            )
        else:
            asked = (
                f"the page asked {words}, which was answered with {'OK' if accept else 'Cancel'}"
            )
        return self._tell(accept, given, f"{asked}{said}")

    def note(self, words: str) -> None:
        """Keep what an agent is to read, if anything; several tabs of a site may report the same."""
        if words and words not in self._told:
            self._keep(words)

    def take(self) -> tuple[str, ...]:
        """Return what is to be told, once."""
        told = tuple(self._told)
        self._told.clear()
        return told

    def _tell(self, accept: bool, text: str, words: str) -> DialogAnswer:  # a field
        self._keep(words)
        return DialogAnswer(accept, text, words)

    def _keep(self, words: str) -> None:
        if len(self._told) < _MOST_TOLD:
            self._told.append(words)
