from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import Status
from webarena_runner.config import default_config
from webarena_runner.evaluation import evaluate, write_answer
from webarena_runner.expectations import ExpectedRequest
from webarena_runner.failures import classify_failure
from webarena_runner.reference_solutions.traffic import navigation
from webarena_runner.reference_solutions.trials import write_trial
from webarena_runner.site_checks import SiteFault
from webarena_runner.tasks import load_tasks
from webarena_runner.traffic_faults import (
    HEALTH_FILE,
    decisive_fault,
    note_health,
    recorded_requests,
    traffic_fault_in,
)

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
    form = {"content": {"text": '<form><input type="password" name="login[password]"></form>'}}
    shown = navigation(f"{CONFIG.site('shopping_admin').url}/sales/order")
    shown["response"] |= {"status": 200, **form}
    found = decisive_fault(recorded_requests([shown], CONFIG, ["shopping_admin"]), [])
    assert found is not None
    assert (found.kind, found.on) == ("login_lost", "page")
    shown["request"]["method"] = "POST"  # an attempt to log in that failed
    assert decisive_fault(recorded_requests([shown], CONFIG, ["shopping_admin"]), []) is None


@pytest.mark.parametrize(
    ("form", "lost"),
    [
        ("<form action=/login_check><input type=password name=p></form>", True),
        ("<form action=/password><input type=password name=p></form>", False),
        ("<form><input type=password name=p><input type=password name=p></form>", False),
    ],
)
@pytest.mark.parametrize("path", ["/user/me/edit_biography", "/login"])
def test_a_form_for_one_password_away_from_the_login_page_is_a_lost_login(
    form: str, lost: bool, path: str
) -> None:
    shown = navigation(f"{CONFIG.site('reddit').url}{path}")
    shown["response"] |= {"status": 200, "content": {"text": form}}
    found = decisive_fault(recorded_requests([shown], CONFIG, ["reddit"]), [])
    assert (found is not None and found.kind == "login_lost") == (lost and path != "/login")


@pytest.mark.parametrize(
    ("method", "posted", "status", "text", "refused"),
    [
        ("POST", "a=1", 200, "SQLSTATE[25006]: Read only sql transaction", True),
        ("GET", "", 200, "SQLSTATE[25006]: Read only sql transaction", False),
        ("POST", "_token=x&a=1", 422, "The change you requested was rejected.", True),
        (
            "POST",
            "a=1",
            422,
            "The change you requested was rejected.",
            False,
        ),  # sent without a token
        ("POST", "_token=x&a=1", 422, "The name is too long.", False),
        ("POST", "a=1", 413, "", True),
        ("POST", "a" * 2_000_000, 413, "", False),
        ("POST", "a=1", 400, "", False),
    ],
)
def test_a_change_that_its_site_refused_whatever_it_was_is_the_sites_fault(
    method: str, posted: str, status: int, text: str, refused: bool
) -> None:
    shown = navigation(f"{CONFIG.site('reddit').url}/user/me/edit_biography")
    shown["request"] |= {"method": method, "postData": {"text": posted}}
    shown["response"] |= {"status": status, "content": {"mimeType": "text/html", "text": text}}
    found = decisive_fault(recorded_requests([shown], CONFIG, ["reddit"]), [])
    assert (found is not None and found.kind == "site_error") == refused


def test_page_without_anything_is_not_the_sites() -> None:
    def page(length: str) -> dict[str, Any]:
        return answered("/f/space", 200, headers=[{"name": "Content-Length", "value": length}])

    assert fault_of(START, page("0")).kind == "wrong_page"
    assert fault_of(START, page("9")) is None


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


ELSEWHERE = "http://www.forum.test:9999"
MOVED = answered("/f/space", 302, redirectURL=f"{ELSEWHERE}/f/space")
THERE = navigation(f"{ELSEWHERE}/f/space")


def fault_of(*entries: Any, wanted: Any = (), health: Any = ()) -> Any:
    return decisive_fault(recorded_requests(entries, CONFIG, ["reddit"]), wanted, health)


def test_page_that_the_site_moved_to_a_host_that_is_not_listed_is_told_with_the_line_to_add() -> (
    None
):
    found = fault_of(START, MOVED, THERE)
    assert (found.kind, found.on) == ("unlisted_host", "page")
    assert f"add `aliases: [{ELSEWHERE}]` to reddit" in found.evidence
    missed = fault_of(START, MOVED, THERE, wanted=[expected()])
    assert (missed.kind, missed.on) == ("unlisted_host", "expected")
    assert fault_of(START, MOVED, THERE, wanted=[expected(passed=True)]).on == "page"
    assert fault_of(START, THERE) is None  # the agent's own way


def came(url: str, referer: str) -> dict[str, Any]:
    entry = navigation(url)
    entry["request"]["headers"].append({"name": "Referer", "value": referer})
    return entry


def test_page_that_leaves_for_the_same_path_at_another_host_was_moved_by_its_site() -> None:
    page, here = answered("/f/space", 200), f"{FORUM}/"
    moved = came(f"{ELSEWHERE}/f/space", here)
    assert fault_of(page, moved).kind == "unlisted_host"
    assert fault_of(START, moved) is None  # a link to another site
    assert fault_of(page, came(f"{ELSEWHERE}/f/space", "http://news.test/")) is None
    assert fault_of(START, came("http://news.test/", here)) is None
    assert fault_of(START, came("http://www.reddit.localhost:80/", here)).kind == "unlisted_host"


