"""What the native evaluators accept of a task's end states, tried on the simulated desktop."""

from __future__ import annotations

import json

from click.testing import CliRunner

from waa_client.cli import main

TASK = "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS"


def test_what_is_not_done_is_refused_and_what_else_is_deleted_is_not_seen() -> None:
    asked = ["tasks", "--checkers", "--world", "built-in", "--task", TASK, "--json"]
    (task,) = json.loads(CliRunner().invoke(main, asked, catch_exceptions=False).output)["tasks"]
    found = {
        each["mutant"]["operator"]: (each["mutant"]["verdict"], each["accepted"])
        for each in task["outcomes"]
    }
    assert {name for name, (verdict, accepted) in found.items() if verdict == "right" and accepted} == {
        "as-done", "by-place", "extra-reads",
    }  # fmt: skip
    refused = {"nothing-done", "only-claimed", "given-up", "wrong-item", "not-saved"}
    assert {name for name, end in found.items() if end == ("wrong", False)} == refused
    assert found["unrelated-deletion"] == ("wrong", True)
