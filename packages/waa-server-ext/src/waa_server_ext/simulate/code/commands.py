"""The built-in commands of cmd.exe and the small programs that come with Windows."""

from __future__ import annotations

import datetime as dt
import fnmatch
import ntpath
from collections.abc import Callable

from waa_server_ext.simulate.code.shell import Shell
from waa_server_ext.simulate.machine.computer import TIME_ZONES
from waa_server_ext.simulate.machine.filesystem import HIDDEN, READ_ONLY, FileEntry
from waa_server_ext.simulate.machine.registry import RegistryValue, split_key

Outcome = tuple[int, str, str]
_OK: Outcome = (0, "", "")
_MISSING = "The system cannot find the file specified.\n"


def _flags(words: list[str]) -> tuple[set[str], list[str]]:
    flags = {word.casefold() for word in words if word.startswith("/")}
    return flags, [word for word in words if not word.startswith("/")]


def _matching(shell: Shell, word: str) -> list[FileEntry]:
    """Return the entries that match `*` and `?` in a word; without them, the entry at that path if it exists."""
    path, files = shell.path(word), shell.machine.files
    folder, pattern = ntpath.split(path)
    if "*" not in pattern and "?" not in pattern:
        found = files.find(path)
        return [found] if found else []
    inside = files.children(folder) if files.is_folder(folder) else []
    wanted = "*" if pattern == "*.*" else pattern.casefold()
    return [entry for entry in inside if fnmatch.fnmatchcase(entry.name.casefold(), wanted)]


def _echo(_shell: Shell, _words: list[str], _given: str, raw: str) -> Outcome:
    text = raw[4:]
    return (
        (0, f"{text[1:] if text[:1] in {' ', '.'} else text}\n", "")
        if text.strip(" .")
        else (0, "\n", "")
    )


def _dir(shell: Shell, words: list[str], *_more: str) -> Outcome:
    flags, rest = _flags(words)
    path = shell.path(rest[0]) if rest else shell.cwd
    files = shell.machine.files
    entries = files.children(path) if files.is_folder(path) else _matching(shell, path)
    if "/a" not in flags:
        entries = [entry for entry in entries if not entry.attributes & HIDDEN]
    if not files.is_folder(path) and not entries:
        return 1, "", "File Not Found\n"
    if "/b" in flags:
        return 0, "".join(f"{entry.name}\n" for entry in entries), ""
    lines = [" Volume in drive C has no label.", "", f" Directory of {path}", ""]
    lines += [_dir_line(entry) for entry in entries]
    plain = [entry for entry in entries if not entry.is_folder]
    lines += [f"{len(plain):>16} File(s) {sum(e.size for e in plain):>14,} bytes",
              f"{len(entries) - len(plain):>16} Dir(s)  13,652,762,624 bytes free"]  # fmt: skip
    return 0, "\n".join(lines) + "\n", ""


def _dir_line(entry: FileEntry) -> str:
    when = dt.datetime.fromtimestamp(entry.modified, tz=dt.timezone.utc)
    size = "<DIR>         " if entry.is_folder else f"{entry.size:>14,}"
    return f"{when:%m/%d/%Y  %I:%M %p}    {size} {entry.name}"


def _type(shell: Shell, words: list[str], *_more: str) -> Outcome:
    parts = [shell.machine.files.read(shell.path(word)) for word in words]
    return 0, "".join(part.decode("utf-8", "replace").replace("\r\n", "\n") for part in parts), ""


def _copy(shell: Shell, words: list[str], *_more: str) -> Outcome:
    _, rest = _flags(words)
    return _transfer(shell, rest, move=False)


def _move(shell: Shell, words: list[str], *_more: str) -> Outcome:
    _, rest = _flags(words)
    return _transfer(shell, rest, move=True)


def _transfer(shell: Shell, words: list[str], *, move: bool) -> Outcome:
    files = shell.machine.files
    sources = _matching(shell, words[0]) if words else []
    target = shell.path(words[1]) if len(words) > 1 else shell.cwd
    if not sources:
        return 1, "", _MISSING
    for entry in sources:
        place = ntpath.join(target, entry.name) if files.is_folder(target) else target
        if place.casefold() == entry.path.casefold():
            return 1, "", "The file cannot be copied onto itself.\n"
        if files.is_file(place):
            files.remove(place)
        if move:
            files.move(entry.path, place)
        else:
            files.copy(entry.path, place)
    word = "moved" if move else "copied"
    return 0, f"        {len(sources)} file(s) {word}.\n", ""


