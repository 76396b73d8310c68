from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

from bench_core.browser_use import prepare
from bench_core.browser_use.settings import QUIET_ENVIRONMENT


def test_preparing_sets_what_the_user_left_open() -> None:
    environment: dict[str, str] = {}

    prepared = prepare(environment)

    assert {name: environment[name] for name in QUIET_ENVIRONMENT} == QUIET_ENVIRONMENT
    assert prepared.variables == environment
    assert Path(environment["BROWSER_USE_CONFIG_DIR"]).is_dir()


def test_preparing_leaves_the_users_choices_alone() -> None:
    environment = {"ANONYMIZED_TELEMETRY": "true", "BROWSER_USE_CONFIG_DIR": "mine"}

    prepare(environment)

    assert environment["ANONYMIZED_TELEMETRY"] == "true"
    assert environment["BROWSER_USE_CONFIG_DIR"] == "mine"


def test_preparing_twice_changes_nothing_more() -> None:
    environment: dict[str, str] = {}
    prepare(environment)

    assert prepare(environment).variables == {}


_IMPORT = """
import logging, sys
made = []
sys.addaudithook(lambda event, given: made.append(str(given[0])) if event == "os.mkdir" else None)
root = list(logging.getLogger().handlers)
from bench_core.browser_use import import_browser_use
browser_use = import_browser_use()
from browser_use.config import CONFIG
from browser_use.telemetry.service import ProductTelemetry
assert not CONFIG.ANONYMIZED_TELEMETRY and not CONFIG.BROWSER_USE_CLOUD_SYNC
assert ProductTelemetry()._posthog_client is None
from browser_use.browser.events import TypeTextEvent
assert TypeTextEvent.model_fields["event_timeout"].get_default(call_default_factory=True) == 300
assert logging.getLogger().handlers == root
logging.getLogger("browser_use").error("must not reach the terminal")
print(CONFIG.BROWSER_USE_CONFIG_DIR)
print(*made, sep="\\n")
"""


def test_importing_is_silent_and_leaves_no_folder_behind(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", _IMPORT],
        env={"TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.stderr == ""
    assert ran.stdout.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    # in /tmp, whatever the environment says, and other processes make theirs there: its own choice
    downloads = [line for line in ran.stdout.splitlines() if "browser-use-downloads-" in line]
    assert downloads
    assert [each for each in downloads if Path(each).exists()] == []


def test_the_package_itself_does_not_import_browser_use() -> None:
    code = (
        "import sys, bench_core.browser_use as tower, bench_core.browser_use.scripted_chat as _\n"
        "tower.prepare, tower.ScriptedChat, tower.ModelWatch, tower.fan_out\n"
        "print([name for name in sys.modules if name.startswith(('browser_use', 'cdp_use'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


def test_browser_use_does_not_fall_back_to_the_last_resort_handler() -> None:
    prepare({})

    handlers = logging.getLogger("browser_use").handlers
    assert any(isinstance(each, logging.NullHandler) for each in handlers)
