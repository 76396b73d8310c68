"""Whether anything that an agent or a page makes can end a run, or void its own trial unflagged.

Stored trials of the browser benchmarks are played again, as trials of a run, with what their agents and pages made
mutated from a seed: answers, requests and answers in the traffic, end states of apps, files and their names. Every
trial is scored, or its result is flagged; `check` finds nothing; all trials are scored again without an error and with
the same score; a report shows the run. The memory of this process may grow by 100 MB more than an honest run's.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import importlib
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.errors import EnvironmentFaultError
from bench_core.files import remove_folder
from bench_core.records import AgentOutcome, IntegrityCode
from bench_core.records.codec import decode_json
from bench_core.redaction import Redactor
from bench_core.run_folder import TrialArtifacts, check_run, read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, rescore_run_sync, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import TrialEnvironment
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.environment import CaptureError
from webarena_runner.benchmark import WebArenaBenchmark

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentEnding, AgentTask, Task
    from bench_core.run_folder import RunView
    from bench_core.trial import Evaluation, Evidence

# what the environments themselves write and take over with
agent_files = importlib.import_module("bench_core.agent_process.files")
answers = importlib.import_module("webarena_runner.answers")
evaluation = importlib.import_module("webarena_runner.evaluation")

STORED = Path(__file__).parents[1] / "stored_runs"
MOST_GROWTH_MB = 100
_NAMES = (
    "judgement.json", "evaluation.json", "network.har", "finish_state.json.gz", "log.txt", "a/b/c.txt", "\x1b[2J.txt",
    "x" * 250, "..\\up", "C:x", "con", " ", "trailing. ", "\udcff\udcfe", "\u202egnp.exe", "=1+1.csv", "screenshots/1.png",
    "trajectory.jsonl", "observations.jsonl", "conversation.jsonl", "model_calls.jsonl", "agent-files/x", "state_health.json",
)  # fmt: skip


def odd_value(chance: random.Random) -> Any:
    """Return a value that little expects."""
    deep: Any = 0
    for _ in range(chance.choice((3, 60, 250))):
        deep = [deep] if chance.random() < 0.5 else {"more": deep}
    return chance.choice([
        None, True, 0, -1, 2**63, 10**400, 1e308, float("inf"), float("nan"), -0.0, "", "\ud800", "\x00", "\x1b[2J",
        "\u202e", "=1+1", "[login header]", "x" * chance.choice((300, 70_000, 1_000_000)), [], {}, [[]], {"": ""}, deep,
        {"__proto__": 1, "score": 1.0}, "http://[", "http://a:b@c:99999/%", "//", "data:,", "javascript:1", "1" * 6_000,
        '{"score": 1.0', "<script>alert(1)</script>", ["^.*$"], "9999-99-99T99:99:99Z", {"$ref": "#"}, "\ufeff{}",
    ])  # fmt: skip


def mutated(value: Any, chance: random.Random, times: int = 1) -> Any:
    """Return a copy of a JSON value in which some things are others."""
    copy = json.loads(json.dumps(value))
    for _ in range(times):
        places: list[tuple[Any, Any]] = []
        left = [copy]
        while left:
            node = left.pop()
            inner = (
                node.items()
                if isinstance(node, dict)
                else enumerate(node)
                if isinstance(node, list)
                else ()
            )
            for key, below in inner:
                places.append((node, key))
                left.append(below)
        if not places:
            return odd_value(chance)
        node, key = chance.choice(places)
        act = chance.randrange(6)
        if act == 0:
            del node[key]
        elif act == 1 and isinstance(node, dict):
            node[str(odd_value(chance))[:2_000]] = node.pop(key)
        elif act == 2 and isinstance(node, list):
            node += [node[key]] * chance.choice((1, 50))
        elif act == 3 and isinstance(node[key], str) and node[key]:
            at = chance.randrange(len(node[key]))
            node[key] = (
                node[key][:at]
                + chance.choice(("\x00", "\ud83d", "%", "\n", "[", "é" * 99))
                + node[key][at + 1 :]
            )
        else:
            node[key] = odd_value(chance)
    return copy


def torn(text: str, chance: random.Random) -> str:
    """Return a text cut short, doubled, or with a piece that is another's."""
    at = chance.randrange(len(text) + 1)
    return chance.choice(
        (
            text[:at],
            text + text,
            text[:at] + "\x00\ud800}" + text[at:],
            "[" * 100_000,
            "1" * 9_000,
            "",
        )
    )


