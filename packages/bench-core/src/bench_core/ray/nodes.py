"""Asks every node of a cluster that offers room for workers for its properties."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from bench_core.errors import InputError
from bench_core.ray.broker import BROKER, NAMESPACE
from bench_core.ray.calls import in_thread, value_of
from bench_core.ray.transport import RESOURCE, RayTransport
from bench_core.workers.nodes import AskedNode, NodeFacts, NodeQuestions, facts_of_this_node

_OF_RAY = ("CPU", "GPU", "TPU", "memory", "object_store_memory")
_LOOK_S, _ANSWER_S = 10.0, 120.0


async def ask_nodes(
    transport: RayTransport, questions: NodeQuestions
) -> tuple[list[AskedNode], list[dict[str, Any]]]:
    """Return the answers of each node with room for workers, and the held leases; leave the cluster.

    Raises:
        InputError: The cluster is missing, or has no room for workers.
    """
    await transport.connected()
    try:
        nodes = [each for each in await in_thread(ray.nodes, _LOOK_S) if each["Alive"]]
        with_room = [each for each in nodes if each["Resources"].get(RESOURCE, 0) >= 1]
        if not with_room:
            raise InputError(
                f"none of the cluster's {len(nodes)} nodes has room for workers: start each with "
                f"`ray start --resources='{{\"{RESOURCE}\": 4}}'`, where 4 is how many trials it runs at once"
            )
        asked = await asyncio.gather(*(_ask(each, questions) for each in with_room))
        return list(asked), await _leases()
    finally:
        await transport.close()


async def _ask(node: Mapping[str, Any], questions: NodeQuestions) -> AskedNode:
    name = f"{node['NodeManagerAddress']} ({node['NodeID'][:6]})"
    room = int(node["Resources"][RESOURCE])
    labels = tuple(sorted(filter(_is_label, node["Resources"])))
    own = questions.of_node(labels)
    where = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
    ask = ray.remote(_facts).options(num_cpus=0, max_retries=0, scheduling_strategy=where)
    began = time.time()
    try:
        given = await value_of(ask.remote(own.model_dump(mode="json")), _ANSWER_S)
    except (RayError, asyncio.TimeoutError) as error:
        return AskedNode(name, room, None, why=_why(error), labels=labels)
    facts = NodeFacts.model_validate(given)
    skew_s = _skew_s(facts.clock, began, time.time())
    return AskedNode(name, room, facts, skew_s=skew_s, labels=labels)


def _is_label(resource: str) -> bool:
    """Whether a resource is a user's own: those of Ray's have known names, or a colon in them."""
    return resource not in {RESOURCE, *_OF_RAY} and ":" not in resource


def _skew_s(clock: float, began: float, ended: float) -> float:
    """Return by how much a clock is surely off that was read between two times of ours."""
    return clock - began if clock < began else max(0.0, clock - ended)


def _facts(questions: dict[str, Any]) -> dict[str, Any]:
    return facts_of_this_node(NodeQuestions.model_validate(questions)).model_dump(mode="json")


def _why(error: Exception) -> str:
    if isinstance(error, asyncio.TimeoutError):
        return f"no answer in {_ANSWER_S:g} s"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:500]


async def _leases() -> list[dict[str, Any]]:
    try:
        broker = ray.get_actor(BROKER, namespace=NAMESPACE)
        found: list[dict[str, Any]] = await value_of(broker.leases.remote(), _LOOK_S)
    except (RayError, ValueError, asyncio.TimeoutError):  # no run has leased anything yet
        return []
    return found
