"""`browser-use`: the real `browser_use.Agent` in a browser that its benchmark owns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from bench_core.agents.ending import answer_form, answer_from_text
from bench_core.browser_use.attempt import Attempt
from bench_core.browser_use.chat import ModelChat, is_known_model, keep_calls, model_chat
from bench_core.browser_use.providers import chat_for
from bench_core.browser_use.settings import import_browser_use
from bench_core.browser_use.watch import Patience
from bench_core.errors import InputError
from bench_core.guides import guide_of
from bench_core.models.factory import cassette_of, model_of
from bench_core.models.prices import published_prices
from bench_core.protocols import BrowserHandle, EnvironmentHandle, TrialContext
from bench_core.records import AgentOutcome, AgentTask, Limits


def _unchanged(answer: JsonValue) -> JsonValue:
    return answer


@dataclass(frozen=True)
class TaskInstructions:
    """A benchmark's instructions for browser-use on a task.

    Attributes:
        goal: The goal, in words.
        exclude_actions: browser-use's actions that it may not take.
        options: Further arguments of `browser_use.Agent`, such as the format of its answer.
        read_answer: Turns its final result into the answer that is scored.
    """

    goal: str
    exclude_actions: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    read_answer: Callable[[JsonValue], JsonValue] = _unchanged


@dataclass(frozen=True)
class AgentSettings:
    """Settings of browser-use unless the task or the run overrides them.

    Attributes:
        max_steps: Calls of the model, at most.
        time_limit_s: Seconds for the whole attempt.
        use_vision: Whether the model sees screenshots.
        base_url: Of a server that speaks OpenAI's API.
        patience: How long the model server is given.
    """

    max_steps: int = 30
    time_limit_s: float = 600.0
    use_vision: bool = True
    base_url: str | None = None
    patience: Patience = Patience()  # immutable


class BrowserUseAgent:
    """Runs browser-use with the model of the run, or with `chat` if it is given.

    The run's configuration may say who calls the model (`{"chat": "browser-use"}`: its own chat
    classes), and that calls are kept or taken from another run (`record_calls`, `replay_calls`).
    """

    name = "browser-use"
    options = ("base_url",)
    environments = ("browser",)

    def __init__(self, settings: AgentSettings | None = None, chat: Any = None) -> None:
        self.settings = settings or AgentSettings()
        self._chat = chat

    def check_model(self, context: TrialContext) -> None:
        """Refuse a run whose model cannot be used.

        Raises:
            InputError: The model or its key is missing, or its provider refuses it.
        """
        if self._chat is not None or context.config.get("replay_calls"):
            return
        plain = {name: value for name, value in context.config.items() if name != "record_calls"}
        chat = open_chat(context.model_copy(update={"config": plain}), self.settings.base_url)
        if hasattr(chat, "check"):
            chat.check()

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on the task in the browser, by its benchmark's guide.

        Raises:
            InputError: The model or its key is missing.
            EnvironmentFaultError: The model server failed.
            BrowserError: The browser died.
        """
        if not isinstance(environment, BrowserHandle):
            raise InputError(f"the agent {self.name!r} needs a browser, not a {environment.kind}")
        import_browser_use()
        chat = open_chat(context, self.settings.base_url) if self._chat is None else self._chat
        attempt = Attempt(
            chat,
            environment,
            context,
            limits=self._limits(task, context),
            patience=self.settings.patience,
            prices=published_prices(),
        )
        instructions_for = guide_of(task.benchmark).browser_use
        instructions = (
            _stated(task) if instructions_for is None else instructions_for(task, environment)
        )
        options = {"use_vision": self.settings.use_vision, **instructions.options}
        try:
            outcome = await attempt.run(
                instructions.goal, exclude_actions=instructions.exclude_actions, **options
            )
        finally:
            if hasattr(chat, "aclose"):
                await chat.aclose()
        answer = instructions.read_answer(outcome.answer)
        if task.can_fail and "gave_up" in outcome.flags:
            answer = {"gave_up": answer}
        return outcome.model_copy(update={"answer": answer})

    def _limits(self, task: AgentTask, context: TrialContext) -> Limits:
        """Return the tighter limits of task and run, or those of the settings."""
        steps = (task.limits.max_steps, context.limits.max_steps)
        times = (task.limits.time_limit_s, context.limits.time_limit_s)
        return Limits(
            max_steps=min(filter(None, steps), default=self.settings.max_steps),
            time_limit_s=min(filter(None, times), default=self.settings.time_limit_s),
        )


def _stated(task: AgentTask) -> TaskInstructions:
    """Return the statements to every agent of a benchmark without a guide for browser-use."""
    if task.answer_schema is None and not task.instructions:
        return TaskInstructions(task.goal)
    wanted = f"The text of `done`: {answer_form(task)}."
    goal = "\n\n".join(filter(None, [task.goal, task.instructions.strip(), wanted]))

    def read(text: JsonValue) -> JsonValue:
        return answer_from_text(task, text) if isinstance(text, str) else text

    return TaskInstructions(goal, read_answer=read)


def open_chat(context: TrialContext, base_url: str | None = None) -> Any:
    """Return the chat for the model of a trial that the run's configuration asks for.

    Proctor's own adapters, unless the configuration's `chat` is `browser-use` or only browser-use
    knows the provider. Without `base_url` the agent's option of that name counts.

    Raises:
        InputError: The model is missing, its provider is unknown, its key is not set, or calls are to
            be recorded that browser-use's own classes make.
    """
    name = context.model
    if name is None:
        raise InputError(
            f"the agent {context.agent or BrowserUseAgent.name!r} needs a model: add --model "
            "provider:model, e.g. --model openai:gpt-4.1-mini"
        )
    base_url = base_url or context.agent_option("base_url")
    cassette = cassette_of(context)
    if context.config.get("chat") == "browser-use" or not is_known_model(name):
        if cassette is not None:
            raise InputError("calls are recorded and replayed with --chat proctor only")
        chat = chat_for(name, base_url=base_url)
        keep_calls(chat, context.folder)
        return chat
    if context.model_opener is not None and cassette is None:
        return ModelChat(model_of(context), trial=context.trial)
    if cassette is not None and cassette.mode == "replay":
        name = f"replay:{cassette.path}"
    chat = model_chat(
        name, base_url=base_url, seed=context.seed, trial=context.trial, cassette=cassette
    )
    chat.keep_in(context.folder)
    return chat
