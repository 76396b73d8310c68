"""Run every command line that the pages and the helps show and that needs no more than the built-in worlds.

`python -m nox_support.shown_commands [PLACE ...]` runs the lines of each page in order in a folder of the page's
own, and the examples of each help in one of the help's; run folders and files that they name and nothing before
them made are given to them. What is not run has a reason in `REASONS`. What serves until Ctrl-C is stopped where
it says that it is ready. It prints a table and exits with 1 where a line ended in another way than its page says.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from itertools import groupby
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, NamedTuple

from bench_core.machines import list_machines, stop_machines
from nox_support.command_lines import Line, lines_of, pages
from nox_support.help_examples import examples
from nox_support.offline import offline

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENDS", "REASONS", "SERVED", "main", "reason_of", "shown"]

REASONS = {
    r"^(export|for|done|cd|mkdir)\b": "is the shell's",
    r"^(jq|curl|duckdb|moto_server|webarena-verified|nox)\b": "runs a program of others",
    r"\b(pip|apt-get) install\b|-m venv|/bin/nox\b": "installs packages",
    r" \.\.\.( |$)": "is cut short",
    r"--model by-hand": "needs a person",
    r"(anthropic|openai):|--model (gpt52|claude_opus55|\$model)": "needs a key",
    r"--vm (localhost|VM|qemu:|attached:(?!.*--write-only)|20\.)|--url http|--evaluate \S*localhost": "needs a Windows VM",
    r"WindowsAgentArena|WAA_TASKS|--check-hosts|--tasks-dir ~/|task\.json|--server main\.py|cache/$": (
        "needs files of Windows Agent Arena or OSWorld"
    ),
    r"wine-machine|wine\.json": "needs a machine under Wine",
    r"--assets": "needs the network, or what was fetched from it",
    r"(run|doctor|sites \w+|auth \w+|outputs) .*--config sites\.yaml|submission runs|bench-core run webarena": (
        "needs WebArena's sites"
    ),
    r"--app gomail": "needs Multi-REAL's own tasks",
    r"bench-core study (check|plan|run|status|verify|report|export|reproduce)": "needs a study that ran",
    r"gate .*--looks": "needs a run that may stop early",
    r"--executor ray|nodes doctor": "needs Ray",
    r"--agent-env uv:|--agent-python|--evaluator-python": "needs another environment",
    r"--agent-command": "needs Node",
    r"import (results|inspect)": "needs what another harness wrote",
    r"--agent mine|script\.json|tea\.yaml|my-states|my-benchmark": "needs a file of the reader's",
    r"machines stop|vm (snapshot|reset|stop) ": "needs a machine that runs",
    r"llm-judge claims (approve|check|decide|edit)": "needs the reader's claims and cases",
    r"own_server|127\.0\.0\.1:8099|server\.pid|right\.jsonl": "needs the stand-in server, and is run by first_hours",
    r"bench-report notes|labels\.jsonl": "needs notes that a person made",
    r"llm-judge (label|calibrate)|--judge llm-judge": "needs a person's labels, or a judge's key",
}
"""Why a line is not run, by what is found in it; the first that fits is the reason."""
SERVED = {
    r"bench-core serve (?!.*--dataset)": r"http://",
    r"bench-report serve": r"http://",
    r"waa-server-ext simulate": r"answers at http",
}
"""What serves until Ctrl-C, and what it prints where it is ready."""
ENDS = {
    r"bench-report gate|waa-client compare": {0, 1, 3},
    r"multireal-harness (check-state|lint|validate-ground-truth)": {0, 1},
}
"""The exit codes of what checks something that is as it happens to be; all else ends with 0."""
MOST_S = 1800
"""The most that a line may take, on a slow machine too."""
_STOPPED = {0, 130, -signal.SIGINT}
_RESULT = re.compile(
    r"(?:^|\s)(?:--out|-o|--write|--html|--report|--snapshot|--record|--name)[ =](\S+)"
)
_AGENT = re.compile(r"(\w+):([A-Z]\w+)")
_RUN = re.compile(r"(?:^|\s|=)((?:runs/[\w/-]+|RUN))(?=\s|$)")
_SHOWN_LINES = 15
_STATE_OF = "dining-mail-2"
_MACHINES = "machines"
_RUNNERS = {"multireal-harness", "waa-client", "webarena-runner"}


class Outcome(NamedTuple):
    """How a line went; `wrong` is what it printed last where it ended as it should not."""

    line: Line
    seconds: float | None
    said: str
    wrong: str | None = None


def shown() -> list[Line]:
    """Return the command lines of all pages and helps."""
    return [each for page in pages() for each in lines_of(page)] + [e for e in examples() if e.text]


def reason_of(line: Line) -> str | None:
    """Return the pattern for which a line is not run, None where it is."""
    return next((each for each in REASONS if re.search(each, line.text)), None)


def main(chosen: list[str]) -> int:
    """Run the lines of the places whose names contain one of `chosen`, or all; return 1 where one is wrong."""
    lines = [each for each in shown() if not chosen or any(name in each.place for name in chosen)]
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="shown-commands-") as made:
        kit = Kit(Path(made) / "kit")
        for number, (_, group) in enumerate(groupby(lines, lambda line: line.place.split(":")[0])):
            folder = Path(made) / str(number)
            folder.mkdir()
            outcomes += run_place(list(group), folder, kit)
        _stop_machines(kit.home)
    wide = max(len(each.line.place) for each in outcomes)
    print(f"\n{'place':{wide}} {'seconds':>8}  outcome; line")
    for each in outcomes:
        took = "" if each.seconds is None else f"{each.seconds:.1f}"
        print(f"{each.line.place:{wide}} {took:>8}  {each.said}; {each.line.text}")
    wrong = [each for each in outcomes if each.wrong is not None]
    ran = sum(each.seconds is not None for each in outcomes)
    print(
        f"\n{ran} of {len(outcomes)} lines were run, {len(wrong)} ended in another way than shown"
    )
    return int(bool(wrong))


def _stop_machines(home: Path) -> None:
    """Stop what the lines that start machines left: the journal in which they are is removed with `home`."""
    journal = home / _MACHINES
    if journal.exists():
        names = [each.name for each in asyncio.run(list_machines(journal))]
        asyncio.run(stop_machines(names, journal, even_held=True))


def run_place(lines: list[Line], folder: Path, kit: Kit) -> list[Outcome]:
    """Run the lines of one page or help in order, in its folder."""
    found = []
    place = folder
    for line in lines:
        if line.moves_to:
            place = place / line.moves_to
        reason = reason_of(line)
        if reason is not None:
            found.append(Outcome(line, None, f"not run: {REASONS[reason]}"))
            continue
        each = _given_and_run(line, place, lines, kit)
        print(f"{each.seconds or 0:7.1f} s  {each.said}  {line.place}  {line.text}", flush=True)
        if each.wrong is not None:
            print(each.wrong, flush=True)
        found.append(each)
    return found


def _given_and_run(line: Line, place: Path, beside: list[Line], kit: Kit) -> Outcome:
    """Run a line with what it reads; where that cannot be made, that is how the line went."""
    try:
        kit.give(line, place, beside)
    except RuntimeError as error:
        return Outcome(line, None, "what it reads could not be made", str(error))
    return run_line(line, place, kit.home)


def run_line(line: Line, place: Path, home: Path) -> Outcome:
    """Run one line in a folder, without a network."""
    ready = next((ready for each, ready in SERVED.items() if re.search(each, line.text)), None)
    started = time.monotonic()
    code, text = _run(line.text, place, home, ready)
    seconds = time.monotonic() - started
    allowed = next((codes for each, codes in ENDS.items() if re.search(each, line.text)), {0})
    if ready is not None:
        right = code in _STOPPED and re.search(ready, text) is not None
        said = f"served, exit code {code}"
    else:
        right = code in (allowed if line.code is None else {line.code}) and "Traceback" not in text
        said = f"exit code {code}"
    last = "\n".join(text.splitlines()[-_SHOWN_LINES:])
    return Outcome(line, seconds, said, None if right else last)


class Kit:
    """Run folders and files that lines name, each made once and copied to where it is needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)

    def give(self, line: Line, place: Path, beside: list[Line]) -> None:
        """Put what a line reads into its folder, where nothing before it did."""
        text = _RESULT.sub(" ", line.text)
        own = [each.words[0] for each in beside if reason_of(each) is None]
        for number, name in enumerate(dict.fromkeys(_RUN.findall(text))):
            target = place / name
            if not target.exists():
                program = next((each for each in own if each in _RUNNERS), line.words[0])
                shutil.copytree(self._run(program, number), target)
        for module, wanted in _AGENT.findall(text):
            target = place / f"{module}.py"
            if not target.exists():
                target.write_text(self._module(line, module, wanted), encoding="utf-8")
        for name, make in GIVEN.items():
            if re.search(rf"(^|\s){re.escape(name)}", text) and not (place / name).exists():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                make(self, place / name)

    def made(self, name: str, text: str) -> Path:
        """Return the folder `name`, which the command line `text` makes where there is none yet."""
        if not (self.folder / name).exists():
            code, printed = _run(text, self.folder, self.home, None)
            if code:
                raise RuntimeError(f"{text} ended with {code}:\n{printed}")
        return self.folder / name

    def _run(self, program: str, number: int) -> Path:
        if program == "bench-report":
            folder = self.made("reported", "bench-report demo --out reported")
            return folder / ("changed" if number == 0 else "before")
        runner = program if program in {"multireal-harness", "waa-client"} else "webarena-runner"
        chosen = f"--task {_STATE_OF}" if runner == "multireal-harness" else "--limit 2"
        run = f"{runner} run --world built-in --agent scripted {chosen} --out {runner}"
        return self.made(runner, run)

    def _module(self, line: Line, module: str, wanted: str) -> str:
        """Return the page's own class, or the one that `bench-core new` writes."""
        page = Path(__file__).resolve().parent.parent / line.place.split(":")[0]
        blocks = (
            re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
            if page.is_file()
            else []
        )
        own = [each for each in blocks if f"class {wanted}" in each]
        if own:
            return str(own[0])
        kind, name = ("benchmark", "my-sums") if module == "my_sums" else ("agent", "my-agent")
        written = self.made(name, f"bench-core new {kind} {name}")
        return (written / f"{name.replace('-', '_')}.py").read_text(encoding="utf-8")

    def state(self) -> bytes:
        """Return the end state of the one task in the run of Multi-REAL's built-in world."""
        (kept,) = self._run("multireal-harness", 0).glob("trials/1/*/finish_state.json.gz")
        return gzip.decompress(kept.read_bytes())


