"""Programs are interpreted: Python where it is simulated, an error elsewhere, this process never."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waa_server_ext.simulate.code.cmd import CmdShell
from waa_server_ext.simulate.code.python import run_child
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.machine.computer import Machine

if TYPE_CHECKING:
    from waa_server_ext.simulate.machine.computer import Clipboard

_PROGRAMS = (
    "print(sum(x * x for x in range(10) if x % 2))",
    "def f(a, b=2, *c, d=4, **e):\n    return a, b, c, d, e\nprint(f(1), f(1, 3, 5, d=6, g=7))",
    "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    print('caught', error)\nfinally:\n    print('end')",
    "x = [3, 1, 2]\nx.sort(reverse=True)\nprint(x, sorted(x)[-1])",
    "a, (b, c) = 1, (2, 3)\nprint(a + b * c)",
    "print(f'{3.14159:.2f} {7:03d} {\"x\"!r} {10:>5}')",
    "print('%s-%05d' % ('a', 42), '{}/{b}'.format(1, b=2))",
    "n = 0\nwhile True:\n    n += 1\n    if n == 3:\n        continue\n    if n > 5:\n        break\nelse:\n    n = 99\nprint(n)",
    "print({k: v for k, v in zip('ab', [1, 2])}, {1, 2} | {3}, not [], 1 < 2 < 3)",
    "import json\nprint(json.dumps({'a': [1, None, True]}), json.loads('[1, 2]')[0])",
    "print(*map(lambda x: x + 1, [1, 2]), sep='|', end='!\\n')",
    "def g(n):\n    return 1 if n < 2 else n * g(n - 1)\nprint(g(10))",
    "import os\nprint(os.path.basename('a/b.txt'), 'b' in 'abc', max([3, 9, 2], key=lambda v: -v))",
    "x = 5\ndef h():\n    global x\n    x = 7\nh()\nprint(x)",
)


@pytest.mark.parametrize("program", _PROGRAMS)
def test_a_program_prints_what_python_prints(desktop: Desktop, program: str) -> None:
    real = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run_child(CmdShell(desktop), ["-c", program]) == (0, real.stdout, "")


_ESCAPES = (
    "().__class__", "print.__self__", "(lambda: 0).__globals__", "(lambda: 0).__code__", "''.join.__self__",
    "__import__('os')", "__builtins__", "open.__globals__", "eval('1')", "exec('1')", "compile('1', '', 'eval')",
    "getattr(1, 'real')", "globals()", "vars()", "dir()", "import importlib", "import ctypes; ctypes.windll",
    "import sys; sys.modules", "import os; os.fork()", "import os; os.environ.__class__", "'{0.__class__}'.format(1)",
    "'{0[0]}'.format([1])", "class A: pass", "import builtins", "import socket", "import pyautogui; pyautogui._do",
    "import pyautogui; pyautogui.moveTo.__func__", "import pyautogui; pyautogui.click._do", "(x for x in []).gi_frame",
    "async def f(): pass", "def f():\n    yield 1\nlist(f())", "try:\n    1/0\nexcept Exception as e:\n    e.__traceback__",
    "import os; os.path.os", "import json; json.decoder", "import math; math.__loader__", "str.mro()", "int.from_bytes(b'1', 'big')",
)  # fmt: skip


@pytest.mark.parametrize("program", _ESCAPES)
def test_nothing_of_this_process_is_reachable(desktop: Desktop, program: str) -> None:
    code, output, error = run_child(CmdShell(desktop), ["-c", program])
    assert (code, output) == (1, "")
    assert error


_GREEDY = (
    "while True:\n    pass", "x = 'a' * 10 ** 10", "x = [0] * 10 ** 10", "x = 10 ** 10 ** 10", "x = 1 << 10 ** 9",
    "x = (10 ** 5000) ** 5000", "x = list(range(10 ** 10))", "x = 'a'\nwhile True:\n    x += x", "f'{1:1000000000}'",
    "'%1000000000d' % 1", "def f():\n    return f()\nf()", "x = [1]\nwhile True:\n    x = x + x", "'a'.zfill(10 ** 10)",
    "x = ('a' * 10 ** 6).replace('a', 'a' * 10 ** 6)", "print('x' * 3_000_000)\n" * 2 + "1/0", "x = bytes(10 ** 10)\nx[0]",
    "'{:1000000000}'.format(1)", "int('9' * 10 ** 6)", "(1).to_bytes(10 ** 12, 'big')\n1 / 0",
)  # fmt: skip


@pytest.mark.parametrize("program", _GREEDY)
def test_a_greedy_program_ends_with_an_error(desktop: Desktop, program: str) -> None:
    code, output, error = run_child(CmdShell(desktop), ["-c", program])
    assert (code, len(output) <= 1_000_000) == (1, True)
    assert error


@given(st.text(max_size=60))
@settings(max_examples=150)
def test_no_text_breaks_the_interpreter(text: str) -> None:
    code, _, _ = run_child(CmdShell(Desktop(Machine.fresh())), ["-c", text])
    assert isinstance(code, int)


def test_a_child_sees_the_simulated_files_and_registry(desktop: Desktop) -> None:
    program = (
        "import os, winreg\n"
        "path = os.path.join(os.getenv('USERPROFILE'), 'Documents', 'x.txt')\n"
        "with open(path, 'w') as f:\n    f.write('one\\ntwo')\n"
        "print(os.listdir(os.path.dirname(path)), os.path.getsize(path), os.name)\n"
        "key = winreg.CreateKey(winreg.HKEY_CURRENT_USER, 'Software\\\\Me')\n"
        "winreg.SetValueEx(key, 'n', 0, winreg.REG_DWORD, 7)\n"
        "print(winreg.QueryValueEx(winreg.OpenKey(winreg.HKEY_CURRENT_USER, 'SOFTWARE\\\\me'), 'N'))"
    )
    code, output, error = run_child(CmdShell(desktop), ["-c", program])
    assert (code, error) == (0, "")
    assert output == "['x.txt'] 8 nt\n(7, 4)\n"
    assert desktop.machine.files.read("C:\\Users\\Docker\\Documents\\x.txt") == b"one\r\ntwo"


def test_exit_codes_and_tracebacks_are_pythons(desktop: Desktop) -> None:
    assert run_child(CmdShell(desktop), ["-c", "import sys; print(1); sys.exit(3)"]) == (
        3,
        "1\n",
        "",
    )
    code, output, error = run_child(CmdShell(desktop), ["-c", "print(2); open('no.txt')"])
    assert (code, output) == (1, "2\n")
    assert error.endswith("FileNotFoundError: [Errno 2] No such file or directory: 'no.txt'\n")


def test_typing_takes_time_and_sleeping_takes_none_of_ours(desktop: Desktop) -> None:
    clock = desktop.machine.clock
    before = clock.timestamp()
    run_child(
        CmdShell(desktop),
        ["-c", "import pyautogui, time; pyautogui.write('abcd', interval=0.5); time.sleep(30)"],
    )
    assert 32 <= clock.timestamp() - before < 33


def test_the_clipboard_is_shared(desktop: Desktop) -> None:
    clipboard: Clipboard = desktop.machine.clipboard
    run_child(CmdShell(desktop), ["-c", "import pyperclip; pyperclip.copy('naïve')"])
    assert clipboard.text == "naïve"
    assert (
        run_child(CmdShell(desktop), ["-c", "import pyperclip; print(pyperclip.paste())"])[1]
        == "naïve\n"
    )
