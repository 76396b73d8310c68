from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.__about__ import __version__
from bench_core.discovery import PluginKind, find_plugins, load_plugin
from bench_core.errors import UnknownPluginError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PROBE = """
import json, sys
from bench_core.discovery import find_plugins, list_plugins, load_agent, load_plugin
from bench_core.errors import BenchError
try:
    value = eval(sys.argv[1])
    print(json.dumps({"value": value, "loaded": sorted(n for n in sys.modules if "dummy" in n)}))
except BenchError as error:
    print(json.dumps({"error": type(error).__name__, "message": str(error), **{
        name: value for name, value in vars(error).items() if isinstance(value, (str, list))}}))
"""


class Site:
    """A folder of installed distributions, as pip leaves them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, name: str, module: str, code: str, **groups: dict[str, str]) -> None:
        info = self.folder / f"{name.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        sections = [
            f"[bench_core.{group}]\n" + "".join(f"{key} = {to}\n" for key, to in points.items())
            for group, points in groups.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(sections))
        (self.folder / f"{module}.py").write_text(code)

    def run(self, expression: str) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, expression],
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = Site(tmp_path)
    site.install(
        "Dummy.Agents",
        "dummy_agents",
        "class Clicker:\n    name = 'clicker'\n",
        agents={"clicker": "dummy_agents:Clicker"},
        judges={"broken": "dummy_agents:Missing"},
    )
    return site


def test_plugins_are_listed_without_importing_them(site: Site) -> None:
    answer = site.run("[vars(p) for p in find_plugins('agent') if p.name == 'clicker']")
    assert answer["value"] == [
        {
            "kind": "agent",
            "name": "clicker",
            "distribution": "dummy-agents",
            "version": "1.2",
            "value": "dummy_agents:Clicker",
        }
    ]
    assert answer["loaded"] == []


def test_metadata_are_read_once_and_again_where_the_search_path_has_changed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not [each for each in find_plugins("agent") if each.name == "clicker"]
    monkeypatch.syspath_prepend(str(site.folder))
    scanned: list[str] = []
    scan = metadata.entry_points
    monkeypatch.setattr(
        metadata, "entry_points", lambda **which: (scanned.append(which["group"]), scan(**which))[1]
    )
    for _ in range(3):
        (found,) = [each for each in find_plugins("agent") if each.name == "clicker"]
    assert found.distribution == "dummy-agents"
    assert scanned == ["bench_core.agents"]


def test_a_plugin_is_loaded_by_name(site: Site) -> None:
    answer = site.run("load_plugin('agent', 'clicker').name")
    assert (answer["value"], answer["loaded"]) == ("clicker", ["dummy_agents"])


def test_a_reference_needs_no_entry_point(site: Site) -> None:
    assert site.run("load_plugin('agent', 'dummy_agents:Clicker.name')")["value"] == "clicker"


def test_an_unknown_name_is_told_with_what_is_installed(site: Site) -> None:
    answer = site.run("load_plugin('agent', 'clicked')")
    assert answer["error"] == "UnknownPluginError"
    assert "clicker" in answer["installed"]
    assert answer["message"].startswith("unknown agent 'clicked': installed are ")
    assert "pip install" not in answer["message"]


@pytest.mark.parametrize(
    ("kind", "name", "distribution"),
    [
        ("benchmark", "webarena", f"webarena-runner=={__version__}"),
        ("benchmark", "waa", f"waa-client=={__version__}"),
        ("benchmark", "multireal", f"multireal-harness=={__version__}"),
        ("judge", "llm-judge", f"llm-judge=={__version__}"),
        ("reporter", "bench-report", f"bench-report=={__version__}"),
        ("world", "waa", f"'waa-server-ext[simulate]=={__version__}'"),
    ],
)
def test_proctors_own_plugins_are_told_with_what_installs_them(
    kind: PluginKind, name: str, distribution: str
) -> None:
    with pytest.raises(UnknownPluginError) as refusal:
        load_plugin(kind, name, find=lambda kind: ())
    assert str(refusal.value) == (
        f"unknown {kind} {name!r}: installed are none; `pip install {distribution}` adds {name!r}"
    )


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import not_installed_here", "ModuleNotFoundError: No module named 'not_installed_here'"),
        ("raise RuntimeError('no display')", "RuntimeError: no display"),
        ("def broken(:", "SyntaxError"),
        ("Agent = 1", "has no attribute 'Clicker'"),
    ],
)
def test_a_plugin_that_does_not_import_names_its_distribution(
    tmp_path: Path, code: str, reason: str
) -> None:
    site = Site(tmp_path)
    site.install("dummy-bad", "dummy_bad", code, agents={"bad": "dummy_bad:Clicker"})
    answer = site.run("load_plugin('agent', 'bad')")
    assert answer["error"] == "PluginImportError"
    assert answer["distribution"] == "dummy-bad"
    assert reason in answer["reason"]
    assert "the agent 'bad' of the distribution 'dummy-bad' does not import" in answer["message"]


def test_a_plugin_that_misses_an_extra_is_not_installed_anew(tmp_path: Path) -> None:
    site = Site(tmp_path)
    code = "from bench_core.errors import MissingExtraError as M; raise M('it', 'x', 'waa-client', 'openai')"
    site.install("dummy-bad", "dummy_bad", code, agents={"bad": "dummy_bad:Clicker"})
    answer = site.run("load_plugin('agent', 'bad')")
    assert answer["error"] == "PluginImportError"
    assert answer["message"] == (
        "the agent 'bad' does not import: it needs x, which is not installed: "
        f"`pip install 'waa-client[openai]=={__version__}'` adds it"
    )


def test_one_broken_plugin_does_not_hide_the_others(site: Site) -> None:
    answer = site.run(
        "[(r['name'], r.get('error', '')) for r in list_plugins(load=True)"
        " if r['distribution'] == 'dummy-agents']"
    )
    (clicker, broken) = answer["value"]
    assert clicker == ["clicker", ""]
    assert broken[0] == "broken"
    assert "does not import" in broken[1]


def test_two_distributions_with_one_name_are_both_told(site: Site) -> None:
    site.install(
        "dummy-other", "dummy_other", "Clicker = 1", agents={"clicker": "dummy_other:Clicker"}
    )
    answer = site.run("load_plugin('agent', 'clicker')")
    assert answer["error"] == "InputError"
    assert answer["message"] == (
        "the agent 'clicker' is offered by 'dummy-agents' and 'dummy-other': uninstall one, or ask "
        "for 'dummy_agents:Clicker' or 'dummy_other:Clicker'"
    )
    assert site.run("load_plugin('agent', 'dummy_other:Clicker')")["value"] == 1


@pytest.mark.parametrize(
    ("reference", "error", "message"),
    [
        ("nowhere_dummy:Agent", "InputError", "no module 'nowhere_dummy'"),
        ("dummy_agents.inner:Agent", "InputError", "no module 'dummy_agents.inner'"),
        ("dummy_agents:Nobody", "InputError", "has no 'Nobody'"),
        ("dummy_raises:Agent", "PluginImportError", "ZeroDivisionError"),
        ("dummy_needs:Agent", "PluginImportError", "No module named 'not_installed_here'"),
    ],
)
def test_a_reference_that_leads_nowhere_says_why(
    site: Site, reference: str, error: str, message: str
) -> None:
    (site.folder / "dummy_raises.py").write_text("1 / 0")
    (site.folder / "dummy_needs.py").write_text("import not_installed_here")
    answer = site.run(f"load_plugin('agent', {reference!r})")
    assert answer["error"] == error
    assert message in answer["message"]


AGENTS = """
class Idle:
    name = "idle"
    async def run(self, task, environment, context): ...