def _delete(shell: Shell, words: list[str], *_more: str) -> Outcome:
    _, rest = _flags(words)
    found = [entry for word in rest for entry in _matching(shell, word)]
    for entry in found:
        inside = shell.machine.files.children(entry.path) if entry.is_folder else [entry]
        for each in inside:
            if not each.is_folder:
                shell.machine.files.remove(each.path)
    return _OK if found else (0, "", f"Could Not Find {shell.path(rest[0]) if rest else ''}\n")


def _remove_folder(shell: Shell, words: list[str], *_more: str) -> Outcome:
    flags, rest = _flags(words)
    for word in rest:
        if not shell.machine.files.exists(shell.path(word)):
            return 2, "", _MISSING
        shell.machine.files.remove(shell.path(word), recursive="/s" in flags)
    return _OK


def _make_folder(shell: Shell, words: list[str], *_more: str) -> Outcome:
    for word in words:
        path = shell.path(word)
        if shell.machine.files.exists(path):
            return 1, "", f"A subdirectory or file {word} already exists.\n"
        shell.machine.files.make_folder(path, parents=True)
    return _OK


def _rename(shell: Shell, words: list[str], *_more: str) -> Outcome:
    if len(words) < 2:  # from and to
        return 1, "", "The syntax of the command is incorrect.\n"
    source = shell.path(words[0])
    shell.machine.files.move(source, ntpath.join(ntpath.dirname(source), words[1]))
    return _OK


def _attrib(shell: Shell, words: list[str], *_more: str) -> Outcome:
    # sign and letter
    changes = [word for word in words if word[:1] in {"+", "-"} and len(word) == 2]
    _, rest = _flags([word for word in words if word not in changes])
    bits = {"h": HIDDEN, "r": READ_ONLY}
    lines = ""
    for entry in (each for word in rest for each in _matching(shell, word)):
        attributes = entry.attributes
        for change in changes:
            bit = bits.get(change[1].casefold(), 0)
            attributes = attributes | bit if change[0] == "+" else attributes & ~bit
        shell.machine.files.update(entry.path, attributes=attributes)
        shown = f"{'H' if attributes & HIDDEN else ' '}{'R' if attributes & READ_ONLY else ' '}"
        lines += "" if changes else f"A   {shown}       {entry.path}\n"
    return 0, lines, ""


def _findstr(shell: Shell, words: list[str], given: str, *_more: str) -> Outcome:
    flags, rest = _flags(words)
    if not rest:
        return 2, "", "FINDSTR: Bad command line\n"
    wanted = [rest[0]] if any(flag.startswith("/c:") for flag in flags) else rest[0].split()
    fold = "/i" in flags
    text = given
    for word in rest[1:]:
        text += shell.machine.files.read(shell.path(word)).decode("utf-8", "replace")

    def has(line: str) -> bool:
        return any((w.casefold() in line.casefold()) if fold else (w in line) for w in wanted)

    lines = [line for line in text.splitlines() if has(line) is ("/v" not in flags)]
    return (0 if lines else 1), "".join(f"{line}\n" for line in lines), ""


def _start(shell: Shell, words: list[str], *_more: str) -> Outcome:
    if shell.desktop.programs.launch(["start", *words]):
        return _OK
    return 1, "", f"The system cannot find the file {words[0] if words else ''}.\n"


def _taskkill(shell: Shell, words: list[str], *_more: str) -> Outcome:
    lower = [word.casefold() for word in words]
    names = [words[i + 1] for i, word in enumerate(lower[:-1]) if word == "/im"]
    error, output = "", ""
    for name in names:
        if shell.desktop.programs.kill(name):
            output += f'SUCCESS: The process "{name}" has been terminated.\n'
        else:
            error += f'ERROR: The process "{name}" not found.\n'
    return (128 if error else 0), output, error


