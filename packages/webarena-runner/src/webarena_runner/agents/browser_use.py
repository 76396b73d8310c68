"""The agent of the benchmark: the real `browser_use.Agent` in a browser that the runner owns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_core.browser_use import chat_for, import_browser_use
from bench_core.browser_use.watch import Patience
from bench_core.errors import InputError
from bench_core.protocols import BrowserHandle
from webarena_runner.agents.attempt import Attempt

if TYPE_CHECKING:
    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentOutcome, AgentTask

__all__ = ["AgentSettings", "BrowserUseAgent"]


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
        return await Attempt(task, environment, context, chat, self.settings).run()

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
        return chat_for(context.model, base_url=self.settings.base_url)
