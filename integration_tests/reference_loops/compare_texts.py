"""Compares what a model's own parser and our dialect make of the same texts: `python compare_texts.py MODEL`.

For models whose calls are text. The reference runs in an environment of its own, as in `compare.py`, which prints and
judges what was found and has the same options.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compare import COUNTS, report  # noqa: E402  # needs the path above
from exchange import differences  # noqa: E402  # same

from bench_core.agents import InvalidCallError, Screen, dialect_named  # noqa: E402  # same
from bench_core.agents.dialects import all_dialects  # noqa: E402  # same
from bench_core.models import Message, Reply, TextPart  # noqa: E402  # same
from bench_core.records import AgentTask  # noqa: E402  # same

if TYPE_CHECKING:
    from bench_core.models import ToolCall

MODELS = ("ui_tars", "qwen")
_KINDS = frozenset(
    kind
    for each in all_dialects().values()
    for member in each.members.values()
    for kind in member.needs
)
_SCREEN = Screen(
    size=(1280, 720),
    offers=_KINDS,
    browser=True,
    task=AgentTask(benchmark="reference", task_id="t", goal="Do it."),
)


def of_reference(model: str, texts: dict[str, str]) -> dict[str, Any]:
    """Return what the model's own parser makes of each text, and its version."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "asked.json"
        file.write_text(json.dumps(texts), encoding="utf-8")
        python = os.environ[f"PROCTOR_REFERENCE_{model.upper()}"]
        command = [python, str(HERE / f"reference_{model}.py"), str(file)]
        ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    made: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return made


def of_ours(module: Any, text: str) -> list[Any]:
    """Return what our dialect makes of a text: calls, or actions in the reference's words where it gives actions."""
    dialect = dialect_named(module.DIALECT)
    message = Message(role="assistant", parts=(TextPart(text=text),) if text else ())
    made: list[Any] = []

    def read(call: ToolCall) -> list[Any]:
        if not hasattr(module, "plain"):
            return ["refused"] if call.arguments is None else [[call.name, call.arguments]]
        try:
            return list(module.plain(dialect.read(call, _SCREEN)))
        except InvalidCallError:
            return ["refused"]

    for call in dialect.calls(Reply(provider="p", model="m", message=message)):
        made += read(call)
    return made


def main() -> int:
    """Compare all texts of a model and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--only", default="", help="words of the texts' names")
    parser.add_argument("--write", action="store_true", help=f"keep the counts in {COUNTS.name}")
    asked = parser.parse_args()
    module = importlib.import_module(f"{asked.model}_texts")
    texts = {name: text for name, text in module.TEXTS.items() if asked.only in name}
    reference = of_reference(asked.model, texts)
    found = [
        difference
        for name, text in texts.items()
        for difference in differences(
            name, {"made": reference["made"][name]}, {"made": of_ours(module, text)}
        )
    ]
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8")).get(
        asked.model, []
    )
    return report(
        asked.model,
        reference["version"],
        len(texts),
        len(texts),
        found,
        reasons,
        all_of_them=not asked.only,
        write=asked.write,
    )


if __name__ == "__main__":
    raise SystemExit(main())
