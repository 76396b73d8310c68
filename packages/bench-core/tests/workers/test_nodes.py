"""What is asked of a node, and what is found wrong with its answers; and the command, without a cluster."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import InputError
from bench_core.workers.nodes import (
    Finding,
    NodeFacts,
    NodeQuestions,
    address_of,
    facts_of_this_node,
    findings,
)

if TYPE_CHECKING:
    from collections.abc import Callable

GB = 1 << 30
HERE = NodeFacts(
    host="here",
    python="3.11.7",
    packages={"bench_core": "a" * 64},
    versions={"bench_core": "0.2.0"},
    chromium="/usr/bin/chromium",
    shm=GB,
    disk=10 * GB,
    niceness=0,
    keys={"TOYS_API_KEY": True},
    reach={"gitlab:80": ""},
    clock=0.0,
)


def found(skew_s: float = 0.0, **other: Any) -> dict[str, Finding]:
    there = HERE.model_copy(update=other)
    return {each.of: each for each in findings(HERE, there, skew_s)}


def test_a_node_like_this_machine_has_nothing_wrong() -> None:
    assert {each.status for each in found().values()} == {"ok"}
    assert set(found()) == {
        "python", "packages", "chromium", "shared memory", "disk", "clock", "keys", "reach", "niceness",
    }  # fmt: skip


DIFFERENT = {
    "another Python": ("python", "fail", {"python": "3.12.1"}),
    "another patch of Python": ("python", "ok", {"python": "3.11.9"}),
    "other files": ("packages", "fail", {"packages": {"bench_core": "b" * 64}}),
    "an absent package": ("packages", "fail", {"packages": {"bench_core": "absent"}}),
    "a package without an answer": ("packages", "fail", {"packages": {}}),
    "no Chromium": ("chromium", "warn", {"chromium": None, "no_chromium": "there is none"}),
    "little shared memory": ("shared memory", "warn", {"shm": 64 << 20}),
    "no shared memory": ("shared memory", "ok", {"shm": None}),
    "a full disk": ("disk", "fail", {"disk": GB - 1}),
    "little disk": ("disk", "warn", {"disk": GB}),
    "enough disk": ("disk", "ok", {"disk": 5 * GB}),
    "no key": ("keys", "fail", {"keys": {"TOYS_API_KEY": False}}),
    "no way": ("reach", "fail", {"reach": {"gitlab:80": "refused"}}),
    "nice": ("niceness", "warn", {"niceness": 15}),
    "no niceness": ("niceness", "ok", {"niceness": None}),
}


@pytest.mark.parametrize(("of", "status", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_differs_is_found_with_what_helps(of: str, status: str, other: dict[str, Any]) -> None:
    checks = found(**other)
    assert checks[of].status == status
    assert bool(checks[of].fix) == (status != "ok")
    assert {each.status for name, each in checks.items() if name != of} == {"ok"}


@pytest.mark.parametrize(
    ("skew_s", "status"),
    [(1.9, "ok"), (-1.9, "ok"), (2.0, "warn"), (-29.0, "warn"), (30.0, "fail"), (-30.0, "fail")],
)
def test_a_clock_that_is_off_is_found(skew_s: float, status: str) -> None:
    assert found(skew_s)["clock"].status == status


def test_a_key_is_spoken_of_by_its_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOYS_API_KEY", "toys-0123456789-planted-abc")
    monkeypatch.setenv("EMPTY_API_KEY", "")
    asked = NodeQuestions(keys=("TOYS_API_KEY", "EMPTY_API_KEY", "ABSENT_API_KEY"))
    facts = facts_of_this_node(asked)
    assert facts.keys == {"TOYS_API_KEY": True, "EMPTY_API_KEY": False, "ABSENT_API_KEY": False}
    assert "planted" not in facts.model_dump_json()


def test_what_listens_is_reached_and_what_does_not_is_not() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        there = f"http://127.0.0.1:{server.getsockname()[1]}/users"
        assert facts_of_this_node(NodeQuestions(reach=(there,))).reach == {there: ""}
    assert facts_of_this_node(NodeQuestions(reach=(there,))).reach[there]


def test_packages_are_named_with_version_and_digest() -> None:
    facts = facts_of_this_node(NodeQuestions(packages=("bench_core", "no_such_package")))
    assert facts.packages["no_such_package"] == "absent"
    assert len(facts.packages["bench_core"]) == 64
    assert set(facts.versions) == {"bench_core"}


def test_what_a_label_is_given_for_is_asked_of_the_nodes_that_carry_it() -> None:
    asked = NodeQuestions(reach=("map:80", "http://vm:5000/?a=lab"), labels=("gpu",))
    assert asked.of_node(["lab"]).reach == ("map:80", "http://vm:5000/?a")
    assert asked.of_node(["cpu"]).reach == ("map:80",)


def test_labels_that_no_node_carries_are_missing() -> None:
    asked = NodeQuestions(reach=("map:80", "vm:80=lab"), labels=("gpu", "lab"))
    assert asked.missing([["cpu"], ["lab"]]) == ("gpu",)
    assert asked.missing([]) == ("gpu", "lab")


@pytest.mark.parametrize("text", ["gitlab", "http://", "host:port", "gitlab:99999"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not an address: give HOST:PORT or a URL"):
        address_of(text)


def test_an_address_that_cannot_be_asked_is_wrong_usage(run_command: Callable[..., Any]) -> None:
    told = run_command("nodes", "doctor", "--reach", "gitlab")
    assert told.returncode == 2
    assert "'gitlab' is not an address" in told.stderr
