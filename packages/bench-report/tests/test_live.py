"""Runs while they are written: watched on a terminal, served to a browser."""

from __future__ import annotations

import http.client
import io
import json
import socket
import threading
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench_core.errors import InputError, RunFolderError
from bench_core.records import Event, Step
from bench_core.testing import make_results, make_tasks
from bench_report.analysis.unfinished_runs import REASON
from bench_report.cli import main
from bench_report.live.page_view import NO_INTERVAL, shown_progress
from bench_report.live.progress import ProgressReader, Snapshot, snapshots
from bench_report.live.server import serve
from bench_report.live.terminal_view import headline, show_lines, show_live
from bench_report.report_data import report_of
from bench_report.run_data.sources import read_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Runs, Visits

    from bench_report.live.server import ReportServer

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=timezone.utc)


class Growing:
    """A run of 20 trials that grows as the test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = list(make_results(make_tasks(10), trials=2))
        self.written = 0
        self._set_session(outcome="running", started="2026-03-01T09:00:00Z", finished=None)
        for name in ("results.jsonl", "events.jsonl"):
            (folder / name).write_text("")

    def _set_session(self, **session: Any) -> None:
        info = json.loads((self.folder / "run.json").read_text())
        info["sessions"] = [info["sessions"][0] | session]
        (self.folder / "run.json").write_text(json.dumps(info))

    def resume(self, started: str) -> None:
        """A process goes on after one that was killed, as `RunFolder` writes that down."""
        info = json.loads((self.folder / "run.json").read_text())
        killed = info["sessions"][-1] | {"outcome": "aborted", "finished": None}
        again = info["sessions"][-1] | {"outcome": "running", "started": started}
        info["sessions"] = [killed, again]
        (self.folder / "run.json").write_text(json.dumps(info))

    def _append(self, name: str, line: str) -> None:
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(line)

    def start(self, task_id: str, trial: int = 1) -> None:
        event = Event(time=NOW, kind="attempt_started", task_id=task_id, trial=trial, attempt=1)
        self._append("events.jsonl", event.model_dump_json() + "\n")

    def end(self, number: int = 1) -> None:
        for result in self.results[self.written : self.written + number]:
            late = result.model_copy(update={"started": NOW - timedelta(minutes=5)})
            self._append("results.jsonl", late.model_dump_json() + "\n")
        self.written += number

    def note(self, kind: str, task_id: str | None = None, at: datetime = NOW, **data: Any) -> None:
        event = Event(time=at, kind=kind, task_id=task_id, trial=task_id and 1, data=data)
        self._append("events.jsonl", event.model_dump_json() + "\n")

    def plan_looks(self, *batches: list[str]) -> None:
        info = json.loads((self.folder / "run.json").read_text())
        info["stopping_rule"] = {"kind": "obrien-fleming", "batches": batches}
        (self.folder / "run.json").write_text(json.dumps(info))

    def tear(self) -> None:
        self._append("results.jsonl", self.results[self.written].model_dump_json()[:40])

    def finish(self) -> None:
        self._set_session(outcome="finished", finished="2026-03-01T10:00:00Z")


@pytest.fixture
def growing(run: Runs) -> Growing:
    return Growing(run(tasks=10, trials=2))


@pytest.fixture
def reader(growing: Growing) -> ProgressReader:
    return ProgressReader(growing.folder, now=lambda: NOW)


def test_a_watch_counts_what_has_ended(growing: Growing, reader: ProgressReader) -> None:
    assert (reader.read().ended, reader.read().planned) == (0, 20)

    growing.end(7)
    found = reader.read()

    done = growing.results[:7]
    assert found.ended == 7
    assert found.scored == sum(r.score is not None for r in done)
    assert found.succeeded == sum(r.success is True for r in done)
    assert found.cost_usd == pytest.approx(sum(r.cost_usd or 0 for r in done))
    assert sum(found.statuses.values()) == 7
    assert not found.over


def test_a_watch_shows_no_interval_before_the_last_trial(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(19)
    assert reader.read().rate is None
    assert "%" not in headline(reader.read())

    growing.end(1)
    assert reader.read().rate is not None
    assert "%" in headline(reader.read())


def test_a_line_that_is_being_written_waits_for_its_end(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(2)
    growing.tear()
    assert reader.read().ended == 2

    rest = growing.results[2].model_dump_json()[40:] + "\n"
    with (growing.folder / "results.jsonl").open("a") as file:
        file.write(rest)
    assert reader.read().ended == 3


def test_trials_in_flight_are_those_started_and_not_ended(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.start("0")
    growing.start("1")
    assert [each.task_id for each in reader.read().in_flight] == ["0", "1"]

    growing.end(1)
    assert [each.task_id for each in reader.read().in_flight] == ["1"]


def test_the_time_left_follows_the_pace_of_the_session(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(5)

    assert reader.read().eta_s == pytest.approx(3600 / 5 * 15)


def test_a_budget_counts_the_calls_of_trials_that_still_run(
    growing: Growing, reader: ProgressReader
) -> None:
    assert reader.read().budget is None

    growing.note("budget", max_cost_usd=10, max_minutes=240)
    growing.end(2)
    ended = sum(result.cost_usd or 0 for result in growing.results[:2])
    growing.note("spend", "9", source="agent", cost_usd=0.75, usage={"input_tokens": 40})
    growing.note("spend", "9", source="agent", cost_usd="nonsense")
    budget = reader.read().budget

    assert budget is not None
    assert budget.cost_usd == pytest.approx(ended + 0.75)
    assert budget.minutes == pytest.approx(60)
    assert f"${ended + 0.75:.2f} of $10.00" in headline(reader.read())
    assert "60 of 240 minutes (25.0%)" in headline(reader.read())


def test_a_killed_process_counts_until_its_last_event(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.note("budget", at=NOW - timedelta(minutes=55), max_minutes=240)
    growing.note("spend", "9", at=NOW - timedelta(minutes=50), source="agent", cost_usd=0.75)
    growing.resume("2026-03-01T09:40:00Z")
    growing.note("budget", at=NOW - timedelta(minutes=19), max_minutes=120)
    budget = reader.read().budget

    assert budget is not None
    assert budget.max_minutes == 120
    assert budget.minutes == pytest.approx(10 + 20)


def test_limits_of_an_earlier_process_are_not_shown(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.note("budget", at=NOW - timedelta(minutes=55), max_minutes=240)
    growing.resume("2026-03-01T09:40:00Z")

    assert reader.read().budget is None


def test_trials_that_failed_last_are_named_first(growing: Growing, reader: ProgressReader) -> None:
    growing.end(20)

    expected = [each.key for each in reversed(growing.results) if each.success is not True]
    assert [each.key for each in reader.read().failures] == expected[:8]


def test_a_look_is_announced_with_the_trials_that_it_waits_for(
    growing: Growing, reader: ProgressReader
) -> None:
    assert reader.read().to_look is None

    growing.plan_looks(["0", "1", "2"], ["3", "4"])
    growing.end(4)  # the first trials of tasks 0 to 3
    assert reader.read().to_look == 3
    growing.note("look", number=1, of=2, reason="continue", share=0.6, tasks=3, clusters=3)
    assert reader.read().to_look == 6
    growing.note("look", number=2, of=2, reason="continue", share=1, tasks=5, clusters=5)
    assert reader.read().to_look is None


def test_a_file_that_was_replaced_is_read_again(growing: Growing, reader: ProgressReader) -> None:
    growing.end(6)
    reader.read()

    (growing.folder / "results.jsonl").write_text(growing.results[0].model_dump_json() + "\n")

    assert reader.read().ended == 1


def test_watching_ends_with_the_run(growing: Growing, reader: ProgressReader) -> None:
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        growing.end(10) if len(looks) < 3 else growing.finish()

    found = list(snapshots(reader, every_s=0.5, sleep=sleep))

    assert [each.ended for each in found] == [0, 10, 20, 20]
    assert found[-1].over
    assert looks == [0.5] * 3


def test_watching_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError):
        ProgressReader(tmp_path)


def test_watching_a_run_without_its_tasks_is_refused(growing: Growing) -> None:
    (growing.folder / "tasks.jsonl").unlink()
    with pytest.raises(RunFolderError, match=r"has no tasks\.jsonl"):
        ProgressReader(growing.folder)


def test_results_of_unplanned_tasks_are_not_counted(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(2)
    stray = growing.results[2].model_copy(update={"task_id": "stranger"})
    with (growing.folder / "results.jsonl").open("a", encoding="utf-8") as file:
        file.write(stray.model_dump_json() + "\n")
    assert reader.read().ended == 2


def test_lines_are_written_when_something_has_ended(
    growing: Growing, reader: ProgressReader
) -> None:
    growing.end(8)
    first = reader.read()
    lines: list[str] = []

    show_lines([first, first, first.model_copy(update={"ended": 9})], lines.append)

    assert len(lines) == 2
    assert lines[0].startswith("8/20 trials · ")
    assert "5 of 7 scored succeeded" in lines[0]


def test_the_terminal_shows_hostile_text_as_text(growing: Growing, reader: ProgressReader) -> None:
    growing.start("\x1b[31mred\x1b[2J[bold]")
    growing.end(3)
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, highlight=False)

    show_live([reader.read()], stream, console=console)

    shown = stream.getvalue()
    assert "red[bold]" in shown
    assert "3/20 trials" in shown
    assert "\x1b[2J" not in shown
    assert "running" in shown


def test_watch_as_a_command(growing: Growing) -> None:
    growing.end(3)
    growing.finish()

    line = CliRunner().invoke(main, ["watch", str(growing.folder)]).stdout
    record = CliRunner().invoke(main, ["watch", str(growing.folder), "--json"]).stdout

    assert line.startswith("3/20 trials")
    assert line.rstrip().endswith("finished")
    assert Snapshot.model_validate_json(record).ended == 3
    assert headline(Snapshot.model_validate_json(record)) == line.strip()


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
        "Latest: look 1 of 2: continue (\N{MINUS SIGN}20.0 pp to +10.0 pp), valid at whatever look the run "
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
