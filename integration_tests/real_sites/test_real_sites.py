"""The runner's real path against real applications in the sites' roles; `nox -s real_sites` runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from integration_tests.real_sites.servers import ACCOUNTS, BOOK, NEEDED, RealSites, real_sites
from test_support.model_server import Answer, ModelServer

from bench_core.run_folder import read_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.records import TrialResult

ASKED = os.environ.get("PROCTOR_REAL_SITES") == "1"
pytestmark = [
    pytest.mark.skipif(not ASKED, reason="`nox -s real_sites` sets PROCTOR_REAL_SITES=1"),
    pytest.mark.browser,
]
HERE = Path(__file__).parent
RUNNER = [str(Path(sys.executable).with_name("webarena-runner"))]
ENVIRONMENT = {
    **os.environ,
    "OPENAI_API_KEY": "sk-proj-planted-0123456789",
    "GEMINI_API_KEY": "planted",
}
# what the tasks below lead to on each site, after the site's start page
WALKS = {
    "44": ("gitlab", "/dashboard/todos"),
    "258": ("gitlab", "/explore?visibility_level=20"),
    "274": ("shopping", "/catalogsearch/result/?q=usb+wifi"),
}


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSites]:
    missing = [each for each in NEEDED if shutil.which(each) is None]
    assert not missing, f"install Debian's packages for {missing}"
    with real_sites(tmp_path_factory.mktemp("sites")) as running:
        yield running


def ran(*arguments: object, code: int = 0) -> str:
    command = [*RUNNER, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False, timeout=500, cwd=HERE)  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def test_doctor_finds_each_site_in_order(sites: RealSites) -> None:
    said = ran("doctor", "--config", sites.config)
    for site in sites.urls:
        assert re.search(rf"✓ site {site} +http", said), said
    for site, (user, _) in ACCOUNTS.items():
        assert re.search(rf"✓ site {site} .*{re.escape(user)} is logged in", said), said


def test_doctor_finds_each_wrong_password(sites: RealSites, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    text = sites.config.read_text(encoding="utf-8")
    for _, password in ACCOUNTS.values():
        text = text.replace(password, "another password")
    wrong.write_text(text, encoding="utf-8")
    said = ran("doctor", "--config", wrong, code=1)
    for site in ACCOUNTS:
        assert re.search(rf"✗ site {site} .*did not accept the user", said), said


def test_logins_by_form_are_captured_and_work(sites: RealSites, tmp_path: Path) -> None:
    folder = ["--config", sites.config, "--auth", tmp_path / "auth"]
    ran("auth", "capture", *folder)
    assert ran("auth", "check", *folder).count("works") == len(ACCOUNTS)


@pytest.mark.parametrize(
    ("site", "task"), [("gitlab", "44"), ("shopping", "274"), ("reddit", "403")]
)
def test_logins_in_the_browser_work(sites: RealSites, tmp_path: Path, site: str, task: str) -> None:
    config = json.loads(sites.config.read_text(encoding="utf-8"))
    config["sites"][site]["login"] = "browser"
    by_browser = tmp_path / "sites.yaml"
    by_browser.write_text(json.dumps(config), encoding="utf-8")
    # a login that the site refuses is an error of the environment
    (result,) = run(
        sites, tmp_path / "run", "--agent", agent("Reader"), "--config", by_browser, task=task
    )
    assert result.status == "completed", result.error


def test_a_hook_resets_what_a_trial_changed(sites: RealSites, tmp_path: Path) -> None:
    (result,) = run(sites, tmp_path / "edited", "--agent", agent("Editor"), task="403", reset="before-mutating-trial")  # fmt: skip
    assert result.status == "completed", result.error
    page = f"{sites.urls['reddit']}/index.php?title=Left&action=raw"
    assert fetched(page).status_code == 200
    (again,) = run(sites, tmp_path / "again", "--agent", agent("Reader"), task="403", reset="before-mutating-trial")  # fmt: skip
    assert again.status == "completed", again.error
    assert fetched(page).status_code == 404
    resets = (tmp_path / "again" / "resets.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["site"] for line in resets] == ["reddit"]


def fetched(url: str) -> Any:
    import httpx

    host, _, rest = url.removeprefix("http://").partition(":")
    port = rest.partition("/")[0]
    # the name is this machine's for browsers alone
    return httpx.get(
        url.replace(host, "127.0.0.1"), headers={"Host": f"{host}:{port}"}, trust_env=False
    )


def agent(name: str) -> str:
    return f"agents:{name}"


def run(
    sites: RealSites, out: Path, *options: object, task: str, reset: str = "never"
) -> list[TrialResult]:
    sites.forget_requests()
    ran("run", "--config", sites.config, "--task", task, "--attempts", "1", "--reset", reset, "--out", out, *options)  # fmt: skip
    return list(read_run(out).results.values())


def recorded(out: Path) -> Counter[tuple[str, str]]:
    """Count the requests of all HARs of a run by method and address, those that they name as missing among them."""
    found: Counter[tuple[str, str]] = Counter()
    for har in out.rglob("network.har"):
        log = json.loads(har.read_text(encoding="utf-8"))["log"]
        found.update((each["request"]["method"], each["request"]["url"]) for each in log["entries"])
        found.update(("GET", each["url"]) for each in log["_unreported"])
    return found


def asked(sites: RealSites) -> Counter[tuple[str, str]]:
    return Counter(
        (each["method"], sites.urls[each["site"]] + each["uri"]) for each in sites.requests()
    )


def test_the_recording_has_what_the_sites_logged(sites: RealSites, tmp_path: Path) -> None:
    for task, walker in {"403": "Editor", "44": "Coder", "274": "Buyer"}.items():
        out = tmp_path / task
        (result,) = run(sites, out, "--agent", agent(walker), task=task)
        assert result.status == "completed", result.error
        logged, kept = asked(sites), recorded(out)
        assert sum(logged.values()) > 5
        assert logged - kept == Counter(), f"missing in the recording of {walker}"
        own = Counter(
            {each: n for each, n in kept.items() if each[1].startswith(tuple(sites.urls.values()))}
        )
        cached = own - logged
        assert all(method == "GET" for method, _ in cached), cached
        assert any(method == "POST" for method, _ in logged)


DONE = {"task_type": "NAVIGATE", "status": "SUCCESS", "retrieved_data": None, "error_details": None}
THOUGHT = dict.fromkeys(("thinking", "evaluation_previous_goal", "memory", "next_goal"), "on it")


def turns_of(name: str, url: str) -> Iterator[Answer]:
    """Say what a model says that opens an address and is done, as each agent's model does."""
    if name == "browser-use":
        actions: list[Any] = [
            {"navigate": {"url": url, "new_tab": False}},
            {"done": {"success": True, "data": DONE}},
        ]
        for action in actions:
            yield Answer(text=json.dumps({**THOUGHT, "action": [action]}))
    else:
        opening = "goto" if name == "tool-calling" else "navigate"
        for call in ((opening, {"url": url}), ("done", DONE)):
            yield Answer(tool_calls=(call,), stop="tool_use")