def _give_state(kit: Kit, target: Path) -> None:
    target.write_bytes(kit.state())


def _give_truth(kit: Kit, target: Path) -> None:
    (target / "manual").mkdir(parents=True, exist_ok=True)
    (target / "manual" / f"{_STATE_OF}.json").write_bytes(kit.state())


def _give_claims(kit: Kit, target: Path) -> None:
    del kit  # written by hand
    claim = {"criterion_id": "c1", "criterion": "A table is booked", "assertion": {"op": "exists", "over": "/bookings/*"}}  # fmt: skip
    task = {"task": "dinner", "case_id": "dinner", "goal": "Book a table", "claims": [claim]}
    target.write_text(f"{json.dumps(task)}\n", encoding="utf-8")


def _give_tasks(kit: Kit, target: Path) -> None:
    text = "from importlib.resources import files; from shutil import copytree"
    copied = "copytree(files('multireal_harness') / 'world' / 'tasks', 'tasks')"
    shutil.copytree(kit.made("tasks", f'python -c "{text}; {copied}"'), target)


def _give_cases(kit: Kit, target: Path) -> None:
    text = "from llm_judge import samples; shutil.copytree(samples.folder(), 'cases')"
    shutil.copytree(kit.made("cases", f'python -c "import shutil; {text}"'), target)


