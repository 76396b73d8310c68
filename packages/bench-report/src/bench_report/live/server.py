"""The page of run folders over HTTP on this machine, built anew as results come in."""

from __future__ import annotations

import getpass
import hashlib
import json
import threading
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from bench_core.errors import EnvironmentFaultError, InputError, RunFolderError
from bench_core.files import read_inside
from bench_core.records import TrialResult
from bench_core.run_folder import NOTES, read_stored, trial_path
from bench_core.serving import BoundedHandler, BoundedServer
from bench_report.html_page.evidence_chunks import Pictures, collect_evidence
from bench_report.html_page.page import render_page
from bench_report.html_page.table_data import run_names
from bench_report.live.note_writer import DEFAULT_LABELS, NoteWriter
from bench_report.live.page_view import shown_progress
from bench_report.live.progress import ProgressReader, Snapshot
from bench_report.report_data import report_of
from bench_report.report_files import EVIDENCE_LIMIT
from bench_report.run_data.artifacts import IMAGE_TYPES
from bench_report.run_data.sources import read_runs

_WATCHED = ("run.json", "results.jsonl", "tasks.jsonl")
_SIDE = "evidence/"
_FILES = "files/"
_FOLDER_PARTS = 5


class _Site:
    """The page and its side files, built again whenever the run folders have changed."""

    def __init__(
        self, folders: Sequence[Path], options: dict[str, Any], notes: NoteWriter | None
    ) -> None:
        self.folders = list(folders)
        self.notes = notes
        self._options = options
        self._lock = threading.Lock()
        self._state = ""
        self._page = b""
        self._names: list[str] = []
        self._readers: dict[int, ProgressReader] = {}
        self._reading = threading.Lock()
        self._side: dict[str, bytes] = {}
        self._known: dict[str, bytes] = {}
        self._stored: dict[str, TrialResult] = {}

    def state(self, watched: Sequence[str] = _WATCHED) -> str:
        """Return a word that changes whenever the run folders do; notes alone make no page load again."""
        # Sizes and times, not contents: an open page asks every two seconds, and results may be large.
        seen = hashlib.sha256()
        for folder in self.folders:
            for name in watched:
                try:
                    found = (folder / name).stat()
                except OSError:
                    continue
                seen.update(f"{name} {found.st_size} {found.st_mtime_ns};".encode())
        return seen.hexdigest()[:16]

    def page(self) -> bytes:
        """Return the page of the folders as they are now."""
        with self._lock:  # each request has a thread: two at once would build the same page twice
            state, both = self.state(), self.state((*_WATCHED, NOTES))
            if both != self._state:
                # No path into the page leads through it: every run has an address.
                out = Path("report")
                addresses = [f"files/{number}" for number in range(len(self.folders))]
                runs = read_runs(self.folders, addresses=addresses)
                report = report_of(runs, out=out, live=True, **self._options)
                # Linked: embedded pictures would be sent again with every new result.
                evidence = collect_evidence(
                    runs, out, pictures=Pictures("link"), limit=EVIDENCE_LIMIT, known=self._known
                )
                self._stored = {
                    f"{address}/{trial_path(Path(), each.key).as_posix()}": each
                    for address, run in zip(addresses, runs, strict=True)
                    for each in run.results
                    if each.stored is not None
                }
                self._names = run_names(report)
                if self.notes:
                    self.notes.remember(state, report, runs)
                writing = self.notes.shown if self.notes else None
                self._page = render_page(report, evidence, live=state, notes=writing).encode()
                self._side = {
                    f"{chunk.number}.js": f'proctorEvidence({chunk.number},"{chunk.text}");\n'.encode()
                    for chunk in evidence.side_files
                }
                self._state = both
            return self._page

    def progress(self) -> list[dict[str, Any]]:
        """Return how far the runs are that a process works on."""
        with self._reading:  # a reader keeps its place in the files
            found = ((number, self._snapshot(number)) for number in range(len(self.folders)))
            return [
                shown_progress(each, self._names, number)
                for number, each in found
                if each is not None and not each.over
            ]

    def _snapshot(self, number: int) -> Snapshot | None:
        try:
            if number not in self._readers:
                self._readers[number] = ProgressReader(self.folders[number])
            return self._readers[number].read()
        except (RunFolderError, OSError):
            return None  # the page itself names the folder's fault

    def stored_file(self, path: str) -> bytes | None:
        """Return a file that the page built last links to and that is in an object store."""
        parts = path.split("/")  # files/<run>/trials/<trial>/<task>/<name>
        result = self._stored.get("/".join(parts[:_FOLDER_PARTS]))
        if result is None or result.stored is None:
            return None
        name = "/".join(parts[_FOLDER_PARTS:])
        file = next((each for each in result.artifacts if each.path == name), None)
        if file is None:
            return None
        try:
            return read_stored(result.stored, file)
        except (OSError, EnvironmentFaultError):
            return None

    def side_file(self, name: str) -> bytes | None:
        """Return a chunk of evidence of the page built last."""
        return self._side.get(name)


