from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import Status
from webarena_runner.config import default_config
from webarena_runner.evaluation import evaluate
from webarena_runner.expectations import ExpectedRequest
from webarena_runner.failures import classify_failure
from webarena_runner.reference_solutions.traffic import navigation
from webarena_runner.reference_solutions.trials import write_trial
from webarena_runner.tasks import load_tasks
from webarena_runner.traffic_faults import decisive_fault, recorded_requests, traffic_fault_in

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = default_config()
TASK = load_tasks()[399]
FORUM = CONFIG.site("reddit").url
DONE = {"task_type": "MUTATE", "status": "SUCCESS"}


def answered(path: str, status: int, **response: Any) -> dict[str, Any]:
    entry = navigation(f"{FORUM}{path}")
    entry["response"] |= {"status": status, **response}
    return entry


LOST = answered("/user/me/edit", 302, redirectURL="/login?next=1")
BROKEN = answered("/f/space", 502)
BLOCKED = answered("/f/space", -1, _failureText="net::ERR_CONNECTION_RESET")
START = answered("/", 200)


def kind(tmp_path: Path, *entries: dict[str, Any]) -> str | None:
    folder = write_trial(tmp_path, TASK, CONFIG, entries=entries)
    found = traffic_fault_in(folder / "network.har", CONFIG, ["reddit"])
    return found and found.kind


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([START, LOST], "login_lost"),
        ([START, BROKEN], "site_error"),
        ([START, BLOCKED], "navigation_blocked"),
        ([BLOCKED, BROKEN, LOST], "login_lost"),
        ([START], None),
        ([answered("/login", 302, redirectURL="/login")], None),  # a failed attempt to log in
        ([answered("/f/space", -1, _failureText="net::ERR_ABORTED")], None),
        ([navigation("https://elsewhere.example/") | {}], None),
        ([START, answered("/logout", 302, redirectURL="/"), LOST], None),  # its own doing
        ([START, answered("/f/space", 429)], "site_error"),  # whatever was asked
        ([START, answered("/f/nowhere", 404)], None),
    ],
)
def test_traffic_tells_what_went_wrong_around_the_agent(
    tmp_path: Path, entries: list[dict[str, Any]], expected: str | None
) -> None:
    assert kind(tmp_path, *entries) == expected


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        pytest.param([START, BROKEN], "page", id="not opened"),
        pytest.param([answered("/f/space", 200), BROKEN], "page", id="not opened again"),
        pytest.param([BROKEN, answered("/f/space", 200)], "other", id="opened later"),
    ],
)
def test_a_page_that_opened_later_did_not_keep_the_agent_from_its_task(
    entries: list[dict[str, Any]], place: str
) -> None:
    found = decisive_fault(recorded_requests(entries, CONFIG, ["reddit"]), [])
    assert found is not None
    assert found.on == place


def expected(*, passed: bool = False, is_any: bool = False) -> ExpectedRequest:
    return ExpectedRequest("GET", ("__REDDIT__/f/space",), {}, passed, is_any)


def test_a_request_that_counts_wherever_it_is_needs_no_second_success() -> None:
    entries = [answered("/f/space", 200), BROKEN]
    requests = recorded_requests(entries, CONFIG, ["reddit"])
    met = decisive_fault(requests, [expected(passed=True, is_any=True)])
    assert met is None or met.on != "expected"
    last = decisive_fault(requests, [expected(passed=True)])
    assert (last and last.on) == "expected"


@pytest.mark.parametrize("status", [403, 419, 422])
def test_a_refusal_is_a_lost_login_where_the_site_asks_for_one_elsewhere(status: int) -> None:
    refused = answered("/f/space", status)
    lost = decisive_fault(recorded_requests([LOST, refused], CONFIG, ["reddit"]), [expected()])
    assert lost is not None
    assert (lost.kind, lost.on) == ("login_lost", "expected")
    alone = decisive_fault(recorded_requests([START, refused], CONFIG, ["reddit"]), [expected()])
    assert alone is None


def test_a_login_form_in_place_of_a_page_is_a_lost_login() -> None:
    form = {"content": {"text": '<input name="login[password]">'}}
    shown = navigation(f"{CONFIG.site('shopping_admin').url}/sales/order")
    shown["response"] |= {"status": 200, **form}
    found = decisive_fault(recorded_requests([shown], CONFIG, ["shopping_admin"]), [])
    assert found is not None
    assert (found.kind, found.on) == ("login_lost", "page")
    shown["request"]["method"] = "POST"  # an attempt to log in that failed
    assert decisive_fault(recorded_requests([shown], CONFIG, ["shopping_admin"]), []) is None


def test_server_errors_of_other_hosts_are_none_of_the_sites(tmp_path: Path) -> None:
    foreign = navigation("https://elsewhere.example/")
    foreign["response"]["status"] = 500
    assert kind(tmp_path, START, foreign) is None


def test_a_recording_that_cannot_be_read_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.har").write_text(json.dumps({"log": {"entries": [{"request": 1}]}}))
    assert traffic_fault_in(tmp_path / "a.har", CONFIG, ["reddit"]) is None


def mode(tmp_path: Path, entries: list[dict[str, Any]], answer: Any = DONE, **more: Any) -> str:
    folder = write_trial(tmp_path, TASK, CONFIG, entries=entries, answer=answer)
    status = more.pop("status", Status.COMPLETED)
    found = classify_failure(status, evaluate(TASK, folder), steps=more.get("steps", 3))
    assert found is not None
    assert found[1]
    return found[0]


@pytest.mark.parametrize(
    ("entries", "answer", "more", "expected"),
    [
        ([START], DONE, {}, "missing_action"),
        ([START, LOST], DONE, {}, "login_lost"),
        ([START, BROKEN], DONE, {}, "site_error"),
        ([START, BLOCKED], None, {"status": Status.TIME_LIMIT}, "navigation_blocked"),
        ([START], None, {"status": Status.STEP_LIMIT}, "step_limit"),
        ([START], DONE, {"steps": 0}, "not_attempted"),
        ([START, LOST], "I did it", {}, "malformed_answer"),
        ([START], {**DONE, "status": "UNKNOWN_ERROR"}, {}, "gave_up"),
        ([START, LOST], {**DONE, "status": "UNKNOWN_ERROR"}, {}, "login_lost"),
    ],
)
def test_failures_have_one_word_and_its_evidence(
    tmp_path: Path, entries: list[dict[str, Any]], answer: Any, more: dict[str, Any], expected: str
) -> None:
    found = mode(tmp_path, entries, "null" if answer is None else answer, **more)
    assert found == expected


def test_right_state_with_a_wrong_declaration_is_told_apart(tmp_path: Path) -> None:
    folder = write_trial(tmp_path, TASK, CONFIG, answer={**DONE, "task_type": "NAVIGATE"})
    found = classify_failure(Status.COMPLETED, evaluate(TASK, folder), steps=3)
    assert found is not None
    assert found[0] == "wrong_declaration"
