"""Licences that bind those who use them are told from those that do not."""

from __future__ import annotations

import pytest
from nox_support.licences import brought, usable


@pytest.mark.parametrize(
    "licence",
    [
        "Dual Licensed - GNU AFFERO GPL 3.0 or Artifex Commercial License",
        "GNU General Public License v2 or later (GPLv2+)",
        "AGPL-3.0-only",
        "GPL-3.0-or-later",
        "MIT AND GPL-2.0-only",
        "Proprietary",
        "",
    ],
)
def test_a_licence_that_binds_or_is_unknown_is_refused(licence: str) -> None:
    assert not usable(licence)


@pytest.mark.parametrize(
    "licence",
    ["MIT", "BSD-3-Clause", "3-Clause BSD License", "Apache Software License", "LGPL-2.1-or-later",
     "GNU Lesser General Public License v2 or later (LGPLv2+)", "Mozilla Public License 2.0 (MPL 2.0)",
     "PSF-2.0", "MIT-CMU", "Apache-2.0 OR BSD-2-Clause"],
)  # fmt: skip
def test_a_licence_that_leaves_its_users_free_is_not(licence: str) -> None:
    assert usable(licence)


def test_extras_that_are_named_are_left_out_and_others_are_not() -> None:
    found = brought("waa-server-ext")
    assert "pymupdf" not in found
    assert "opencv-python-headless" in found
