"""The standard library as interpreted programs see it: files, processes and the registry are simulated."""

from __future__ import annotations

import datetime as dt  # deliberate
import fnmatch
import json
import math
import ntpath
import random
import shlex
from collections.abc import Callable
from typing import Any

from waa_server_ext.python_subset.values import NotSimulatedError, SimObject
from waa_server_ext.simulate.code.shell import Shell
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.machine.filesystem import HOME, FileEntry, normal
from waa_server_ext.simulate.machine.registry import split_key

_MAX_PATH = 32_000  # the limit of an NT path
_HIVES = ("HKEY_CURRENT_USER", "HKEY_LOCAL_MACHINE", "HKEY_CLASSES_ROOT", "HKEY_USERS")
_MATH = "isclose gcd fmod copysign isnan isinf isfinite tau nan ceil floor sqrt sin cos tan atan2 hypot fabs radians degrees log log10 exp trunc pi e inf"
_RANDOM = ("random", "randint", "uniform", "choice", "randrange")
_PLATFORM = {"system": "Windows", "release": "11", "version": "10.0.22621", "machine": "AMD64", "node": "WINARENA",
             "platform": "Windows-11-10.0.22621-SP0", "python_version": "3.10.0"}  # fmt: skip
_KINDS = {"REG_SZ": 1, "REG_EXPAND_SZ": 2, "REG_BINARY": 3, "REG_DWORD": 4, "REG_QWORD": 11}


def library_modules(
    desktop: Desktop, shell: Shell, write: Callable[[str], None]
) -> dict[str, SimObject]:
    """Return the modules by import name."""
    source = random.Random(desktop.machine.seed)  # noqa: S311  # repeatable on purpose
    platform = {name: (lambda *_, value=value: value) for name, value in _PLATFORM.items()}
    numbers = {name: getattr(source, name) for name in _RANDOM}
    modules = {
        "os": _os(desktop, shell), "time": _time(desktop), "sys": _sys(write), "platform": SimObject("platform", platform),
        "subprocess": _subprocess(shell), "shutil": _shutil(desktop), "glob": _glob(desktop),
        "winreg": _winreg(desktop), "json": _json(), "math": SimObject("math", {name: getattr(math, name) for name in _MATH.split()}),
        "random": SimObject("random", {**numbers, "seed": lambda *_: None}),
        "datetime": _datetime(desktop), "string": SimObject("string", {"ascii_letters": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "digits": "0123456789"}),
        "shlex": SimObject("shlex", {"split": _words, "quote": shlex.quote}),
        "ctypes": SimObject("ctypes"),
    }  # fmt: skip
    modules["os.path"] = modules["os"].get("path")
    return modules


def _os(desktop: Desktop, shell: Shell) -> SimObject:
    machine, files = desktop.machine, desktop.machine.files

    def startfile(path: str, *_: Any) -> None:
        if not desktop.programs.open_path(str(path)) and not desktop.programs.launch([str(path)]):
            raise FileNotFoundError(2, "The system cannot find the file specified", path)

    def walk(top: str) -> list[tuple[str, list[str], list[str]]]:
        if not files.is_folder(top):
            return []
        inside = files.children(top)
        folders = [e.name for e in inside if e.is_folder]
        here = (top, folders, [e.name for e in inside if not e.is_folder])
        return [here, *(each for name in folders for each in walk(ntpath.join(top, name)))]

    def rename(source: str, target: str) -> None:
        files.move(source, target)

    environ = machine.environment
    return SimObject(
        "os",
        {
            "name": "nt", "sep": "\\", "linesep": "\r\n", "curdir": ".", "environ": environ,
            "path": _path(desktop), "getcwd": lambda: HOME, "getlogin": lambda: "Docker", "getpid": lambda: 4096,
            "getenv": lambda key, default=None: environ.get(str(key).upper(), default),
            "listdir": lambda path=HOME: [entry.name for entry in files.children(str(path))],
            "mkdir": lambda path, *_: _quietly(files.make_folder, str(path)),
            "makedirs": lambda name, mode=0, exist_ok=False: _quietly(files.make_folder, str(name), parents=True, exist_ok=exist_ok),  # noqa: ARG005  # Python's own name
            "remove": lambda path: _remove_file(desktop, path), "unlink": lambda path: _remove_file(desktop, path),
            "rmdir": lambda path: files.remove(path), "rename": rename, "replace": rename,  # noqa: PLW0108  # for its result
            "stat": lambda path: _stat(files.entry(str(path))), "system": lambda command: shell.run(command).code, "startfile": startfile, "walk": walk,
            "popen": lambda command: _stream(shell.run(command).output),
        },
    )  # fmt: skip


def _path(desktop: Desktop) -> SimObject:
    machine, files = desktop.machine, desktop.machine.files
    return SimObject(
        "ntpath",
        {
            "exists": lambda path: files.exists(str(path)), "isfile": lambda path: files.is_file(str(path)),
            "isdir": lambda path: files.is_folder(str(path)),
            **{name: _of_path(getattr(ntpath, name)) for name in _OF_PATHS}, "abspath": normal, "realpath": normal,
            "expanduser": machine.expand, "expandvars": machine.expand, "sep": "\\",
            "getsize": lambda path: files.entry(path).size, "getmtime": lambda path: files.entry(path).modified,
            "getctime": lambda path: files.entry(path).created,
        },
    )  # fmt: skip


