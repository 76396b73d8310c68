"""Whether any of 200 hostile run folders makes the commands that read runs do harm, drawn by seed.

Each goes through check, repair, rescore, every format of the report, and its page is opened in Chromium.
Nothing outside may be read or changed, nothing in it may run, no command may crash, hang or take much
memory, and what is printed has no control characters.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hostile_folders import CANARY, KINDS, RAN, hostile_run  # needs the path above

from bench_core import exit_codes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECONDS = 120
"""A command that takes longer counts as hanging; most take less than one, on a machine by themselves."""
MOST_MEMORY_MB = 3_000
_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\ud800-\udfff]")
_FORMATS = "html,md,json,latex,csv,parquet,junit"
_BENCHMARKS = {
    "webarena": "webarena_runner.cli",
    "multireal": "multireal_harness.cli",
    "waa": "waa_client.cli",
}

_IMPORTED_LATE = ("bench_report.report_files", "bench_report.formats.documents", "pandas")
"""What commands import on use, and each folder's process would import anew."""


def main() -> int:
    """Run the campaign and return the exit code: 1 where a folder did harm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--pages", type=int, default=10**9, help="pages that are opened in Chromium"
    )
    parser.add_argument("--kind", choices=KINDS, help="this kind alone")
    asked = parser.parse_args()
    for module in (
        "bench_core.cli.main",
        "bench_report.cli",
        *_BENCHMARKS.values(),
        *_IMPORTED_LATE,
    ):
        __import__(module)
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="pages-") as pages:
        for number in range(asked.times):
            place = Path(tempfile.mkdtemp(prefix="hostile-"))
            try:
                problems = _in_a_process(place, asked.seed + number, asked.kind)
                if number < asked.pages and (place / "out").is_dir():
                    shutil.move(place / "out", f"{pages}/{asked.seed + number}")
            finally:
                shutil.rmtree(place, ignore_errors=True)
            wrong += bool(problems)
            for each in problems:
                print(f"seed {asked.seed + number}: {each}", flush=True)
        # afterwards: Playwright leaves an event loop in this thread, which commands do not expect
        found = _opened(sorted(Path(pages).glob("*/index.html"))) if asked.pages else {}
        for page, acts in found.items():
            wrong += bool(acts)
            for each in acts:
                print(f"seed {page.parent.name}: {each}", flush=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak = used.ru_maxrss >> 10
    print(
        f"{asked.times} folders of {len(KINDS)} kinds: {wrong} did harm; {len(found)} pages opened; "
        f"{used.ru_utime + used.ru_stime:.0f} s of CPU time, at most {peak:,} MB"
    )
    return 1 if wrong else 0


def _in_a_process(place: Path, seed: int, kind: str | None) -> list[str]:
    """Try a folder in a process of its own, so that what one takes of memory is not the next one's."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        # memory that is taken beyond this ends a command as a crash
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY_MB << 20,) * 2)
        try:
            problems = _try(place, seed, kind)
        except BaseException:  # noqa: BLE001  # it must not go on as a second parent
            problems = [traceback.format_exc()]
        os.write(writer, json.dumps(problems)[:60_000].encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    try:
        return [str(each) for each in json.loads(told)]
    except ValueError:
        return [f"its process died, or said {told[:300]!r}"]


def _try(place: Path, seed: int, kind: str | None) -> list[str]:
    turn = seed if kind else seed // len(KINDS)
    benchmark = list(_BENCHMARKS)[turn % len(_BENCHMARKS)]
    problems: list[str] = []
    with _noticed(place, problems):
        run, done = hostile_run(place, seed, benchmark=benchmark, kind=kind)
        before = _state_of(place / "outside")
        said = ""
        for module, *arguments in _commands(run, benchmark):
            problem, output = _invoke(module, arguments)
            said += output
            if problem:
                problems.append(f"{' '.join(arguments[:2])}: {problem}")
    if (place / "outside" / RAN).exists():
        problems.append("something of the folder was run")
    if CANARY in said:
        problems.append("the canary was printed")
    if found := _SHOWN.search(said):
        problems.append(
            f"printed {found.group()!r} in {said[max(0, found.start() - 80) : found.start()]!r}"
        )
    problems += [
        f"canary in {each.name}"
        for each in _files(place / "out")
        if CANARY.encode() in each.read_bytes()
    ]
    if _state_of(place / "outside") != before:
        problems.append("something outside was changed")
    return [f"{done}: {each}" for each in problems]


@contextlib.contextmanager
def _noticed(place: Path, problems: list[str]) -> Iterator[None]:
    """Note what the commands ask for, and which programs, modules and pickles they load of a folder.

    Whatever asks a proxy, a store or an address of the folder reaches a server of ours, also from a child process.
    """
    here = ("127.0.0.1", 0)
    with socket.create_server(here) as server, socket.create_server(here) as evaluator:
        port, named = server.getsockname()[1], evaluator.getsockname()[1]

        def answer() -> None:
            with contextlib.suppress(OSError):
                while True:
                    with server.accept()[0] as asked:
                        asked.settimeout(2)
                        problems.append(f"asked for {asked.recv(200)!r}")

        def evaluate() -> None:
            """Answer as an evaluator that knows nothing: whoever does not answer is waited for."""
            with contextlib.suppress(OSError):
                while True:
                    with evaluator.accept()[0] as asked:
                        asked.recv(65_536)
                        asked.sendall(
                            b"HTTP/1.1 404 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                        )

        def notice(event: str, found: tuple[Any, ...]) -> None:
            started = event in {"subprocess.Popen", "os.system", "os.exec", "exec", "ctypes.dlopen"}
            if (
                event == "pickle.find_class"
                or (event == "import" and found[0] == "stranger")
                or (started and RAN in repr(found))
                or (
                    started
                    and str(place / "run") in repr(found)
                    and not _is_own_program(event, found)
                )
            ):
                problems.append(f"{event} {found!r:.300}")
            elif (
                event == "socket.connect"
                and isinstance(found[1], tuple)
                and found[1][1] not in (port, named)
            ):
                problems.append(f"connected to {found[1]!r}")
            elif event == "socket.getaddrinfo" and found[0] not in {None, "127.0.0.1", "localhost"}:
                problems.append(f"looked up {found[0]!r}")

        for each in (answer, evaluate):
            threading.Thread(target=each, daemon=True).start()
        os.environ["EVALUATOR_URL"] = f"http://127.0.0.1:{named}"
        os.environ["STRANGER_URL"] = url = f"http://127.0.0.1:{port}"
        os.environ.update(
            dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), url)
        )
        os.environ.update(
            AWS_ENDPOINT_URL=url,
            AWS_ACCESS_KEY_ID="mine",
            AWS_SECRET_ACCESS_KEY="mine",
            AWS_REGION="x",
        )
        os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
        os.environ["PYTHONPATH"] = str(place / "outside")  # `stranger` could be imported
        sys.path.append(str(place / "outside"))
        sys.addaudithook(notice)  # it stays: each folder has a process of its own
        yield


