"""Sites run by Docker (a fake on PATH that records its calls) and reset by hooks."""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.scheduling import FileLocks
from webarena_runner.cli import main
from webarena_runner.config import EnvironmentConfig, default_config, load_config
from webarena_runner.reset import Resets, parse_policies
from webarena_runner.site_control import (
    reset_method_of,
    reset_site,
    site_status,
    start_site,
    stop_site,
)
from webarena_runner.tasks import load_tasks
from webarena_runner.world.launch import built_in_world, environment_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from webarena_runner.world import BuiltInWorld

DOCKER = """#!{python}
import json, pathlib, sys
home = pathlib.Path({home!r})
words = sys.argv[1:]
with (home / "calls").open("a") as file:
    file.write(json.dumps(words) + "\\n")
kept = home / "containers"
kept.mkdir(exist_ok=True)
(home / "volumes").mkdir(exist_ok=True)
if words[0] == "ps":
    name = words[words.index("--filter") + 1].removeprefix("name=^").removesuffix("$")
    if (kept / name).exists():
        print(name)
elif words[:2] == ["volume", "ls"]:
    name = words[-1].removeprefix("name=^").removesuffix("$")
    if (home / "volumes" / name).exists():
        print(name)
elif words[:2] == ["volume", "rm"]:
    (home / "volumes" / words[2]).unlink()
elif words[0] == "rm":
    (kept / words[-1]).unlink()
elif words[0] == "run":
    if (home / "broken").exists():
        sys.exit("no space left on device")
    (kept / words[words.index("--name") + 1]).touch()
    for each in (word for i, word in enumerate(words) if words[i - 1] == "-v"):
        (home / "volumes" / each.partition(":")[0].strip("/").replace("/", "-")).touch()
elif words[0] == "exec":
    print(json.dumps({{"success": True, "message": "ready", "details": {{}}}}))
"""


@pytest.fixture(scope="module")
def world() -> Iterator[BuiltInWorld]:
    with built_in_world() as world:
        yield world


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a `docker` that is found first, and its notes."""
    home = tmp_path / "docker"
    home.mkdir()
    command = home / "docker"
    command.write_text(DOCKER.format(python=sys.executable, home=str(home)))
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{home}{os.pathsep}{os.environ['PATH']}")
    return home


def calls(docker: Path) -> list[list[str]]:
    return [json.loads(line) for line in (docker / "calls").read_text().splitlines()]


def with_hook(world: BuiltInWorld, site: str, hook: str) -> EnvironmentConfig:
    sites: Any = environment_of(world).config.model_dump(mode="python")["sites"]
    return EnvironmentConfig.model_validate({"sites": {site: {**sites[site], "reset_hook": hook}}})


def test_reset_makes_the_container_anew_and_waits_for_the_login(
    world: BuiltInWorld, docker: Path
) -> None:
    config = environment_of(world).config
    assert reset_method_of(config, "shopping_admin") == "docker"
    start_site(config, "shopping_admin", 30)
    took = reset_site(config, "shopping_admin", 30)
    assert took > 0
    name = "webarena_verified_shopping_admin"
    kinds = [words[0] for words in calls(docker)]
    assert kinds == ["ps", "ps", "run", "exec", "ps", "rm", "ps", "run", "exec"]
    run = calls(docker)[7]
    port = world.urls["shopping_admin"].split(":")[2].split("/")[0]
    assert run[:4] == ["run", "-d", "--name", name]
    assert f"{port}:80" in run
    assert "7781:8877" in run
    assert f"WA_ENV_CTRL_EXTERNAL_SITE_URL=http://shopping-admin.localhost:{port}" in run
    assert run[-1] == "am1n3e/webarena-verified-shopping_admin"
    assert calls(docker)[5] == ["rm", "-f", "-v", name]


def test_a_reset_of_the_map_makes_its_web_sites_volumes_anew(
    world: BuiltInWorld, docker: Path
) -> None:
    """The container's manager leaves them; those with downloaded data have to stay."""
    config = environment_of(world).config
    start_site(config, "map", 30)
    made = {each.name for each in (docker / "volumes").iterdir()}
    before = len(calls(docker))
    reset_site(config, "map", 30)
    words = calls(docker)[before:]
    removed = {each[2] for each in words if each[:2] == ["volume", "rm"]}
    assert removed == {f"webarena_verified_map_{each}" for each in ("website_db", "tiles", "style")}
    assert len(made - removed) == 6
    kinds = [each[0] for each in words if each[:2] != ["volume", "ls"]]
    assert kinds.index("rm") < kinds.index("volume") < kinds.index("run")
    stop_site(config, "map")
    assert {each.name for each in (docker / "volumes").iterdir()} == made - removed


