"""Qwen's own parser over texts: `python reference_qwen.py ASKED`, with `qwen-agent`. Prints what it makes of each as JSON."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

from qwen_agent.llm.fncall_prompts.nous_fncall_prompt import NousFnCallPrompt
from qwen_agent.llm.schema import ContentItem, Message


def main() -> None:
    """Parse each text."""
    parser, made = NousFnCallPrompt(), {}
    for name, text in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")).items():
        said = Message(role="assistant", content=[ContentItem(text=text)])
        try:
            found = parser.postprocess_fncall_messages([said])
        # it has no errors of its own
        except Exception:  # noqa: BLE001
            made[name] = ["refused"]
            continue
        made[name] = []
        for each in found:
            if each.function_call:
                try:
                    arguments = json.loads(each.function_call.arguments)
                except ValueError:
                    arguments = None
                read = isinstance(arguments, dict)
                made[name].append([each.function_call.name, arguments] if read else "refused")
    print(json.dumps({"version": version("qwen-agent"), "made": made}))


if __name__ == "__main__":
    main()