MODELS = {
    "browser-use": "openai:gpt-5.2",
    "tool-calling": "openai-chat:any",
    "computer-use": "google:gemini-2.5-computer-use-preview-10-2025",
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("task", WALKS)
def test_agents_over_models_score_on_real_sites(
    sites: RealSites, tmp_path: Path, name: str, task: str
) -> None:
    site, path = WALKS[task]
    turns = turns_of(name, sites.urls[site] + path)
    with ModelServer(lambda _: next(turns)) as server:
        url = server.base_url(MODELS[name].partition(":")[0])
        options = ["--agent", name, "--model", MODELS[name], "--agent-option", f"base_url={url}"]
        (result,) = run(sites, tmp_path / "run", *options, task=task)
    assert (result.status, result.score) == ("completed", 1.0), (result.error, result.details)
    assert asked(sites) - recorded(tmp_path / "run") == Counter()


def test_trials_on_other_sites_go_on_side_by_side(sites: RealSites, tmp_path: Path) -> None:
    out = tmp_path / "run"
    results = run(sites, out, "--agent", agent("Reader"), "--workers", "2", "--reset", "reddit=before-mutating-trial", task="44,258,274,403")  # fmt: skip
    assert sorted(each.status for each in results) == ["completed"] * 4, [e.error for e in results]
    assert BOOK in (out / "run.json").read_text(encoding="utf-8")