def _tasklist(shell: Shell, *_more: object) -> Outcome:
    running = {window.exe: window.pid for window in shell.desktop.windows}
    lines = [
        "Image Name                     PID",
        "========================= ========",
        "explorer.exe                  3120",
    ]
    lines += [
        f"{exe:<25} {pid:>8}" for exe, pid in sorted(running.items()) if exe != "explorer.exe"
    ]
    return 0, "\n".join(lines) + "\n", ""


def registry_text(value: RegistryValue) -> str:
    """Return a value's data as `reg query` shows it."""
    if isinstance(value.data, tuple):
        return bytes(value.data).hex().upper()
    return f"0x{value.data:x}" if isinstance(value.data, int) else str(value.data)


def _reg(shell: Shell, words: list[str], *_more: str) -> Outcome:
    if len(words) < 2:  # verb and key
        return 1, "", "ERROR: Invalid syntax.\n"
    verb, key, rest = words[0].casefold(), words[1], words[2:]
    options = {
        rest[i].casefold(): rest[i + 1] for i in range(len(rest) - 1) if rest[i].startswith("/")
    }
    name = options.get("/v", "")
    registry = shell.machine.registry
    if verb == "add":
        return _reg_add(shell, key, name, options)
    if verb == "query":
        values = [
            v
            for v in registry.values(key)
            if "/v" not in options or v.name.casefold() == name.casefold()
        ]
        if not values and not ("/v" not in options and registry.has_key(key)):
            return (
                1,
                "",
                "ERROR: The system was unable to find the specified registry key or value.\n",
            )
        shown = "\\".join(split_key(key))
        lines = [f"    {v.name or '(Default)'}    {v.kind}    {registry_text(v)}" for v in values]
        return 0, "\n".join(["", shown, *lines, "", ""]), ""
    if verb == "delete":
        done = registry.delete(key, name if "/v" in options else None)
        text = "ERROR: The system was unable to find the specified registry key or value.\n"
        return (0, "The operation completed successfully.\n", "") if done else (1, "", text)
    return 1, "", "ERROR: Invalid syntax.\n"


def _reg_add(shell: Shell, key: str, name: str, options: dict[str, str]) -> Outcome:
    kind, data = options.get("/t", "REG_SZ").upper(), options.get("/d", "")
    registry = shell.machine.registry
    try:
        if kind in {"REG_DWORD", "REG_QWORD"}:
            registry.set(key, name, int(data or "0", 0), "REG_DWORD")
        elif kind == "REG_BINARY":
            registry.set(key, name, tuple(bytes.fromhex(data)), "REG_BINARY")
        else:
            registry.set(key, name, data, "REG_SZ")
    except ValueError:
        return 1, "", "ERROR: Invalid syntax.\n"
    return 0, "The operation completed successfully.\n", ""


def _net(shell: Shell, words: list[str], *_more: str) -> Outcome:
    if words[:1] != ["user"]:
        return 1, "", "The syntax of this command is not simulated.\n"
    flags, rest = _flags(words[1:])
    users = shell.machine.users
    if "/add" in flags and rest:
        if rest[0] in users:
            return 2, "", "The account already exists.\n"
        users.append(rest[0])
    elif "/delete" in flags and rest and rest[0] in users:
        users.remove(rest[0])
    elif not rest:
        return 0, "\n".join(users) + "\n", ""
    return 0, "The command completed successfully.\n\n", ""


def _fsutil(shell: Shell, words: list[str], *_more: str) -> Outcome:
    if (
        [word.casefold() for word in words[:2]] != ["file", "createnew"]
        or len(words) < 4  # its place in the words
        or not words[3].isdigit()
    ):  # name and length
        return 1, "", "Usage: fsutil file createNew <filename> <length>\n"
    path = shell.path(words[2])
    if shell.machine.files.exists(path):
        return 1, "", "Error:  The file exists.\n"
    shell.machine.files.write(path, b"", size=min(int(words[3]), 2**28))
    return 0, f"File {path} is created\n", ""


