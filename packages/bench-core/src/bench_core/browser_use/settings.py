"""The environment browser-use runs in: no telemetry, no output, no files left behind."""

from __future__ import annotations

import importlib
import logging
import os
import pkgutil
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, NamedTuple

from bench_core.errors import InputError, pip_install
from bench_core.files.removal import remove_folder
from bench_core.files.temporary import lasting_folder

QUIET_ENVIRONMENT = {
    "ANONYMIZED_TELEMETRY": "false",
    "BROWSER_USE_CLOUD_HINTS": "false",
    "BROWSER_USE_CLOUD_SYNC": "false",
    "BROWSER_USE_DISABLE_EXTENSIONS": "1",
    "BROWSER_USE_SETUP_LOGGING": "false",
    "BROWSER_USE_VERSION_CHECK": "false",
    "SKIP_LLM_API_KEY_VERIFICATION": "true",
    "TIMEOUT_TypeTextEvent": "300",
}
"""Variables that `prepare` sets if the user has not: nothing is reported, fetched or reconfigured.

Text is typed key by key, which on a busy machine takes longer than browser-use's minute: the agent's
step would then fail through the machine's fault.
"""

_CONFIG_DIR = "BROWSER_USE_CONFIG_DIR"
_LOGGERS = ("browser_use", "bubus", "cdp_use")


class Preparation(NamedTuple):
    """The effects of `prepare`: the variables it set, and whether browser-use was imported before."""

    variables: dict[str, str]
    too_late: bool


def prepare(environment: MutableMapping[str, str] | None = None) -> Preparation:
    """Set the environment variables browser-use reads, before it is imported.

    A variable the user has set stays as it is. browser-use's configuration goes to a folder of
    this process that is removed at exit, and its loggers stay silent unless the program handles
    them. Safe to call again.

    Example:
        >>> from bench_core.browser_use import prepare
        >>> environment = {"ANONYMIZED_TELEMETRY": "true"}
        >>> variables, too_late = prepare(environment)
        >>> environment["ANONYMIZED_TELEMETRY"], environment["BROWSER_USE_CLOUD_SYNC"]
        ('true', 'false')
    """
    target = os.environ if environment is None else environment
    missing = {name: value for name, value in QUIET_ENVIRONMENT.items() if name not in target}
    if _CONFIG_DIR not in target:
        missing[_CONFIG_DIR] = str(lasting_folder("proctor-browser-use"))
    target.update(missing)
    # or Python's last-resort handler would print browser-use's warnings to stderr
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, logging.NullHandler) for each in logger.handlers):
            logger.addHandler(logging.NullHandler())
    return Preparation(missing, "browser_use" in sys.modules)


def import_browser_use() -> Any:
    """Import browser-use into a prepared environment, without the folders it makes on import.

    Raises:
        InputError: It is not installed, or something it needs is not.
    """
    prepare()
    try:
        module = importlib.import_module("browser_use")
        session = importlib.import_module("browser_use.browser.session")
    except ImportError as error:
        raise InputError(
            f"browser-use does not import: {error}; `{pip_install('bench-core[browser-use]')}` adds it"
        ) from error
    # A session would load these while the time runs in which it must attach; a version may have others.
    with suppress(ImportError):
        watchdogs = importlib.import_module("browser_use.browser.watchdogs")
        for each in pkgutil.iter_modules(watchdogs.__path__, f"{watchdogs.__name__}."):
            importlib.import_module(each.name)
    # browser-use makes these folders when it is imported, whether or not a browser follows.
    unused = session.DEFAULT_BROWSER_PROFILE
    for folder in (unused.user_data_dir, unused.downloads_path):
        if folder is not None:
            remove_folder(folder)
    return module
