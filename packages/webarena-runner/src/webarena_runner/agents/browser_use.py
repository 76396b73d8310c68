"""The agent of the benchmark: the real `browser_use.Agent` in a browser that the runner owns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bench_core.browser_use import (
    Attempt,
    Patience,
    chat_for,
    import_browser_use,
    is_known_model,
    model_chat,
)
from bench_core.errors import InputError
from bench_core.models import Cassette, published_prices
from bench_core.protocols import BrowserHandle
from bench_core.records import Limits
from webarena_runner.agents.declaration import Declaration, instructions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentOutcome, AgentTask

__all__ = ["CALLS_FILE", "AgentSettings", "BrowserUseAgent", "open_chat"]

CALLS_FILE = "model_calls.jsonl"


@dataclass(frozen=True)
class AgentSettings:
    """How browser-use is run where neither the task nor the run says otherwise.

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
    patience: Patience = Patience()  # noqa: RUF009  # immutable


class BrowserUseAgent:
    """Runs browser-use with the model of the run, or with `chat` where it is given."""

    name = "browser-use"

    def __init__(self, settings: AgentSettings | None = None, chat: Any = None) -> None:
        self.settings = settings or AgentSettings()
        self._chat = chat

    async def run(
        self, task: AgentTask, environment: BrowserHandle | DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on the task in the browser; the agent itself declares type, status and data.

        Raises:
            InputError: There is no model, or no key for it.
            EnvironmentFaultError: The model server failed.
            BrowserError: The browser died.
        """
        if not isinstance(environment, BrowserHandle):
            raise InputError(f"the agent {self.name!r} needs a browser, not a {environment.kind}")
        import_browser_use()
        chat = self.chat(task, context)
        attempt = Attempt(
            chat,
            environment,
            context,
            limits=self._limits(task, context),
            patience=self.settings.patience,
            prices=published_prices(),
        )
        try:
            outcome = await self._work(attempt, task, environment)
        finally:
            if hasattr(chat, "aclose"):
                await chat.aclose()
        return outcome.model_copy(update={"answer": _declared(outcome.answer)})

    def chat(self, task: AgentTask, context: TrialContext) -> Any:
        """Return the chat model of one attempt."""
        del task
        if self._chat is not None:
            return self._chat
        if context.model is None:
            raise InputError(
                f"the agent {self.name!r} needs a model: pass one as provider:model, "
                "e.g. 'openai:gpt-4.1-mini'"
            )
        return open_chat(
            context.model,
            context.config,
            base_url=self.settings.base_url,
            seed=context.seed,
            trial=context.trial,
            cassette=_cassette(context),
        )

    def _limits(self, task: AgentTask, context: TrialContext) -> Limits:
        """Return the tighter of what task and run say, or the settings'."""
        steps = (task.limits.max_steps, context.limits.max_steps)
        times = (task.limits.time_limit_s, context.limits.time_limit_s)
        return Limits(
            max_steps=min(filter(None, steps), default=self.settings.max_steps),
            time_limit_s=min(filter(None, times), default=self.settings.time_limit_s),
        )

    async def _work(
        self, attempt: Attempt, task: AgentTask, browser: BrowserHandle
    ) -> AgentOutcome:
        sites: Any = task.inputs.get("sites") or ()
        return await attempt.run(
            task.goal,
            exclude_actions=("search",),  # it would ask a search engine outside
            output_model_schema=Declaration,
            extend_system_message=instructions(sites, browser.start_urls),
            use_vision=self.settings.use_vision,
        )


def open_chat(model: str, config: Mapping[str, JsonValue] | None = None, **options: Any) -> Any:
    """Return the chat for `provider:model` that the run's configuration asks for.

    Proctor's own adapters, unless the configuration's `chat` is `browser-use` or only browser-use
    knows the provider.

    Raises:
        InputError: Nobody knows the provider, its key is not set, or calls are to be recorded that
            browser-use's own classes make.
    """
    cassette = options.get("cassette")
    if (config or {}).get("chat") != "browser-use" and is_known_model(model):
        if cassette is not None and cassette.mode == "replay":
            model = f"replay:{cassette.path}"
        return model_chat(model, **options)
    if cassette is not None:
        raise InputError("calls are recorded and replayed with --chat proctor only")
    return chat_for(model, base_url=options.get("base_url"))


def _declared(final_result: JsonValue) -> JsonValue:
    """Return the declared answer, or the bare text when it does not fit the declaration."""
    if not isinstance(final_result, str):
        return None
    try:
        return Declaration.model_validate_json(final_result).as_response()
    except ValidationError:
        return final_result


def _cassette(context: TrialContext) -> Cassette | None:
    """Return where the trial's calls are kept, or where they come from.

    Replayed calls are taken in their order: browser-use writes the date into its prompts, so no
    call is ever asked twice in the same words.
    """
    replayed = context.config.get("replay_calls")
    if replayed:
        folder = Path(str(replayed)) / Path(*context.folder.parts[-3:])
        return Cassette(folder / CALLS_FILE, "replay", "sequence")
    if context.config.get("record_calls"):
        return Cassette(context.folder / CALLS_FILE, "record", "sequence")
    return None
