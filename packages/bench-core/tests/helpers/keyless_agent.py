"""An own agent that lacks its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.protocols import EnvironmentHandle, TrialContext
    from bench_core.records import AgentOutcome, AgentTask


class Keyless:
    """Raises what its client says."""

    name = "keyless"

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        raise RuntimeError("no key for this provider")
