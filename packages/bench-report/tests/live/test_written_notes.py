"""Labels and notes given in a served page, by keyboard and mouse, and who may not write."""

from __future__ import annotations

import http.client
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import current_notes
from bench_core.run_folder import read_notes, read_run
from bench_report.live.server import serve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Runs, Visits
    from playwright.sync_api import Page

    from bench_report.live.server import ReportServer

TOKEN = "a-token-of-a-test"
HOSTILE = "<img src=x onerror=\"document.title='ran'\">\u202e"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def folder(run: Runs) -> Path:
    return run(tasks=30, trials=2)


@pytest.fixture
def served(folder: Path) -> Iterator[Callable[..., ReportServer]]:
    started: list[tuple[ReportServer, threading.Thread]] = []

    def starter(**options: Any) -> ReportServer:
        server = serve([folder], **{"token": TOKEN, "by": "ana", **options})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        started.append((server, thread))
        return server

    yield starter
    for server, thread in started:
        server.shutdown()
        server.server_close()
        thread.join()


def post(
    server: ReportServer, note: dict[str, Any], path: str = f"/{TOKEN}/notes", **headers: str
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    connection.request("POST", path, json.dumps(note), {**JSON, **headers})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def asked(server: ReportServer, folder: Path, **fields: Any) -> dict[str, Any]:
    view = read_run(folder)
    failed = next(each for each in view.latest if each.success is False)
    first = {
        "state": server.site.state(), "run": view.info.run_id, "task": failed.task_id,
        "trial": failed.trial, "by": "ana", "label": "loop",
    }  # fmt: skip
    return first | fields


def test_a_note_is_written_with_the_result_it_is_of(
    folder: Path, served: Callable[..., ReportServer]
) -> None:
    server = served()
    status, body = post(server, asked(server, folder, text=HOSTILE))
    (shown,) = json.loads(body)
    assert (status, shown["label"], shown["by"]) == (200, "loop", "ana")
    (note,) = read_notes(folder).records
    assert note.text == HOSTILE
    results = {each.key: each.sequence for each in read_run(folder).latest}
    assert note.result == results[note.key] is not None
    assert post(server, asked(server, folder, removed=True)) == (200, b"[]")


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"Origin": "http://evil.example"}, f"/{TOKEN}/notes", 403),
        ({"Origin": "null"}, f"/{TOKEN}/notes", 403),
        ({"Host": "evil.example"}, f"/{TOKEN}/notes", 403),
        ({"Content-Type": "text/plain"}, f"/{TOKEN}/notes", 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, f"/{TOKEN}/notes", 415),
        ({}, "/notes", 404),
        ({}, "/another-token/notes", 404),
        ({}, f"/{TOKEN}/other", 404),
    ],
)
def test_who_may_not_write(
    folder: Path,
    served: Callable[..., ReportServer],
    headers: dict[str, str],
    path: str,
    status: int,
) -> None:
    server = served()
    assert post(server, asked(server, folder), path, **headers)[0] == status
    assert not (folder / "notes.jsonl").exists()


def test_a_server_without_a_token_takes_no_notes(
    folder: Path, served: Callable[..., ReportServer]
) -> None:
    server = served(token=None)
    status, body = post(server, asked(server, folder), "/notes")
    assert (status, b"serve without --no-token" in body) == (403, True)
    assert b"data-notes" not in server.site.page()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"task": "no such task"}, "no trial"),
        ({"state": "0"}, "load the page again"),
        ({"label": "two\nlines"}, "label"),
        ({"label": None}, "a label or a sentence"),
        ({"by": ""}, "by"),
        ({"text": "x" * 10_001}, "text"),
        ({"more": 1}, "more"),
    ],
)
def test_what_is_no_note_is_refused_with_a_sentence(
    folder: Path, served: Callable[..., ReportServer], fields: dict[str, Any], said: str
) -> None:
    server = served()
    status, body = post(server, asked(server, folder, **fields))
    assert (status, said in body.decode()) == (400, True), body
    assert not (folder / "notes.jsonl").exists()


def opened(visit: Visits, server: ReportServer, width: int) -> Page:
    page = visit(width, 860).page
    page.goto(server.url)
    page.wait_for_selector("html[data-ready]")
    return page


@pytest.mark.browser
def test_thirty_failures_are_labelled_with_at_most_65_keys(
    folder: Path, served: Callable[..., ReportServer], visit: Visits
) -> None:
    page = opened(visit, served(), 1280)
    failures = sum(each.success is False for each in read_run(folder).latest)
    wanted = min(30, failures)
    page.locator("#grid tbody tr[data-index='0']").click()
    page.wait_for_selector(".notes-bar")
    keys = 0
    for number in range(wanted):
        page.keyboard.press("u")
        page.wait_for_selector(".note-label[data-label='harness fault'][aria-pressed=false]")
        key, name = [("1", "harness fault"), ("3", "wrong element")][number % 2]
        page.keyboard.press(key)
        page.wait_for_selector(f".note-label[data-label='{name}'][aria-pressed=true]")
        keys += 2
    notes = current_notes(read_notes(folder).records)
    assert len({each.key for each in notes}) == wanted
    assert {each.seed for each in notes} == {1}
    assert keys * 30 / wanted <= 65


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_notes_by_mouse_and_keys_and_nothing_in_them_runs(
    folder: Path, served: Callable[..., ReportServer], visit: Visits, width: int
) -> None:
    page = opened(visit, served(), width)
    page.locator("#grid tbody tr[data-index='0']").click()
    page.locator(".note-label[data-label='ambiguous goal']").click()
    page.wait_for_selector(".note-label[data-label='ambiguous goal'][aria-pressed=true]")
    page.keyboard.press("t")
    page.keyboard.type(HOSTILE)
    page.keyboard.press("Enter")
    page.wait_for_selector(".notes li:has-text('onerror')")
    page.keyboard.press("y")
    page.keyboard.press("3")
    page.wait_for_selector(".notes li:has-text('wrong element')")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = {each.label: each for each in current_notes(read_notes(folder).records)}
    assert found["ambiguous goal"].text == HOSTILE
    assert (found["ambiguous goal"].step, found["wrong element"].step) == (None, 1)
    page.keyboard.press("3")
    page.wait_for_selector(".notes li:has-text('wrong element')", state="detached")
    page.keyboard.press("Escape")
    page.goto(page.url.partition("#")[0])
    page.wait_for_selector("html[data-ready]")
    page.locator("[data-name=label]").select_option("ambiguous goal")
    page.wait_for_selector("#shown:has-text('1 of ')")
    assert page.title() != "ran"
    assert page.locator("#notes").is_visible()
