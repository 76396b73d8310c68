"""Measure what a judge is shown of wrong end states, and what choosing it costs.

Each changed value of each state is mutated by each applicable operator; a mutant is visible when
what the model is shown puts the new value into a line of its own, or, for a dropped record, loses
something. Peers: the head of the state's JSON, which is what judges in use send. deepdiff does the
same comparison of states. Recorded states are used where `PROCTOR_DATA` (or `../shared/data`) has
them, made-up ones otherwise::

    python packages/llm-judge/benchmarks/bench_evidence.py
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.cli import render_table
from bench_core.records.judge import Criterion, JudgeCase
from llm_judge import visibility
from llm_judge.case_files import read_json
from llm_judge.prompts.evidence_pack import pack

if TYPE_CHECKING:
    from collections.abc import Callable

DATA = Path(os.environ.get("PROCTOR_DATA", Path(__file__).parents[4] / "shared" / "data"))
EVERY = 15
SECONDS, MEGABYTES = 1.0, 300
GOAL = "Move the meeting alpha 17 to 5 PM on July 18 and invite p5@example.com"


def main() -> None:
    """Print the tables; exit with 1 if a bound is missed."""
    if sys.argv[1:2] == ["--pack"]:
        print(json.dumps(packed(Path(sys.argv[2]))))
        return
    missed = [*visible(), *fast(), *compared()]
    for each in missed:
        print(f"missed: {each}")
    raise SystemExit(1 if missed else 0)


def visible() -> list[str]:
    """What share of wrong states looks wrong."""
    cases = states()
    shown: list[tuple[str, Callable[[Any, JudgeCase], str] | None, int, float | None]] = [
        ("head of the JSON, 10,000 characters", head(10_000), 0, None),
        ("head of the JSON, 40,000 characters", head(40_000), 0, None),
        ("tail of the JSON, 40,000 characters", lambda s, _: "\n".join(lines(s)[-1_000:])[-40_000:], 0, None),
        ("llm-judge, 8,000 characters", None, 8_000, None),
        ("llm-judge, 24,000 characters", None, 24_000, 0.97),
        ("llm-judge, 40,000 characters", None, 40_000, 1.0),
    ]  # fmt: skip
    rows, missed = [], []
    for name, show, chars, bound in shown:
        report = visibility(cases, chars=chars or 40_000, every=EVERY, show=show, consistent=True)
        rate = report.overall.rate.estimate
        rows.append((name, report.overall.mutants, report.overall.visible, f"{rate:.1%}",
                     "" if bound is None else f">= {bound:.0%}"))  # fmt: skip
        if bound is not None and rate < bound:
            missed.append(f"{name}: {rate:.1%}")
    print(f"wrong states that look wrong, {len(cases)} states\n")
    print(render_table(("what the model is shown", "mutants", "visible", "rate", "bound"), rows))
    return missed


def fast() -> list[str]:
    """What packing 15 MB costs."""
    rows, missed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, state in large().items():
            path = Path(folder) / "state.json"
            path.write_text(json.dumps(state), encoding="utf-8")
            command = [sys.executable, __file__, "--pack", str(path)]
            done = subprocess.run(command, capture_output=True, check=True, text=True)
            found = json.loads(done.stdout)
            rows.append((name, f"{path.stat().st_size / 1e6:.1f}", f"{found['read_s']:.2f}",
                         f"{found['pack_s']:.2f}", f"< {SECONDS:g}", round(found["mb"]),
                         f"< {MEGABYTES}"))  # fmt: skip
            if found["pack_s"] >= SECONDS or found["mb"] >= MEGABYTES:
                missed.append(f"{name}: {found}")
    print("\npacking a large state, CPU seconds\n")
    headers = ("state", "MB", "read", "pack", "bound", "peak MB", "bound")
    print(render_table(headers, rows))
    return missed


def compared() -> list[str]:
    """The comparison of two snapshots beside deepdiff's."""
    from deepdiff import DeepDiff  # the peer

    before, after = snapshots(400)
    started = time.process_time()
    for _ in range(20):
        pack({"cal": {"initialstate": before, "finalstate": after}}, GOAL)
    ours = (time.process_time() - started) / 20
    started = time.process_time()
    DeepDiff(before, after, ignore_order=True)
    theirs = time.process_time() - started
    print("\ntwo snapshots of 400 records, 20 of them changed, CPU seconds\n")
    rows = [("llm-judge: compare, rank and write", f"{ours:.4f}", ""),
            ("deepdiff, ignore_order: compare", f"{theirs:.4f}", f"{theirs / ours:.0f} times ours")]  # fmt: skip
    print(render_table(("", "seconds", ""), rows))
    return [] if ours < theirs else ["slower than deepdiff"]


