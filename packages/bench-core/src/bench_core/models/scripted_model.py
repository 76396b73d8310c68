"""Models that answer from a script: for tests, demos and the built-in worlds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.models.errors import ModelError
from bench_core.models.records import Message, ModelRequest, Reply, TextPart, ToolCall
from bench_core.models.schema import structured
from bench_core.models.yaml_text import read_list
from bench_core.records import Usage

Line = str | dict[str, Any] | Reply | ModelError
"""One line of a script."""


class ScriptedAdapter:
    """Replies with the script's lines in turn, or with a function's answer to the request.

    A line is the text of the reply, a dictionary (`text`, `data`, `tool_calls`: a list of `name`
    and `arguments`, `stop`, `refusal`), a whole `Reply`, or a `ModelError` to raise.
    """

    def __init__(
        self,
        script: Iterable[Line] | Callable[[ModelRequest], Line],
        *,
        model: str = "script",
        provider: str = "scripted",
    ) -> None:
        self.provider = provider
        self.model = model
        self._answer = script if callable(script) else None
        self._lines = iter(()) if callable(script) else iter(list(script))
        self._calls = 0

    async def send(self, request: ModelRequest, timeout_s: float) -> Reply:  # noqa: ARG002  # the interface's
        """Return the next line as a reply.

        Raises:
            ModelError: The script says so.
            InputError: The script has ended.
        """
        # As in a real call, other tasks get their turn.
        await asyncio.sleep(0)
        self._calls += 1
        line = self._answer(request) if self._answer else self._next()
        if isinstance(line, ModelError):
            raise line
        return line if isinstance(line, Reply) else self._reply(line, request)

    async def aclose(self) -> None:
        """Nothing to close."""

    def _next(self) -> Line:
        try:
            return next(self._lines)
        except StopIteration:
            raise InputError(
                f"the script {self.model!r} has ended after {self._calls - 1} replies: "
                f"add a line for the next call"
            ) from None

    def _reply(self, line: str | dict[str, Any], request: ModelRequest) -> Reply:
        answer: dict[str, Any] = {"text": line} if isinstance(line, str) else dict(line)
        data = answer.get("data")
        text = answer.get("text", "" if data is None else json.dumps(data))
        calls = tuple(
            ToolCall(
                id=f"call_{self._calls}_{i}",
                name=c["name"],
                toolset=c.get("toolset"),
                arguments=c.get("arguments", {}),
            )
            for i, c in enumerate(answer.get("tool_calls", ()))
        )
        texts = (TextPart(text=text),) if text else ()
        stop = answer.get("stop", "tool_use" if calls else "end")
        parsed, problem = structured(request, stop, text)
        return Reply(
            provider=self.provider,
            model=self.model,
            model_reported=answer.get("model_reported", self.model),
            message=Message(role="assistant", parts=(*texts, *calls)),
            stop=stop,
            refusal=answer.get("refusal"),
            data=parsed,
            data_error=problem,
            usage=Usage.model_validate({"requests": 1, **answer.get("usage", {})}),
        )


def load_script(path: Path | str) -> ScriptedAdapter:
    """Read a script from a JSON or YAML file: a list of lines.

    Raises:
        InputError: The file is missing or is not a list of texts and dictionaries.
    """
    lines = read_list(Path(path), "the script")
    if not all(isinstance(each, str | dict) for each in lines):
        raise InputError(f"{path}: a script is a list of texts and dictionaries")
    return ScriptedAdapter(lines, model=Path(path).name)
