from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from webarena_runner.cli import main
from webarena_runner.doctor import checks

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.cli import CheckResult

SITES = """
sites:
  shopping: http://127.0.0.1:{port}
  reddit: http://127.0.0.1:{port}
  wikipedia: http://127.0.0.1:{port}/wiki
"""


def answers(**options: Any) -> dict[str, CheckResult]:
    return {check.name: check.run() for check in checks(**options)}


def doctor(*arguments: str, env: dict[str, str | None] | None = None) -> tuple[int, dict[str, Any]]:
    """Return the exit code of the command and what it found by name of the check."""
    ran = CliRunner().invoke(main, ["doctor", *arguments, "--json"], env=env)
    return ran.exit_code, {each["name"]: each for each in json.loads(ran.output)["checks"]}


@pytest.fixture
def sites_down(tmp_path: Path) -> Path:
    path = tmp_path / "sites.yaml"
    path.write_text(SITES.format(port=9))
    return path


@pytest.mark.browser
def test_everything_is_well_on_the_built_in_world() -> None:
    code, found = doctor("--world", "built-in")
    assert code == 0, found
    assert found["HTTP is recorded"]["status"] == "ok"
    assert found["built-in sites"]["status"] == "ok"


@pytest.mark.browser
def test_sites_that_are_down_misspelt_or_share_cookies_are_reported_with_the_fix(
    sites_down: Path,
) -> None:
    found = answers(config_file=sites_down)
    assert found["site shopping"].status == "fail"
    assert "webarena-runner sites start --config FILE --site shopping" in found["site shopping"].fix
    assert "Landing" in found["site wikipedia"].fix
    assert found["session cookies"].status == "fail"
    assert "reddit and shopping share the host" in found["session cookies"].detail


@pytest.mark.browser
def test_missing_chromium_is_reported_with_the_command_that_installs_it() -> None:
    code, found = doctor("--world", "built-in", env={"CHROME_PATH": "/nonexistent"})
    assert (code, found["Chromium"]["status"]) == (1, "fail")
    assert "CHROME_PATH is '/nonexistent'" in found["Chromium"]["detail"]
    assert found["Chromium"]["fix"]


@pytest.mark.browser
def test_missing_key_is_reported() -> None:
    model = "openai:gpt-4.1-mini"
    without: dict[str, str | None] = {"OPENAI_API_KEY": None, "OPENAI_BASE_URL": None}
    code, found = doctor("--world", "built-in", "--model", model, env=without)
    assert (code, found[f"model {model}"]["status"]) == (1, "fail")
    assert "OPENAI_API_KEY" in found[f"model {model}"]["detail"]


def test_unknown_sites_are_a_warning() -> None:
    (check,) = (each for each in checks(config_file=None) if each.name == "sites")
    assert "--config" in check.run().detail
