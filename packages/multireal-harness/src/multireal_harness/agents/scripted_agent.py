"""An agent that carries out a reference solution through tabs, buttons and fields of the pages."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Any

from bench_core.errors import AgentError
from bench_core.protocols import EnvironmentHandle, TrialContext
from bench_core.records import AgentOutcome, AgentTask, Status, Step
from bench_core.run_folder import TrialArtifacts
from multireal_harness.world.solutions_file import Solution, SolutionStep

__all__ = ["ScriptedAgent", "locate"]

_STEP_MS = 10_000


class ScriptedAgent:
    """Carries out the steps of one solution on the opened pages.

    Args:
        solution: The solution to carry out.
    """

    name = "scripted"
    in_process = True

    def __init__(self, solution: Solution) -> None:
        self._solution = solution

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Carry out all steps and return the outcome; see `bench_core.protocols.Agent`."""
        browser = environment.live.browser.context
        artifacts = TrialArtifacts(context.folder)
        apps: Any = task.inputs["apps"]
        page = browser.pages[0]
        limit = context.limits.max_steps or len(self._solution.steps)
        for number, step in enumerate(self._solution.steps, 1):
            if number > limit:
                return AgentOutcome(status=Status.STEP_LIMIT, steps=limit)
            started, clock = datetime.now(timezone.utc), time.monotonic()
            page = await self._do(browser, page, step, apps)
            artifacts.append_step(
                Step(
                    step=number,
                    started=started,  # by it a report finds the changes of the apps during this step
                    duration_s=time.monotonic() - clock,
                    url=page.url,
                    actions=(step.model_dump(exclude_defaults=True),),
                )
            )
            if step.do in {"done", "fail"}:
                flags = ("gave_up",) if step.do == "fail" else ()
                answer = {"gave_up": step.text} if step.do == "fail" else None
                return AgentOutcome(steps=number, answer=answer, flags=flags)
        return AgentOutcome(steps=len(self._solution.steps))

    async def _do(self, browser: Any, page: Any, step: SolutionStep, apps: dict[str, str]) -> Any:
        from playwright.async_api import Error

        try:
            if step.do == "open":
                return await _open(browser, step.app, apps)
            if step.do == "fill":
                await page.locator(f'[name="{step.field}"]').fill(step.text, timeout=_STEP_MS)
            elif step.do == "enter":
                await page.locator(f'[name="{step.field}"]').press("Enter", timeout=_STEP_MS)
            elif step.do == "click":
                await locate(page, step.text).click(timeout=_STEP_MS)
                # the built-in apps answer after their configured latency, and show this class until then
                await page.wait_for_function("!document.body.matches('.busy')", timeout=_STEP_MS)
        except Error as error:
            first = str(error).splitlines()[0]
            raise AgentError(
                f"the step {step.model_dump(exclude_defaults=True)}: {first}"
            ) from error
        return page


async def _open(browser: Any, app: str, apps: dict[str, str]) -> Any:
    """Return the app's page, brought to the front, or opened again when it was closed."""
    origin = next(url for name, url in apps.items() if name.casefold() == app.casefold())
    for page in browser.pages:
        if page.url.startswith(origin):
            await page.bring_to_front()
            return page
    page = await browser.new_page()
    await page.goto(origin, timeout=_STEP_MS)
    return page


def locate(page: Any, text: str) -> Any:
    """Return the button with the text `text`, or the list item that contains it."""
    exact = page.get_by_role("button", name=text, exact=True)
    return exact.or_(page.locator(".item", has_text=text)).first
