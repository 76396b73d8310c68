"""What Qwen3-VL may write where the server leaves calls in the text; its own parser gives names and arguments."""

from __future__ import annotations

import json

__all__ = ["DIALECT", "TEXTS"]

DIALECT = "qwen3_vl"


def _call(**arguments: object) -> str:
    return json.dumps({"name": "computer_use", "arguments": arguments}, ensure_ascii=False)


def _tagged(*bodies: str) -> str:
    return "\n".join(f"<tool_call>\n{each}\n</tool_call>" for each in bodies)


_WAIT = _call(action="wait")
_CALLS = {
    "key": {"keys": ["ctrl", "s"]},
    "type": {"text": 'It\'s "quoted" \\ C:\\new\nline\té 🙂'},
    "mouse_move": {"coordinate": [500, 500]},
    "left_click": {"coordinate": [0, 1000]},
    "right_click": {"coordinate": [500.5, 20]},
    "middle_click": {"coordinate": [1, 2]},
    "double_click": {"coordinate": [1, 2]},
    "triple_click": {"coordinate": [1, 2]},
    "left_click_drag": {"coordinate": [1, 2]},
    "scroll": {"pixels": -300, "coordinate": [1, 2]},
    "hscroll": {"pixels": 300},
    "wait": {"time": 2},
    "answer": {"text": '{"a": [1, "b"]}'},
    "terminate": {"status": "success"},
}
TEXTS = {
    **{name: _tagged(_call(action=name, **more)) for name, more in _CALLS.items()},
    "words before it": f"I wait.\n{_tagged(_WAIT)}",
    "words after it": f"{_tagged(_WAIT)}\nNow I wait.",
    "two calls": _tagged(_WAIT, _call(action="left_click")),
    "two calls, words between": f"{_tagged(_WAIT)}\nand\n{_tagged(_call(action='key'))}",
    "no line breaks": f"<tool_call>{_WAIT}</tool_call>",
    "not closed": f"<tool_call>\n{_WAIT}",
    "the first not closed": f"<tool_call>\n{_WAIT}\n{_tagged(_WAIT)}",
    "cut off in the arguments": '<tool_call>\n{"name": "computer_use", "arguments": {"action": "type", "te',
    "cut off in the name": '<tool_call>\n{"name": "comp',
    "only the tag": "<tool_call>",
    "an empty call": _tagged(""),
    "after thinking": f"<think>Wait?</think>\n{_tagged(_WAIT)}",
    "in a thought": f"<think>Like {_tagged(_WAIT)}?</think>\nI cannot.",
    "in a thought without an end": f"<think>Like {_tagged(_WAIT)}?",
    "a thought and a call": f"<think>Like {_tagged(_call(action='key'))}?</think>\n{_tagged(_WAIT)}",
    "another function": _tagged('{"name": "switch_tab", "arguments": {"index": 1}}'),
    "no name": _tagged('{"arguments": {"action": "wait"}}'),
    "no arguments": _tagged('{"name": "computer_use"}'),
    "arguments that are a text": _tagged('{"name": "computer_use", "arguments": "wait"}'),
    "arguments that are a list": _tagged('{"name": "computer_use", "arguments": ["wait"]}'),
    "a list": _tagged("[1, 2]"),
    "a number": _tagged("42"),
    "single quotes": _tagged("{'name': 'computer_use', 'arguments': {'action': 'wait'}}"),
    "a comma at the end": _tagged('{"name": "computer_use", "arguments": {"action": "wait",},}'),
    "names without quotes": _tagged('{name: "computer_use", arguments: {action: "wait"}}'),
    "a remark": _tagged('{"name": "computer_use", /* wait */ "arguments": {"action": "wait"}}'),
    "a line break in a text": _tagged(
        '{"name": "computer_use", "arguments": {"action": "type", "text": "a\nb"}}'
    ),
    "one brace too few": _tagged('{"name": "computer_use", "arguments": {"action": "wait"}'),
    "one brace too many": _tagged('{"name": "computer_use", "arguments": {"action": "wait"}}}'),
    "in a fence": f"```json\n{_WAIT}\n```",
    "a fence in the tags": _tagged(f"```json\n{_WAIT}\n```"),
    "no tags": _WAIT,
    "text only": "I cannot see it.",
    "nothing": "",
}
