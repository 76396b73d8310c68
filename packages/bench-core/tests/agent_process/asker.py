"""An agent over Proctor's own client of the run's model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.models import Message, ModelRequest, model_of
from bench_core.records import AgentOutcome

if TYPE_CHECKING:
    from bench_core.protocols import EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask


class Asker:
    """Asks once."""

    name = "asker"
    environments = ("text",)

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        del environment
        async with model_of(context) as model:
            request = ModelRequest(messages=(Message.user(task.goal),))
            await model.complete(request, meter=context.meter)
        return AgentOutcome(answer=4, steps=1)