@pytest.mark.parametrize(
    ("site", "image", "ports"),
    [
        ("shopping", "am1n3e/webarena-verified-shopping", {"7770:80", "7771:8877"}),
        ("shopping_admin", "am1n3e/webarena-verified-shopping_admin", {"7780:80", "7781:8877"}),
        ("reddit", "am1n3e/webarena-verified-reddit", {"9999:80", "9998:8877"}),
        ("gitlab", "am1n3e/webarena-verified-gitlab", {"8023:8023", "8024:8877"}),
        ("wikipedia", "am1n3e/webarena-verified-wikipedia", {"8888:8080", "8889:8874"}),
        ("map", "am1n3e/webarena-verified-map", {"3000:8080", "3001:8877"}),
    ],
)
def test_each_sites_container_gets_its_image_name_and_ports(
    site: str, image: str, ports: set[str], docker: Path, tmp_path: Path
) -> None:
    url = next(each for each in default_config().site(site).urls if "127.0.0.1" in each)
    config = EnvironmentConfig.model_validate(
        {"sites": {site: {"url": url, "data_dir": str(tmp_path)}}}
    )
    with pytest.raises(EnvironmentFaultError, match="come up"):
        start_site(config, site, 1.0)  # nothing answers at that port
    run = next(words for words in calls(docker) if words[0] == "run")
    assert run[run.index("--name") + 1] == f"webarena_verified_{site}"
    assert {word for word in run if word in ports} == ports
    assert run[-1] == image


def test_wikipedia_without_its_data_is_refused_with_the_way_out(docker: Path) -> None:
    config = EnvironmentConfig.model_validate({"sites": {"wikipedia": "http://localhost:8888"}})
    with pytest.raises(InputError, match=r"data_dir.*env setup init --site wikipedia"):
        start_site(config, "wikipedia", 5)


def test_docker_that_fails_is_an_environment_fault(world: BuiltInWorld, docker: Path) -> None:
    (docker / "broken").touch()
    with pytest.raises(EnvironmentFaultError, match="no space left"):
        start_site(environment_of(world).config, "gitlab", 5)


def test_stopping_removes_the_container(world: BuiltInWorld, docker: Path) -> None:
    config = environment_of(world).config
    start_site(config, "map", 30)
    assert site_status(config, "map").container == "running"
    stop_site(config, "map")
    assert site_status(config, "map").container == "absent"


def test_a_site_with_neither_docker_nor_hook_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    config = EnvironmentConfig.model_validate({"sites": {"reddit": "http://forum.example:9999"}})
    assert reset_method_of(config, "reddit") is None
    with pytest.raises(InputError, match=r"the site 'reddit' at .* cannot be reset.*reset_hook"):
        reset_site(config, "reddit")
    with pytest.raises(InputError, match="no `docker` on PATH"):
        start_site(config, "reddit")


def test_a_command_as_hook_gets_the_sites_name(world: BuiltInWorld, tmp_path: Path) -> None:
    script = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
    note = tmp_path / "note"
    config = with_hook(world, "reddit", f'{sys.executable} -c "{script}" {note} {{site}}')
    assert reset_method_of(config, "reddit") == "hook"
    reset_site(config, "reddit", 30)
    assert note.read_text() == "reddit"


def test_a_hook_that_fails_is_an_environment_fault(world: BuiltInWorld) -> None:
    config = with_hook(
        world, "reddit", f"{sys.executable} -c \"import sys; sys.exit('disk full')\""
    )
    with pytest.raises(EnvironmentFaultError, match="code 1: disk full"):
        reset_site(config, "reddit", 30)


def test_a_url_as_hook_is_posted_to(world: BuiltInWorld) -> None:
    world.sites["reddit"].biography = "changed"  # type: ignore[attr-defined]
    config = with_hook(world, "reddit", f"{world.control_url}/reset")
    reset_site(config, "reddit", 30)
    assert world.sites["reddit"].biography == ""  # type: ignore[attr-defined]
    refusing = with_hook(world, "reddit", f"{world.control_url}/nonsense")
    with pytest.raises(EnvironmentFaultError, match="status 400"):
        reset_site(refusing, "reddit", 30)


def test_a_site_that_does_not_let_its_user_in_is_not_reset_yet(world: BuiltInWorld) -> None:
    config = with_hook(world, "reddit", f"{world.control_url}/reset")
    site = config.site("reddit").model_dump()
    site["credentials"]["password"] = "wrong"
    wrong = EnvironmentConfig.model_validate({"sites": {"reddit": site}})
    with pytest.raises(EnvironmentFaultError, match="did not accept the user"):
        reset_site(wrong, "reddit", 2.0)


