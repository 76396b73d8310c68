"""Changes to a case: what an agent, a broken VM or a careless author could have done to it."""

from __future__ import annotations

import base64
import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

__all__ = ["tamper"]

Case = dict[str, Any]


def tamper(source: Case, rng: Random) -> tuple[Case, str]:
    """Return a changed copy of a case and what was done to it; one time in ten nothing."""
    case = copy.deepcopy({key: source[key] for key in ("task", "vm_state", "action_history")})
    if rng.random() < 0.1:
        return case, "nothing"
    done = []
    for _ in range(rng.choice([1, 1, 2])):
        change = rng.choices(list(_CHANGES), list(_CHANGES.values()))[0]
        done.append(change(case, rng))
    return case, "; ".join(done)


def _change_file(case: Case, rng: Random) -> str:
    return _change_stored(case["vm_state"].get("files") or {}, rng)


def _change_cloud(case: Case, rng: Random) -> str:
    files = case["vm_state"].get("cloud") or {}
    if files and rng.random() < 0.4:
        name = rng.choice(sorted(files))
        files[name] = {"status": rng.choice([404, 500, 403])}
        return f"cloud {name} answers {files[name]}"
    return _change_stored(files, rng, on_disk=False)


def _change_stored(files: dict[str, Any], rng: Random, *, on_disk: bool = True) -> str:
    if not files:
        return "no file to change"
    name = rng.choice(sorted(files))
    kind = rng.choice(["gone", "empty", "cut", "json", "json", "text", "locked", "hidden", "other"])
    stored = files[name]
    if kind == "gone":
        del files[name]
    elif kind == "locked" and on_disk:
        stored[rng.choice(["locked", "hidden"])] = True
    elif kind == "json" and _as_json(stored) is not None:
        stored["text"] = json.dumps(_change_json(_as_json(stored), rng))
    elif kind == "text" and "text" in stored:
        stored["text"] = _change_text(stored["text"], rng)
    elif kind == "other":
        files[name] = {"text": rng.choice(["", "null", "[]", "{}", "no", "\x00\x01", "é\n"])}
    else:
        _cut(stored, share=0.0 if kind == "empty" else rng.random())
    return f"{kind} {name}"


def _cut(stored: dict[str, Any], share: float) -> None:
    if "text" in stored:
        stored["text"] = stored["text"][: int(len(stored["text"]) * share)]
    elif "b64" in stored:
        data = base64.b64decode(stored["b64"])
        stored["b64"] = base64.b64encode(data[: int(len(data) * share)]).decode()


def _as_json(stored: dict[str, Any]) -> Any:
    try:
        return json.loads(stored.get("text") or "")
    except ValueError:
        return None


