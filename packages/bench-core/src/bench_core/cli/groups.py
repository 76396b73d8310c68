"""The click group every runner's command line starts from."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import click

from bench_core import exit_codes
from bench_core.cli.tables import echo_wrapped
from bench_core.errors import BenchError, InputError
from bench_core.files.space import is_exhausted
from bench_core.scheduling.interrupts import SIGNALS, handlers_given_back
from bench_core.terminal import plain_lines

_DEBUG = "bench_core.cli.debug"
_NOTHING_LEFT = (
    "there is no memory, or no thread, left: allow more (`ulimit -v`, `ulimit -u`, a container's limit) and "
    "run the same command again"
)
_PLACES = ("TMPDIR", "TEMP", "TMP", "PROCTOR_LOCK_DIR")


class CommandFailed(click.ClickException):
    """An error shown to the user without a traceback; exit code 1."""

    exit_code = exit_codes.FELL_SHORT

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to standard error, without control characters for the terminal."""
        echo_wrapped(f"Error: {plain_lines(self.format_message())}", file or sys.stderr)


class CommandUndecided(CommandFailed):
    """A command that gives a verdict cannot decide; exit code 3."""

    exit_code = exit_codes.UNDECIDED


class _InputRefused(CommandFailed):
    exit_code = exit_codes.USAGE


class BenchGroup(click.Group):
    """A command group that shows errors in plain words, and an example in the help of each command.

    `BenchError` and `OSError` become `Error: ...` on standard error, after the traceback if
    `--debug` asks for it. The exit code is 2 for errors in the input, files that cannot be read or
    written included, and 1 for a system that failed. Ctrl-C ends with 130. Any other exception is
    a fault of ours: its traceback is shown and the exit code is 70, which no command gives a verdict
    with, as 1 would be.

    Args:
        args: As click takes them.
        examples: Command lines by the words of the command, such as `{"assets list": "..."}`; several are
            separated by line ends.
        settings: As click takes them.
    """

    def __init__(
        self, *args: Any, examples: Mapping[str, str] | None = None, **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self._examples = dict(examples or {})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, with its examples."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            _show_examples(command, cmd_name, self._examples)
        return command

    def main(self, args: Sequence[str] | None = None, *more: Any, **settings: Any) -> Any:
        """Run the command line; a further Ctrl-C does not change how an interrupted one ends.

        Without `args` it is the process's own, which ends with it; otherwise the caller goes on, and gets its
        handlers of signals back.
        """
        _provide_streams()
        with handlers_given_back(ever=args is not None):
            try:
                return super().main(args, *more, **settings)
            except SystemExit as left:
                if left.code == exit_codes.INTERRUPTED:
                    _interrupt_no_more()
                raise

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of a command line, and refuse names that no record can have."""
        if sys.getfilesystemencoding() != "utf-8":
            raise click.UsageError(
                f"names of files are {sys.getfilesystemencoding()} here, and records hold all names: set "
                "PYTHONUTF8=1, or a language such as LC_ALL=C.UTF-8"
            )
        try:
            here = str(Path.cwd())
        except FileNotFoundError:
            raise click.UsageError("the working directory was removed: change to another") from None
        _refuse_names([*args, here, *map(os.environ.get, _PLACES)])
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and turn its errors into messages."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except (BenchError, OSError, MemoryError) as error:
            # click itself ends without a message where the reader has gone.
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            if ctx.meta.get(_DEBUG):
                _show_traceback(error)
            given = isinstance(error, InputError) or (
                isinstance(error, OSError) and not isinstance(error, ConnectionError | TimeoutError)
            )
            message = _redacted(_message_of(error))
            raise (_InputRefused if given else CommandFailed)(message) from error
        except KeyboardInterrupt:
            _interrupt_no_more()
            ctx.exit(exit_codes.INTERRUPTED)
        except Exception as error:  # the outermost border: Python would exit with 1
            if is_exhausted(error):
                raise CommandFailed(_NOTHING_LEFT) from error
            _show_traceback(error)
            ctx.exit(exit_codes.CRASHED)


def runner_group(
    name: str, version: str, **settings: Any
) -> Callable[[Callable[..., Any]], BenchGroup]:
    """Make a function the group of a runner, with `--version`, `--debug` and `-h`.

    `settings` go to the group, such as `examples` for its commands, or to click; a `cls` there must be a
    `BenchGroup`.

    Example:
        >>> @runner_group("waa-client", "0.1.0")
        ... def main() -> None:
        ...     '''Run Windows Agent Arena.'''
        >>> main.name
        'waa-client'
    """

    def decorate(function: Callable[..., Any]) -> BenchGroup:
        debug = click.option(
            "--debug", is_flag=True, expose_value=False, is_eager=True, callback=_remember_debug,
            help="Show tracebacks of errors.",
        )  # fmt: skip
        command = click.version_option(version, prog_name=name)(debug(function))
        context = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
        kind: type[BenchGroup] = settings.pop("cls", BenchGroup)
        return click.group(name, cls=kind, context_settings=context, **settings)(command)

    return decorate


def _refuse_names(names: Iterable[str | None]) -> None:
    # a byte of a name that is not UTF-8 is half a surrogate pair in Python's
    found = next((each for each in names if each and re.search("[\udc80-\udcff]", each)), None)
    if found is not None:
        shown = found.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        raise click.UsageError(
            f"{shown} is not UTF-8, and records hold the names of folders: rename it, or use another"
        )


def _interrupt_no_more() -> None:
    """Ignore Ctrl-C and the like from now on: during Python's exit they would kill the process."""
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def _show_examples(command: click.Command, words: str, examples: Mapping[str, str]) -> None:
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            _show_examples(inner, f"{words} {name}", examples)
    elif words in examples and command.epilog is None:
        lines = "\n".join(f"  {each}" for each in examples[words].splitlines())
        # lines after a backspace are shown as they are, so that they can be copied
        command.epilog = f"\b\nExample:\n{lines}"


def _remember_debug(
    ctx: click.Context, _parameter: click.Parameter, value: bool
) -> None:  # click's signature
    ctx.meta[_DEBUG] = value


def _provide_streams() -> None:
    """Let nothing that is opened take the place of a closed stream, and no character end a command."""
    for number, (name, mode) in enumerate([("stdin", "r"), ("stdout", "w"), ("stderr", "w")]):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
        stream = getattr(sys, name)
        if stream is None:  # pythonw has none either
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _message_of(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return _NOTHING_LEFT
    if isinstance(error, FileExistsError) and Path(error.filename or "").is_symlink():
        return f"cannot use {error.filename}: it is a link to what is not there"
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"cannot use {error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _show_traceback(error: Exception) -> None:
    import traceback  # only when something failed

    lines = "".join(traceback.format_exception(error))
    click.echo(_redacted(plain_lines(lines)), err=True)


def _redacted(text: str) -> str:
    from bench_core.redaction import Redactor  # only when something failed

    return Redactor.from_environment().redact(text)