class _Made(TrialEnvironment):
    """A trial whose evidence is stored and, from a seed, mutated."""

    def __init__(self, task: Task, context: TrialContext, stored: Path, *, honest: bool) -> None:
        super().__init__()
        self._context, self._stored, self._honest = context, stored, honest
        self._chance = random.Random(
            f"{task.task_id} {context.trial} {context.seed}"
        )  # not cryptography

    def _some(self, value: Any) -> Any:
        if self._honest or self._chance.random() < 0.3:
            return value
        return mutated(value, self._chance, self._chance.choice((1, 1, 2, 5)))


class Traffic(_Made):
    """What pages of WebArena have asked and been answered, and the agent's answer."""

    async def capture(self, ending: AgentEnding) -> None:
        """Write both as the environment does."""
        folder = self._context.folder
        recorded = json.loads((self._stored / "network.har").read_text("utf-8"))
        for each in recorded["log"]["entries"]:
            for side in ("request", "response"):
                # of the recorder's own record a page fills the texts, not their types
                each[side] = _filled(each[side], self._chance, 0.0 if self._honest else 0.05)
        (folder / "network.har").write_text(json.dumps(recorded), "utf-8")
        (folder / "run_config.json").write_bytes((self._stored / "run_config.json").read_bytes())
        answer = Redactor(()).redact_json(ending.answer, evidence=True)
        evaluation.write_answer(folder, answers.without_patterns(answer))
        if fault := evaluation.read_recording(folder)[1]:
            raise EnvironmentFaultError(f"the recorder failed: {fault}")


def _filled(value: Any, chance: random.Random, share: float) -> Any:
    """Return a record with some of its texts replaced by others."""
    if isinstance(value, dict):
        # a browser asks for addresses that can be parsed alone
        return {
            key: each if "url" in key.lower() else _filled(each, chance, share)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_filled(each, chance, share) for each in value]
    if isinstance(value, str) and chance.random() < share:
        other = mutated([value], chance)
        return other[0] if other and isinstance(other[0], str) else torn(value, chance)
    return value


class States(_Made):
    """The end states of the apps of Multi-REAL, as the texts that their pages show."""

    async def capture(self, ending: AgentEnding) -> None:
        """Read them as the environment does; a text that is no state is flagged there."""
        del ending
        stored = json.loads(gzip.decompress((self._stored / "finish_state.json.gz").read_bytes()))
        states, missing = {}, []
        for app, state in stored.items():
            text = json.dumps(self._some(state))
            if not self._honest and self._chance.random() < 0.1:
                text = torn(text, self._chance)
            try:
                states[app] = decode_json(text)
            except ValueError:
                missing.append(app)
        if states:
            TrialArtifacts(self._context.folder).write_state(states)
        (self._context.folder / "state_health.json").write_text("[]")
        if missing:
            self.integrity.note(IntegrityCode.FORGED_STORAGE, "unknown", str(missing))
            raise CaptureError(f"no end state of {missing}")


class Mutated:
    """A benchmark whose trials are stored ones, and whose rules are its own."""

    def __init__(
        self, real: Any, stored: RunView, environment: type[_Made], *, honest: bool
    ) -> None:
        self.name, self.environment = real.name, "text"
        self._real, self._stored, self._made, self._honest = real, stored, environment, honest

    def tasks(self) -> Sequence[Task]:
        """Return the tasks of the stored trials that have evidence."""
        wanted = "network.har" if self._made is Traffic else "finish_state.json.gz"
        found = {
            key.task_id
            for key in self._stored.results
            if (self._stored.trial_folder(key) / wanted).exists()
        }
        return [each for each in self._stored.tasks if each.task_id in found]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        """Give what is stored of the task."""
        del agent
        key = next(each for each in self._stored.results if each.task_id == task.task_id)
        yield self._made(task, context, self._stored.trial_folder(key), honest=self._honest)

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score by the benchmark's own rules."""
        return await self._real.evaluate(evidence)