_OF_PATHS = ("join", "basename", "dirname", "split", "splitext", "normpath", "isabs")


def _of_path(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*parts: Any) -> Any:
        if sum(len(part) for part in parts if isinstance(part, str)) > _MAX_PATH:
            raise OSError(206, "The filename or extension is too long")
        return function(*parts)

    return call


def _words(text: Any, *_: Any, **__: Any) -> list[str]:
    if isinstance(text, str) and len(text) > _MAX_PATH:
        raise MemoryError  # a letter at a time
    return shlex.split(text)


def _quietly(do: Callable[..., object], *args: Any, **kwargs: Any) -> None:
    do(*args, **kwargs)


def _remove_file(desktop: Desktop, path: str) -> None:
    files = desktop.machine.files
    if files.entry(path).is_folder:
        raise PermissionError(13, "Access is denied", path)
    files.remove(path)


def _stat(entry: FileEntry) -> SimObject:
    attributes = entry.attributes | (0x10 if entry.is_folder else 0x20)
    return SimObject(
        "os.stat_result",
        {"st_file_attributes": attributes, "st_size": entry.size, "st_mtime": entry.modified,
         "st_ctime": entry.created, "st_mode": 0o40777 if entry.is_folder else 0o100666},
    )  # fmt: skip


def _stream(text: str) -> SimObject:
    return SimObject(
        "stream",
        {
            "read": lambda: text,
            "readlines": lambda: text.splitlines(keepends=True),
            "close": lambda: None,
        },
    )


def _time(desktop: Desktop) -> SimObject:
    clock = desktop.machine.clock
    return SimObject(
        "time",
        {"sleep": clock.advance, "time": clock.timestamp, "monotonic": clock.timestamp, "perf_counter": clock.timestamp,
         "strftime": lambda template, *_: clock.now().strftime(str(template)[:200]), "ctime": lambda *_: clock.now().ctime()},
    )  # fmt: skip


def _datetime(desktop: Desktop) -> SimObject:
    def moment(when: dt.datetime) -> SimObject:
        return SimObject(
            "datetime.datetime",
            {"year": when.year, "month": when.month, "day": when.day, "hour": when.hour, "minute": when.minute,
             "second": when.second, "strftime": lambda template: when.strftime(str(template)[:200]),
             "isoformat": when.isoformat, "timestamp": when.timestamp, "weekday": when.weekday},
            shown=f"{when:%Y-%m-%d %H:%M:%S}",
        )  # fmt: skip

    names = {
        name: (lambda *_: moment(desktop.machine.clock.now()))
        for name in ("now", "today", "utcnow")
    }
    return SimObject(
        "datetime",
        {
            "datetime": SimObject("datetime.datetime", dict(names)),
            "date": SimObject("datetime.date", {"today": names["today"]}),
        },
    )


def _sys(write: Callable[[str], None]) -> SimObject:
    def leave(code: Any = None) -> None:
        raise SystemExit(code)

    stdout = SimObject("stdout", {"write": lambda text: write(str(text)), "flush": lambda: None})
    return SimObject(
        "sys",
        {"exit": leave, "platform": "win32", "argv": ["-c"], "version": "3.10.0 (tags/v3.10.0) [MSC v.1929 64 bit (AMD64)]",
         "version_info": (3, 10, 0, "final", 0), "executable": "C:\\Python310\\python.exe", "stdout": stdout,
         "stderr": SimObject("stderr", {"write": lambda _: None, "flush": lambda: None}), "path": []},
    )  # fmt: skip


def _subprocess(shell: Shell) -> SimObject:
    def run(
        args: Any,
        *,
        shell: Any = False,
        check: bool = False,
        text: Any = None,
        universal_newlines: Any = None,
        encoding: Any = None,
        **_: Any,
    ) -> SimObject:
        result = runner(args, use_shell=bool(shell))
        if check and result.code:
            raise RuntimeError(f"Command {args!r} returned non-zero exit status {result.code}.")
        as_text = bool(text or universal_newlines or encoding)
        out, err = (
            (result.output, result.error)
            if as_text
            else (result.output.encode(), result.error.encode())
        )
        return SimObject(
            "CompletedProcess",
            {"stdout": out, "stderr": err, "returncode": result.code, "args": args, "pid": 4100,
             "communicate": lambda *_, **__: (out, err), "wait": lambda *_, **__: result.code, "poll": lambda: result.code,
             "terminate": lambda: None, "kill": lambda: None},
            shown=f"CompletedProcess(args={args!r}, returncode={result.code})",
        )  # fmt: skip

    def runner(args: Any, *, use_shell: bool) -> Any:
        words = args if isinstance(args, str) else [str(each) for each in args]
        return shell_.run(words) if use_shell and isinstance(words, str) else shell_.start(words)

    shell_ = shell
    return SimObject(
        "subprocess",
        {
            "run": run, "Popen": run, "call": lambda *a, **k: run(*a, **k).get("returncode"),
            "check_call": lambda *a, **k: run(*a, **{**k, "check": True}).get("returncode"),
            "check_output": lambda *a, **k: run(*a, **{**k, "check": True}).get("stdout"),
            "getoutput": lambda command: shell_.run(command).output.rstrip("\n"),
            "PIPE": -1, "STDOUT": -2, "DEVNULL": -3,
        },
    )  # fmt: skip