def _give_verdict(kit: Kit, target: Path) -> None:
    _give_cases(kit, target.parent / "cases")
    judge = "llm-judge judge cases/dinner.json -m replay:cases/replies.jsonl --out verdict.json"
    shutil.copy(kit.made("verdict.json", judge), target)


def _give_sites(kit: Kit, target: Path) -> None:
    shutil.copy(kit.made("sites.yaml", "webarena-runner config init --out sites.yaml"), target)


GIVEN: dict[str, Callable[[Kit, Path], None]] = {
    "verdict.json": _give_verdict,
    "cases/": _give_cases,
    "state.json": _give_state,
    "first.json": _give_state,
    "second.json": _give_state,
    "mine.json": _give_state,
    "theirs.json": _give_state,
    "truth": _give_truth,
    "claims.jsonl": _give_claims,
    "multi-real/tasks": _give_tasks,
    "sites.yaml": _give_sites,
}
"""What lines read, beside run folders and agents, and how it is made."""


def _environ(home: Path) -> dict[str, str]:
    ours = ("PROCTOR_", "MULTIREAL_", "WAA_", "WEBARENA_")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(ours) and not name.endswith("_API_KEY")
    }
    scripts = str(Path(sys.executable).parent)
    return kept | {
        "HOME": str(home),
        "PROCTOR_MACHINES": str(home / _MACHINES),
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "PYTHONUNBUFFERED": "1",
        # as the pages say where they leave --tasks-dir out; the built-in tasks stand for the reader's
        "MULTIREAL_TASKS_DIR": "built-in",
    }


def _run(text: str, place: Path, home: Path, ready: str | None) -> tuple[int, str]:
    """Run a line in a shell; stop it by Ctrl-C where it has printed `ready`."""
    words, variables = offline(["bash", "-c", f"exec {text}"])
    with subprocess.Popen(  # noqa: S603  # the commands of our own pages
        words, cwd=place, env=_environ(home) | variables, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509  # nothing else runs here
    ) as child:  # fmt: skip
        assert child.stdout is not None  # noqa: S101  # for mypy: it is a pipe
        limit = Timer(MOST_S, os.killpg, (child.pid, signal.SIGKILL))
        limit.start()
        said, stopped = [], False
        for each in child.stdout:
            said.append(each)
            if ready is not None and not stopped and re.search(ready, each):
                stopped = True
                os.killpg(child.pid, signal.SIGINT)
        code = child.wait()
        limit.cancel()
    return code, "".join(said)


def _heed_interrupts() -> None:
    """Let the child be interrupted, though a job in the background is started deaf to it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
