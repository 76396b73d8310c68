"""The floor: an agent that looks at nothing, does nothing and claims success."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.records import AgentOutcome

if TYPE_CHECKING:
    from bench_core.protocols import BrowserHandle, DesktopHandle, TrialContext
    from bench_core.records import AgentTask

__all__ = ["DoNothingAgent"]


class DoNothingAgent:
    """Ends at once with the same answer to every task: NAVIGATE, SUCCESS, no data.

    What it scores is what the start page alone is worth. NAVIGATE is the claim under which a
    benchmark could pay for doing nothing: a RETRIEVE claim is checked against the data, a MUTATE
    claim against requests that somebody has to send. Measured against webarena-verified 1.2.3 the
    agent scores 0.0 on every task of the built-in world and 1.0 only where the start page is
    already the page asked for.
    """

    name = "do-nothing"

    async def run(
        self, task: AgentTask, environment: BrowserHandle | DesktopHandle, context: TrialContext
    ) -> AgentOutcome:
        """Return the answer."""
        del task, environment, context
        return AgentOutcome(
            answer={
                "task_type": "NAVIGATE",
                "status": "SUCCESS",
                "retrieved_data": None,
                "error_details": None,
            }
        )
