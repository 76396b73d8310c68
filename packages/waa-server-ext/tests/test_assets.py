"""Reference files are fetched once, from the hosts of the tasks, and served without the web."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.errors import RecordError
from waa_server_ext.cli import main
from waa_server_ext.evaluation.asset_fetch import fetch_assets, hosts_of, needed_urls
from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.downloads import (
    DownloadError,
    Downloads,
    HostRule,
    HttpStatusError,
    remember,
)
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.tasks import TaskFolder
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from pathlib import Path

GOLD = "https://raw.githubusercontent.com/rogeriobonatti/winarenafiles/main/gold.txt"
CLOUD = VmState.load(
    {
        "cloud": {"gold.txt": {"text": "gold"}, "set up.txt": {"text": "set-up"}},
        "endpoints": {"GET /away": {"status": 302, "text": ""}},
    }
)


def write_tasks(folder: Path, base: str, *names: str) -> TaskFolder:
    step = {
        "type": "download",
        "parameters": {"files": [{"url": f"{base}/set%20up.txt", "path": "C:"}]},
    }
    for name in names:
        evaluator = {"expected": {"type": "cloud_file", "path": f"{base}/{name}", "dest": "g"}}
        path = folder / "notepad" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"config": [step], "evaluator": evaluator}), encoding="utf-8")
    return TaskFolder(folder)


def test_what_tasks_need_is_fetched_once_and_a_second_run_continues(tmp_path: Path) -> None:
    with FixtureVm(CLOUD, port=0) as web:
        tasks = write_tasks(tmp_path / "tasks", web.cloud_base, "gold.txt", "none.txt")
        first = fetch_assets(tasks, tmp_path / "assets")
        asked = len(web.requests)
        second = fetch_assets(tasks, tmp_path / "assets")
        assert len(web.requests) == asked + 1, "only what failed is asked again"
    assert len(first.fetched) == 2
    assert list(first.failed) == [f"{web.cloud_base}/none.txt"]
    assert (len(second.fetched), len(second.held)) == (0, 2)
    store = AssetStore(tmp_path / "assets")
    assert store.read(f"{web.cloud_base}/gold.txt") == b"gold"


def test_the_154_tasks_need_files_from_two_hosts(waa_data: Path) -> None:
    tasks = TaskFolder(waa_data)
    needed = needed_urls(tasks)
    assert hosts_of(needed) == ("drive.google.com", "raw.githubusercontent.com")
    assert len(needed) > 100


def test_a_changed_file_is_not_served(tmp_path: Path) -> None:
    store = AssetStore(tmp_path)
    asset = store.add("http://x/a", b"gold")
    (tmp_path / "files" / asset.sha256).write_bytes(b"other")
    assert store.read("http://x/a") is None


def test_a_damaged_index_is_named(tmp_path: Path) -> None:
    (tmp_path / "assets.json").write_text("{", encoding="utf-8")
    with pytest.raises(RecordError, match=r"assets\.json does not fit"):
        AssetStore(tmp_path).read("http://x/a")


def test_the_command_lists_and_reports(tmp_path: Path) -> None:
    run = CliRunner().invoke
    with FixtureVm(CLOUD, port=0) as web:
        write_tasks(tmp_path / "tasks", web.cloud_base, "gold.txt", "none.txt")
        arguments = ["--tasks-dir", str(tmp_path / "tasks"), "--assets", str(tmp_path / "assets")]
        fetched = run(main, ["assets", "fetch", *arguments])
    assert fetched.exit_code == 1
    assert "2 fetched, 0 there already, 1 failed" in fetched.output
    listed = run(main, ["assets", "list", "--assets", str(tmp_path / "assets")])
    assert f"{web.cloud_base}/gold.txt" in listed.output


def downloads(tmp_path: Path, **settings: object) -> Downloads:
    whole = EvaluatorSettings.model_validate({"cache": tmp_path, **settings})
    return Downloads(whole, HostRule.of(whole, "127.0.0.1"))


@pytest.mark.parametrize(
    "url",
    ["http://10.0.0.1/x", "file:///etc/passwd", "ftp://127.0.0.1/x", "http://[::1", "x", "http://"],
)
def test_hosts_and_schemes_that_no_task_has_are_refused(tmp_path: Path, url: str) -> None:
    fetching = downloads(tmp_path)
    with pytest.raises(DownloadError):
        fetching.fetch(url)
    assert fetching.record[0].error is not None


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with FixtureVm(CLOUD, port=0) as web, pytest.raises(DownloadError, match="more than 3 bytes"):
        downloads(tmp_path, max_download=3).fetch(f"{web.cloud_base}/gold.txt")


def test_files_of_the_task_set_are_fetched_once_and_others_each_time(tmp_path: Path) -> None:
    settings = EvaluatorSettings(cache=tmp_path, assets=tmp_path / "assets")
    remember(settings, GOLD, 200, b"gold")
    remember(settings, f"{GOLD}x", 404, b"not found")
    remember(settings, "http://127.0.0.1/x", 200, b"of the VM")
    assert list(AssetStore(tmp_path / "assets").index().assets) == [GOLD]
    assert downloads(tmp_path, assets=tmp_path / "assets", offline=True).fetch(GOLD) == b"gold"


def test_a_missing_file_is_a_status_not_a_fault(tmp_path: Path) -> None:
    fetching = downloads(tmp_path)
    with FixtureVm(CLOUD, port=0) as web, pytest.raises(HttpStatusError):
        fetching.fetch(f"{web.cloud_base}/none.txt")
    assert (fetching.record[0].status, fetching.record[0].error) == (404, None)


@pytest.mark.parametrize(
    "given",
    [
        "src/win-arena-container/client/evaluation_examples_windows/examples",
        "src/win-arena-container/client/evaluation_examples_windows",
        "src/win-arena-container/client",
        ".",
    ],
)
def test_tasks_are_found_in_a_checkout_and_in_its_folders(tmp_path: Path, given: str) -> None:
    examples = tmp_path / "src/win-arena-container/client/evaluation_examples_windows/examples"
    (examples / "notepad").mkdir(parents=True)
    (examples / "notepad/1-WOS.json").write_text("{}", encoding="utf-8")
    assert TaskFolder(tmp_path / given).names() == ["notepad/1-WOS"]