def _shutil(desktop: Desktop) -> SimObject:
    files = desktop.machine.files

    def into(source: str, target: str) -> str:
        return ntpath.join(target, ntpath.basename(source)) if files.is_folder(target) else target

    def copy(source: str, target: str) -> str:
        place = into(source, target)
        files.write(place, files.read(source))
        return place

    return SimObject(
        "shutil",
        {
            "copy": copy, "copy2": copy, "copyfile": copy, "copytree": lambda s, t, **_: files.copy(s, t),
            "move": lambda s, t: files.move(s, into(s, t)), "rmtree": lambda path, *_, **__: files.remove(path, recursive=True),
            "which": lambda name: f"C:\\Windows\\System32\\{name}.exe" if desktop.programs.can_start(name) else None,
        },
    )  # fmt: skip


def _glob(desktop: Desktop) -> SimObject:
    files = desktop.machine.files

    def find(pattern: str, *, recursive: bool = False, **_: Any) -> list[str]:
        folder, wanted = ntpath.split(normal(str(pattern)))
        if "**" in folder and recursive:
            folder = folder.split("**")[0].rstrip("\\")
            inside = [e.path for e in files.below(folder)] if files.is_folder(folder) else []
        else:
            inside = [e.path for e in files.children(folder)] if files.is_folder(folder) else []
        return [
            path
            for path in inside
            if fnmatch.fnmatchcase(ntpath.basename(path).casefold(), wanted.casefold())
        ]

    return SimObject("glob", {"glob": find, "iglob": find})


def _winreg(desktop: Desktop) -> SimObject:  # noqa: C901  # one closure per function of the module
    registry = desktop.machine.registry

    def handle(path: str) -> SimObject:
        return SimObject(
            "PyHKEY", {"_path": path, "Close": lambda: None}, leave=lambda: None, shown="<PyHKEY>"
        )

    def path_of(key: Any, below: str = "") -> str:
        base = key.get("_path") if isinstance(key, SimObject) else str(key)
        return "\\".join(split_key(f"{base}\\{below}" if below else base)).rstrip("\\")

    def open_key(key: Any, below: str = "", *_: Any, **__: Any) -> SimObject:
        path = path_of(key, below)
        if not registry.has_key(path):
            raise FileNotFoundError(2, "The system cannot find the file specified")
        return handle(path)

    def create_key(key: Any, below: str = "", *_: Any, **__: Any) -> SimObject:
        path = path_of(key, below)
        registry.make_key(path)
        return handle(path)

    def query(key: Any, name: Any) -> tuple[Any, int]:
        found = registry.get(path_of(key), str(name or ""))
        if found is None:
            raise FileNotFoundError(2, "The system cannot find the file specified")
        data = bytes(found.data) if isinstance(found.data, tuple) else found.data
        return data, _KINDS[found.kind]

    def put(key: Any, name: Any, _: Any, kind: int, value: Any) -> None:
        kinds = {number: name_ for name_, number in _KINDS.items()}
        if kind not in kinds:
            raise NotSimulatedError(f"registry values of type {kind}")
        data = tuple(value) if isinstance(value, bytes) else value
        registry.set(path_of(key), str(name or ""), data, kinds[kind])  # type: ignore[arg-type]

    def delete(key: Any, name: str) -> None:
        if not registry.delete(path_of(key), name):
            raise FileNotFoundError(2, "The system cannot find the file specified")

    return SimObject(
        "winreg",
        {
            "OpenKey": open_key, "OpenKeyEx": open_key, "CreateKey": create_key, "CreateKeyEx": create_key,
            "QueryValueEx": query, "SetValueEx": put, "DeleteValue": delete, "CloseKey": lambda _: None,
            "DeleteKey": lambda key, below: registry.delete(path_of(key, below)) and None,
            "KEY_READ": 0x20019, "KEY_WRITE": 0x20006, "KEY_ALL_ACCESS": 0xF003F, "KEY_SET_VALUE": 2,
            **{hive: hive for hive in _HIVES}, **_KINDS,
        },
    )  # fmt: skip


def _json() -> SimObject:
    return SimObject(
        "json",
        {
            "dumps": lambda value, indent=None, **_: json.dumps(value, indent=min(indent, 8) if indent else None),
            "loads": json.loads, "load": lambda file: json.loads(file.get("read")()),
            "dump": lambda value, file, **_: file.get("write")(json.dumps(value)) and None,
        },
    )  # fmt: skip
