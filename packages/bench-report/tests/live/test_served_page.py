"""Serving the page of a run while it goes on."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import InputError
from bench_core.records import Step
from bench_report.analysis.unfinished_runs import REASON
from bench_report.live.page_view import NO_INTERVAL, shown_progress
from bench_report.live.server import serve
from bench_report.report_data import report_of
from bench_report.run_data.sources import read_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Growing, Runs, Visits

    from bench_report.live.progress import ProgressReader
    from bench_report.live.server import ReportServer


@pytest.fixture
def served(
    growing: Growing, add_trajectory: Callable[..., Path]
) -> Iterator[Callable[..., ReportServer]]:
    steps = [Step(step=1, thought="look", screenshot="screenshots/1.png")]
    add_trajectory(growing.folder, "0", steps)
    started: list[tuple[ReportServer, threading.Thread]] = []

    def starter(**options: Any) -> ReportServer:
        server = serve([growing.folder], **options)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        started.append((server, thread))
        return server

    yield starter
    for server, thread in started:
        server.shutdown()
        server.server_close()
        thread.join()


def get(server: ReportServer, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def test_the_page_is_served_with_a_state_that_moves_with_the_run(
    growing: Growing, served: Callable[..., ReportServer]
) -> None:
    server = served()
    _, _, before = get(server, "/state")
    status, headers, page = get(server, "/")
    growing.end(5)

    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert json.loads(before)["state"] in page.decode()
    assert json.loads(get(server, "/state")[2])["state"] != json.loads(before)["state"]
    assert "5 of 20 trials have a result" in get(server, "/")[2].decode()


def test_the_page_of_a_run_that_is_unfinished_shows_counts_and_no_interval(
    growing: Growing, served: Callable[..., ReportServer], run: Runs
) -> None:
    server = served()
    growing.end(19)
    page = get(server, "/")[2].decode()
    assert REASON in page
    assert "Wilson" not in page

    growing.end(1)
    page = get(server, "/")[2].decode()
    assert REASON not in page
    assert "Wilson" in page


def test_runs_that_are_unfinished_are_not_tested_against_others(
    growing: Growing, run: Runs
) -> None:
    growing.end(12)
    runs = read_runs([run("done", tasks=10, trials=2, seed=5), growing.folder])
    live = report_of(runs, out=growing.folder, live=True).comparison
    assert live is not None
    (found,) = live.differences
    assert (found.p_value, found.low, found.note) == (None, None, REASON)
    assert found.value is not None


def test_files_of_trials_are_served_and_nothing_else(
    growing: Growing, served: Callable[..., ReportServer]
) -> None:
    server = served()
    (growing.folder / "trials" / "1" / "0" / "page.html").write_text("<script>alert(1)</script>")
    (growing.folder / "trials" / "1" / "0" / "out").symlink_to(growing.folder / "run.json")

    status, headers, _ = get(server, "/files/0/trials/1/0/screenshots/1.png")
    assert (status, headers["Content-Type"]) == (200, "image/png")
    status, headers, _ = get(server, "/files/0/trials/1/0/page.html")
    assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert "sandbox" in headers["Content-Security-Policy"]
    for path in (
        "/files/0/run.json", "/files/0/trials/../run.json", "/files/0/trials/%2e%2e/run.json",
        "/files/1/trials/1/0/log.txt", "/files/x/trials", "/files/0/trials/1", "/etc/passwd",
        "/files/0//etc/passwd", "/files/0/trials/1/0/out", "/files/0/trials/%00", "/evidence/9.js",
    ):  # fmt: skip
        assert get(server, path)[0] == 404, path


def test_names_that_point_here_from_elsewhere_are_refused(
    served: Callable[..., ReportServer],
) -> None:
    server = served()
    for host in ("attacker.example", "[::1]evil", "127.0.0.1.attacker.example"):
        assert get(server, "/", Host=host)[0] == 403


def test_a_connection_that_says_nothing_is_closed(
    served: Callable[..., ReportServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = served()
    assert server.RequestHandlerClass.idle_s == 30
    monkeypatch.setattr(server.RequestHandlerClass, "idle_s", 0.2)

    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=60) as silent:
        assert silent.recv(1) == b""


def test_the_report_is_answered_behind_its_token_only(served: Callable[..., ReportServer]) -> None:
    server = served(token="a-token-of-ours")
    assert server.url.endswith("/a-token-of-ours/")
    assert get(server, "/a-token-of-ours/state")[0] == 200
    assert [get(server, path)[0] for path in ("/", "/state", "/a-token/state")] == [404] * 3


def test_a_taken_port_is_reported(served: Callable[..., ReportServer], growing: Growing) -> None:
    taken = served().server_address[1]

    with pytest.raises(InputError, match=f"port {taken} cannot be used"):
        serve([growing.folder], port=taken)


def test_the_page_is_told_how_far_its_runs_are(
    growing: Growing, served: Callable[..., ReportServer]
) -> None:
    server = served()
    growing.end(20)
    growing.start("<b>", 2)
    (found,) = json.loads(get(server, "/progress")[2])

    assert found["facts"][0] == ["Trials", "20 of 20"]
    assert found["interval"] == NO_INTERVAL
    assert found["running"] == ["<b> trial 2"]
    first = next(each for each in reversed(growing.results) if each.success is not True)
    assert found["failures"][0]["text"] == f"{first.task_id} trial {first.trial}"
    growing.finish()
    assert json.loads(get(server, "/progress")[2]) == []


def test_the_only_interval_shown_while_a_run_goes_on_is_that_of_its_last_look(
    growing: Growing, reader: ProgressReader
) -> None:
    def interval() -> str:
        return shown_progress(reader.read(), ["a"], 0)["interval"]

    growing.end(4)
    assert interval() == NO_INTERVAL
    growing.plan_looks(["0", "1", "2"], ["3", "4"])
    assert interval() == "Look 1 comes after 3 more trials."
    found = {
        "reason": "continue",
        "share": 0.6,
        "tasks": 3,
        "clusters": 3,
        "low": -0.2,
        "high": 0.1,
    }
    growing.note("look", number=1, of=2, **found)
    assert interval() == (
        "Latest: look 1 of 2: continue (\N{MINUS SIGN}20.0 to +10.0 pp), valid at whatever look the run "
        "stops. Look 2 comes after 6 more trials."
    )


@pytest.mark.browser
def test_a_served_page_moves_on_with_the_run_and_waits_for_readers(
    growing: Growing, served: Callable[..., ReportServer], visit: Visits
) -> None:
    growing.end(4)
    window = visit()
    page = window.page
    page.goto(served().url + "#view=trials")
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.inner_text("#shown") == "4 trials"
    page.wait_for_selector("#progress dd:text-is('4 of 20')")
    failed = next(each for each in growing.results[3::-1] if each.success is not True)
    link = page.locator("#progress .live-failures a").first
    assert link.inner_text() == f"{failed.task_id} trial {failed.trial}"
    link.click()
    page.wait_for_selector(f"dialog[open] .dialog-bar:has-text('Task {failed.task_id}')")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="hidden")
    page.click("[data-view=trials]")

    growing.end(2)
    page.wait_for_selector("#shown:text-is('6 trials')")
    page.click("#grid [data-index='0']")
    page.wait_for_selector("dialog[open] .film img")
    decoded = page.eval_on_selector(
        ".pictures img", "img => img.decode().then(() => img.naturalWidth)"
    )
    assert decoded == 1
    growing.end(2)
    page.wait_for_selector("#news:not([hidden])", state="attached")
    assert page.is_visible("dialog[open]")
    assert window.complaints == []
    assert all(url.startswith((served_from(page.url), "data:")) for url in window.requests)


def served_from(url: str) -> str:
    return "/".join(url.split("/")[:3])
