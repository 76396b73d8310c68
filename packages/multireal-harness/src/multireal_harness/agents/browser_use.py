"""browser-use as an agent: attached to a Chromium of ours, with the settings that compare pinned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.browser_use import Attempt
from bench_core.errors import InputError
from bench_core.protocols import BrowserHandle
from bench_core.records import Limits

if TYPE_CHECKING:
    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentOutcome, AgentTask

__all__ = ["BrowserUseAgent"]

# Scripts in the page could write the state itself; a search or a file is no part of any app.
_EXCLUDED = ("search", "evaluate", "write_file", "read_file", "replace_file", "upload_file")
_HINT = """
The apps of the task are open in one tab each; use one tab per app. Work only with what the apps show.
"""


class BrowserUseAgent:
    """Runs `browser_use.Agent` with one action per step.

    Args:
        chat: What it calls its `llm`: `bench_core.browser_use.ModelChat`, one of browser-use's own
            chat classes, or a script.
        use_vision: Whether the model sees screenshots.
    """

    name = "browser-use"

    def __init__(self, chat: Any, *, use_vision: bool = True) -> None:
        self._chat = chat
        self._use_vision = use_vision

    async def run(
        self, task: AgentTask, environment: BrowserHandle | DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on the task; see `bench_core.protocols.Agent`.

        Raises:
            InputError: There is no model, or browser-use is not installed.
            EnvironmentFaultError: The model server failed or the browser is gone.
        """
        if not isinstance(environment, BrowserHandle):
            raise InputError(f"the agent {self.name!r} needs a browser, not a {environment.kind}")
        if self._chat is None:
            raise InputError(f"the agent {self.name!r} needs a model: pass --model")
        attempt = Attempt(self._chat, environment, context, limits=_limits(task, context))
        try:
            return await attempt.run(
                f"{task.goal}\n\nApps:\n{_apps(task)}",
                exclude_actions=_EXCLUDED,
                extend_system_message=_HINT,
                use_vision=self._use_vision,
                max_actions_per_step=1,
            )
        finally:
            if hasattr(self._chat, "aclose"):
                await self._chat.aclose()


def _limits(task: AgentTask, context: TrialContext) -> Limits:
    return Limits(
        max_steps=context.limits.max_steps or task.limits.max_steps,
        time_limit_s=context.limits.time_limit_s or task.limits.time_limit_s,
    )


def _apps(task: AgentTask) -> str:
    apps = task.inputs.get("apps")
    return (
        "\n".join(f"{name}: {url}" for name, url in apps.items()) if isinstance(apps, dict) else ""
    )
