"""Faults of the built-in apps and options of the judge, as they are given on the command line."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.errors import InputError
from bench_core.records.judge import Verdict
from multireal_harness.cli import main
from multireal_harness.judge_plugin import load_judge
from multireal_harness.world.faults import AppFault, read_faults
from multireal_harness.world.launch import built_in_world

if TYPE_CHECKING:
    from bench_core.records.judge import JudgeCase


class NotedJudge:
    name = "noted"

    def __init__(self, model: str, **options: Any) -> None:
        self.given = {"model": model, **options}

    async def judge(self, case: JudgeCase) -> Verdict:
        return Verdict(case_id=case.case_id, judge=self.name, outcome="abstain")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("app=dining,finish=503x2", AppFault("dining", "status", "/finish", 2, 503)),
        ("app=mail,config=drop", AppFault("mail", "drop", "/config")),
        ("app=mail,page=slow:2.5x1", AppFault("mail", "slow", "/", 1, 2.5)),
        ("app=mail,/inbox=stall", AppFault("mail", "stall", "/inbox")),
        ("app=mail,finish=invalid_jsonx3", AppFault("mail", "invalid_json", "/finish", 3)),
    ],
    ids=["status", "drop", "slow", "path", "json"],
)
def test_a_fault_is_read(text: str, fault: AppFault) -> None:
    assert read_faults(text) == (fault,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dining,finish=503", "begin with app=NAME"),
        ("app=dining", "begin with app=NAME"),
        ("app=dining,finish", "is not a fault"),
        ("app=dining,inbox=503", "is not a page"),
        ("app=dining,finish=explode", "is not a fault"),
    ],
    ids=["no app", "no fault", "no value", "no page", "no kind"],
)
def test_what_is_no_fault_is_refused_with_the_way_out(text: str, message: str) -> None:
    refused = CliRunner().invoke(main, ["demo", "--fault", text])
    assert refused.exit_code == 2
    assert message in refused.output


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310  # the built-in world's own address
            return int(answer.status), answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_each_built_in_app_is_one_page_with_its_style_and_scripts() -> None:
    with built_in_world(()) as world:
        pages = {app: get(url)[1] for app, url in world.urls.items()}
    assert len({*pages.values()}) == 4
    for page in pages.values():
        style, script = (re.search(f"(?s)<{tag}>(.*)</{tag}>", page) for tag in ("style", "script"))
        assert style is not None
        assert script is not None
        assert "--ink" in style[1]
        assert "/finish" in script[1]


def test_a_built_in_app_misbehaves_as_often_as_asked() -> None:
    with built_in_world(()) as world:
        app = next(iter(world.urls))
    with built_in_world(read_faults(f"app={app},finish=503x2")) as world:
        url = world.urls[app]
        assert [get(f"{url}/finish")[0] for _ in range(3)] == [503, 503, 200]


def test_a_fault_of_an_unknown_app_names_those_there_are() -> None:
    with (
        pytest.raises(InputError, match="no built-in app 'nosuch': there are "),
        built_in_world(read_faults("app=nosuch,finish=503")),
    ):
        pass


def test_faults_are_of_the_built_in_world_only(tmp_path: Any) -> None:
    refused = CliRunner().invoke(
        main,
        [
            "run",
            "--agent",
            "do-nothing",
            "--tasks-dir",
            "built-in",
            "--fault",
            "app=mail,finish=503",
            "--out",
            str(tmp_path / "r"),
        ],
    )
    assert refused.exit_code == 2
    assert "add --world built-in" in refused.output


def test_a_judge_takes_its_own_defences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multireal_harness.judge_plugin.load_plugin", lambda *_: NotedJudge)
    judge: Any = load_judge("noted", "openai:a", second="google:b", samples=3, base_url=None)
    assert judge.given == {"model": "openai:a", "second": "google:b", "samples": 3}


def test_a_judge_that_is_ready_made_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multireal_harness.judge_plugin.load_plugin", lambda *_: NotedJudge("m"))
    with pytest.raises(InputError, match="takes no samples"):
        load_judge("noted", samples=3)
