"""Scores that may not be the agent's own doing: which trials are suspect, which are not."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench_core.records import Status
from webarena_runner.config import default_config
from webarena_runner.evaluation import evaluate
from webarena_runner.reference_solutions.scorability import shipped_notes
from webarena_runner.reference_solutions.traffic import navigation, traffic_for
from webarena_runner.reference_solutions.trials import answer_for, write_trial
from webarena_runner.results import as_evaluation
from webarena_runner.tasks import load_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_core.records import Task
    from bench_core.trial import Evaluation

CONFIG = default_config()
TASKS = {task.task_id: task for task in load_tasks()}
FORUM, GITLAB = CONFIG.site("reddit").url, CONFIG.site("gitlab").url
SHOP, ADMIN = CONFIG.site("shopping").url, CONFIG.site("shopping_admin").url

# 399: POST /user/.../edit_biography, answered 302. 44: open /dashboard/todos. 157: open
# /admin/customer/index/. 274: search for "usb wifi". 132: answer 1. 101: nothing to be found.
BIOGRAPHY, TODOS, CUSTOMERS, SEARCH, COUNT, NOTHING = "399", "44", "157", "274", "132", "101"
# 528: POST to an address that no site answers at, and no POST to /contact/index/post.
UNSENT = "528"
DONE = {"task_type": "MUTATE", "status": "SUCCESS"}
OPENED = {"task_type": "NAVIGATE", "status": "SUCCESS"}
GAVE_UP = {"task_type": "NAVIGATE", "status": "UNKNOWN_ERROR"}

Entry = dict[str, Any]


def answered(entry: Entry, status: int, **response: Any) -> Entry:
    changed = copy.deepcopy(entry)
    changed["response"] |= {"status": status, **response}
    return changed


def page(url: str, status: int = 200, **response: Any) -> Entry:
    return answered(navigation(url), status, **response)


def script_request(url: str, status: int = 200, **response: Any) -> Entry:
    """What a script of a page asks for."""
    entry = page(url, status, **response)
    entry["request"]["headers"] = [{"name": "Accept", "value": "*/*"}]
    return entry


def right(task_id: str) -> list[Entry]:
    return traffic_for(TASKS[task_id], CONFIG)


def failing(task_id: str, status: int, **response: Any) -> list[Entry]:
    """The right traffic, but what the task expects is answered so."""
    *before, expected = right(task_id)
    return [*before, answered(expected, status, **response)]


def judged(
    tmp_path: Path,
    task_id: str,
    entries: Sequence[Entry],
    answer: Any = None,
    *,
    status: Status = Status.COMPLETED,
) -> Evaluation:
    task = TASKS[task_id]
    folder = write_trial(tmp_path, task, CONFIG, entries=entries, answer=answer)
    return as_evaluation(evaluate(task, folder), task_id, status, 3)


def summary(verdict: Evaluation) -> tuple[float | None, Any, str | None]:
    return verdict.score, verdict.failure_mode, next(iter(verdict.suspect), None)


LOGIN = {"redirectURL": "/users/sign_in"}
RESET = {"_failureText": "net::ERR_CONNECTION_RESET"}
UNFINISHED = {"_failureText": "unfinished when the recording ended"}
BODILESS = {"_failureText": "net::ERR_HTTP_RESPONSE_CODE_FAILURE"}
CUT_OFF = {"_failureText": "net::ERR_CONTENT_LENGTH_MISMATCH"}


@pytest.mark.parametrize(
    ("task_id", "entries", "answer", "cause"),
    [
        pytest.param(TODOS, failing(TODOS, 500), OPENED, "site_error", id="page fails"),
        pytest.param(TODOS, failing(TODOS, -1, **RESET), OPENED, "navigation_blocked", id="reset"),
        pytest.param(
            TODOS, failing(TODOS, -1, **UNFINISHED), OPENED, "navigation_blocked", id="stalls"
        ),
        pytest.param(TODOS, failing(TODOS, 302, **LOGIN), OPENED, "login_lost", id="login"),
        pytest.param(TODOS, failing(TODOS, 401), OPENED, "login_lost", id="unauthorized"),
        pytest.param(TODOS, failing(TODOS, 503), GAVE_UP, "site_error", id="agent gave up"),
        pytest.param(TODOS, failing(TODOS, 429), OPENED, "site_error", id="too many requests"),
        pytest.param(
            TODOS, failing(TODOS, 200, **CUT_OFF), GAVE_UP, "navigation_blocked", id="cut off"
        ),
        pytest.param(
            TODOS,
            [*failing(TODOS, 500), page(f"{GITLAB}/explore")],
            OPENED,
            "site_error",
            id="agent went elsewhere",
        ),
        pytest.param(BIOGRAPHY, failing(BIOGRAPHY, 502), DONE, "site_error", id="post fails"),
        pytest.param(
            BIOGRAPHY, failing(BIOGRAPHY, -1, **RESET), DONE, "navigation_blocked", id="post reset"
        ),
        pytest.param(
            BIOGRAPHY,
            [*failing(BIOGRAPHY, 403), page(f"{FORUM}/inbox", 302, redirectURL="/login")],
            DONE,
            "login_lost",
            id="post refused without login",
        ),
        pytest.param(
            BIOGRAPHY,
            [page(f"{FORUM}/user/a/edit_biography", 302, redirectURL="/login")],
            DONE,
            "login_lost",
            id="form not shown",
        ),
        pytest.param(
            COUNT,
            [page(f"{GITLAB}/x/-/commits", 500)],
            {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [7]},
            "site_error",
            id="page to read from",
        ),
        pytest.param(
            TODOS,
            [page(f"{GITLAB}/", 302, redirectURL="http://old.test/"), page("http://old.test/", -1, **RESET)],
            GAVE_UP,
            "navigation_blocked",
            id="sent to a dead address",
        ),
    ],
)  # fmt: skip
def test_failure_by_the_sites_doing_is_suspect_and_named_so(
    tmp_path: Path, task_id: str, entries: list[Entry], answer: Any, cause: str
) -> None:
    verdict = judged(tmp_path, task_id, entries, answer)
    assert summary(verdict) == (0.0, cause, cause)
    assert verdict.details["suspect_evidence"] == verdict.details["failure_evidence"]


WRONG_BODY = copy.deepcopy(right(BIOGRAPHY)[-1])
WRONG_BODY["request"]["postData"]["text"] = "user_biography%5Bbiography%5D=nonsense"
LEFT_SOON = page(f"{GITLAB}/dashboard/todos", -1, _failureText="net::ERR_ABORTED")
LEFT_LATE = {**LEFT_SOON, "time": 20_000}


@pytest.mark.parametrize(
    ("task_id", "entries", "answer", "mode"),
    [
        pytest.param(
            BIOGRAPHY,
            [page(f"{FORUM}/"), script_request(f"{FORUM}/poll", 500)],
            DONE,
            "missing_action",
            id="script of a page",
        ),
        pytest.param(
            TODOS, [page("http://elsewhere.test/", 500)], OPENED, "wrong_action", id="other host"
        ),
        pytest.param(
            BIOGRAPHY, [page(f"{GITLAB}/", 500)], DONE, "missing_action", id="site of other tasks"
        ),
        pytest.param(
            TODOS,
            [*failing(TODOS, 500), *right(TODOS), page(f"{GITLAB}/explore")],
            OPENED,
            "wrong_action",
            id="opened on second try",
        ),
        pytest.param(
            BIOGRAPHY,
            [*failing(BIOGRAPHY, 500), WRONG_BODY],
            DONE,
            "wrong_action",
            id="wrong content got through",
        ),
        pytest.param(
            TODOS, [page(f"{GITLAB}/nothing/here", 404)], OPENED, "wrong_action", id="not found"
        ),
        pytest.param(
            TODOS, failing(TODOS, 500), "I opened them", "malformed_answer", id="malformed answer"
        ),
        pytest.param(
            TODOS,
            failing(TODOS, 500),
            {**OPENED, "task_type": "RETRIEVE"},
            "wrong_action",
            id="wrong type besides",
        ),
        pytest.param(
            TODOS,
            [page(f"{GITLAB}/users/sign_out", 302, **LOGIN), *failing(TODOS, 302, **LOGIN)],
            OPENED,
            "wrong_action",
            id="agent logged out",
        ),
        pytest.param(
            SEARCH,
            [page(f"{SHOP}/catalogsearch/result/?q=usb+cable", 500), page(f"{SHOP}/")],
            OPENED,
            "wrong_action",
            id="another search",
        ),
        pytest.param(
            BIOGRAPHY,
            [WRONG_BODY, page(WRONG_BODY["request"]["url"], 500)],
            DONE,
            "wrong_action",
            id="same address by another method",
        ),
        pytest.param(TODOS, [LEFT_SOON, page(f"{GITLAB}/")], GAVE_UP, "gave_up", id="left at once"),
        pytest.param(
            TODOS,
            failing(TODOS, 200, _failureText="net::ERR_ABORTED"),
            GAVE_UP,
            "gave_up",
            id="left while it loaded",
        ),
        pytest.param(
            TODOS, failing(TODOS, 200, **UNFINISHED), GAVE_UP, "gave_up", id="still loading"
        ),
        pytest.param(TODOS, failing(TODOS, 404, **BODILESS), GAVE_UP, "gave_up", id="no such page"),
        pytest.param(
            TODOS, failing(TODOS, 400, **CUT_OFF), GAVE_UP, "gave_up", id="no such request"
        ),
        pytest.param(
            TODOS,
            failing(TODOS, -1, _failureText="net::ERR_BLOCKED_BY_CLIENT"),
            GAVE_UP,
            "gave_up",
            id="blocked by the browser",
        ),
    ],
)
def test_failure_by_the_agents_doing_is_not_suspect(
    tmp_path: Path, task_id: str, entries: list[Entry], answer: Any, mode: str
) -> None:
    assert summary(judged(tmp_path, task_id, entries, answer)) == (0.0, mode, None)


def test_a_page_that_was_waited_for_in_vain_did_not_open(tmp_path: Path) -> None:
    verdict = judged(tmp_path, TODOS, [page(f"{GITLAB}/"), LEFT_LATE], GAVE_UP)
    assert summary(verdict) == (0.0, "navigation_blocked", "navigation_blocked")


def test_an_agent_that_was_cut_off_on_a_dead_page_is_suspect(tmp_path: Path) -> None:
    entries = failing(TODOS, -1, **UNFINISHED)
    verdict = judged(tmp_path, TODOS, entries, "null", status=Status.TIME_LIMIT)
    assert summary(verdict) == (0.0, "navigation_blocked", "navigation_blocked")


def test_an_agent_may_provoke_the_error_and_the_score_stays(tmp_path: Path) -> None:
    """Who provoked an error is not to be seen in the traffic: the flag says look, no more."""
    verdict = judged(tmp_path, TODOS, [page(f"{GITLAB}/search?q=%00", 500)], GAVE_UP)
    assert summary(verdict) == (0.0, "site_error", "site_error")


def test_a_success_that_a_login_page_gave_is_suspect(tmp_path: Path) -> None:
    """The task expects POST to be answered 302, which the way to the login page is, too."""
    entries = failing(BIOGRAPHY, 302, redirectURL="/login")
    verdict = judged(tmp_path, BIOGRAPHY, entries, DONE)
    assert summary(verdict) == (1.0, None, "login_lost")
    assert "was sent to the login page" in verdict.details["suspect_evidence"]


def test_a_success_on_the_second_try_is_not_suspect(tmp_path: Path) -> None:
    lost = failing(BIOGRAPHY, 302, redirectURL="/login")
    assert summary(judged(tmp_path, BIOGRAPHY, [*lost, *right(BIOGRAPHY)], DONE)) == (
        1.0,
        None,
        None,
    )


def test_a_fault_after_a_success_for_which_any_request_will_do_is_none(tmp_path: Path) -> None:
    lost = failing(BIOGRAPHY, 302, redirectURL="/login")
    assert summary(judged(tmp_path, BIOGRAPHY, [*right(BIOGRAPHY), *lost], DONE)) == (
        1.0,
        None,
        None,
    )


def test_the_login_form_in_place_of_the_page_makes_a_success_suspect(tmp_path: Path) -> None:
    content = {"mimeType": "text/html", "text": "<form><input type=password name=p></form>"}
    entries = failing(CUSTOMERS, 200, content=content)
    assert summary(judged(tmp_path, CUSTOMERS, entries, OPENED)) == (1.0, None, "login_lost")


def test_a_page_that_failed_on_the_way_to_a_success_is_no_cause_to_doubt_it(
    tmp_path: Path,
) -> None:
    entries = [page(f"{GITLAB}/explore", 500), *right(TODOS)]
    assert summary(judged(tmp_path, TODOS, entries, OPENED)) == (1.0, None, None)


def test_a_success_whose_page_was_cut_off_is_suspect(tmp_path: Path) -> None:
    verdict = judged(tmp_path, TODOS, failing(TODOS, 200, **CUT_OFF), OPENED)
    assert summary(verdict) == (1.0, None, "navigation_blocked")
    assert "was cut off" in verdict.details["suspect_evidence"]


def test_no_answer_where_none_is_expected_is_no_fault(tmp_path: Path) -> None:
    *before, wanted = right(UNSENT)
    wanted["request"]["url"] = "http://nobody.test/dummy_bin"
    way = page(f"{SHOP}/contact/", 307, redirectURL="http://nobody.test/dummy_bin")
    entries = [*before, way, answered(wanted, -1, _failureText="net::ERR_FAILED")]
    assert summary(judged(tmp_path, UNSENT, entries, DONE)) == (1.0, None, None)


def test_a_fault_of_a_request_that_must_not_be_made_explains_nothing(tmp_path: Path) -> None:
    forbidden = script_request(f"{SHOP}/contact/index/post", 500)
    forbidden["request"]["method"] = "POST"
    answer = {**GAVE_UP, "task_type": "MUTATE"}
    verdict = judged(tmp_path, UNSENT, [page(f"{SHOP}/"), forbidden], answer)
    assert summary(verdict) == (0.0, "gave_up", None)


@pytest.mark.parametrize(
    ("entry", "cause"),
    [
        pytest.param(page(f"{SHOP}/orders", 500), "site_error", id="page fails"),
        pytest.param(script_request(f"{SHOP}/poll", 500), None, id="script fails"),
        pytest.param(page(f"{SHOP}/orders"), None, id="page opens"),
    ],
)
def test_nothing_found_on_a_broken_page_is_no_proof_that_nothing_is_there(
    tmp_path: Path, entry: Entry, cause: str | None
) -> None:
    task = next(
        each for each in TASKS.values() if each.config["eval"][0]["expected"]["status"] != "SUCCESS"
        and each.config["sites"] == ["shopping"] and len(each.config["eval"]) == 1
    )  # fmt: skip
    verdict = judged(tmp_path, task.task_id, [entry], answer_for(task))
    assert summary(verdict) == (1.0, None, cause)


def scorable() -> list[Task]:
    """Tasks with a request that a site answers, and that right traffic solves."""
    notes = shipped_notes().notes
    unsolved = {note.task_id for note in notes if note.kind in {"never", "no-browser"}}
    return [task for task in TASKS.values() if task.task_id not in unsolved and _expects(task)]


def _expects(task: Task) -> bool:
    definitions: Any = task.config["eval"]
    return any(
        each["evaluator"] == "NetworkEventEvaluator"
        and not each.get("should_not_exist")
        and each["expected"].get("response_status") != -1
        for each in definitions
    )


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(task=st.sampled_from(scorable()), data=st.data())
def test_what_any_definition_expects_is_recognised_in_the_traffic(
    tmp_path: Path, task: Task, data: st.DataObject
) -> None:
    """Right traffic is never suspect; with its expected requests failing it always is."""
    folder = tmp_path / task.task_id
    entries = traffic_for(task, CONFIG)
    first = as_evaluation(
        evaluate(task, write_trial(folder, task, CONFIG, entries=entries)),
        task.task_id, Status.COMPLETED, 3,
    )  # fmt: skip
    assert first.suspect == ()
    status, more = data.draw(st.sampled_from([(500, {}), (-1, RESET)]))
    starts = len(task.config["start_urls"])  # type: ignore[arg-type]  # a list
    broken = [*entries[:starts], *(answered(each, status, **more) for each in entries[starts:])]
    found = evaluate(task, write_trial(folder, task, CONFIG, entries=broken))
    assert found.score == 0.0
    assert found.traffic_fault is not None
    assert found.traffic_fault.on == "expected"
