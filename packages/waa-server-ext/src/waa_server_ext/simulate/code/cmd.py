"""cmd.exe: command lines with pipes, redirections and conditions, carried out on the machine."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence

from waa_server_ext.python_subset.budget import Budget
from waa_server_ext.python_subset.values import StopRunning
from waa_server_ext.simulate.code.commands import COMMANDS
from waa_server_ext.simulate.code.powershell import run_powershell
from waa_server_ext.simulate.code.python import run_child
from waa_server_ext.simulate.code.shell import Result, program_name, split_line
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.machine.computer import Machine
from waa_server_ext.simulate.machine.filesystem import HOME, normal

_TOKEN = re.compile(r'"[^"]*"?|&&|\|\||[|&<]|2>&1|[12]?>>?|[^\s"|&<>]+|\s+')
_MAX_LINE = 20_000
_MAX_PROCESS_LINE = 250_000  # programs of agents may be longer than Windows lets them be
_MAX_NESTING = 8
_MAX_OUTPUT = 16_000_000


class CmdShell:
    """cmd.exe, running command lines on a desktop; one per request, so that `cd` and `set` do not persist."""

    def __init__(self, desktop: Desktop) -> None:
        self.desktop = desktop
        self.cwd = HOME
        self.variables: dict[str, str] = {}
        self._nesting = 0

    @property
    def machine(self) -> Machine:
        """The computer it runs on."""
        return self.desktop.machine

    def fresh(self) -> CmdShell:
        """Return a shell in the state of a new process: at home and without variables from `set`."""
        return CmdShell(self.desktop)

    def start(self, command: str | Sequence[str]) -> Result:
        """Start a process as CreateProcess does, which knows neither built-in commands nor pipes.

        Raises:
            FileNotFoundError: The program does not exist.
        """
        line = command if isinstance(command, str) else subprocess.list2cmdline(command)
        words = split_line(line) if isinstance(command, str) else list(command)
        if not words:
            raise FileNotFoundError(2, "The system cannot find the file specified", None)
        if len(line) > _MAX_PROCESS_LINE:
            raise OSError("[WinError 206] The filename or extension is too long")
        name = program_name(words[0])
        if name in {"cmd", "powershell", "pwsh", "python", "python3", "py"}:
            return self._interpreter(name, words[1:], line)
        if name in _EXTERNAL:
            return self._command(words, "")
        if self.desktop.programs.find(words[0]) is not None:
            return self._program(words)
        raise FileNotFoundError(2, "The system cannot find the file specified", None)

    def run(self, line: str | Sequence[str]) -> Result:
        """Run a line as `cmd /c` does."""
        text = line if isinstance(line, str) else subprocess.list2cmdline(line)
        if len(text) > _MAX_LINE:
            return Result(1, "", "The command line is too long.\n")
        self._nesting += 1
        try:
            if self._nesting > _MAX_NESTING:
                return Result(1, "", "The command is nested too deeply.\n")
            for name, value in self.variables.items():
                text = text.replace(f"%{name}%", value)
            text = self.machine.expand(text) if "%" in text else text
            tokens = _TOKEN.findall(text.replace("^\n", "").replace("\r", "").replace("\n", "&"))
            output, error, code = "", "", 0
            run_next, pipeline = True, []
            for symbol in [*tokens, "&"]:
                if symbol not in {"&", "&&", "||"}:
                    pipeline.append(symbol)
                    continue
                if run_next and any(part.strip() for part in pipeline):
                    result = self._pipeline(pipeline)
                    output, error, code = output + result.output, error + result.error, result.code
                    Budget.look()
                    if len(output) + len(error) > _MAX_OUTPUT:
                        raise StopRunning("the command wrote too much")
                pipeline = []
                run_next = symbol == "&" or (code == 0) is (symbol == "&&")
            return Result(code, output, error)
        finally:
            self._nesting -= 1

    def path(self, text: str) -> str:
        """Return a word as an absolute path."""
        return normal(text.strip('"'), self.cwd)

    def _pipeline(self, tokens: list[str]) -> Result:
        parts: list[list[str]] = [[]]
        for symbol in tokens:
            if symbol == "|":
                parts.append([])
            else:
                parts[-1].append(symbol)
        given, errors, result = "", "", Result()
        for part in parts:
            result = self._redirected(part, given)
            given, errors = result.output, errors + result.error
        return Result(result.code, result.output, errors)

    def _redirected(self, tokens: list[str], given: str) -> Result:
        kept, target, append, merge, which = [], None, False, False, "1"
        pending = after = False
        for symbol in tokens:
            if symbol == "2>&1":
                merge = True
            elif re.fullmatch(r"[12]?>>?", symbol):
                which, append, pending = (
                    ("2" if symbol[0] == "2" else "1"),
                    symbol.endswith(">>"),
                    True,
                )
            elif pending and symbol.strip():
                target, pending, after = symbol, False, True
                continue
            elif not pending and not (after and symbol.isspace()):
                kept.append(symbol)
            after = False
        words = split_line("".join(kept))
        if not words:
            return Result()
        result = self._command(words, given, "".join(kept).lstrip())
        if merge:
            result = Result(result.code, result.output + result.error)
        return result if target is None else self._written(result, target, which, append=append)

    def _written(self, result: Result, target: str, which: str, *, append: bool) -> Result:
        text = result.error if which == "2" else result.output
        rest = Result(
            result.code, result.output if which == "2" else "", "" if which == "2" else result.error
        )
        if target.strip('"').casefold() == "nul":
            return rest
        path, files = self.path(target), self.machine.files
        try:
            old = files.read(path) if append and files.is_file(path) else b""
            files.write(path, old + text.replace("\n", "\r\n").encode())
        except OSError:
            return Result(
                1, rest.output, rest.error + "The system cannot find the path specified.\n"
            )
        return rest

    def _command(self, words: list[str], given: str, raw: str = "") -> Result:
        name = program_name(words[0])
        if name in {"cmd", "powershell", "pwsh", "python", "python3", "py"}:
            return self._interpreter(name, words[1:], raw or subprocess.list2cmdline(words))
        command = COMMANDS.get(name)
        if command is not None:
            try:
                code, output, error = command(self, words[1:], given, raw)
            except OSError as problem:
                return Result(1, "", f"{_message_of(problem)}\n")
            return Result(code, output, error)
        if self.desktop.programs.can_start(words[0]):
            return self._program(words)
        if self.machine.files.is_file(self.path(words[0])):
            self.desktop.programs.open_path(self.path(words[0]))
            return Result()
        text = f"'{words[0]}' is not recognized as an internal or external command,\noperable program or batch file.\n"
        return Result(1, "", text)

    def _program(self, words: list[str]) -> Result:
        programs = self.desktop.programs
        programs.launch(words)
        if program_name(words[0]) == "code" and "--list-extensions" in words:
            return Result(0, "".join(f"{each}\n" for each in self.machine.extensions))
        return Result()

    def _interpreter(self, name: str, words: Sequence[str], line: str) -> Result:
        self._nesting += 1
        try:
            if self._nesting > _MAX_NESTING:
                return Result(1, "", "The command is nested too deeply.\n")
            if name == "cmd":
                found = re.search(r"\s/[ck]\s*(.*)$", line, re.IGNORECASE | re.DOTALL)
                rest = found.group(1).strip() if found else ""
                if (
                    rest.startswith('"')
                    and rest.endswith('"')
                    and len(rest) > 1
                    and rest.count('"') != 2  # its place in the words
                ) or (
                    rest.startswith('"')
                    and rest.endswith('"')
                    and " " in rest
                    and not self.machine.files.exists(rest.strip('"'))
                ):  # one quoted word stays
                    rest = rest[1:-1]
                return self.run(rest)
            if name in {"powershell", "pwsh"}:
                if len(line) > _MAX_LINE:
                    return Result(1, "", "The command line is too long.\n")
                return Result(*run_powershell(self, list(words)))
            return Result(*run_child(self, list(words)))
        finally:
            self._nesting -= 1


def _message_of(error: OSError) -> str:
    known = {2: "The system cannot find the file specified.", 13: "Access is denied.",
             20: "The directory name is invalid.", 41: "The directory is not empty."}  # fmt: skip
    return known.get(error.errno or 0, error.strerror or str(error))


_EXTERNAL = {
    "taskkill", "tasklist", "reg", "net", "fsutil", "findstr", "attrib", "whoami", "hostname", "timeout", "where",
    "icacls", "systeminfo", "ipconfig", "shutdown", "tzutil", "clip", "robocopy", "xcopy",
}  # fmt: skip