def _icacls(shell: Shell, words: list[str], *_more: str) -> Outcome:
    if not words:
        return 1, "", "Invalid parameter\n"
    entry = shell.machine.files.entry(shell.path(words[0]))
    readers = set(entry.readers)
    for number, word in enumerate(words[:-1]):
        user, _, right = words[number + 1].partition(":")
        if word.casefold() == "/grant" and "R" in right and "F" not in right:
            readers.add(user.strip('"'))
        elif word.casefold() in {"/remove", "/deny"}:
            readers.discard(user.strip('"'))
    shell.machine.files.update(entry.path, readers=tuple(sorted(readers)))
    return 0, f"processed file: {words[0]}\nSuccessfully processed 1 files\n", ""


def _cd(shell: Shell, words: list[str], *_more: str) -> Outcome:
    _, rest = _flags(words)
    if not rest:
        return 0, f"{shell.cwd}\n", ""
    path = shell.path(rest[0])
    if not shell.machine.files.is_folder(path):
        return 1, "", "The system cannot find the path specified.\n"
    shell.cwd = path
    return _OK


def _set(shell: Shell, _words: list[str], _given: str, raw: str) -> Outcome:
    name, equals, value = raw[3:].strip().strip('"').partition("=")
    if equals:
        shell.variables[name.strip()] = value[:1000]
        return _OK
    known = {**shell.machine.environment, **shell.variables}
    return 0, "".join(f"{key}={text}\n" for key, text in sorted(known.items())), ""


def _where(shell: Shell, words: list[str], *_more: str) -> Outcome:
    if words and (shell.desktop.programs.can_start(words[0]) or words[0].casefold() in COMMANDS):
        return 0, f"C:\\Windows\\System32\\{words[0]}.exe\n", ""
    return 1, "", "INFO: Could not find files for the given pattern(s).\n"


def _tzutil(shell: Shell, words: list[str], *_more: str) -> Outcome:
    if [word.casefold() for word in words[:1]] == ["/s"] and len(words) > 1:
        zones = [zone for zone in TIME_ZONES if zone.standard.casefold() == words[1].casefold()]
        if not zones:
            return 1, "", "ERROR: The time zone ID is not valid.\n"
        shell.machine.zone = zones[0]
        return _OK
    return 0, shell.machine.zone.standard, ""


def _clip(shell: Shell, _words: list[str], given: str, *_more: str) -> Outcome:
    shell.machine.clipboard.copy_text(given)
    return _OK


def _sleep(shell: Shell, words: list[str], *_more: str) -> Outcome:
    seconds = next((word for word in words if word.isdigit()), "0")
    shell.machine.clock.advance(int(seconds[:6]))
    return _OK


def _exit(_: Shell, words: list[str], __: str, ___: str) -> Outcome:
    code = words[-1] if words else ""
    return (int(code) if code.lstrip("-").isdecimal() else 0), "", ""


def _printing(text: str) -> Callable[[Shell, list[str], str, str], Outcome]:
    return lambda *_: (0, text, "")


COMMANDS: dict[str, Callable[[Shell, list[str], str, str], Outcome]] = {
    "echo": _echo, "echo.": _echo, "dir": _dir, "type": _type, "copy": _copy, "xcopy": _copy, "robocopy": _copy,
    "move": _move, "del": _delete, "erase": _delete, "rd": _remove_folder, "rmdir": _remove_folder,
    "md": _make_folder, "mkdir": _make_folder, "ren": _rename, "rename": _rename, "attrib": _attrib,
    "findstr": _findstr, "find": _findstr, "start": _start, "taskkill": _taskkill, "tasklist": _tasklist,
    "reg": _reg, "net": _net, "fsutil": _fsutil, "icacls": _icacls, "cd": _cd, "chdir": _cd, "set": _set,
    "where": _where, "tzutil": _tzutil, "clip": _clip, "timeout": _sleep, "ver": _printing("\nMicrosoft Windows [Version 10.0.22621.1]\n"),
    "whoami": _printing("winarena\\docker\n"), "hostname": _printing("WINARENA\n"), "cls": _printing(""), "rem": _printing(""),
    "exit": _exit, "shutdown": _printing(""), "ipconfig": _printing("\nWindows IP Configuration\n"),
    "systeminfo": _printing("\nOS Name:                   Microsoft Windows 11 Enterprise Evaluation\n"), "pause": _printing(""),
}  # fmt: skip