class _PageHandler(BoundedHandler):
    """Answers for the page, its state, its evidence and the files of trials; nothing else."""

    server: ReportServer
    idle_s = 30.0

    def do_GET(self) -> None:
        """Answer a request of this machine's browser."""
        path = unquote(self.path.partition("?")[0]).lstrip("/")
        try:
            self._answer(path)
        except InputError as error:
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, str(error).encode(), "text/plain")

    def do_POST(self) -> None:
        """Write a note. Pages of other origins are refused before, and their forms cannot send JSON."""
        notes = self.server.site.notes
        if self.path != "/notes":
            self._send(HTTPStatus.NOT_FOUND, b"not found", "text/plain")
        elif notes is None:
            reason = "a server without a token takes no notes: serve without --no-token"
            self._send(HTTPStatus.FORBIDDEN, reason.encode(), "text/plain")
        elif self.headers.get_content_type() != "application/json":
            self._send(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, b"a note is JSON", "text/plain")
        else:
            try:
                shown = json.dumps(notes.write(self.body)).encode()
            except (InputError, RunFolderError, OSError) as error:
                self._send(HTTPStatus.BAD_REQUEST, str(error).encode(), "text/plain")
            else:
                self._send(HTTPStatus.OK, shown, "application/json")

    def do_HEAD(self) -> None:
        """Answer as GET would, without the body."""
        self.do_GET()

    def _answer(self, path: str) -> None:
        site = self.server.site
        if path in {"", "index.html"}:
            self._send(HTTPStatus.OK, site.page(), "text/html")
        elif path == "state":
            self._send(
                HTTPStatus.OK, json.dumps({"state": site.state()}).encode(), "application/json"
            )
        elif path == "progress":
            self._send(HTTPStatus.OK, json.dumps(site.progress()).encode(), "application/json")
        elif path.startswith(_SIDE) and (text := site.side_file(path.removeprefix(_SIDE))):
            self._send(HTTPStatus.OK, text, "text/javascript")
        elif path.startswith(_FILES) and (
            (data := self._file(path.removeprefix(_FILES))) is not None
        ):
            kind = IMAGE_TYPES.get(PurePosixPath(path).suffix.lower(), "text/plain")
            self._send(HTTPStatus.OK, data, kind)
        else:
            self._send(HTTPStatus.NOT_FOUND, b"not found", "text/plain")

    def _file(self, path: str) -> bytes | None:
        """Return a file of a trial; never one outside of `trials`, and nothing that a link leads to."""
        number, _, rest = path.partition("/")
        folders = self.server.site.folders
        if not number.isdecimal() or int(number) >= len(folders):
            return None
        if not rest.startswith("trials/"):
            return None
        try:
            return read_inside(folders[int(number)], rest)
        except FileNotFoundError:
            return self.server.site.stored_file(f"{_FILES}{path}")
        except OSError:
            return None

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        charset = "" if kind.startswith("image/") else "; charset=utf-8"
        self.send_header("Content-Type", kind + charset)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cache-Control", "no-store")
        # files that agents and sites wrote: shown, but nothing in them runs
        if kind != "text/html":
            self.send_header("Content-Security-Policy", "default-src 'none'; sandbox")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class ReportServer(BoundedServer):
    """Serves the report of run folders on a loopback port."""

    def __init__(
        self,
        folders: Sequence[Path],
        *,
        port: int = 0,
        token: str | None = None,
        by: str | None = None,
        labels: Mapping[str, str] = DEFAULT_LABELS,
        **options: Any,
    ) -> None:
        self.token = token
        who = by or getpass.getuser()
        # whoever may write must know the token
        notes = NoteWriter(folders, who, labels) if token else None
        self.site = _Site(folders, options, notes)
        super().__init__(("127.0.0.1", port), _PageHandler)

    @property
    def url(self) -> str:
        """The address for a browser."""
        own = f"{self.token}/" if self.token else ""
        return f"http://127.0.0.1:{self.server_address[1]}/{own}"


def serve(
    folders: Sequence[Path], *, port: int = 0, token: str | None = None, **options: Any
) -> ReportServer:
    """Return a server whose first page is built; call `serve_forever` on it.

    Args:
        folders: Run folders, also ones that are still being written.
        port: 0 for any free one.
        token: First part of every path; None answers every local program, and takes no notes.
        options: `by` (who writes notes, by default the user), `labels` (by key), `title`, `count_errors_as_failures` and `mix`, as for `report_of`.

    Raises:
        InputError: The port is taken.
        RunFolderError: A folder is missing or damaged.
        IncomparableRunsError: The runs cannot be compared and `mix` is off.
    """
    try:
        server = ReportServer(folders, port=port, token=token, **options)
    except OSError as error:
        raise InputError(
            f"port {port} cannot be used: {error.strerror}; --port 0 takes any"
        ) from None
    try:  # runs that cannot be read or compared end the command, not a request
        server.site.page()
    except BaseException:
        server.server_close()
        raise
    return server
