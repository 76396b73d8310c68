"""Compares whole evaluations, native beside vanilla, on VM states that were tampered with.

    python whole_tasks.py --checkout DIR --vanilla-python PYTHON --cases-from golden.jsonl
                          [--tasks examples/] [--cases 2000] [--seed 1]

Each draw takes a case (a task, a VM state, an action history), changes something of it - a file, what a
command prints, an answer of the VM, the history, the evaluator's configuration - and asks both
evaluators through the process the server uses. Score, phase and kind of error must agree. Both talk
to a fixture VM on port 5000 of a loopback address, because vanilla knows no other port.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from tampering import tamper  # noqa: E402  # needs the path above

if TYPE_CHECKING:
    from collections.abc import Iterator

Case = dict[str, Any]

_URL = re.compile(r'https://raw\.githubusercontent\.com/[^"]*/([^"/]+)')


EXPLAINED = [
    (
        r"^explorer/(docx-archive|png-list).*(every command prints|POST /(execute|list_directory|file) )",
        "native asks for listings and files where vanilla runs scripts: a VM may contradict itself",
    ),
]
"""Patterns of `case: what was done`, and why both may differ then."""


class Asked:
    """An evaluator in a process of its own, as the server runs it."""

    def __init__(self, python: str, settings: dict[str, Any], path: str | None) -> None:
        environment = {"PYTHONPATH": path} if path else {}
        self._process = subprocess.Popen(  # noqa: S603  # the developer names the interpreter
            [python, "-m", "waa_server_ext.evaluation.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**_environment(), **environment},
        )
        self._say(json.dumps(settings))
        ready = self._hear()
        if "ready" not in ready:
            raise SystemExit(f"{python}: {ready}")

    def evaluate(self, case: Case, vm: str) -> dict[str, Any]:
        """Return the verdict, or `{"broken": ...}`."""
        call = {
            "call": "evaluate",
            "task": case["task"],
            "action_history": case["action_history"],
            "vm": vm,
            "seconds": 120,
        }
        self._say(json.dumps(call))
        answer = self._hear()
        verdict: dict[str, Any] = json.loads(answer["verdict"]) if "verdict" in answer else answer
        return verdict

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        self._process.wait()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101  # a pipe was asked for
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101  # same
        line = self._process.stdout.readline()
        return dict(json.loads(line)) if line else {"broken": "the process ended"}


def main() -> int:
    """Draw, ask both, compare, print what differs."""
    options = _options()
    sources = [json.loads(line) for line in options.cases_from.read_text("utf-8").splitlines()]
    sources = [case for case in sources if "slow" not in case.get("tags", [])]
    sources += list(_untouched(options.tasks)) if options.tasks else []
    counts, different = Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="differential-") as scratch:
        common = {"skip_sleeps": True, "vm_timeout_s": 20.0, "web_timeout_s": 20.0}
        vanilla_settings = {**common, "checkout": str(options.checkout.resolve())}
        theirs = Asked(
            options.vanilla_python,
            {**vanilla_settings, "cache": f"{scratch}/vanilla"},
            options.vanilla_path,
        )
        ours = Asked(sys.executable, {**common, "cache": f"{scratch}/native"}, None)
        for index in range(options.cases):
            rng = Random(f"{options.seed} {index}")
            source = rng.choice(sources)
            changed, what = tamper(source, rng)
            changed["task"]["id"] = f"draw-{index}"  # vanilla keeps what it downloaded, by id
            one, other = both(changed, theirs, ours, options.host)
            counts["agree" if agree(one, other) else "differ"] += 1
            if not agree(one, other):
                different.append((source["id"], what, one, other))
        theirs.close()
        ours.close()
    unexplained = 0
    for name, what, one, other in different:
        reason = _explanation(f"{name}: {what}")
        unexplained += reason is None
        print(f"\n{name}: {what}\n  vanilla {_brief(one)}\n  native  {_brief(other)}")
        print(f"  {reason or 'UNEXPLAINED'}")
    print(f"\n{options.cases} cases: {dict(counts)}, {unexplained} unexplained")
    return int(bool(unexplained))


def _explanation(case: str) -> str | None:
    return next((reason for pattern, reason in EXPLAINED if re.search(pattern, case)), None)


def _untouched(folder: Path) -> Iterator[Case]:
    """Yield every task of a task set on a VM where nothing was done; the web has none of its files."""
    for path in sorted(folder.glob("*/*.json")):
        text = _URL.sub(lambda match: f"${{CLOUD_BASE}}/{match[1]}", path.read_text("utf-8"))
        task = json.loads(text)
        yield {"id": f"{path.parent.name}/{path.stem}", "task": task, "vm_state": {},
               "action_history": ["DONE"]}  # fmt: skip


def both(case: Case, theirs: Asked, ours: Asked, host: str) -> list[dict[str, Any]]:
    from waa_server_ext.fixture import FixtureVm  # after the arguments are read
    from waa_server_ext.vm.state import VmState

    answers = []
    for evaluator in (theirs, ours):
        with FixtureVm(VmState.load(case["vm_state"]), host=host) as vm:
            task = json.loads(json.dumps(case["task"]).replace("${CLOUD_BASE}", vm.cloud_base))
            answers.append(evaluator.evaluate({**case, "task": task}, vm.address))
    return answers


def agree(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two verdicts have the same score, or errors of the same phase and type."""
    if "reason" not in one or "reason" not in other:
        return False
    fault, other_fault = one.get("evaluation_error"), other.get("evaluation_error")
    if fault or other_fault:
        keys = ("phase", "type")
        return bool(fault and other_fault) and [fault[k] for k in keys] == [
            other_fault[k] for k in keys
        ]
    return math.isclose(one["score"], other["score"], rel_tol=0, abs_tol=1e-6)


def _brief(verdict: dict[str, Any]) -> str:
    shown = {key: verdict[key] for key in ("score", "evaluation_error", "reason") if key in verdict}
    return json.dumps(shown or verdict, ensure_ascii=False)[:500]


def _environment() -> dict[str, str]:
    import os

    return dict(os.environ)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--vanilla-python", required=True)
    parser.add_argument("--vanilla-path", help="PYTHONPATH of that interpreter, where ours is not")
    parser.add_argument("--cases-from", type=Path, required=True)
    parser.add_argument("--tasks", type=Path, help="also draw from the tasks in this folder")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--host", default="127.0.3.7", help="a loopback address of its own")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