def test_move_to_a_listed_alias_is_no_fault() -> None:
    alias = CONFIG.site("reddit").urls[1]
    assert fault_of(answered("/f/space", 302, redirectURL=f"{alias}/f/space")) is None


def test_expected_request_at_a_host_that_is_not_listed_is_told() -> None:
    found = fault_of(START, navigation(f"{ELSEWHERE}/f/space"), wanted=[expected()])
    assert (found.kind, found.on) == ("unlisted_host", "expected")
    assert f"add `aliases: [{ELSEWHERE}]` to reddit" in found.evidence
    here = answered("/f/space", 200)
    assert fault_of(navigation(f"{ELSEWHERE}/f/space"), here, wanted=[expected()]) is None
    assert fault_of(START, navigation(f"{ELSEWHERE}/f/other"), wanted=[expected()]) is None


def unwell(concern: Any, request: str = "search") -> SiteFault:
    return SiteFault(site="reddit", request=request, concern=concern, detail="broken")


@pytest.mark.parametrize(
    ("concern", "kind"),
    [("answer", "site_error"), ("page", "wrong_page"), ("speed", "site_slow")],
)
def test_health_of_a_site_counts_where_the_trial_needed_it(concern: Any, kind: str) -> None:
    fault, search = unwell(concern), answered("/search?q=x", 200)
    found = fault_of(START, search, health=[fault])
    assert (found.kind, found.on, found.evidence) == (kind, "page", "broken")
    assert fault_of(START, health=[fault]) is None
    wanted = ExpectedRequest("GET", ("__REDDIT__/search",), {}, passed=False)
    assert fault_of(START, wanted=[wanted], health=[fault]).kind == kind
    assert fault_of(START, health=[unwell(concern, "language")]).kind == kind


def test_a_site_without_data_explains_what_was_expected_and_not_found() -> None:
    empty = unwell("page", "data")
    assert fault_of(START, wanted=[expected()], health=[empty]).on == "expected"
    assert fault_of(START, health=[empty]).on == "page"


def test_address_of_a_site_counts_where_requests_are_scored() -> None:
    assert fault_of(START, health=[unwell("address")]) is None
    assert fault_of(START, wanted=[expected()], health=[unwell("address")]).kind == "unlisted_host"


def test_what_scripts_need_of_a_site_is_dead_where_no_request_was_answered() -> None:
    dead, alive = answered("/search?a", 502), answered("/search?b", 200)
    for each in (dead, alive):
        each["request"]["headers"] = [{"name": "Accept", "value": "*/*"}]
    assert (fault_of(START, dead).kind, fault_of(START, dead).on) == ("site_error", "page")
    assert fault_of(START, dead, alive).on == "other"


def test_page_in_the_way_or_of_another_type_is_not_the_sites() -> None:
    def page(**content: Any) -> dict[str, Any]:
        return answered("/f/space", 200, content=content)

    title = "<title>Down for maintenance</title>"
    assert fault_of(START, page(mimeType="text/html", text=title)).kind == "wrong_page"
    assert fault_of(START, page(mimeType="application/octet-stream")).kind == "wrong_page"
    assert fault_of(START, page(mimeType="text/html", text="<title>Space</title>")) is None
    script = page(mimeType="text/html", text=title)
    script["request"]["headers"] = [{"name": "Accept", "value": "*/*"}]
    assert fault_of(START, script) is None


def test_late_page_explains_only_a_lack_of_time() -> None:
    late = {**answered("/f/space", 200), "time": 12_000}
    found = fault_of(START, late)
    assert (found.kind, found.on) == ("site_slow", "page")
    assert "took 12 s" in found.evidence
    assert fault_of(START, {**late, "time": 9_000}) is None


@pytest.mark.parametrize(
    ("status", "mode"),
    [(Status.COMPLETED, "missing_action"), (Status.TIME_LIMIT, "site_slow")],
)
def test_slow_site_is_the_cause_of_a_time_limit_alone(
    tmp_path: Path, status: Status, mode: str
) -> None:
    late = {**answered("/f/space", 200), "time": 12_000}
    folder = write_trial(tmp_path, TASK, CONFIG, answer=DONE, entries=[START, late])
    if status is not Status.COMPLETED:
        write_answer(folder, None)
    found = classify_failure(status, evaluate(TASK, folder))
    assert found is not None
    assert found[0] == mode


def test_health_is_noted_once_beside_the_traffic(tmp_path: Path) -> None:
    folder = write_trial(tmp_path, TASK, CONFIG, entries=[START, answered("/search?q=x", 200)])
    note_health(folder, [])
    assert not (folder / HEALTH_FILE).exists()
    note_health(folder, [unwell("answer")])
    note_health(folder, [unwell("answer"), unwell("page")])
    assert len(json.loads((folder / HEALTH_FILE).read_text())) == 2
    found = traffic_fault_in(folder / "network.har", CONFIG, ["reddit"])
    assert found is not None
    assert found.kind == "site_error"