def _only_small(folder: str, names: list[str]) -> list[str]:
    paths = {name: Path(folder, name) for name in names}
    kept = {
        name
        for name, each in paths.items()
        if each.is_dir() or (each.is_file() and each.stat().st_size < 10**7)
    }
    return [name for name in names if name not in kept]


def _is_own_program(event: str, found: tuple[Any, ...]) -> bool:
    """Whether a command starts Python with a program of ours, which reads the folder."""
    return event == "subprocess.Popen" and str(found[1][0]) == sys.executable


def _commands(run: Path, benchmark: str) -> Iterator[Sequence[str]]:
    core, report, out = "bench_core.cli.main", "bench_report.cli", str(run.parent / "out")
    yield core, "check", str(run)
    yield report, "build", str(run), "-o", out, "--format", _FORMATS
    yield report, "build", str(run)
    yield report, "watch", str(run), "--once"
    yield report, "export", "atif", str(run), "-o", f"{out}/atif"
    yield report, "export", "inspect", str(run), "-o", f"{out}/log.json"
    yield report, "import", "atif", str(run), "-o", f"{out}/imported"
    if (run.parent / "bomb.eval").exists():
        yield report, "import", "inspect", str(run.parent / "bomb.eval"), "-o", f"{out}/imported"
    other = str(run.parent / "other")
    with contextlib.suppress(OSError, shutil.Error, RecursionError):
        shutil.copytree(run, other, symlinks=True, ignore=_only_small)
        yield report, "compare", str(run), "--against", other
        yield report, "gate", str(run), "--against", other
    yield report, "notes", "export", str(run), "-o", f"{out}/notes.jsonl"
    yield report, "plan", "--tasks", "10", "--pilot", str(run)
    for form in ("baseline", "comparison", "webarena", "waa-baseline", "every-eval-ever", "csv"):
        yield report, "export", form, str(run), "-o", f"{out}/{form}"
    if benchmark == "webarena":
        yield _BENCHMARKS[benchmark], "submission", str(run), "--even-built-in", "-o", f"{out}/sent"
    elif benchmark == "multireal":
        yield _BENCHMARKS[benchmark], "export", str(run), "-o", f"{out}/agisdk"
    else:
        yield _BENCHMARKS[benchmark], "compare", str(run), other, "-o", f"{out}/parity.md"
    evaluator = ("--evaluate", os.environ["EVALUATOR_URL"]) if benchmark == "waa" else ()
    yield _BENCHMARKS[benchmark], "rescore", str(run), *evaluator
    yield core, "repair", str(run)
    yield core, "check", "--seal", str(run)


