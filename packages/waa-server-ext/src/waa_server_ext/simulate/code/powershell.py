"""PowerShell: pipelines with `if`, variables, strings and the cmdlets of `cmdlets`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from waa_server_ext.simulate.code.cmdlets import ALIASES, CMDLETS, PowerShellError
from waa_server_ext.simulate.code.shell import Shell, fits

_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"`]|`.)*"|[|;{}()]|[^\s|;{}()'"]+""")
_MAX = 20_000


def run_powershell(shell: Shell, words: list[str]) -> tuple[int, str, str]:
    """Run `powershell` with these arguments; return exit code, output and errors."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        flag = rest.pop(0).casefold()
        if flag in {"-command", "-c"}:
            break
        if flag in {"-executionpolicy", "-version", "-windowstyle"} and rest:
            rest.pop(0)
    text = " ".join(rest)[:_MAX]
    outer = re.fullmatch(r"\s*&\s*\{(.*)\}\s*", text, re.DOTALL)
    runner = Runner(shell)
    try:
        runner.block(_TOKEN.findall(outer.group(1) if outer else text))
    except PowerShellError as error:
        runner.errors.append(str(error))
    except OSError as error:
        runner.errors.append(f"{error.strerror or error}: {error.filename or ''}")
    return (
        (1 if runner.errors else 0),
        "".join(runner.output),
        "".join(f"{each}\n" for each in runner.errors),
    )


class Runner:
    """Runs the statements of one script and collects their output."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.output: list[str] = []
        self.errors: list[str] = []
        self._names: dict[str, Any] = {}

    def block(self, tokens: list[str]) -> None:
        """Run the statements of a block."""
        statement: list[str] = []
        depth = 0
        for symbol in [*tokens, ";"]:
            depth += (symbol in {"{", "("}) - (symbol in {"}", ")"})
            if symbol == ";" and depth <= 0:
                if statement:
                    if statement[0].casefold() == "if":
                        self._if(statement)
                    elif statement[0].startswith("$") and statement[1:2] == ["="]:
                        values = self._pipeline(statement[2:])
                        self._names[statement[0].casefold()] = (
                            values[0] if len(values) == 1 else values
                        )
                    else:
                        for value in self._pipeline(statement):
                            self.output.append(_shown(value))
                statement = []
            else:
                statement.append(symbol)

    def _if(self, tokens: list[str]) -> None:
        condition, rest = _enclosed(tokens[1:], "(", ")")
        body, rest = _enclosed(rest, "{", "}")
        values = self._pipeline(condition)
        if bool(values and values[0]):
            self.block(body)
        elif rest and rest[0].casefold() == "else":
            self.block(_enclosed(rest[1:], "{", "}")[0])

    def _pipeline(self, tokens: list[str]) -> list[Any]:
        values: list[Any] = []
        parts: list[list[str]] = [[]]
        depth = 0
        for symbol in tokens:
            depth += (symbol in {"{", "("}) - (symbol in {"}", ")"})
            if symbol == "|" and depth == 0:
                parts.append([])
            else:
                parts[-1].append(symbol)
        for number, part in enumerate(parts):
            values = self._command(part, values, first=number == 0)
        return values

    def _command(self, tokens: list[str], given: list[Any], *, first: bool) -> list[Any]:
        if not tokens:
            return given
        if tokens[0].casefold() == "-not":
            values = self._command(_unwrapped(tokens[1:]), given, first=first)
            return [not (values and values[0])]
        if tokens[0] == "(":
            inner, rest = _enclosed(tokens, "(", ")")
            values = self._pipeline(inner)
            return self._compared(values, rest) if rest else values
        if first and (tokens[0][0] in "'\"$" or tokens[0].lstrip("-").isdigit()):
            values, rest = [self._word(tokens[0])], tokens[1:]
            while rest[:1] == [","] and len(rest) > 1:
                values.append(self._word(rest[1]))
                rest = rest[2:]
            return self._compared(values, rest)
        name = tokens[0].casefold()
        command = CMDLETS.get(ALIASES.get(name, name))
        if command is None:
            return self._program(tokens)
        named, plain = self._arguments(tokens[1:])
        return command(self.shell, named, plain, given)

    def _compared(self, values: list[Any], rest: list[str]) -> list[Any]:
        if len(rest) < 2:  # operator and operand
            return values
        left, right = (
            str(values[0] if values else "").casefold(),
            str(self._word(rest[1])).casefold(),
        )
        known: dict[str, Callable[[], bool]] = {
            "-eq": lambda: left == right, "-ne": lambda: left != right,
            "-like": lambda: fits(left, right),
        }  # fmt: skip
        if rest[0].casefold() not in known:
            raise PowerShellError(f"the operator {rest[0]} is not simulated")
        return [known[rest[0].casefold()]()]

    def _program(self, tokens: list[str]) -> list[Any]:
        words = [str(self._word(symbol)) for symbol in tokens]
        result = self.shell.run(words)
        if result.error and "not recognized" in result.error:
            raise PowerShellError(
                f"{words[0]} : The term '{words[0]}' is not recognized as the name of a cmdlet."
            )
        if result.error:
            self.errors.append(result.error.rstrip("\n"))
        return [result.output.rstrip("\n")] if result.output else []

    def _arguments(self, tokens: list[str]) -> tuple[dict[str, Any], list[Any]]:
        named: dict[str, Any] = {}
        plain: list[Any] = []
        # Join the parts of a list: `Name,PackageFullName` and `A, B`
        rest: list[str] = []
        for symbol in tokens:
            if rest and (rest[-1].endswith(",") or symbol.startswith(",")):
                rest[-1] += symbol
            else:
                rest.append(symbol)
        at = 0
        while at < len(rest):
            symbol = rest[at]
            if symbol.startswith("-") and len(symbol) > 1 and not symbol[1].isdigit():
                following = rest[at + 1] if at + 1 < len(rest) else None
                if following is None or (
                    following.startswith("-") and not following[1:2].isdigit()
                ):
                    named[symbol[1:].casefold()] = True
                else:
                    named[symbol[1:].casefold()] = self._word(following)
                    at += 1
            elif symbol not in {"{", "}", "(", ")"}:
                plain.append(self._word(symbol))
            at += 1
        return named, plain

    def _word(self, symbol: str) -> Any:
        if symbol.startswith("'"):
            return symbol[1:-1].replace("''", "'")
        if symbol.startswith('"'):
            text = re.sub(r"`(.)", r"\1", symbol[1:-1])
            return re.sub(
                r"\$env:(\w+)",
                lambda m: self.shell.machine.environment.get(m.group(1).upper(), ""),
                text,
            )
        if symbol.casefold().startswith("$env:"):
            return (
                self.shell.machine.environment.get(
                    symbol[5:].split("\\", maxsplit=1)[0].upper(), ""
                )
                + symbol[5 + len(symbol[5:].split("\\", maxsplit=1)[0]) :]
            )
        if symbol.startswith("$"):
            return {"$true": True, "$false": False, "$null": None}.get(
                symbol.casefold(), self._names.get(symbol.casefold())
            )
        return symbol


def _unwrapped(tokens: list[str]) -> list[str]:
    return _enclosed(tokens, "(", ")")[0] if tokens[:1] == ["("] else tokens


def _enclosed(tokens: list[str], opening: str, closing: str) -> tuple[list[str], list[str]]:
    if tokens[:1] != [opening]:
        raise PowerShellError(f"Missing '{opening}' in the statement.")
    depth = 0
    for number, symbol in enumerate(tokens):
        depth += (symbol == opening) - (symbol == closing)
        if depth == 0:
            return tokens[1:number], tokens[number + 1 :]
    raise PowerShellError(f"Missing closing '{closing}' in the statement.")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "".join(f"{key} : {item}\n" for key, item in value.items()) + "\n"
    if isinstance(value, (list, tuple)):
        return "".join(_shown(each) for each in value)
    return "" if value is None else f"{value}\n"
