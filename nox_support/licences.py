"""Under which licences what our packages bring is; run where all of it is installed.

    python -m nox_support.licences

Extras whose licences bind their users are named here and in the docs; what else brings such a licence,
or none, ends with an error.
"""

from __future__ import annotations

import importlib.metadata as installed
import re
import sys

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from nox_support.packages import packages

__all__ = ["brought", "licence_of", "main", "usable"]

NAMED_EXTRAS = {"vanilla", "pdf-agpl"}
NAMED = {"unidecode": "webarena-verified requires it, which scores WebArena"}
_USABLE = re.compile(
    r"\b(0?BSD|MIT|Apache|PSF|Python Software Foundation|MPL|Mozilla Public|LGPL|Lesser General|ISC|HPND"
    r"|Unlicense|Public Domain|CC0)\b",
    re.IGNORECASE,
)
_BINDING = re.compile(r"\bA?GPL|\bAffero|(?<!Lesser )General Public License", re.IGNORECASE)
_READ = {
    "us": "BSD-3-Clause",
    "usaddress-scourgify": "MIT",
    "webarena-verified": "Apache-2.0",
    "yaml-config": "MIT",
}
"""What the licence files of packages say whose metadata do not, or hold the whole text."""


def brought(package: str) -> dict[str, str]:
    """Return what a package brings with its extras but the named ones, each with what asks for it."""
    extras = set(installed.metadata(package).get_all("Provides-Extra") or ()) - NAMED_EXTRAS
    found: dict[str, str] = {}
    waiting = {(package, extra) for extra in extras | {""}}
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        for line in installed.requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                plain = canonicalize_name(needed.name)
                found.setdefault(plain, name)
                following = {(plain, each) for each in needed.extras | {""}} - seen
                seen |= following
                waiting |= following
    ours = {each.name for each in packages()}
    return {name: asker for name, asker in sorted(found.items()) if name not in ours}


def licence_of(name: str) -> str:
    """Return what the metadata of an installed package say of its licence; "" for nothing."""
    about = installed.metadata(name)
    classifiers = [each.split(" :: ") for each in about.get_all("Classifier") or ()]
    said = {each[-1] for each in classifiers if each[0] == "License" and each[-1] != "OSI Approved"}
    stated = [about[each] if each in about else "" for each in ("License-Expression", "License")]  # noqa: SIM401  # no dict
    return _READ.get(name) or stated[0] or " OR ".join(sorted(said)) or stated[1].partition("\n")[0]


def usable(licence: str) -> bool:
    """Return whether anyone may use what is under a licence without opening their own work.

    >>> usable("LGPL-2.1-or-later"), usable("GNU General Public License v2 (GPLv2)"), usable("")
    (True, False, False)
    """
    return bool(_USABLE.search(licence)) and not _BINDING.search(licence)


def main() -> int:
    """Print what binds or is unknown; return the exit code."""
    status = 0
    names: set[str] = set()
    for each in packages():
        found = brought(each.name)
        names |= set(found)
        for name in sorted(set(found) - set(NAMED)):
            if not usable(licence_of(name)):
                print(
                    f"{each.name}: {name}, for {found[name]}: {licence_of(name) or 'no licence named'}"
                )
                status = 1
    for name in sorted(set(NAMED) - names):
        print(f"{name} is named in nox_support/licences.py, and nothing brings it any more")
        status = 1
    if not status:
        print(f"{len(names)} packages are under MIT, BSD, Apache, PSF, MPL, LGPL or the like")
    return status


if __name__ == "__main__":
    sys.exit(main())
