"""Environment variables of an agent in its own process: those on a list, no others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

_NAMES = frozenset({
    # the system's
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "PWD",
    "TMPDIR", "TEMP", "TMP", "DISPLAY", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
    "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA",
    "USERPROFILE", "PROGRAMDATA", "PROGRAMFILES", "NUMBER_OF_PROCESSORS",
    # how to reach the model
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    # where programs and data are
    "VIRTUAL_ENV", "CONDA_PREFIX", "CHROME_PATH", "PLAYWRIGHT_BROWSERS_PATH", "PROCTOR_DATA",
    "PROCTOR_LOCK_DIR", "HF_HOME", "OMP_NUM_THREADS",
})  # fmt: skip
_PREFIXES = ("LC_", "XDG_", "PYTHON", "COV_CORE_", "COVERAGE_")
_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "google": ("GOOGLE_", "GEMINI_"),
    "bedrock": ("AWS_",),
    "azure": ("AZURE_",),
}
"""Prefixes of the variables of providers whose name is not the prefix."""


def agent_variables(
    model: str | None = None,
    more: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the environment of an agent's process: the system's, its model's, and `more`.

    Keys of other providers, of sites and of judges stay with the run.

    Args:
        model: As asked for, `provider:name`; the variables of its provider begin with its name.
        more: Names of further variables.
        environment: Their source; by default this process's.

    >>> given = {"PATH": "/bin", "OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b", "SHOP_TOKEN": "c"}
    >>> agent_variables("openai:gpt-5.2", environment=given)
    {'PATH': '/bin', 'OPENAI_API_KEY': 'a'}
    """
    variables = os.environ if environment is None else environment
    names = frozenset(more)
    prefixes = (*_PREFIXES, *_prefixes_of(model))
    return {
        name: value
        for name, value in variables.items()
        if name in names or name.upper() in _NAMES or name.startswith(prefixes)
    }


def _prefixes_of(model: str | None) -> tuple[str, ...]:
    provider = (model or "").partition(":")[0].partition("-")[0]
    if not provider or provider in {"scripted", "replay"}:
        return ()
    return _PROVIDERS.get(provider, (f"{provider.upper()}_",))
