"""Threads of a server leave no heaps of their own behind."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc's malloc")

HEAPS = """
import ctypes, sys, threading
from bench_core.serving import BoundedHandler, BoundedServer

if sys.argv[1] == "serving":
    BoundedServer(("127.0.0.1", 0), BoundedHandler).server_close()

all_have = threading.Barrier(8)

def work():
    kept = [bytes(50_000) for _ in range(20)]
    all_have.wait()
    del kept

threads = [threading.Thread(target=work) for _ in range(8)]
for each in threads:
    each.start()
for each in threads:
    each.join()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
said = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, said)
libc.fflush(said)
"""


def heaps(what: str, **variables: str) -> int:
    left_out = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    said = subprocess.run(
        [sys.executable, "-c", HEAPS, what],
        env=environment | variables,
        capture_output=True,
        check=True,
        text=True,
    )
    return said.stdout.count("<heap ")


def test_threads_share_one_heap_where_a_server_was_made() -> None:
    assert heaps("serving") == 1


def test_without_a_server_threads_have_heaps_of_their_own() -> None:
    assert heaps("nothing") > 1


def test_a_choice_in_the_environment_stands() -> None:
    assert heaps("serving", MALLOC_ARENA_MAX="3") > 1
