"""Read published sets of labelled trajectories as cases that `bench` judges.

CUAVerifierBench (Microsoft, arXiv 2604.06240) is Parquet with screenshots, a log of actions and final labels of
people. AgentRewardBench (McGill NLP, arXiv 2504.08942) is a JSON file per trajectory, screenshots
next to them, and `annotations.csv`. Neither has criteria: a case asks whether the task was done,
and whether an answer gives the facts that the task asks for.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench_core.errors import InputError, MissingExtraError
from bench_core.files import write_atomic
from llm_judge.case_files import read_json

_TASK = "This is done, completely and exactly as asked: {}"
_TOLD = (
    "all that the task asks to be told, if it asks for anything, and as pages and pictures show it"
)
_ANSWERED = "send_msg_to_user"
_NO_ANSWER = "<no_answer>"
_SUCCESS = {"Successful": True, "Unsuccessful": False}
_COLUMNS = [
    "task_id", "instruction", "init_url", "final_answer", "web_surfer_log", "screenshots",
    "final_human_outcome_label", "final_human_process_label",
]  # fmt: skip

_Line = dict[str, Any]


def convert(form: str, source: Path, out: Path, annotations: Path | None = None) -> tuple[int, int]:
    """Write `labelled.jsonl` (and pictures) for `bench` into a folder.

    Args:
        form: `cua-verifier-bench` or `agent-reward-bench`.
        source: The data set's folder as it was downloaded, or one Parquet file of CUAVerifierBench.
        out: The folder to write to.
        annotations: The labels of AgentRewardBench; by default `annotations.csv` anywhere in the folder.

    Returns:
        How many cases were written, and how many were left out since people did not agree on a label.

    Raises:
        InputError: The folder does not hold such a set.
        MissingExtraError: pyarrow is not installed, which reads Parquet.
    """
    if form == "agent-reward-bench":
        read = _agent_reward_bench(source, annotations)
    elif annotations is not None:
        raise InputError("--annotations goes with agent-reward-bench: leave it out")
    else:
        read = _cua_verifier_bench(source, out)
    lines, left_out = [], 0
    for each in read:
        if each is None:
            left_out += 1
        else:
            lines.append(json.dumps(each, ensure_ascii=False))
    if not lines:
        raise InputError(f"{source}: holds no labelled trajectory of {form}")
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(out / "labelled.jsonl", ("\n".join(lines) + "\n").encode("utf-8"))
    return len(lines), left_out


def _cua_verifier_bench(source: Path, out: Path) -> Iterator[_Line | None]:
    try:
        from pyarrow import parquet  # type: ignore[import-untyped]  # an extra, and slow to load
    except ImportError:
        raise MissingExtraError("reading Parquet", "pyarrow", "llm-judge", "parquet") from None
    files = [source] if source.is_file() else sorted(source.glob("**/trajectories/*.parquet"))
    for file in files:
        yield from _rows(parquet, file, out)


def _rows(parquet: Any, file: Path, out: Path) -> Iterator[_Line | None]:
    try:
        # a few rows at once: each holds all of its screenshots
        for batch in parquet.ParquetFile(file).iter_batches(batch_size=4, columns=_COLUMNS):
            for row in batch.to_pylist():
                yield _cua_case(row, file, out)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{file}: not trajectories of CUAVerifierBench: {error}") from error


def _cua_case(row: Mapping[str, Any], file: Path, out: Path) -> _Line | None:
    name, outcome = row["task_id"], row["final_human_outcome_label"]
    if outcome is None:
        return None
    shots = []
    for number, picture in enumerate(row["screenshots"] or ()):
        path = Path("screenshots") / re.sub(r"[^\w.-]", "_", name) / f"{number}.png"
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(out / path, picture["bytes"])
        shots.append({"path": path.as_posix(), "step": number})
    process, answer = row["final_human_process_label"], row["final_answer"]
    return {
        **_case(name, row["instruction"], None if answer == _NO_ANSWER else answer),
        "screenshots": shots,
        "actions": [_logged(line, number) for number, line in enumerate(row["web_surfer_log"].splitlines(), 1) if line.strip()],
        "metadata": {"set": "CUAVerifierBench", "split": file.name.partition("-")[0], "init_url": row["init_url"]},
        "outcome": bool(outcome),
        **({} if process is None else {"process": bool(process)}),
    }  # fmt: skip


def _logged(line: str, number: int) -> _Line:
    event = json.loads(line)
    arguments = event.get("arguments")
    url = {"url": event["url"]} if event.get("url") else {}
    done = arguments if isinstance(arguments, dict) else {}
    return {"step": number, "action": event.get("action"), **done, **url}


def _agent_reward_bench(source: Path, annotations: Path | None) -> Iterator[_Line | None]:
    labels = annotations or next(iter(sorted(source.glob("**/annotations.csv"))), None)
    if labels is None:
        raise InputError(
            f"{source}: holds no annotations.csv; name it with --annotations (it is in the repository of AgentRewardBench)"
        )
    people: dict[tuple[str, str], list[dict[str, str]]] = {}
    try:
        # the csv module reads line ends itself: a quoted value may hold some
        with labels.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                people.setdefault((row["model_name"], row["task_id"]), []).append(row)
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise InputError(f"{labels}: not the annotations of AgentRewardBench: {error}") from error
    for path in sorted(source.glob("**/cleaned/**/*.json")):
        data = read_json(path, "a trajectory")
        try:
            rows = people.get((data["agent"], path.stem), [])
            outcomes = {_SUCCESS.get(each["trajectory_success"]) for each in rows}
            if rows and data["valid"]:
                yield (
                    None
                    if outcomes not in ({True}, {False})
                    else {
                        **_arb_case(source, path.stem, data),
                        "outcome": outcomes == {True},
                        # the way: whether something was done besides
                        "process": all(each["trajectory_side_effect"] == "No" for each in rows),
                    }
                )
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise InputError(
                f"{path}: not a cleaned trajectory of AgentRewardBench: {error!r}"
            ) from error


def _arb_case(source: Path, task: str, data: Mapping[str, Any]) -> _Line:
    steps, answer = data["steps"], None
    for step in steps:
        answer = _message(step["action"] or "") or answer
    last = steps[-1]
    page = {
        "url": last["url"],
        "open_pages": last.get("open_pages_urls"),
        "error": last.get("last_action_error"),
        "text": [line.strip() for line in (last.get("axtree_pruned") or last.get("axtree") or "").splitlines() if line.strip()],
    }  # fmt: skip
    return {
        **_case(f"{task}@{data['agent']}", data["goal"], answer),
        "state": {"last_page": page},
        "screenshots": [
            {"path": str(path), "step": step["num"]}
            for step in steps
            if (path := _picture(source, step["screenshot_path"])) is not None
        ],
        "actions": [
            {"step": step["num"], "action": (step["action"] or "").partition(_ANSWERED)[0] or _ANSWERED, "url": step["url"]}
            for step in steps
        ],
        "metadata": {"set": "AgentRewardBench", "benchmark": data["benchmark"]},
    }  # fmt: skip


def _picture(source: Path, named: str) -> Path | None:
    """Return a picture by the path in a trajectory, which starts in the folder that holds the set, or in the set."""
    below = Path(named)
    for path in (source / below, source / Path(*below.parts[1:])):
        if path.is_file():
            return path.resolve()
    return None


def _message(action: str) -> str | None:
    """Return the message of an action to the user.

    >>> _message("send_msg_to_user('It is 4.5 km.')")
    'It is 4.5 km.'
    """
    try:
        calls = [each for each in ast.walk(ast.parse(action.strip())) if isinstance(each, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for call in calls:
        if isinstance(call.func, ast.Name) and call.func.id == _ANSWERED:
            for value in (*call.args, *(each.value for each in call.keywords)):
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    return value.value
    return None


def _case(name: str, goal: str, answer: str | None) -> _Line:
    told = (
        []
        if answer is None
        else [{"id": "answer", "text": "The answer says what was asked.", "facts": [_TOLD]}]
    )
    task = {"id": "task", "text": _TASK.format(goal.strip())}
    return {"case_id": name, "goal": goal.strip(), "criteria": [task, *told], "agent_answer": answer}  # fmt: skip
