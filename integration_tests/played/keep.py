"""Keep trials that were played by people or models as small files, which tests play again.

`python -m integration_tests.played.keep RUN...` writes one file a trial: its first line says what was played, each
other is a reply, where elements are named by what the request showed of them. Trials without replies are left out.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from integration_tests.played.naming import Shown, replaced

from bench_core.agents import dialect_for

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent
MOST_BYTES = 20_000
_MOST_TEXT = 400
_OPTIONS = ("agent_options", "dialect", "extract", "chat", "view")


def main() -> int:
    """Keep the trials of the runs that are named."""
    for name in sys.argv[1:]:
        for said in _said(Path(name)):
            sys.stdout.write(f"{name}: {said}\n")
    return 0


def _said(folder: Path) -> Iterator[str]:
    """Keep the trials of a run, and yield what became of each."""
    # as plain data: those who played may have had another version
    try:
        run = json.loads((folder / "run.json").read_text("utf-8"))
        listed = _lines(folder / "results.jsonl")
    except (OSError, ValueError) as error:
        yield f"left out: {error}"
        return
    for result in {(each["task_id"], each["trial"]): each for each in listed}.values():
        try:
            yield str(kept_trial(folder, run, result))
        except (OSError, LookupError, TypeError, ValueError) as error:
            yield f"left out: {type(error).__name__}: {error}"[:300]


def kept_trial(folder: Path, run: dict[str, Any], result: dict[str, Any]) -> Path:
    """Write one trial down and return its file.

    Raises:
        ValueError: It has no replies, or too long ones.
    """
    (conversation,) = (
        each
        for each in folder.glob(f"trials/{result['trial']}/*/conversation.jsonl")
        if each.parent.name.replace("%2F", "/") == result["task_id"]
    )
    calls = _lines(conversation)
    steps = _lines(conversation.parent / "trajectory.jsonl")
    replies = list(_replies(run["agent"], [each for each in calls if not each["error"]]))
    if not replies:
        raise ValueError("no reply")
    options = {key: run["config"][key] for key in _OPTIONS if key in run["config"]}
    limits = run["config"].get("limits")
    details = (result["ending"] or {}).get("details")
    dialect = (details or {}).get("dialect")
    trial: dict[str, Any] = {
        "world": run["benchmark"], "task": result["task_id"], "agent": run["agent"], "model": run["model"],
        "dialect": dialect, "options": options,
        "max_steps": limits.get("max_steps") if isinstance(limits, dict) else None,
        "status": result["status"], "score": result["score"], "ended": _ended(steps),
        "steps": result["steps"], "requests": result["usage"]["requests"],
        "input_tokens": result["usage"]["input_tokens"], "output_tokens": result["usage"]["output_tokens"],
    }  # fmt: skip
    if run["agent"] == "computer-use":
        if dialect is None:  # of a trial that something else ended
            place = "desktop" if run["benchmark"] == "waa" else "browser"
            trial["dialect"] = options.get("dialect") or dialect_for(run["model"], place).name
        if len(replies) - len(steps) == 1:  # the last one was not acted on any more
            replies.pop()
        if len(steps) != len(replies):
            raise ValueError(f"{len(replies)} replies in {len(steps)} steps")
        trial["size"] = _size(conversation.parent)
        for (shown, reply), step in zip(replies, steps, strict=True):
            reply["acts"] = _named(run["agent"], shown, step["actions"])
    lines = [trial, *(reply for _, reply in replies)]
    for most in (_MOST_TEXT, 60):
        text = "".join(json.dumps(_cut(each, most), ensure_ascii=False) + "\n" for each in lines)
        if len(text.encode()) <= MOST_BYTES:
            return _written(trial, text)
    raise ValueError(f"{len(text.encode())} bytes")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def _replies(agent: str, calls: list[dict[str, Any]]) -> Iterator[tuple[Shown, dict[str, Any]]]:
    turns: dict[int, str] = {}
    for call in calls:
        for turn in call["turns"]:
            turns[turn["at"]] = "" if turn["role"] == "assistant" else _words(turn["parts"])
        turns = {at: text for at, text in turns.items() if at < call["length"]}
        shown = Shown(turns[at] for at in sorted(turns))
        text = "\n".join(each["text"] or "" for each in call["reply"] if each["type"] == "text")
        asked = [
            [each["name"], _named(agent, shown, each["arguments"])]
            for each in call["reply"]
            if each["type"] == "call"
        ]
        if not all(isinstance(arguments, dict) for _, arguments in asked):
            raise ValueError("a call without arguments that are an object")
        reply: dict[str, Any] = {"text": shown.without_ports(text), "calls": asked}
        if agent == "browser-use" and not asked:
            data = _named(agent, shown, json.loads(text))
            reply = {"data": {"action": data["action"], "next_goal": data.get("next_goal")}}
        yield shown, reply


def _words(parts: list[dict[str, Any]]) -> str:
    return "\n".join(
        each["text"] for part in parts for each in (part, *part["content"]) if each["text"]
    )


def _named(agent: str, shown: Shown, value: Any) -> Any:
    return replaced(agent, value, shown.without_ports, shown.name)


def _ended(steps: list[dict[str, Any]]) -> str | None:
    """Return how the player ended: `success` or `failure`; None where something else ended the trial."""
    last = steps[-1]["actions"][-1] if steps and steps[-1]["actions"] else {}
    if "done" in last:  # browser-use's
        return "success" if last["done"].get("success", True) else "failure"
    if last.get("kind") not in {"done", "fail"}:
        return None
    answer = last.get("answer")
    status = answer.get("status", "SUCCESS") if isinstance(answer, dict) else "SUCCESS"
    return "success" if last["kind"] == "done" and status == "SUCCESS" else "failure"


def _size(folder: Path) -> tuple[int, int]:
    width, height = struct.unpack(
        ">II", (folder / "screenshots" / "step-001.png").read_bytes()[16:24]
    )
    return width, height


def _cut(line: dict[str, Any], most: int) -> dict[str, Any]:
    """Shorten words that are not themselves the act."""
    text = line.get("text") or ""
    return (
        {**line, "text": text[:most] + " ..."} if line.get("calls") and len(text) > most else line
    )


def _written(trial: dict[str, Any], text: str) -> Path:
    spoken = trial["dialect"] or ""
    how = trial["agent"] if trial["agent"] != "computer-use" else spoken
    if str(trial["options"].get("agent_options", {}).get("pictures", "")).lower() in {
        "false",
        "no",
        "0",
    }:
        how += "-without-pictures"
    folder = FOLDER / trial["world"]
    folder.mkdir(exist_ok=True)
    plain = re.sub(r"[^\w.-]+", "_", f"{trial['task']}--{how}")
    for number in range(1, 100):
        path = folder / f"{plain}{'' if number == 1 else f'-{number}'}.jsonl"
        if not path.exists() or path.read_text("utf-8") == text:
            path.write_text(text, "utf-8")
            return path.relative_to(FOLDER)
    raise ValueError("as many others of the same task")


if __name__ == "__main__":
    sys.exit(main())
