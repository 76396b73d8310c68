"""browser-use's agent with a prompt that names only its tools, without files or this machine's date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from bench_core.errors import causes

_FILE_TOOLS = ("write_file", "read_file", "replace_file")
_SECTIONS = re.compile(r"^<(file_system|todo_examples)>.*?</\1>\n?", re.DOTALL | re.MULTILINE)
_MENTIONS = re.compile(
    r", file operations|<file_system>, |<todo_contents>, (?:and )?| or read_file|, or saved a file"
)
_LINES = re.compile(
    r"^.*(?:todo\.md|file_?system|_file\b|\bfiles?(?:\b|_)).*\n", re.IGNORECASE | re.MULTILINE
)
_STATE = re.compile(
    r"<file_system>\s*</file_system>\n|<todo_contents>\n\[empty todo\.md[^\n]*\]\n</todo_contents>\n"
)
_SEARCHES = re.compile(
    r" or you get some information via web search| or search engines|^.*via search engine.*\n",
    re.MULTILINE,
)
_BOXES = re.compile(
    r" with +bounding boxes around interactive elements|^.*interactive index is written.*\n",
    re.MULTILINE,
)  # neither release draws them
_SCREENSHOT = re.compile(
    r" If you used screenshot before, [^.]*\.|If you used screenshot before, "
    r"|took a screenshot or |^Use screenshot .*\n",
    re.MULTILINE,
)
_WRONG_FORM = "Agent failed to output in the right format."
_TODAY = re.compile(r"\n?Today: ?\d{4}-\d\d-\d\d(?=\s*</step_info>)")


class UnusableReplyError(Exception):
    """A reply of the model that does not have the required form."""


class PromptFilter:
    """Removes from browser-use's messages things that do not exist.

    Its prompts speak of files and a list of things to do, for which a model without those tools asks in vain. Its
    date is that of this machine, while pages show the day of their own world.

    Args:
        excluded: browser-use's actions that the agent may not take.
        own: The end of the system prompt that is the benchmark's, which stays.
    """

    def __init__(self, excluded: Sequence[str], own: str = "") -> None:
        self._files = not set(_FILE_TOOLS) <= set(excluded)
        named = "|".join(f"`{name}`" for name in excluded) or "(?!)"
        # A list loses the name, any other sentence goes: it describes something impossible.
        self._names = re.compile(f"(?:{named}), |, (?:{named})")
        self._sentences = re.compile(rf" ?[^.\n]*(?:{named})[^.\n]*\.")
        self._absent = [_BOXES]
        self._absent += [_SEARCHES] if "search" in excluded else []
        self._absent += [_SCREENSHOT] if "screenshot" in excluded else []
        self._absent += [_SECTIONS, _MENTIONS, _LINES] if not self._files else []
        self._own = own

    def message(self, message: Any) -> Any:
        """Return one message of a step without it."""
        if message.role not in {"system", "user"}:
            return message
        if isinstance(message.content, str):
            return message.model_copy(update={"content": self._text(message.role, message.content)})
        parts = [
            each.model_copy(update={"text": self._text(message.role, each.text)})
            if each.type == "text"
            else each
            for each in message.content
        ]
        return message.model_copy(update={"content": parts})

    def _text(self, role: str, text: str) -> str:
        if role == "user":
            text = _TODAY.sub("", text)
            return text if self._files else _STATE.sub("", text)
        end = len(text) - len(self._own) if text.endswith(self._own) else len(text)
        prompt = text[:end]
        for absent in (*self._absent, self._names, self._sentences):
            prompt = absent.sub("", prompt)
        return prompt + text[end:]


def agent_class(prompts: PromptFilter) -> Any:
    """Return browser-use's `Agent` with messages filtered by `prompts`, and the answer's form sent once.

    That form is in the schema of every reply, so it need not be in the task as well, which is sent with each step.
    """
    from browser_use import Agent  # 1.5 s

    class FittedAgent(Agent[Any, Any]):
        _unusable = ""
        """The fault in the latest reply; empty if it could be used."""

        def _enhance_task_with_schema(self, task: str, output_model_schema: Any) -> str:
            del output_model_schema
            return task

        async def get_model_output(self, input_messages: list[Any]) -> Any:
            messages = [prompts.message(each) for each in input_messages]
            # browser-use takes the previous reply for that of a step whose own could not be read
            self.state.last_model_output = None
            items = self._message_manager.state.agent_history_items
            if self._unusable and items and items[-1].error == _WRONG_FORM:
                items[-1].error = self._unusable
                messages = [_replaced(each, _WRONG_FORM, self._unusable) for each in messages]
            self._unusable = ""
            try:
                return await super().get_model_output(messages)
            except Exception as error:  # foreign code: every provider raises its own
                invalid = next((e for e in causes(error) if isinstance(e, ValidationError)), None)
                if invalid is None:
                    raise
                self._unusable = _sentence(invalid)
                raise UnusableReplyError(self._unusable) from error

    return FittedAgent


def _sentence(invalid: ValidationError) -> str:
    """Return the most useful mistake, the innermost: every other kind of action is a mistake as well."""
    errors = invalid.errors(include_url=False, include_context=False, include_input=False)
    told = max(errors, key=lambda each: len(each["loc"]))
    where = ".".join(map(str, told["loc"])) or "the reply"
    return f"The reply is not in the form that was asked for, so nothing was done: {where}: {told['msg']}."


def _replaced(message: Any, words: str, others: str) -> Any:
    if message.role != "user":
        return message
    if isinstance(message.content, str):
        return message.model_copy(update={"content": message.content.replace(words, others)})
    parts = [
        each.model_copy(update={"text": each.text.replace(words, others)})
        if each.type == "text"
        else each
        for each in message.content
    ]
    return message.model_copy(update={"content": parts})