def _change_json(value: Any, rng: Random) -> Any:
    """Return the document with one value somewhere replaced, removed or wrapped."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(sorted(value))
        if rng.random() < 0.2:
            return {each: value[each] for each in value if each != key}
        return {**value, key: _change_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        index = rng.randrange(len(value))
        return [*value[:index], _change_json(value[index], rng), *value[index + 1 :]]
    return rng.choice([None, True, False, 0, 1, 2.5, "", "x", [], {}, [value], str(value), value])


def _change_text(text: str, rng: Random) -> str:
    lines = text.split("\n")
    index = rng.randrange(len(lines))
    kind = rng.randint(0, 6)
    if kind == 0:
        return text.upper()
    if kind == 1:
        return text.replace("\n", "\r\n")
    if kind == 2:
        lines[index] = ""
    elif kind == 3:
        lines.insert(index, lines[index])
    elif kind == 4:
        rng.shuffle(lines)
    elif kind == 5:
        lines[index] = lines[index].replace("=", ":").replace("1", "0")
    return "\n".join(lines) if kind < 6 else text + rng.choice(["\n", " ", "x"])


def _change_commands(case: Case, rng: Random) -> str:
    rules = case["vm_state"].setdefault("commands", [])
    if not rules or rng.random() < 0.2:
        rules.insert(0, {"match": "", "output": rng.choice(["", "x\n", "error", "None\n", "True"])})
        return f"every command prints {rules[0]['output']!r}"
    rule = rng.choice(rules)
    changed: dict[str, Any] = rng.choice(
        [
            {"output": ""},
            {"output": _change_text(rule.get("output", ""), rng)},
            {"output": _change_text(rule.get("output", ""), rng), "error": "a warning"},
            {"returncode": 1},
            {"output": "", "error": "failed", "returncode": 1},
            {"http_status": 500},
        ]
    )
    rule.update(changed)
    return f"command {rule['match']!r}: {changed}"


def _change_registry(case: Case, rng: Random) -> str:
    registry = case["vm_state"].get("registry") or {}
    if not registry:
        return "no registry to change"
    key = rng.choice(sorted(registry))
    if rng.random() < 0.4:
        del registry[key]
        return f"no {key}"
    registry[key] = rng.choice([0, 1, "", "1", None, "0x1", str(registry[key]), [1]])
    return f"{key} = {registry[key]!r}"


def _change_screen(case: Case, rng: Random) -> str:
    state = case["vm_state"]
    kind = rng.choice(
        ["windows", "accessibility", "title", "timezone", "appx", "checks", "platform"]
    )
    if kind == "accessibility" and state.get("accessibility"):
        backend = rng.choice(sorted(state["accessibility"]))
        xml = state["accessibility"][backend]
        state["accessibility"][backend] = rng.choice(
            ["", "<desktop/>", xml[: len(xml) // 2], xml.replace("name=", "title="), xml.upper()]
        )
    elif kind == "windows":
        state["windows"] = rng.choice(
            [[], ["x"], [each.lower() for each in state.get("windows", [])]]
        )
    elif kind == "title":
        state["active_window_title"] = rng.choice([None, "", "Untitled - Notepad", "Google Chrome"])
    elif kind == "checks":
        state["checks"] = rng.choice([{}, dict.fromkeys(state.get("checks", {}), True)])
    elif kind == "platform":
        state["platform"] = rng.choice(["Linux", "Darwin", "Windows", ""])
    else:
        state.pop(kind, None)
    return f"{kind} changed"


_ROUTES = [
    "POST /file", "POST /execute", "GET /accessibility", "POST /file_exists", "POST /folder_exists",
    "POST /list_directory", "GET /platform", "POST /wallpaper", "GET /obs_winagent",
    "POST /setup/activate_window", "POST /setup/open_file", "POST /setup/launch",
    "POST /is_details_view", "POST /library_folders", "POST /desktop_path",
]  # fmt: skip


def _change_answers(case: Case, rng: Random) -> str:
    route = rng.choice(_ROUTES)
    answer = rng.choice(
        [
            {"status": 500, "json": {"status": "error", "message": "404 Not Found: x"}},
            {"status": 400, "json": {"error": "absent"}},
            {"status": 404, "json": {"error": "File not found"}},
            {"status": 200, "text": "no json"},
            {"status": 200, "json": {}},
            {"status": 200, "json": []},
            {"status": 200, "json": None},
            {
                "status": 200,
                "json": {"output": "", "error": "", "returncode": 0, "status": "success"},
            },
        ]
    )
    case["vm_state"].setdefault("endpoints", {})[route] = answer
    return f"{route} answers {answer}"


def _change_history(case: Case, rng: Random) -> str:
    case["action_history"] = rng.choice(
        [[], ["FAIL"], ["DONE"], ["FAIL", "DONE"], ["x", "FAIL"], ["fail"]]
    )
    return f"history {case['action_history']}"


_KEPT = {"type", "dest"}
"""`dest` names a file on the evaluator's own disk: native refuses there what vanilla would write."""


def _change_evaluator(case: Case, rng: Random) -> str:
    evaluator = case["task"].get("evaluator")
    if not isinstance(evaluator, dict) or not evaluator:
        return "no evaluator to change"
    kind = rng.choice(["drop", "conj", "null", "list", "inner", "inner", "inner"])
    if kind == "drop":
        evaluator.pop(rng.choice(sorted(evaluator)))
    elif kind == "conj":
        evaluator["conj"] = rng.choice(["and", "or", "xor", None])
    elif kind == "null":
        evaluator[rng.choice(["expected", "result", "options", "postconfig"])] = rng.choice(
            [None, {}, []]
        )
    elif kind == "list" and isinstance(evaluator.get("func"), str):
        for key in ("func", "result", "expected"):
            if key in evaluator:
                evaluator[key] = [evaluator[key], copy.deepcopy(evaluator[key])]
    elif isinstance(evaluator.get("result"), dict) and set(evaluator["result"]) - _KEPT:
        key = rng.choice(sorted(set(evaluator["result"]) - _KEPT))
        evaluator["result"] = {
            **evaluator["result"],
            key: _change_json(evaluator["result"][key], rng),
        }
        return f"result.{key} = {evaluator['result'][key]!r}"
    elif isinstance(evaluator.get("expected"), dict):
        evaluator["expected"] = _change_json(evaluator["expected"], rng)
        return f"expected = {evaluator['expected']!r}"
    return f"evaluator: {kind}"


_CHANGES: dict[Callable[[Case, Random], str], int] = {
    _change_file: 8,
    _change_cloud: 3,
    _change_commands: 3,
    _change_registry: 1,
    _change_screen: 3,
    _change_answers: 3,
    _change_history: 1,
    _change_evaluator: 3,
}