def _invoke(module: str, arguments: Sequence[str]) -> tuple[str | None, str]:
    """Run a command in this process; return what is wrong with how it ended, and what it printed."""
    command = __import__(module, fromlist=["main"]).main
    signal.signal(signal.SIGALRM, _hangs)
    signal.alarm(SECONDS)
    try:
        result = CliRunner().invoke(command, list(arguments), color=True)
    except _HangsError:
        return f"took more than {SECONDS} s", ""
    finally:
        signal.alarm(0)
    output = result.output
    if isinstance(result.exception, _HangsError):
        return f"took more than {SECONDS} s", output
    if result.exit_code == exit_codes.CRASHED:
        return f"crashed: {output[-700:]}", output
    if result.exit_code == exit_codes.USAGE and "Error" not in output:
        return f"gave no reason: {output[-300:]}", output
    return None, output


class _HangsError(BaseException):
    pass


def _hangs(*_: object) -> None:
    raise _HangsError


def _files(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        yield from (Path(root, name) for name in names if Path(root, name).is_file())


def _state_of(folder: Path) -> list[tuple[str, str]]:
    return sorted(
        (str(each), hashlib.sha256(each.read_bytes()).hexdigest()) for each in _files(folder)
    )


def _opened(files: Sequence[Path]) -> dict[Path, list[str]]:
    """Open the pages of reports in Chromium; return what each did that it must not do."""
    from playwright.sync_api import sync_playwright  # only where pages are opened

    from bench_core.browser import find_chromium

    with sync_playwright() as driver:
        chromium = str(find_chromium())
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        found = {file: list(_acts_of(browser, file)) for file in files}
        browser.close()
    return found


def _acts_of(browser: Any, file: Path) -> Iterator[str]:
    asked: list[str] = []
    page = browser.new_page()
    page.on("request", lambda each: asked.append(each.url))
    page.on("dialog", lambda each: (asked.append("dialog"), each.dismiss()))
    page.goto(file.as_uri())
    for row in page.locator("tbody tr").all()[:3]:
        with contextlib.suppress(Exception):  # not every row opens
            row.click(timeout=1000)
    if page.evaluate("window.__ran"):
        yield "something in it ran"
    if CANARY in page.content():
        yield "the canary is on the page"
    # pictures of the run are linked from where it was
    known = (file.parent.as_uri(), "data:", "blob:")
    for url in asked:
        if not url.startswith(known) and "/run/trials/" not in url:
            yield f"the page asked for {url[:200]}"
    page.close()


if __name__ == "__main__":
    sys.exit(main())
