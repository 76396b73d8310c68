"""Whether an agent that would solve its task ever gets an unexplained zero, drawn by seed.

Every part of a trial of Multi-REAL, WebArena and WAA fails in every way and in every phase, at a moment that is
drawn. The law of each record: a success, or no score, or a zero with a cause beside it; the agent's step,
model call and dollars are in it wherever the agent began; and the harness is never at fault.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from integration_tests.fault_cells import AppRig, SiteRig  # noqa: E402
from integration_tests.test_waa_fault_matrix import run, running_parts  # noqa: E402
from test_support.part_faults import PartFault  # noqa: E402

from bench_core.budgets import AGENT  # noqa: E402
from bench_core.run_folder import list_artifacts  # noqa: E402
from bench_core.testing.faults import CALL, CALL_USD  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.records import TrialResult

ROWS = "packages/webarena-runner/tests/test_fault_matrix.py"
SIGNALS = ("TERM", "KILL", "STOP")
ANSWERS = ("500", "429", "nothing", "garbage", "late")
EARLY = ("open", "work", "capture")
PARTS = {
    "multireal": (
        ("browser", SIGNALS, EARLY),
        ("app", ANSWERS, EARLY),
        ("app server", SIGNALS, EARLY),
        ("model server", ANSWERS, ("work",)),
        ("judge server", ANSWERS, ("evaluate",)),
    ),
    "webarena": (
        ("browser", SIGNALS, EARLY),
        ("site", (*ANSWERS, "cut"), ("open", "work", "capture", "evaluate")),
        ("start page", ANSWERS, ("open",)),
        ("site server", SIGNALS, ("open", "work", "capture", "evaluate")),
        ("model server", ANSWERS, ("work",)),
        ("evaluator", SIGNALS, ("evaluate",)),
    ),
    "waa": tuple(
        (part, (*SIGNALS, "500", "nothing", "garbage", "late"), (*EARLY, "evaluate"))
        for part in ("desktop", "evaluator")
    ),
}
LONGEST_DELAY_S = 1.0


class DesktopRig:
    """Runs trials of WAA on a simulated desktop."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        cache = self._stack.enter_context(tempfile.TemporaryDirectory())
        self._parts = self._stack.enter_context(running_parts(Path(cache)))

    def close(self) -> None:
        """End its parts."""
        self._stack.close()

    def run(self, fault: PartFault, out: Path, delay_s: float = 0.0) -> tuple[TrialResult, Path]:
        """Run the trial of one fault, whose moment is that of a request."""
        del delay_s
        return run(fault, self._parts, out)


def main() -> int:
    """Run the campaign and return the exit code: 1 where a record broke the law."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=13, help="draws of every fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="faults whose name has this in it")
    options = parser.parse_args()
    tried, broken = 0, 0
    for rig_type, name in RIGS:
        rig = rig_type()
        try:
            for draw, fault in product(range(options.times), faults(name)):
                if options.only not in fault.name:
                    continue
                seed = options.seed + draw
                tried += 1
                broken += not tell(rig, fault, seed)
        finally:
            rig.close()
    if not options.only:
        broken += not rows_hold()
    print(f"{tried} trials: {f'{broken} broke the law' if broken else 'all keep the law'}")
    return 1 if broken else 0


RIGS = ((AppRig, "multireal"), (SiteRig, "webarena"), (DesktopRig, "waa"))


def rows_hold() -> bool:
    """Hold WebArena to every row of the table of faults; a test holds it to some."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", ROWS]
    environment = {**os.environ, "WEBARENA_FAULTS": "all"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode == 0


def faults(benchmark: str) -> Iterator[PartFault]:
    """Yield every fault of every part in every phase."""
    for part, kinds, phases in PARTS[benchmark]:
        for kind, phase in product(kinds, phases):
            yield PartFault(benchmark, part, kind, phase)  # type: ignore[arg-type]


def tell(rig: AppRig | SiteRig | DesktopRig, fault: PartFault, seed: int) -> bool:
    """Run one trial, print its line, and return whether its record keeps the law."""
    delay_s = random.Random(f"{fault.name} {seed}").uniform(0.0, LONGEST_DELAY_S)  # no secret
    with tempfile.TemporaryDirectory() as folder:
        result, trial = rig.run(fault, Path(folder) / "run", delay_s)
        wrong = list(breaches(result, fault, list_artifacts(trial)))
    suspect = ", ".join(result.suspect) or "-"
    flags = ", ".join(result.flags) or "-"
    print(
        f"{fault.name:45} seed {seed} {delay_s:.2f} s  {result.status.value:18} {result.score!s:4} "
        f"suspect {suspect:18} flags {flags}  {'BROKEN: ' + '; '.join(wrong) if wrong else 'ok'}",
        flush=True,
    )
    return not wrong


def breaches(result: TrialResult, fault: PartFault, files: tuple[str, ...]) -> Iterator[str]:
    """Yield what is wrong with a record."""
    if result.score is not None and result.score < 1.0 and not result.suspect:
        yield f"an unexplained {result.score}: {result.failure_mode}"
    if "harness_error" in result.flags:
        yield f"the harness: {result.error.message if result.error else ''}"
    if result.status.value == "agent_error":
        yield "blamed on the agent"
    began = result.steps > 0
    own = [(each.usage, each.cost_usd) for each in result.spent if each.source == AGENT]
    expected = [(CALL, CALL_USD)] * began
    if fault.part == "model server" and len(own) == 1:
        # what it was asked counts, too, as the most that it can be where it may be paid for
        usage, bounded = own[0][0], "usage_upper_bound" in result.flags
        counted = usage.requests > CALL.requests
        if counted and (usage.total_tokens > CALL.total_tokens) is bounded:
            expected = own
    if own != expected or (fault.phase != "open" and not began):
        yield f"what was spent: {result.steps} steps, {own}"
    if set(result.artifact_paths) != set(files):
        yield "artifacts"


if __name__ == "__main__":
    sys.exit(main())
