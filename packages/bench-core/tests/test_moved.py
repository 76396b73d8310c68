"""Modules are found by the paths they had in an earlier version."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import warnings

import pytest

import bench_core
from bench_core.moved import moved_modules
from bench_core.runs import execute

OLD_PATHS = [
    ("bench_core.planning", "bench_core.run_spec"),
    ("bench_core.judging", "bench_core.records.judge"),
    ("bench_core.running", "bench_core.runs.execute"),
    ("bench_core.cli_main", "bench_core.cli.main"),
    ("bench_core.browser_use.scripted", "bench_core.browser_use.scripted_chat"),
]


@pytest.mark.parametrize(("old", "new"), OLD_PATHS, ids=[old for old, _ in OLD_PATHS])
def test_an_old_path_gives_the_module_itself_with_a_notice(old: str, new: str) -> None:
    code = (
        "import importlib, sys, warnings\n"
        "with warnings.catch_warnings(record=True) as noticed:\n"
        "    warnings.simplefilter('always')\n"
        f"    old = importlib.import_module({old!r})\n"
        f"new = importlib.import_module({new!r})\n"
        f"assert old is new is sys.modules[{old!r}]\n"
        f"assert new.__name__ == new.__spec__.name == {new!r}\n"
        "print(*[str(each.message) for each in noticed])\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.strip()) == (0, f"the module {old} is now {new}"), ran.stderr


def test_every_old_path_leads_to_a_module_and_none_hides_one() -> None:
    from bench_core.moved import _MOVES  # noqa: PLC0415  # the table has no other reader

    for old, new in _MOVES.items():
        spec = importlib.util.find_spec(new)
        assert spec is not None, new
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = importlib.util.find_spec(old)
        assert found is not None
        assert type(found.loader).__name__ == "_MovedLoader" or old in sys.modules, old


def test_a_path_that_never_was_is_still_an_error() -> None:
    moved_modules({})
    with pytest.raises(ModuleNotFoundError, match=r"bench_core\.never"):
        importlib.import_module("bench_core.never")


def test_a_package_says_which_name_it_does_not_offer() -> None:
    with pytest.raises(AttributeError, match="'bench_core' has no attribute 'Nothing'"):
        _ = bench_core.Nothing


def test_a_class_that_was_renamed_is_found_by_its_old_name_with_a_notice() -> None:
    with pytest.warns(DeprecationWarning, match="Surroundings is now .*RunEnvironment"):
        old = execute.Surroundings
    assert old is execute.RunEnvironment
