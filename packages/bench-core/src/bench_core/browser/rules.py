"""Rules on an agent's browser commands, as data, and the decision about one message.

A message that no rule names passes as it came if `methods.txt` allows its method. A refused message is answered with an
error by the gateway and never reaches Chromium; a rewritten one reaches it in another form.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from bench_core.browser.places import Places
from bench_core.records.integrity import IntegrityCode

_REFUSED = -32000  # DevTools' own code for errors of the server
_TEXT = 200


@dataclass(frozen=True)
class Rule:
    """The treatment of a command.

    Attributes:
        method: Its name; `Domain.*` for a whole domain.
        does: `refuse`, `rewrite`, or `flag`, which passes it.
        code: Its integrity code in records; None if it is not recorded.
        why: For the agent's error, and for the documentation.
        when: Which of `CONDITIONS` must hold.
        rewrite: Which of `REWRITES` is applied.
    """

    method: str
    does: Literal["refuse", "rewrite", "flag"]
    code: IntegrityCode | None
    why: str
    when: str = "always"
    rewrite: str = ""


_OPENS = ("Page.navigate", "Target.createTarget", "Network.loadNetworkResource")
_LOCAL = "files of this machine and pages of the browser itself are no part of a task"
_CHANGED = "requests and answers between pages and sites are evidence"
_CRASH = "a browser that crashes leaves nothing to score"
_NO_PART = "it is not among the methods for working on pages"
_PAST = "it would pass commands by the gateway"
_C = IntegrityCode

AGENT_RULES: tuple[Rule, ...] = (
    *(Rule(method, "refuse", None, _LOCAL, when="forbidden_url") for method in _OPENS),
    Rule("DOM.setFileInputFiles", "refuse", _C.LOCAL_FILE, _LOCAL, when="files"),
    Rule("Input.dispatchDragEvent", "refuse", _C.LOCAL_FILE, _LOCAL, when="dragged_files"),
    Rule("Browser.setDownloadBehavior", "rewrite", None, "nothing is written to this machine",
         rewrite="no_download"),
    Rule("Page.setDownloadBehavior", "rewrite", None, "nothing is written to this machine",
         rewrite="no_download"),
    Rule("Extensions.*", "refuse", _C.EXTENSION, "an extension changes the browser itself"),
    Rule("PWA.*", "refuse", _C.EXTENSION, "an installed app is outside of the task's pages"),
    Rule("Fetch.fulfillRequest", "rewrite", _C.FORGED_RESPONSE, _CHANGED, rewrite="continue"),
    Rule("Fetch.continueRequest", "rewrite", _C.FORGED_REQUEST, _CHANGED, when="changed_request",
         rewrite="continue"),
    Rule("Fetch.continueResponse", "rewrite", _C.FORGED_RESPONSE, _CHANGED, when="changed_response",
         rewrite="continue"),
    Rule("Network.setRequestInterception", "refuse", _C.FORGED_REQUEST, _CHANGED),
    Rule("Network.continueInterceptedRequest", "refuse", _C.FORGED_REQUEST, _CHANGED),
    Rule("Network.setExtraHTTPHeaders", "flag", _C.FORGED_REQUEST, _CHANGED, when="odd_headers"),
    Rule("DOMStorage.setDOMStorageItem", "refuse", _C.FORGED_STORAGE, "apps write their own storage"),
    Rule("Target.createBrowserContext", "refuse", _C.FOREIGN_CONTEXT,
         "work in the default context: another one is not logged in and not watched"),
    Rule("Browser.crash", "refuse", _C.BROWSER_ENDED, _CRASH),
    Rule("Browser.crashGpuProcess", "refuse", _C.BROWSER_ENDED, _CRASH),
    Rule("Page.crash", "flag", _C.BROWSER_ENDED, "its page is the agent's to lose"),
    Rule("Emulation.setVirtualTimePolicy", "refuse", _C.VIRTUAL_TIME, "time is part of the evidence"),
    Rule("Target.sendMessageToTarget", "refuse", _C.REFUSED_COMMAND, f"{_PAST}: use flat sessions"),
    Rule("Target.exposeDevToolsProtocol", "refuse", _C.REFUSED_COMMAND, _PAST),
    Rule("Target.setRemoteLocations", "refuse", _C.REFUSED_COMMAND, _PAST),
    Rule("Target.openDevTools", "refuse", _C.REFUSED_COMMAND, _PAST),
    Rule("Tethering.*", "refuse", _C.REFUSED_COMMAND, _PAST),
)  # fmt: skip
"""The rules for agents; the first whose method and condition fit is applied."""

REQUESTS = frozenset({"/json", "/json/list", "/json/version"})
"""The paths of the DevTools HTTP port that agents get, in addition to the websockets."""

_PAUSED = "Fetch.requestPaused"
_CHANGES = ("url", "method", "postData", "headers")
_ANSWERS = ("responseCode", "responsePhrase", "responseHeaders", "binaryResponseHeaders")
_USUAL_HEADERS = frozenset({"accept-language", "dnt", "sec-gpc"})
"""Headers that people set in a browser themselves."""
_KEPT = ("requestId", "interceptResponse")

_Params = dict[str, Any]
_CONDITIONS: Mapping[str, Callable[[_Params], bool]] = MappingProxyType(
    {
        "always": lambda _: True,
        "files": lambda params: bool(params.get("files")),
        "dragged_files": lambda params: bool(_dictionary(params.get("data")).get("files")),
        "changed_request": lambda params: any(params.get(each) is not None for each in _CHANGES),
        "changed_response": lambda params: any(params.get(each) is not None for each in _ANSWERS),
        "odd_headers": lambda params: (
            not _USUAL_HEADERS.issuperset(
                str(each).casefold() for each in params.get("headers") or ()
            )
        ),
    }
)


@dataclass(frozen=True)
class Decision:
    """The decision on one message.

    Attributes:
        message: The message for Chromium; None if nothing reaches it.
        answer: The immediate answer to the agent.
        code: The integrity code to record; None for nothing.
        blocked: Whether the recorded message took no effect.
        command: The message as it was read; None if it is ambiguous.
    """

    message: bytes | None
    answer: bytes | None = None
    code: IntegrityCode | None = None
    blocked: bool = True
    command: dict[str, Any] | None = None


class RuleBook:
    """Rules looked up by method; without any, everything passes.

    Args:
        rules: The first that fits is applied.
        places: Which URLs are refused.
    """

    def __init__(self, rules: Iterable[Rule] = AGENT_RULES, places: Places | None = None) -> None:
        self.places = places or Places()
        self.passes_all = True
        self._by_method: dict[str, list[Rule]] = {}
        for rule in rules:
            self._by_method.setdefault(rule.method, []).append(rule)
            self.passes_all = False

    def decide(self, message: bytes, paused: Mapping[str, str] = MappingProxyType({})) -> Decision:
        """Decide on a message; an ambiguous one is refused.

        `paused` has the URLs of the requests that wait for the agent, by `paused_key`. Its answers to those
        that are not to the trial's sites are not evidence.
        """
        command = read_command(message)
        if self.passes_all:
            return Decision(message, command=command)
        if command is None:
            return Decision(None)
        method, params = command["method"], _dictionary(command.get("params"))
        domain = f"{method.partition('.')[0]}.*"
        for rule in (*self._by_method.get(method, ()), *self._by_method.get(domain, ())):
            if rule.when == "forbidden_url":
                code = self.places.code_of(str(params.get("url", "")))
                if code is not None:
                    return _refusal(command, rule, code)
            elif _CONDITIONS[rule.when](params) and not (
                rule.rewrite == "continue" and self._is_elsewhere(command, params, paused)
            ):
                return _apply(rule, command, message)
        if protocol_methods().get(method, "refused") == "refused":
            return _refusal(command, Rule(method, "refuse", None, _NO_PART), None)
        return Decision(message, command=command)

    def _is_elsewhere(self, command: _Params, params: _Params, paused: Mapping[str, str]) -> bool:
        url = paused.get(paused_key(command, params), "")
        return all(map(self.places.is_elsewhere, (url, str(params.get("url") or url))))


def paused_key(message: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    """Return the name of a request that waits: its id and that of the session."""
    return f"{message.get('sessionId') or ''} {params.get('requestId')}"


def paused_request(message: bytes) -> tuple[str, str] | None:
    """Return name and URL of a request that Chromium reports as paused; None for other messages."""
    if _PAUSED.encode() not in message:  # nearly all, and reading costs time
        return None
    try:
        event = json.loads(message)
        if event.get("method") != _PAUSED:
            return None
        return paused_key(event, event["params"]), event["params"]["request"]["url"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


@functools.cache
def protocol_methods() -> Mapping[str, str]:
    """Return the known methods, each with its treatment: `allowed`, `filtered` or `refused`."""
    found, kind, domain = {}, "", ""
    for line in (files(__package__) / "methods.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line[1:].partition("]")[0]
        elif not line.startswith("#"):
            before, _, names = line.rpartition(":")
            domain = before or domain
            found.update({f"{domain}.{name}": kind for name in names.split()})
    return found


def read_command(message: bytes) -> dict[str, Any] | None:
    """Return the command in a message; None if Chromium may read it otherwise or not at all."""
    try:
        command = _STRICT.decode(message.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(command, dict) or not isinstance(command.get("method"), str):
        return None
    return command


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice: which of them counts is the reader's choice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_STRICT = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)


def _apply(rule: Rule, command: dict[str, Any], message: bytes) -> Decision:
    if rule.does == "flag":
        return Decision(message, code=rule.code, blocked=False, command=command)
    if rule.does == "refuse":
        return _refusal(command, rule, rule.code)
    changed = _REWRITES[rule.rewrite](command)
    return Decision(json.dumps(changed).encode(), code=rule.code, command=command)


def _refusal(command: dict[str, Any], rule: Rule, code: IntegrityCode | None) -> Decision:
    text = f"{command['method'][:_TEXT]} is refused: {rule.why}"
    answer = {"id": command.get("id"), "error": {"code": _REFUSED, "message": text}}
    if "sessionId" in command:
        answer["sessionId"] = command["sessionId"]
    return Decision(None, json.dumps(answer).encode(), code, command=command)


def _no_download(command: dict[str, Any]) -> dict[str, Any]:
    params = {**_dictionary(command.get("params")), "behavior": "deny"}
    params.pop("downloadPath", None)
    return {**command, "params": params}


def _continue(command: dict[str, Any]) -> dict[str, Any]:
    """Return a command that lets a paused request or answer go on as it is: refusing would hang it."""
    method = command["method"]
    method = "Fetch.continueRequest" if method == "Fetch.fulfillRequest" else method
    params = _dictionary(command.get("params"))
    kept = {name: params[name] for name in _KEPT if name in params}
    return {**command, "method": method, "params": kept}


_REWRITES: Mapping[str, Callable[[_Params], _Params]] = MappingProxyType(
    {"no_download": _no_download, "continue": _continue}
)


def _dictionary(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
