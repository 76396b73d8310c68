"""Agents that carry out a fixed list of actions, or those of an earlier trial."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from bench_core.agents.handles import Connect
from bench_core.agents.loop import LoopAgent
from bench_core.agents.records import Action, Decision, Observation
from bench_core.errors import AgentError, RecordError
from bench_core.files import read_inside
from bench_core.records import Step
from bench_core.records.codec import decode_json
from bench_core.records.problems import problems_of

_ACTIONS: TypeAdapter[tuple[Action, ...]] = TypeAdapter(tuple[Action, ...])


def scripted_agent(
    steps: Sequence[Sequence[Action]], *, name: str = "scripted", connect: Connect | None = None
) -> LoopAgent:
    """Return an agent that does the actions of `steps`, one item per observation."""
    decisions = [Decision(actions=tuple(actions)) for actions in steps]

    def begin(*_: object) -> _Scripted:
        return _Scripted(decisions)

    return LoopAgent(name, begin) if connect is None else LoopAgent(name, begin, connect=connect)


def replay_agent(trajectory: Path | str, *, connect: Connect | None = None) -> LoopAgent:
    """Return an agent that repeats the actions in `trajectory.jsonl`.

    Raises:
        RecordError: A line is not a step in this vocabulary.
    """
    return scripted_agent(read_actions(Path(trajectory)), name="replay", connect=connect)


def read_actions(trajectory: Path) -> list[tuple[Action, ...]]:
    """Return the actions of each step of a trajectory file.

    Raises:
        RecordError: A line is not a step in this vocabulary.
    """
    lines = read_inside(trajectory.parent, trajectory.name).decode("utf-8").splitlines()
    return [_actions(trajectory, number, line) for number, line in enumerate(lines, 1) if line]


def _actions(trajectory: Path, number: int, line: str) -> tuple[Action, ...]:
    try:
        step = Step.model_validate(decode_json(line))
        return _ACTIONS.validate_python(step.actions)
    except ValueError as error:
        what = problems_of(error) if isinstance(error, ValidationError) else error
        raise RecordError(
            f"{trajectory}, line {number}: not a step that can be replayed: {what}"
        ) from error


class _Scripted:
    def __init__(self, decisions: list[Decision]) -> None:
        self._left = list(decisions)

    async def act(self, observation: Observation) -> Decision:  # noqa: ARG002  # the interface's
        """Return the next decision; see `StepAgent`."""
        if not self._left:
            raise AgentError("the script has ended and the task is not done")
        return self._left.pop(0)