class TestPolicies:
    config = load_config(
        None, {"WEBARENA_REDDIT_URL": "http://r", "WEBARENA_GITLAB_URL": "http://g"}
    )

    def resets(self, *policies: str, batch: int = 2, folder: Path | None = None) -> Resets:
        chosen = parse_policies(policies, self.config.sites)
        return Resets(self.config, chosen, batch=batch, folder=folder, do=lambda *_: 1.5)

    async def after(self, resets: Resets, trials: int) -> list[str]:
        """The sites reset before each of some mutating trials on reddit, one string per trial."""
        seen = []
        for _ in range(trials):
            before = len(resets.done)
            await resets(["reddit"])
            seen.append(",".join(each.site for each in resets.done[before:]))
        return seen

    async def test_never_is_the_default(self) -> None:
        assert await self.after(self.resets(), 3) == ["", "", ""]

    async def test_before_mutating_trial_resets_before_each(self) -> None:
        resets = self.resets("before-mutating-trial")
        assert await self.after(resets, 3) == ["reddit", "reddit", "reddit"]

    async def test_per_batch_resets_first_and_after_each_batch(self) -> None:
        resets = self.resets("reddit=per-batch")
        assert await self.after(resets, 5) == ["reddit", "", "reddit", "", "reddit"]

    async def test_before_run_resets_once_under_the_sites_locks(self, tmp_path: Path) -> None:
        resets = self.resets("before-run", "gitlab=never")
        locks = FileLocks(tmp_path)
        await resets.before_run(["reddit", "gitlab"], locks)
        assert [each.site for each in resets.done] == ["reddit"]
        assert await self.after(resets, 2) == ["", ""]
        assert [path.name.startswith("webarena") for path in tmp_path.glob("*.lock")] == [True]

    async def test_measured_times_are_recorded_in_the_run_folder(self, tmp_path: Path) -> None:
        resets = self.resets("before-mutating-trial", folder=tmp_path)
        await resets(["reddit"])
        await resets(["reddit", "gitlab"])
        lines = [json.loads(each) for each in (tmp_path / "resets.jsonl").read_text().splitlines()]
        first, *together = [(each["site"], each["seconds"]) for each in lines]
        assert first == ("reddit", 1.5)
        # two sites are reset at once, and either may be the first to be done
        assert sorted(together) == [("gitlab", 1.5), ("reddit", 1.5)]
        assert {each["policy"] for each in lines} == {"before-mutating-trial"}

    def test_misspelt_policies_and_sites_are_refused(self) -> None:
        with pytest.raises(InputError, match="choose a reset policy"):
            parse_policies(["sometimes"], self.config.sites)
        with pytest.raises(InputError, match="no site 'shopping' is configured"):
            parse_policies(["shopping=never"], self.config.sites)

    def test_a_policy_that_cannot_be_carried_out_is_refused(self) -> None:
        with pytest.raises(InputError, match="is to be reset before-run"):
            self.resets("before-run").require_reset_methods(["reddit"])


def test_resets_hold_the_sites_under_the_names_of_trials() -> None:
    from webarena_runner.benchmark import WebArenaBenchmark
    from webarena_runner.world.launch import Environment

    config = TestPolicies.config
    task = WebArenaBenchmark(Environment(config)).tasks()[399]
    resource = Resets(config, {})._resource("reddit")
    assert (resource.name, resource.mode) == (task.resources[0].name, "exclusive")
    assert load_tasks()[399].resources[0].mode == "exclusive"


def test_sites_commands_show_and_reset(world: BuiltInWorld, tmp_path: Path) -> None:
    path = tmp_path / "sites.yaml"
    hook = f"{world.control_url}/reset"
    path.write_text(f"sites: {{map: {{url: '{world.urls['map']}', reset_hook: '{hook}'}}}}")
    shown = CliRunner().invoke(main, ["sites", "status", "--config", str(path), "--json"])
    assert shown.exit_code == 0, shown.output
    (status,) = json.loads(shown.output)
    assert (status["site"], status["fault"], status["reset_by"]) == ("map", None, "hook")
    done = CliRunner().invoke(main, ["sites", "reset", "--config", str(path), "--timeout", "30"])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("map: reset in ")
    down = CliRunner().invoke(main, ["sites", "status", "--site", "reddit"],
                              env={"WEBARENA_REDDIT_URL": "http://127.0.0.1:9"})  # fmt: skip
    assert down.exit_code == 1
    assert "cannot be reached" in down.output


def test_config_init_writes_what_load_config_reads(tmp_path: Path) -> None:
    path = tmp_path / "sites.yaml"
    written = CliRunner().invoke(main, ["config", "init", "--out", str(path)])
    assert written.exit_code == 0, written.output
    config = load_config(path, {})
    assert sorted(config.sites) == [
        "gitlab", "map", "reddit", "shopping", "shopping_admin", "wikipedia"
    ]  # fmt: skip
    assert config.site("shopping_admin").url == "http://shopping-admin.localhost:7780/admin"
    again = CliRunner().invoke(main, ["config", "init", "--out", str(path)])
    assert again.exit_code == 2
    assert "exists" in again.output


def test_config_show_blanks_passwords(tmp_path: Path) -> None:
    env = {"WEBARENA_REDDIT_URL": "http://r.test", "WEBARENA_REDDIT_PASSWORD": "very-secret"}
    shown = CliRunner().invoke(main, ["config", "show"], env=env)
    assert "password: '***'" in shown.output
    assert "very-secret" not in shown.output
    official = CliRunner().invoke(main, ["config", "show", "--official"], env=env)
    assert json.loads(official.output)["environments"]["__REDDIT__"]["urls"] == ["http://r.test"]