class Picky(Idle):
    def __init__(self, model): ...

READY = Idle()
NO_AGENT = 7
"""


@pytest.mark.parametrize("name", ["idle", "idle_dummy:Idle", "idle_dummy:READY"])
def test_an_agent_is_made_of_a_class_or_taken_as_it_is(tmp_path: Path, name: str) -> None:
    site = Site(tmp_path)
    site.install("dummy-idle", "idle_dummy", AGENTS, agents={"idle": "idle_dummy:Idle"})
    assert site.run(f"load_agent({name!r}).name") == {"value": "idle", "loaded": ["idle_dummy"]}


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("idel", "UnknownPluginError", "unknown agent 'idel'"),
        ("no_such_dummy:Idle", "InputError", "no module 'no_such_dummy'"),
        ("idle_dummy:NoSuch", "InputError", "has no 'NoSuch'"),
        ("pathlib:Path", "InputError", "'pathlib:Path' is not an agent"),
        ("idle_dummy:NO_AGENT", "InputError", "cannot be made without arguments"),
        ("idle_dummy:Picky", "InputError", "'idle_dummy:Picky' cannot be made without arguments"),
    ],
)
def test_what_cannot_be_used_as_an_agent_is_refused(
    tmp_path: Path, name: str, error: str, message: str
) -> None:
    (tmp_path / "idle_dummy.py").write_text(AGENTS)
    answer = Site(tmp_path).run(f"load_agent({name!r})")
    assert answer["error"] == error
    assert message in answer["message"]


def test_an_unknown_kind_is_a_mistake(site: Site) -> None:
    answer = site.run("load_plugin('robot', 'x')")
    assert "unknown kind of plugin 'robot'" in answer["message"]


def test_the_command_line_lists_plugins_and_fails_when_one_is_broken(
    site: Site, run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(site.folder)}
    listed = run_command("plugins", "--kind", "agent", env=environment)
    assert listed.returncode == 0
    assert ["agent", "clicker", "dummy-agents", "1.2"] in [
        line.split() for line in listed.stdout.splitlines()
    ]
    loaded = run_command("plugins", "--load", "--json", env=environment)
    assert loaded.returncode == 1
    assert "dummy_agents:Missing" in {row["value"] for row in json.loads(loaded.stdout)}
