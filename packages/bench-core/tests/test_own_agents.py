"""An agent of one's own runs from the folder it lies in, and hears of its own mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench_core.new_project import write_project

PROGRAM = Path(sys.executable).with_name("bench-core")
GOOD = """
from bench_core.records import AgentOutcome

class MyAgent:
    name = "mine"

    async def run(self, task, environment, context):
        return AgentOutcome(answer=2)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a benchmark that opens nothing, where an agent is written."""
    module = write_project("benchmark", "my-sums", tmp_path)[1]
    return module.parent


def run(
    folder: Path,
    code: str,
    agent: str = "my_agent:MyAgent",
    *options: str,
    **variables: str,
) -> tuple[int, str]:
    """Write the agent and run it on one task; return the exit code and what was said."""
    (folder / "my_agent.py").write_text(code, encoding="utf-8")
    command = [PROGRAM, "run", "my_sums:MySums", "--agent", agent, "--limit", "1", "--out", "out"]
    keyless = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    done = subprocess.run(
        [*command, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**keyless, **variables},
    )
    return done.returncode, done.stderr


def test_an_agent_runs_from_the_folder_it_lies_in(folder: Path) -> None:
    assert run(folder, GOOD) == (0, "")
    result = json.loads((folder / "out" / "results.jsonl").read_text(encoding="utf-8"))
    assert (result["task_id"], result["score"]) == ("1+1", 1.0)


def test_a_model_without_its_key_is_refused_before_the_first_trial(folder: Path) -> None:
    code, error = run(folder, GOOD, "my_agent:MyAgent", "--model", "openai:gpt-5.2")
    assert code == 2, error
    assert "openai needs a key: set the environment variable OPENAI_API_KEY" in error
    assert not (folder / "out" / "results.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "variables"),
    [
        pytest.param(["--model", "openai:m"], {"OPENAI_API_KEY": "k" * 20}, id="a key"),
        pytest.param(["--model", "openai:m"], {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, id="a server of one's own"),
        pytest.param(["--model", "scripted:none.json"], {}, id="a script"),
        pytest.param(["--model", "elsewhere:m"], {}, id="a provider that is not known"),
    ],
)  # fmt: skip
def test_a_model_that_needs_no_key_here_is_not_refused(
    folder: Path, options: list[str], variables: dict[str, str]
) -> None:
    assert run(folder, GOOD, "my_agent:MyAgent", *options, **variables) == (0, "")


@pytest.mark.parametrize(
    ("code", "agent", "said"),
    [
        pytest.param(GOOD, "my_agent.py", "name module and class, as in `my_agent:MyAgent`", id="a file"),
        pytest.param(GOOD, "my_agnt:MyAgent", "no module 'my_agnt'", id="a wrong module"),
        pytest.param(GOOD, "my_agent:MyAgnt", "did you mean 'MyAgent'?", id="a wrong class"),
        pytest.param(GOOD, "do-nothin", "did you mean 'do-nothing'?", id="a wrong name"),
        pytest.param(
            "class MyAgent:\n    name = 'mine'\n", "my_agent:MyAgent", "it has no `run`", id="no run"
        ),
        pytest.param(
            "class MyAgent\n    pass\n",
            "my_agent:MyAgent",
            "(my_agent.py, line 1: `class MyAgent`)",
            id="a syntax error",
        ),
        pytest.param(
            "import notinstalled_anywhere\n",
            "my_agent:MyAgent",
            "(my_agent.py, line 1: `import notinstalled_anywhere`)",
            id="an import that is missing",
        ),
        pytest.param(
            GOOD + "    def __init__(self):\n        raise KeyError('MY_KEY')\n",
            "my_agent:MyAgent",
            "line 10: `raise KeyError('MY_KEY')`",
            id="a constructor that raises",
        ),
        pytest.param(
            GOOD + "    def __init__(self, model):\n        pass\n",
            "my_agent:MyAgent",
            "missing 1 required positional argument: 'model'",
            id="a constructor with arguments",
        ),
    ],
)  # fmt: skip
def test_an_agent_that_cannot_be_made_is_refused_with_its_own_mistake(
    folder: Path, code: str, agent: str, said: str
) -> None:
    code_, error = run(folder, code, agent)
    assert (code_, "Traceback" in error, error.count("\n")) == (2, False, 1), error
    assert said in error


@pytest.mark.parametrize(
    ("code", "said"),
    [
        pytest.param(
            GOOD.replace("async def run", "def run"),
            "`run` of MyAgent returned AgentOutcome at once: write `async def run`",
            id="run is no coroutine",
        ),
        pytest.param(
            GOOD.replace("AgentOutcome(answer=2)", "2"),
            "the agent returned int instead of an AgentOutcome",
            id="a plain answer",
        ),
        pytest.param(
            GOOD.replace("answer=2", "answer=next(each for each in ())"),
            "nothing was left for `next` in my_agent.py, line 8: "
            "`return AgentOutcome(answer=next(each for each in ()))`",
            id="next without a default",
        ),
    ],
)
def test_a_mistake_in_a_trial_is_recorded_in_its_own_words(
    folder: Path, code: str, said: str
) -> None:
    assert run(folder, code) == (0, "")
    result = json.loads((folder / "out" / "results.jsonl").read_text(encoding="utf-8"))
    assert result["status"] == "agent_error"
    assert said in result["error"]["message"]
