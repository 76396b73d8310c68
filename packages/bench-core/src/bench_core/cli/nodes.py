"""The command `nodes doctor`: can every machine of a cluster run trials, and if not, why."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from bench_core import exit_codes
from bench_core.cli.coroutines import run_coroutine
from bench_core.cli.options import json_option
from bench_core.cli.tables import render_table
from bench_core.terminal import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench_core.workers.nodes import AskedNode, Finding, NodeFacts, NodeQuestions

_MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


@click.group()
def nodes() -> None:
    """Check the machines of a Ray cluster that trials run on."""


@nodes.command()
@click.option("--address", default="auto", metavar="HOST:PORT",
              help="The cluster.  [default: the one this machine belongs to]")  # fmt: skip
@click.option("--package", "packages", multiple=True, metavar="NAME",
              help="A package whose files must be the same on each node as here, such as webarena-runner; "
                   "bench-core is always checked.")  # fmt: skip
@click.option("--key", "keys", multiple=True, metavar="NAME",
              help="An environment variable that must be set on each node; only its name is shown.")  # fmt: skip
@click.option("--reach", multiple=True, metavar="URL|HOST:PORT[=LABEL]",
              help="A site or VM that each node must reach; with a label, only the nodes that carry it.")  # fmt: skip
@click.option("--label", "labels", multiple=True, metavar="NAME",
              help="A custom resource that at least one node must carry, for `run --bind`.")  # fmt: skip
@json_option
def doctor(
    address: str,
    packages: tuple[str, ...],
    keys: tuple[str, ...],
    reach: tuple[str, ...],
    labels: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Check every node that offers room for workers: Python, packages, Chromium, /dev/shm, disk, clock, keys, network.

    Exit codes: 0 all usable, 1 something must be fixed, 2 there is no cluster, or an option is wrong.
    """
    from bench_core.workers.nodes import (
        NodeQuestions,
        address_of,
        facts_of_this_node,
        labelled,
    )

    for each in reach:
        address_of(labelled(each)[0])  # refused here rather than on every node
    names = dict.fromkeys(["bench_core", *(each.replace("-", "_") for each in packages)])
    questions = NodeQuestions(packages=tuple(names), keys=keys, reach=reach, labels=labels)
    found, leases = _ask(address, questions)
    here = facts_of_this_node(questions.model_copy(update={"reach": ()}))
    rows = [(each, _findings(here, each)) for each in found]
    missing = questions.missing(each.labels for each in found)
    show = _as_json if as_json else _as_text
    click.echo(show(rows, leases, missing))
    if missing or any(one.status == "fail" for _, checks in rows for one in checks):
        sys.exit(exit_codes.FELL_SHORT)


def _ask(address: str, questions: NodeQuestions) -> tuple[list[AskedNode], list[dict[str, Any]]]:
    from bench_core.errors import MissingExtraError

    try:
        # by their names: the base imports no tower
        transport = import_module("bench_core.ray").cluster(address)
        ask_nodes = import_module("bench_core.ray.nodes").ask_nodes
    except ImportError as error:
        raise MissingExtraError("`nodes doctor`", str(error.name), "bench-core", "ray") from error
    found: tuple[list[AskedNode], list[dict[str, Any]]] = run_coroutine(
        ask_nodes(transport, questions)
    )
    return found


def _findings(here: NodeFacts, node: AskedNode) -> list[Finding]:
    from bench_core.workers.nodes import Finding, findings

    if node.facts is not None:
        return list(findings(here, node.facts, node.skew_s))
    fix = "install bench-core on it, and look at `ray status`"
    return [Finding(of="answer", status="fail", detail=node.why, fix=fix)]


def _as_json(
    rows: Sequence[tuple[AskedNode, list[Finding]]],
    leases: list[dict[str, Any]],
    missing: Sequence[str],
) -> str:
    listed = [
        {
            "node": node.name,
            "host": node.facts.host if node.facts else None,
            "room": node.room,
            "labels": list(node.labels),
            "checks": [each.model_dump(mode="json") for each in checks],
        }
        for node, checks in rows
    ]
    passed = not missing and all(each.status != "fail" for _, checks in rows for each in checks)
    found = {"ok": passed, "nodes": listed, "missing_labels": list(missing), "leases": leases}
    return json.dumps(found, indent=2)


def _as_text(
    rows: Sequence[tuple[AskedNode, list[Finding]]],
    leases: list[dict[str, Any]],
    missing: Sequence[str],
) -> str:
    things = list(dict.fromkeys(each.of for _, checks in rows for each in checks))
    table = render_table(
        ("node", "host", "room", "labels", *things),
        [
            (
                node.name,
                node.facts.host if node.facts else None,
                node.room,
                ", ".join(node.labels) or None,
                *(
                    next((_MARKS[c.status] for c in checks if c.of == each), None)
                    for each in things
                ),
            )
            for node, checks in rows
        ],
    )
    lines = [line for node, checks in rows for each in checks for line in _lines(node, each)]
    for label in missing:
        start = f'`ray start --resources=\'{{"proctor": 4, "{label}": 1}}\'`'
        head = f"{_MARKS['fail']} no node with room for workers carries {label!r}"
        lines += [plain_text(head), plain_text(f"  fix: start those that shall with {start}")]
    held = []
    for lease in leases:
        names = ", ".join([*(f"{name} (alone)" for name in lease["exclusive"]), *lease["shared"]])
        held.append(plain_text(f"held: {names} by {lease['owner']}"))
    return "\n".join([table, *([""] if lines or held else []), *lines, *held])


def _lines(node: AskedNode, found: Finding) -> list[str]:
    if found.status == "ok":
        return []
    head = plain_text(f"{_MARKS[found.status]} {node.name}, {found.of}: {found.detail}")
    return [head, plain_text(f"  fix: {found.fix}")] if found.fix else [head]
