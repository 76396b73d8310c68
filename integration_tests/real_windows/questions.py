"""Some 300 calls and programs for a VM, and what in its answers is worth comparing.

Answers of WAA's own server to all of them are kept beside (`answers.jsonl`, written by `python -m
integration_tests.real_windows.answers URL --write`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx

_HOME = r"C:\Users\Docker"
_FOLDER = _HOME + r"\Documents\questions"
_RESULT = _FOLDER + r"\result.txt"
_TIMEOUT_S = 60.0
_LONGEST = 300
_NAME = r"\1"
_MODULE = re.compile(r"__import__\('(\w+)'\)")


class Question(NamedTuple):
    """A call, or a program whose value is asked for.

    Attributes:
        name: Unique.
        path: The route.
        given: Its JSON body, or a form where `form` says so; text is sent as it is.
        program: An expression that a code block evaluates; its value is read from a file.
    """

    name: str
    method: str = "POST"
    path: str = ""
    given: Any = None
    form: bool = False
    program: str | None = None


def questions() -> list[Question]:
    """Return all of them, in the order in which they are asked: later ones see what earlier ones did."""
    found = [
        *_readings(),
        *_folders(),
        *_programs(),
        *_blocks(),
        *_commands(),
        *_windows(),
        *_malformed(),
    ]
    assert len({each.name for each in found}) == len(found)
    return found


def _readings() -> Iterator[Question]:
    for path in (
        "/probe",
        "/platform",
        "/cursor_position",
        "/terminal",
        "/nosuch",
        "/execute",
        "/file",
    ):
        yield Question(f"GET {path}", "GET", path)
    for path in (
        "/screen_size", "/desktop_path", "/documents_path", "/wallpaper", "/probe", "/platform", "/nosuch",
        "/shutdown/x", "/revert_to_snapshot", "/save_state",
    ):  # fmt: skip
        yield Question(f"POST {path}", "POST", path, {})
    for backend in ("uia", "win32", "other", ""):
        yield Question(f"tree {backend}", "GET", f"/accessibility?backend={backend}")
    yield Question("front window", "GET", "/obs_winagent")
    yield Question("screenshot", "GET", "/screenshot")


def _folders() -> Iterator[Question]:
    def create(name: str, path: str) -> Question:
        return Question(name, "POST", "/setup/create_folder", {"path": path})

    yield create("create folder", _FOLDER)
    yield create("create folder again", _FOLDER)
    yield create("create folder below a missing one", _FOLDER + r"\a\b\c")
    yield create("create folder with a wrong name", _FOLDER + r"\a<b")
    texts = {
        "plain": "one\ntwo",
        "empty": "",
        "signs": "a\tb \"c\" 'd' \\",
        "umlauts": "Grüße",
        "long": "x" * 5000,
    }
    for name, text in texts.items():
        path = f"{_FOLDER}\\{name}.txt"
        yield Question(
            f"create {name}", "POST", "/setup/create_file", {"path": path, "content": text}
        )
        yield Question(f"fetch {name}", "POST", "/file", {"file_path": path}, form=True)
    path = _FOLDER + r"\japanese.txt"
    yield Question(
        "create japanese", "POST", "/setup/create_file", {"path": path, "content": "日本"}
    )
    yield Question("fetch japanese", "POST", "/file", {"file_path": path}, form=True)
    for name in ("plain.txt", "missing.txt", "PLAIN.TXT", "", "a"):
        given = {"path": _FOLDER, "file_name": name}
        yield Question(f"file exists {name!r}", "POST", "/file_exists", given)
        given = {"path": _FOLDER, "folder_name": name}
        yield Question(f"folder exists {name!r}", "POST", "/folder_exists", given)
    for path in (
        _FOLDER,
        r"C:\missing",
        _FOLDER + r"\plain.txt",
        "",
        "C:/Users/Docker/Documents/questions",
        "~",
    ):
        yield Question(f"list {path!r}", "POST", "/list_directory", {"path": path})
        yield Question(f"fetch {path!r}", "POST", "/file", {"file_path": path}, form=True)
        yield Question(
            f"sorted {path!r}", "POST", "/are_files_sorted_by_modified_time", {"directory": path}
        )
        yield Question(f"open {path!r}", "POST", "/setup/open_file", {"path": path})
    for path in (_FOLDER + r"\empty.txt", _FOLDER + r"\missing.txt"):
        yield Question(f"recycle {path}", "POST", "/setup/recycle", {"path": path})
    yield Question(
        "recycled is gone", "POST", "/file_exists", {"path": _FOLDER, "file_name": "empty.txt"}
    )
    for name in ("Documents", "Pictures", "Nosuch"):
        yield Question(f"library {name}", "POST", "/library_folders", {"library_name": name})


def _programs() -> Iterator[Question]:
    """Yield expressions: what Python, the files and the registry say inside."""
    for text in (
        "1 + 1", "10 ** 20", "7 / 2", "-7 // 2", "round(2.5)", "'%05.2f' % 3.14159", "f'{255:x}'", "'a,b'.split(',')",
        "sorted({3, 1, 2})", "'Straße'.upper()", "'ß'.casefold()", "bytes('é', 'utf-8')", "int('0x1f', 16)",
        "[i for i in range(20) if i % 7 == 0]", "dict(zip('abc', range(3)))", "'abc'[::-1]", "max([], default=None)",
        "__import__('json').dumps({'a': [1, None, True]})", "__import__('math').isclose(0.1 + 0.2, 0.3)",
        "__import__('re').findall(r'\\d+', 'a1b22')", "__import__('sys').platform", "__import__('os').name",
        "__import__('os').sep", "__import__('os').linesep", "__import__('os').getcwd()[:3]",
        "__import__('sys').version_info[:2]", "__import__('platform').system()", "__import__('struct').calcsize('P')",
        "__import__('os').path.join('a', 'b')", "__import__('os').path.exists('C:\\\\')",
        "__import__('os').path.expanduser('~')", "__import__('os').environ.get('USERNAME')",
        "__import__('os').environ.get('USERPROFILE')", "__import__('os').path.basename('C:\\\\a\\\\b.txt')",
        "__import__('os').path.splitext('a.tar.gz')", "__import__('pathlib').Path('C:/a/b').parts",
        "str(__import__('pathlib').Path('a') / 'b')", "__import__('pathlib').Path.home().name",
        f"sorted(__import__('os').listdir(r'{_FOLDER}'))[:1]", f"open(r'{_FOLDER}\\plain.txt').read()",
        f"__import__('os').path.getsize(r'{_FOLDER}\\plain.txt')", f"open(r'{_FOLDER}\\plain.txt', 'rb').read()",
        f"open(r'{_FOLDER}\\w.txt', 'w').write('a\\nb')", f"open(r'{_FOLDER}\\w.txt', 'rb').read()",
        f"open(r'{_FOLDER}\\w.txt', 'a').write('c')", f"open(r'{_FOLDER}\\w.txt').readlines()",
        f"__import__('os').path.isdir(r'{_FOLDER}')", f"__import__('glob').glob(r'{_FOLDER}\\w*.txt')",
        f"__import__('shutil').copy(r'{_FOLDER}\\w.txt', r'{_FOLDER}\\v.txt')",
        f"__import__('os').rename(r'{_FOLDER}\\v.txt', r'{_FOLDER}\\u.txt')",
        f"__import__('os').remove(r'{_FOLDER}\\u.txt')", f"__import__('os').path.exists(r'{_FOLDER}\\u.txt')",
        "__import__('time').strftime('%Y')[:2]", "__import__('datetime').date(2024, 2, 29).isoformat()",
        "__import__('pyautogui').size()[:2]",
        "__import__('pyautogui').onScreen(1279, 719)", "__import__('pyautogui').onScreen(9999, 1)",
        "__import__('pyperclip').copy('clip')", "__import__('pyperclip').paste()",
        "__import__('pyperclip').copy('Grüße')", "__import__('pyperclip').paste()  # umlauts",
        "__import__('subprocess').run(['cmd', '/c', 'echo hi'], capture_output=True, text=True).stdout",
        "__import__('subprocess').run(['cmd', '/c', 'exit 3']).returncode",
        "__import__('os').system('exit 4')", "__import__('shutil').which('notepad') is not None",
        "__import__('shutil').which('nosuchprogram')", "__import__('ctypes').windll.user32.GetSystemMetrics(0)",
        "__import__('winreg').OpenKey(__import__('winreg').HKEY_CURRENT_USER, 'Software\\\\Nosuch')",
    ):  # fmt: skip
        yield Question(f"program {text}", path="/execute_windows", program=text)


def _blocks() -> Iterator[Question]:
    """Yield code blocks whose answer is compared: how they end."""
    for code in (
        "pass", "", "1/0", "x", "import nosuch", "raise ValueError('no')", "assert False", "assert 1, 2", "if", "  x = 1",
        "print('hello')", "print('error')", "print('An Error here')", "raise SystemExit", "import sys; sys.exit(0)",
        "exit()", "quit(3)", "raise KeyboardInterrupt", "raise GeneratorExit", "raise BaseException('x')",
        "[].pop()", "{}['a']", "int('x')", "'a' + 1", "None.x", "open(r'C:\\missing\\a.txt')", "import os; os.listdir('C:\\\\missing')",
        "raise OSError(5, 'denied')", "raise RecursionError('deep')", "def f(): return f()\nf()", "raise StopIteration",
        "import warnings; warnings.warn('careful')", "raise Exception", "raise UnicodeError('ü')", "return 1", "yield 1",
        "computer.mouse.move_abs(x=0.5, y=0.5)", "computer.keyboard.press('shift')", "computer.os.nosuch()",
        "computer.nosuch", "computer.mouse.move_id(id=99)", "computer.keyboard.press('nosuchkey')",
        "computer.clipboard.view_clipboard()", "computer.os.open_program('nosuchprogram')",
        "import builtins; builtins.kept = 7", "import builtins; assert builtins.kept == 7", "kept_local = 1", "kept_local",
    ):  # fmt: skip
        yield Question(f"block {code!r}", "POST", "/execute_windows", {"command": code})


def _commands() -> Iterator[Question]:
    for path in ("/execute", "/setup/execute"):
        for command in (
            ["python", "-c", "print(1)"], ["python", "-c", "import sys; sys.exit(3)"],
            ["python", "-c", "import sys; sys.stderr.write('no')"], ["python", "-c", "1/0"],
            ["cmd", "/c", "echo hi"], ["cmd", "/c", "exit 5"], ["nosuchprogram"], [], "", "python -c print(2)",
            ["python", "-c", "print('Grüße')"], ["cmd", "/c", "dir C:\\missing"],
        ):  # fmt: skip
            yield Question(f"{path} {command}", "POST", path, {"command": command, "shell": False})
    for command in (["nosuchprogram"], "nosuchprogram", ["cmd", "/c", "exit"], []):
        yield Question(f"launch {command}", "POST", "/setup/launch", {"command": command})


def _windows() -> Iterator[Question]:
    for path in ("/setup/activate_window", "/setup/close_window"):
        for name in ("No such window", ""):
            given = {"window_name": name, "strict": True, "by_class": False}
            yield Question(f"{path} {name!r}", "POST", path, given)
    yield Question(
        "wallpaper of a missing file",
        "POST",
        "/setup/change_wallpaper",
        {"path": r"C:\missing.png"},
    )
    yield Question("clear downloads", "POST", "/setup/clear_task_files", {})
    yield Question("window size", "POST", "/window_size", {"app_class_name": "NoSuchClass"})


def _malformed() -> Iterator[Question]:
    """Yield calls without, with wrong and with incomplete bodies."""
    for path in (
        "/execute", "/execute_windows", "/setup/execute", "/setup/launch", "/setup/create_folder", "/setup/create_file",
        "/setup/recycle", "/folder_exists", "/file_exists", "/list_directory", "/file", "/setup/open_file",
        "/setup/activate_window", "/setup/close_window", "/setup/change_wallpaper", "/is_details_view",
        "/library_folders", "/update_computer",
    ):  # fmt: skip
        for name, body in (
            ("nothing", None),
            ("no JSON", "{"),
            ("a list", []),
            ("an empty object", {}),
        ):
            yield Question(f"{path} with {name}", "POST", path, body)


def ask(http: httpx.Client, question: Question) -> dict[str, Any]:
    """Return what is compared of a VM's answer to `question`."""
    if question.program is not None:
        value = question.program.partition("  #")[0]
        modules = sorted(set(_MODULE.findall(value)))
        code = "".join(f"import {each}\n" for each in modules)
        code += f"found = repr({_MODULE.sub(_NAME, value)})\n"
        code += f"with open(r'{_RESULT}', 'w', encoding='utf-8') as f: f.write(found)"
        done = _sent(http, Question("", "POST", "/execute_windows", {"command": code}))
        if done.get("status") != 200:
            return done
        return {
            "value": _sent(
                http, Question("", "POST", "/file", {"file_path": _RESULT}, form=True)
            ).get("text")
        }
    found = _sent(http, question)
    if question.path == "/obs_winagent":
        del found["text"]  # what is in front differs from start to start
    return found


def _sent(http: httpx.Client, question: Question) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if question.form:
        body = {"data": question.given}
    elif isinstance(question.given, str):
        body = {"content": question.given, "headers": {"content-type": "application/json"}}
    elif question.given is not None:
        body = {"json": question.given}
    try:
        answer = http.request(question.method, question.path, timeout=_TIMEOUT_S, **body)
    except httpx.HTTPError as error:
        return {"status": type(error).__name__}
    kind = answer.headers.get("content-type", "").partition(";")[0]
    found: dict[str, Any] = {"status": answer.status_code, "kind": kind}
    if kind == "application/json":
        found["keys"] = sorted(answer.json()) if isinstance(answer.json(), dict) else None
        found["text"] = _shortened(json.dumps(answer.json(), sort_keys=True, ensure_ascii=False))
    elif kind.startswith(("text/", "application/octet")):
        found["text"] = _shortened(answer.content.decode("utf-8", "replace"))
    return found


def _shortened(text: str) -> str:
    text = text.replace(r"C:\\users", r"C:\\Users").replace(
        "C:\\users", "C:\\Users"
    )  # as Wine writes it
    text = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.]+|0x[0-9A-Fa-f]+|\b\d{9,}(\.\d+)?\b", "#", text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)})"
