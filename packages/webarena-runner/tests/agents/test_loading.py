from __future__ import annotations

import pytest

from bench_core.browser_use import BrowserUseAgent
from bench_core.discovery import load_agent
from bench_core.errors import InputError, UnknownPluginError
from bench_core.protocols import BrowserHandle, DesktopHandle, TrialContext
from bench_core.records import AgentTask


def test_an_unknown_name_lists_what_is_installed() -> None:
    with pytest.raises(UnknownPluginError, match=r"'browser-use'.*'do-nothing'.*'scripted'"):
        load_agent("browser_use")


async def test_a_browser_agent_refuses_a_desktop(context: TrialContext) -> None:
    desktop = DesktopHandle(url="http://127.0.0.1:1")

    with pytest.raises(InputError, match="needs a browser, not a desktop"):
        await BrowserUseAgent().run(_task(), desktop, context)


@pytest.mark.parametrize(
    ("model", "words"),
    [(None, "needs a model"), ("acme:x", "unknown model 'acme:x'"), ("gpt-4.1", "unknown model")],
)
async def test_a_model_that_cannot_be_used_is_named(
    context: TrialContext, model: str | None, words: str
) -> None:
    browser = BrowserHandle(cdp_url="http://127.0.0.1:1")

    with pytest.raises(InputError, match=words):
        await BrowserUseAgent().run(_task(), browser, context.model_copy(update={"model": model}))


def _task() -> AgentTask:
    return AgentTask(benchmark="webarena", task_id="260", goal="Open the category")
