"""The eval scripts of v2, each run in a process of its own with limits."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench_core.errors import EvaluationError
from bench_core.records import Check
from multireal_harness.definitions import Eval
from multireal_harness.eval_rules.queries import shown

_TIMEOUT_S = 30  # as in REAL's own harness
# Limits memory, CPU time and file size, if the system can (Windows has no `resource`).
_LAUNCHER = """\
import runpy, sys
try:
    import resource
except ImportError:
    resource = None
if resource is not None:
    resource.setrlimit(resource.RLIMIT_AS, (2 * 1024**3,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024**2,) * 2)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


_CANNOT_RUN = frozenset(
    {"ImportError", "IndentationError", "MemoryError", "ModuleNotFoundError", "SyntaxError"}
)
"""Errors that a script raises here for any end state."""


def script_check(one: Eval, source: str, state: Any) -> Check:
    """Return the check of an end state by a script, which passes where its output has `SUCCESS`.

    The script gets the state as a file, and none of our environment variables. One that fails on the state
    (15 of 61 do where `differences` is null) is not satisfied, as in REAL's own harness.

    Raises:
        EvaluationError: It cannot be run, was ended from outside, or did not end in time.
    """
    with tempfile.TemporaryDirectory(prefix="proctor-script-") as folder:
        state_file, script = Path(folder) / "state.json", Path(folder) / one.script
        state_file.write_text(json.dumps(state), encoding="utf-8")
        script.write_text(source, encoding="utf-8")
        try:
            ran = subprocess.run(  # noqa: S603  # the task set's own script, with limits
                # isolated: it imports nothing from its folder or from the folders of the user
                [sys.executable, "-I", "-c", _LAUNCHER, str(script), str(state_file)],
                capture_output=True,
                check=False,
                cwd=folder,
                encoding="utf-8",
                errors="replace",
                # nothing else of the environment: the script is foreign code, and keys are in there
                env={"PYTHONIOENCODING": "utf-8"},
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            why = f"did not end within {_TIMEOUT_S} s"
            raise EvaluationError(f"the eval script {one.script!r} {why}") from None
        except OSError as error:
            raise EvaluationError(
                f"the eval script {one.script!r} cannot be run: {error}"
            ) from error
    printed, failure = ran.stdout.strip(), None
    if ran.returncode != 0 and not printed:
        last = ran.stderr.strip().splitlines()[-1:] or [f"exit code {ran.returncode}"]
        failure = f"the eval script {one.script!r} failed: {shown(last[0])}"
        if ran.returncode < 0 or last[0].partition(":")[0] in _CANNOT_RUN:
            raise EvaluationError(failure)
    elif printed.upper() not in {"SUCCESS", "FAILURE"}:
        failure = "it printed more than its verdict"
    return Check(
        criterion=one.criterion,
        expected="SUCCESS",
        actual=shown(printed),
        # REAL's own rule, by which "UNSUCCESSFUL" passes: hence the reason below
        passed="SUCCESS" in printed.upper(),
        reason=failure,
        decided_by="script",
    )