class Leaver:
    """Answers with something odd, and leaves files of odd names."""

    name = "leaver"
    contained = False

    def __init__(self, *, honest: bool) -> None:
        self._honest = honest

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        """Leave them as an agent in a process of its own does."""
        del environment
        chance = random.Random(f"{task.task_id} {context.trial}")  # as above
        files = agent_files.AgentFiles(context.folder, Redactor(()))
        folder = files.make()
        for name in () if self._honest else chance.sample(_NAMES, 3):
            with contextlib.suppress(OSError, ValueError):
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(
                    json.dumps(odd_value(chance)).encode()
                    if chance.random() < 0.7
                    else chance.randbytes(999)
                )
        context.left_out.extend(files.take_over())
        wanted = {
            "task_type": "RETRIEVE",
            "status": "SUCCESS",
            "retrieved_data": ["1"],
            "error_details": None,
        }
        answer = wanted if self._honest or chance.random() < 0.3 else mutated(wanted, chance)
        with contextlib.suppress(ValueError):  # what no process could send either
            return AgentOutcome(answer=json.loads(json.dumps(answer)), steps=1)
        return AgentOutcome(steps=1)


_ENVIRONMENTS: dict[str, tuple[Any, type[_Made]]] = {
    "webarena": (WebArenaBenchmark, Traffic),
    "multireal": (lambda: MultiRealBenchmark("built-in"), States),
}


def batch(
    name: str, trials: int, seed: int, place: Path, *, honest: bool = False
) -> tuple[int, list[str]]:
    """Run so many trials of each stored task, and return how many there were and what is not as promised."""
    make, environment = _ENVIRONMENTS[name]
    out, broken = place / f"{name}-{seed}", []
    stored = read_run(STORED / name / "scripted")
    spec = RunSpec(
        agent="leaver",
        trials=trials,
        seed=seed,
        attempts=1,
        sealing="off",
        max_consecutive_faults=None,
    )
    with_ = RunEnvironment(locks=NoLocks(), agent_for=lambda _task, _context: Leaver(honest=honest))
    real = make()
    run_benchmark_sync(
        Mutated(real, stored, environment, honest=honest), spec, out, run_environment=with_
    )
    view = read_run(out)
    for key, result in view.results.items():
        flagged = result.integrity is not None and result.integrity.state == "flagged"
        if not result.status.scored and not flagged:
            broken.append(
                f"{key.task_id}#{key.trial}: {result.status.value}, unflagged: {result.error}"
            )
    broken += [f"check: {each}" for each in check_run(out).problems]
    again = rescore_run_sync(Mutated(make(), stored, environment, honest=honest), out, name="again")
    broken += [f"rescore: {each}" for each in again.changes]
    command = [
        sys.executable,
        "-m",
        "bench_report.cli",
        "report",
        str(out),
        "-o",
        str(place / "page.html"),
    ]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode:
        broken.append(f"report: {told.stderr[-500:]}")
    count = len(view.results)
    remove_folder(out)
    return count, [f"seed {seed}: {name}: {each}" for each in broken]


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--world", choices=sorted(_ENVIRONMENTS), nargs="*", default=sorted(_ENVIRONMENTS)
    )
    asked = parser.parse_args()
    done, seed, broken, first = Counter[str](), asked.seed, [], 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as place:
        for name in asked.world:
            batch(name, 20, -1, Path(place), honest=True)
        first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        while done.total() < asked.trials:
            for name in asked.world:
                count, found = batch(name, min(100, asked.trials), seed, Path(place))
                done[name] += count
                broken += found
                for each in found:
                    print(f"broken: {each[:600]}", flush=True)
            seed += 1
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first) >> 10
    if growth > MOST_GROWTH_MB:
        broken.append("memory")
    print(
        f"{done.total():,} trials {dict(done)}: {len(broken)} promises broken, {growth} MB more than an honest run"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