def packed(path: Path) -> dict[str, float]:
    """Pack one state in a process of its own."""
    started = time.process_time()
    state = read_json(path)
    read = time.process_time()
    pack(state, GOAL)
    done = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"read_s": read - started, "pack_s": done - read, "mb": peak}


def states() -> list[JudgeCase]:
    """Return the recorded states with their tasks, or one that is made up."""
    files = sorted((DATA / "multireal" / "final_states").glob("*.json"))
    if not files:
        before, after = snapshots(300)
        state = {"cal": {"initialstate": before, "finalstate": after}}
        return [JudgeCase(case_id="made-up", goal=GOAL, state=state)]
    return [case(path) for path in files]


def case(path: Path) -> JudgeCase:
    """Read a recorded state and its task."""
    task = json.loads((path.parents[1] / "tasks" / path.name).read_text(encoding="utf-8"))
    criteria = tuple(
        Criterion(id=f"e{n}", text=each["description"]) for n, each in enumerate(task["evals"])
    )
    return JudgeCase(
        case_id=task["id"], goal=task["goal"], criteria=criteria, state=read_json(path)
    )


def head(chars: int) -> Callable[[Any, JudgeCase], str]:
    """Show the first characters of the state, a value per line."""
    return lambda state, _: "\n".join(lines(state))[:chars]


def lines(state: Any) -> list[str]:
    """The JSON of a state, a member per line."""
    return json.dumps(state).replace(", ", ",\n").splitlines()


def snapshots(count: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a calendar before and after a run."""
    rng = random.Random(1)  # noqa: S311  # not cryptography
    before = [event(n, rng) for n in range(count)]
    after = json.loads(json.dumps(before))
    for n in rng.sample(range(count), max(1, count // 20)):
        after[n]["title"] += " moved"
    after.append(event(count + 7, rng))
    return {"events": before}, {"events": after}


def event(number: int, rng: random.Random) -> dict[str, Any]:
    """Return one record of a calendar."""
    return {
        "id": f"e{number}", "title": f"Meeting {rng.choice(['alpha', 'beta', 'gamma'])} {number}",
        "start": "2025-03-13T06:00:00.000Z", "end": "2025-03-13T07:00:00.000Z",
        "description": "Quarterly planning for the team " * 3, "allDay": False,
        "guests": [{"email": f"p{number}@example.com", "ok": True}],
        "calendar": {"id": "1", "name": "Work", "color": "rgb(3, 155, 229)"},
    }  # fmt: skip


def large() -> dict[str, Any]:
    """Return states of about 15 MB: with ids, without, all changed, and without history."""
    before, after = snapshots(20_000)
    bare = [{k: v for k, v in each.items() if k != "id"} for each in before["events"]]
    bare_after = [{k: v for k, v in each.items() if k != "id"} for each in after["events"]]
    every = [{**each, "title": f"{each['title']}!"} for each in before["events"]]
    return {
        "records with ids": {"cal": {"initialstate": before, "finalstate": after}},
        "records without ids": {
            "cal": {"initialstate": {"e": bare}, "finalstate": {"e": bare_after}}
        },
        "every record changed": {"cal": {"initialstate": before, "finalstate": {"events": every}}},
        "no state from before": {"cal": {"events": [*before["events"], *after["events"]]}},
    }


if __name__ == "__main__":
    main()
