"""Reports of runs whose trials' files are in an object store, which here is a folder."""

from __future__ import annotations

import http.client
import json
import shutil
import threading
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from bench_core.errors import EnvironmentFaultError
from bench_core.records import Step, StoredFolder
from bench_core.run_folder import (
    TrialArtifacts,
    changed_objects,
    describe_artifacts,
    read_run,
)
from bench_core.testing import make_results, make_run, make_tasks
from bench_report import build_report
from bench_report.interchange.inspect_export import steps_of
from bench_report.live.server import serve
from bench_report.run_data.sources import read_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

URL = "s3://bucket/run"
LARGE = 3 << 20


class FolderStore:
    """Stands for the store; `down` is whether it can be reached."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.down = False
        self.asked: list[str] = []

    def opened(self, url: str) -> _Below:
        return _Below(self, url.removeprefix(f"{URL}/"))


class _Below:
    def __init__(self, store: FolderStore, prefix: str) -> None:
        self._store = store
        self._prefix = prefix

    def pieces(self, name: str, size: int) -> Iterator[bytes]:
        self._store.asked.append(name)
        if self._store.down:
            raise EnvironmentFaultError("nothing can be had of the object store: no route")
        data = (self._store.root / self._prefix / name.removeprefix("files/")).read_bytes()
        yield data[:size]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStore:
    made = FolderStore(tmp_path / "store")
    monkeypatch.setattr("bench_core.run_folder.stored._opened", made.opened)
    monkeypatch.setenv("PROCTOR_ARTIFACTS", f"s3://other {URL}/")
    return made


@pytest.fixture
def pair(tmp_path: Path, store: FolderStore, pixel: bytes) -> tuple[Path, Path]:
    """Two runs that are the same, the files of the first in its folder, those of the second in the store."""
    tasks = make_tasks(2, per_template=1)
    local, results = tmp_path / "local", []
    for each in make_results(tasks, seed=1):
        artifacts = TrialArtifacts(local / "trials" / "1" / each.task_id)
        artifacts.write_bytes("screenshots/1.png", pixel)
        artifacts.write_bytes("video.bin", b"v" * LARGE)
        artifacts.append_step(Step(step=1, thought="I look", screenshot="screenshots/1.png"))
        files = describe_artifacts(artifacts.folder)
        results.append(each.model_copy(update={"artifacts": files}))
    make_run(local, tasks=tasks, results=results, artifacts=False)
    stored = [
        each.model_copy(
            update={"stored": StoredFolder(url=f"{URL}/{each.task_id}", manifest_sha256="0" * 64)}
        )
        for each in results
    ]
    shutil.copytree(local / "trials" / "1", store.root)
    there = make_run(tmp_path / "there", tasks=tasks, results=stored, artifacts=False)
    # reports show to the second when a run ended
    info, own = (json.loads((each / "run.json").read_text()) for each in (local, there))
    digests = ("results_sha256", "events_sha256")
    info["sessions"][0] |= {name: own["sessions"][0][name] for name in digests}
    del info["checksum"]
    (there / "run.json").write_text(json.dumps(info))
    return local, there


def page(run: Path, out: Path, **options: str) -> tuple[str, str]:
    build_report([run], out, **options)
    return (out / "report.md").read_text(), (out / "index.html").read_text()


def steps(run: Path) -> list[list[Step]]:
    (source,) = read_runs([run])
    return [steps_of(source, each) for each in source.results]


def test_a_report_shows_the_same_of_trials_whose_files_are_in_a_store(
    pair: tuple[Path, Path], tmp_path: Path, pixel: bytes
) -> None:
    local, there = pair
    (md, html), (md_there, html_there) = (page(each, tmp_path / each.name / "out") for each in pair)
    assert md_there == md.replace(local.name, there.name)
    assert (html.count("image/png"), html_there.count("image/png")) == (1, 1)
    assert steps(there) == steps(local)
    assert steps(there)[0][0].thought == "I look"


def test_a_report_reads_nothing_that_it_does_not_show(
    pair: tuple[Path, Path], store: FolderStore, tmp_path: Path
) -> None:
    page(pair[1], tmp_path / "out", screenshots="none")
    assert set(store.asked) == {"files/trajectory.jsonl"}
    assert not any((pair[1] / "trials").rglob("*.*"))


def test_a_report_is_made_where_the_store_cannot_be_read_which_is_asked_once(
    pair: tuple[Path, Path], store: FolderStore, tmp_path: Path
) -> None:
    store.down = True
    md, _ = page(pair[1], tmp_path / "out")
    assert len(store.asked) == 1
    store.down = False
    assert md == page(pair[1], tmp_path / "again")[0]


@pytest.mark.parametrize("named", ["", "s3://other", "s3://bucket/ru"])
def test_a_store_that_only_the_folder_names_is_not_asked(
    named: str, pair: tuple[Path, Path], store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_ARTIFACTS", named)
    page(pair[1], pair[1].parent / "out")
    for each in read_run(pair[1]).results.values():
        assert each.stored is not None
        (problem,) = changed_objects(each.stored, each.artifacts)
        assert "read only if PROCTOR_ARTIFACTS holds" in problem
    assert not store.asked


@pytest.fixture
def served(pair: tuple[Path, Path]) -> Iterator[Callable[[str], tuple[int, bytes]]]:
    server = serve([pair[1]])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()

    def get(path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1])
        connection.request("GET", path)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    yield get
    server.shutdown()
    server.server_close()
    thread.join()


def test_files_are_got_when_a_reader_opens_them(
    served: Callable[[str], tuple[int, bytes]],
    pair: tuple[Path, Path],
    store: FolderStore,
    pixel: bytes,
) -> None:
    store.asked.clear()
    task = quote(read_run(pair[1]).tasks[0].task_id)
    assert served(f"/files/0/trials/1/{task}/screenshots/1.png") == (200, pixel)
    assert served(f"/files/0/trials/1/{task}/other.png")[0] == 404
    assert served(f"/files/0/trials/1/{task}/../../../run.json")[0] == 404
    assert store.asked == ["files/screenshots/1.png"]


def test_a_file_that_is_not_what_the_trial_left_is_not_shown(
    served: Callable[[str], tuple[int, bytes]], pair: tuple[Path, Path], store: FolderStore
) -> None:
    task = read_run(pair[1]).tasks[0].task_id
    (store.root / task / "screenshots" / "1.png").write_bytes(b"another")
    assert served(f"/files/0/trials/1/{quote(task)}/screenshots/1.png")[0] == 404


def test_the_page_that_is_served_again_does_not_ask_the_store_again(
    served: Callable[[str], tuple[int, bytes]], pair: tuple[Path, Path], store: FolderStore
) -> None:
    assert served("/")[0] == 200
    before = list(store.asked)
    (pair[1] / "results.jsonl").touch()
    assert served("/")[0] == 200
    assert (before, store.asked) == (["files/trajectory.jsonl"] * 2, before)
