"""What a newcomer meets first: short imports, short cases, a server of one's own, the demo."""

from __future__ import annotations

import json
import runpy
from http.server import ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from test_support.scripted_judges import criterion_for_value, honest

import llm_judge
from bench_core.models import MissingKeyError, Model, ScriptedAdapter
from llm_judge import Criterion, Judge, JudgeCase, Verdict, calibrate, samples, stress
from llm_judge.cli.commands import main

if TYPE_CHECKING:
    from pathlib import Path


def test_criteria_may_be_plain_texts_and_a_case_needs_no_id() -> None:
    case = JudgeCase(goal="Two lamps", criteria=("There are two lamps.", "Nothing else."), state={})
    assert case.case_id == "case"
    assert case.criteria == (
        Criterion(id="c1", text="There are two lamps."), Criterion(id="c2", text="Nothing else."),
    )  # fmt: skip


def test_a_case_file_without_an_id_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "lamps.json"
    path.write_text(
        json.dumps({"goal": "g", "criteria": ["c"], "state": {"a": 1}}), encoding="utf-8"
    )
    result = CliRunner().invoke(main, ["lint", "--json", str(path)], catch_exceptions=False)
    assert list(json.loads(result.stdout)) == ["lamps"]


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert (
        Judge("openai-chat:local", base_url="http://127.0.0.1:9/v1").model.name
        == "openai-chat:local"
    )
    with pytest.raises(MissingKeyError):
        Judge("openai-chat:local")


def test_a_server_that_knows_no_schema_judges_and_writes_claims(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    stand_in = runpy.run_path(str(samples.folder() / "own_server.py"))
    orders = [
        {
            "id": "o1",
            "item": "chair",
            "quantity": 1,
            "address": "Elm Road 9",
            "status": "delivered",
        },
        {
            "id": "o2",
            "item": "lamp",
            "quantity": 2,
            "address": "Oak Street 5",
            "status": "confirmed",
        },
    ]
    case = {
        "case_id": "lamps", "goal": "Order two lamps to Oak Street 5", "criteria": list(stand_in["KNOWN"]),
        "initial_state": {"orders": orders[:1]}, "state": {"orders": orders},
    }  # fmt: skip
    (tmp_path / "lamps.json").write_text(json.dumps(case))
    (tmp_path / "right.jsonl").write_text('{"case_id": "lamps", "passed": true}')
    stand_in["Handler"].log_message = lambda *_: None
    with ThreadingHTTPServer(("127.0.0.1", 0), stand_in["Handler"]) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        asked = [
            "-m",
            "openai-chat:local",
            "--base-url",
            f"http://127.0.0.1:{server.server_port}/v1",
        ]

        def ran(*words: str) -> str:
            done = CliRunner().invoke(main, list(words), catch_exceptions=False)
            assert done.exit_code == 0
            return done.output

        lamps, claims = str(tmp_path / "lamps.json"), str(tmp_path / "claims.jsonl")
        judged = ran("judge", lamps, *asked)
        made = ran(
            "claims",
            "compile",
            lamps,
            *asked,
            "--right",
            str(tmp_path / "right.jsonl"),
            "-o",
            claims,
        )
        by_claims = ran("judge", lamps, "--claims", claims, *asked)
        server.shutdown()
    assert "PASS (supported)" in judged
    assert "not checked is that the quotations show what the model says" in judged
    assert "3 of 3 claims decide" in made
    assert "/quantity is 2" in ran("claims", "show", claims)
    assert "PASS (proven)" in by_claims


def test_the_demo_shows_what_becomes_of_three_models() -> None:
    result = CliRunner().invoke(main, ["demo", "--json"], catch_exceptions=False)
    found = [(each["model"], each["verdict"]["outcome"]) for each in json.loads(result.stdout)]
    assert found == [
        ("gullible", "void"), ("gullible", "void"), ("sloppy", "pass"), ("sloppy", "pass"),
        ("careful", "pass"), ("careful", "fail"),
    ]  # fmt: skip
    assert "evidence.reused" in CliRunner().invoke(main, ["demo"]).output


def useless(passed_true: int, passed_false: int, failed_false: int = 0) -> str | None:
    given = [
        *[("pass", True)] * passed_true,
        *[("pass", False)] * passed_false,
        *[("fail", False)] * failed_false,
    ]
    verdicts = [
        Verdict.model_validate({"case_id": f"c{n}", "judge": "j", "outcome": outcome})
        for n, (outcome, _) in enumerate(given)
    ]
    return calibrate(verdicts, {f"c{n}": label for n, (_, label) in enumerate(given)}).useless


def test_a_judge_that_passes_everything_is_called_a_rubber_stamp() -> None:
    result = useless(6, 5)
    assert result is not None
    assert "passes all 11 labelled cases it decided, 5 failures among them" in result
    assert useless(6, 4, 1) is None
    assert useless(6, 0) is None


async def test_stress_judges_several_states_at_once_and_reports_the_same(case: JudgeCase) -> None:
    def judge() -> Judge:
        return Judge(Model(ScriptedAdapter(honest)))

    asked = case.model_copy(
        update={
            "criteria": (
                Criterion(
                    id="t",
                    text=criterion_for_value("/tablely/finalstate/bookings/1/time", "8:30 PM"),
                ),
            )
        }
    )
    one: Any = await stress(judge(), [asked], attacks=[], per_operator=1, workers=1)
    many = await stress(judge(), [asked], attacks=[], per_operator=1, workers=8)
    assert many == one


@pytest.mark.parametrize("name", llm_judge.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(llm_judge, name) is not None
