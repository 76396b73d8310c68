"""Real agents' processes look for the answers of their run; each test has its opposite as a canary."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sums import Sums

from bench_core.errors import InputError
from bench_core.records import TrialKey
from bench_core.run_folder import read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync, sealing
from bench_core.scheduling import NoLocks
from bench_core.sealing import namespaces
from bench_core.sealing.files import answers_of
from bench_core.sealing.machine import Ability, how_to_seal
from bench_core.sealing.parts import unsealed_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench_core.records import Task, TrialResult

pytestmark = pytest.mark.skipif(how_to_seal().way is None, reason=f"cannot: {how_to_seal().reason}")

ANSWER = "the-answer-is-b81f"
PASSWORD = "the-password-is-91c4"
DATASET = "dataset.json"
VARIABLES = ("SNOOP_PID", "SNOOP_CWD", "SNOOP_AT")


class Answered(Sums):
    """The sum, whose tasks and dataset hold an answer."""

    def __init__(self, folder: Path) -> None:
        super().__init__("solves")
        self.folder = folder

    def tasks(self) -> Sequence[Task]:
        return [
            each.model_copy(update={"config": {"expected": ANSWER}}) for each in super().tasks()
        ]

    def answers(self) -> tuple[Path, ...]:
        return (self.folder / DATASET, self.folder / "solutions")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return everything that holds the answer, with the working folder inside the run's."""
    solutions, earlier = tmp_path / "solutions", tmp_path / "runs" / "earlier"
    for folder in (solutions, earlier, tmp_path / "runs" / "now"):
        folder.mkdir(parents=True)
    for file in (tmp_path / DATASET, solutions / "1.json", earlier / "run.json"):
        file.write_text(ANSWER, encoding="utf-8")
    found = [tmp_path / DATASET, solutions / "1.json", earlier / "run.json"]
    found.append(tmp_path / "runs" / "now" / "tasks.jsonl")
    monkeypatch.chdir(tmp_path / "runs" / "now")
    monkeypatch.setenv("SNOOP_PID", str(os.getpid()))
    monkeypatch.setenv("SNOOP_CWD", str(Path.cwd()))
    monkeypatch.setenv("SNOOP_AT", str(found[0]))
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    return found


@pytest.fixture
def snoop(tmp_path: Path, files: list[Path]) -> Callable[..., TrialResult]:
    """Run one trial of the snooper and return its result."""

    def snoop(agent: str = "snoopers:Snooper", **spec: Any) -> TrialResult:
        process = AgentProcessSpec(process="own", variables=VARIABLES)
        targets = {"targets": [str(each) for each in files]}
        asked = RunSpec(**{"agent": agent, "agent_process": process, "config": targets, **spec})
        out = tmp_path / "runs" / "now"
        with_ = RunEnvironment(locks=NoLocks())
        run_benchmark_sync(Answered(tmp_path), asked, out, run_environment=with_)
        return read_run(out).results[TrialKey(task_id="solves")]

    return snoop


def seen_by(result: TrialResult) -> dict[str, Any]:
    assert result.ending is not None
    assert isinstance(result.ending.answer, dict), result.error
    assert result.ending.answer["canary"] == "notes of the snooper\n"
    return result.ending.answer


def test_a_sealed_agent_finds_no_answer_by_any_path(
    snoop: Callable[..., TrialResult], files: list[Path]
) -> None:
    seen = seen_by(snoop())
    assert ANSWER not in json.dumps(seen)
    for each in files:
        ways = seen[str(each)]
        assert len(ways) == 10
        # a file that is hidden alone is empty, those in hidden folders are not there
        assert ways["path"] in {"", "FileNotFoundError"}
        assert ways["harness root"] == ways["harness cwd"] == "PermissionError"
        assert ways["supervisor root"] == ways["init root"] == "PermissionError"


def test_the_same_agent_finds_them_by_many_paths_where_nothing_is_hidden(
    snoop: Callable[..., TrialResult], files: list[Path]
) -> None:
    seen = seen_by(snoop(sealing="off"))
    for each in files:
        found = [way for way, text in seen[str(each)].items() if ANSWER in text]
        assert {"path", "relative", "harness root", "harness cwd"} <= set(found)
    assert seen["import"] == {str(files[0]): ANSWER}


def test_what_its_import_read_is_hidden_too(
    snoop: Callable[..., TrialResult], files: list[Path]
) -> None:
    assert seen_by(snoop())["import"] == {str(files[0]): ""}


def test_the_harness_cannot_be_attached_to_and_its_variables_not_read(
    snoop: Callable[..., TrialResult],
) -> None:
    sealed = seen_by(snoop())
    assert sealed["attached"] == {"supervisor": -1, "harness": -1}
    assert PASSWORD not in json.dumps(sealed)
    assert not [each for each in sealed["others"] if each.startswith(f"{os.getpid()}/")]


@pytest.mark.skipif(os.geteuid() != 0, reason="others than root may be kept from it anyway")
def test_an_open_harness_can_be_attached_to_and_its_variables_read(
    snoop: Callable[..., TrialResult],
) -> None:
    seen = seen_by(snoop(sealing="off"))
    assert seen["attached"]["harness"] == 0
    assert any(each.startswith(f"{os.getpid()}/fd") for each in seen["others"])


def test_what_the_run_executes_and_the_system_cannot_be_written_to(
    snoop: Callable[..., TrialResult],
) -> None:
    written = seen_by(snoop())["written"]
    assert set(written) == {"interpreter", "environment", "base", "etc", "kernel", "groups"}
    if not Path("/sys/fs/cgroup/cgroup.procs").exists():
        del written["groups"]
    assert set(written.values()) <= {"Read-only file system", "Permission denied"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write there at all")
def test_an_open_agent_of_root_writes_there(snoop: Callable[..., TrialResult]) -> None:
    written = seen_by(snoop(sealing="off"))["written"]
    assert {written[each] for each in ("interpreter", "environment", "base")} == {"written"}


def test_hidden_folders_cannot_be_uncovered(snoop: Callable[..., TrialResult]) -> None:
    assert set(seen_by(snoop())["unmounted"].values()) == {-1}


def test_results_say_how_the_answers_were_hidden(snoop: Callable[..., TrialResult]) -> None:
    result = snoop()
    assert result.sealing is not None
    assert (result.sealing.agent, result.sealing.browser) == ("hidden", "none")
    assert result.sealing.way == how_to_seal().way
    assert result.sealing.sealed
    assert result.sealing.reason is None
    assert result.sealing.lacks == tuple(unsealed_parts())
    assert "network" in result.sealing.lacks


def test_results_say_that_nothing_was_hidden_and_why(snoop: Callable[..., TrialResult]) -> None:
    sealing = snoop(sealing="off").sealing
    assert sealing is not None
    assert (sealing.agent, sealing.sealed, sealing.reason) == ("open", False, "--sealing off")
    assert sealing.lacks == ()


def test_solutions_are_hidden_from_all_but_the_agent_that_plays_them() -> None:
    class Both:
        def answers(self) -> tuple[Path, ...]:
            return (Path("answers"),)

        def solutions(self) -> tuple[Path, ...]:
            return (Path("solutions"),)

    assert answers_of(Both(), "mine") == (Path("answers"), Path("solutions"))
    assert answers_of(Both(), "scripted") == (Path("answers"),)
    assert answers_of(object(), "mine") == ()


def test_what_a_sealed_agent_writes_reaches_its_trials_folder(
    snoop: Callable[..., TrialResult], tmp_path: Path
) -> None:
    snoop()
    folder = tmp_path / "runs" / "now" / "trials" / "1" / "solves"
    assert (folder / "agent" / "own.txt").read_text(encoding="utf-8") == "mine"


def test_an_honest_agent_scores_as_before(snoop: Callable[..., TrialResult]) -> None:
    result = snoop("killers:Killer")
    assert (result.score, result.sealing and result.sealing.agent) == (1.0, "hidden")


def test_an_agent_in_the_process_of_the_run_is_refused_where_sealing_is_required(
    snoop: Callable[..., TrialResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "unsealed_parts", lambda: {"network": "never"})
    with pytest.raises(InputError, match="--agent-process own"):
        snoop(sealing="require", agent_process=AgentProcessSpec(process="shared"))
    assert not (tmp_path / "runs" / "now" / "run.json").exists()


def test_a_machine_that_cannot_hide_files_is_refused_where_sealing_is_required(
    snoop: Callable[..., TrialResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "how_to_seal", lambda: Ability(reason="no namespaces"))
    with pytest.raises(InputError, match="no namespaces"):
        snoop(sealing="require")
    found = snoop().sealing
    assert found is not None
    assert (found.sealed, found.reason) == (False, "no namespaces")


@pytest.mark.parametrize("part", ["neighbours", "signals", "user"])
def test_a_machine_that_cannot_seal_a_part_is_refused_where_sealing_is_required(
    snoop: Callable[..., TrialResult], monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    monkeypatch.setattr(sealing, "unsealed_parts", lambda: {part: "not here", "network": "never"})
    with pytest.raises(InputError, match=f"^--sealing require: .*: {part}: not here$"):
        snoop(sealing="require")


def test_a_machine_that_seals_all_but_the_network_does_what_is_required(
    snoop: Callable[..., TrialResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "unsealed_parts", lambda: {"network": "never"})
    assert snoop("killers:Killer", sealing="require").score == 1.0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_any_user_can_be_sealed() -> None:
    if how_to_seal().way != namespaces.USERS:
        pytest.skip("user namespaces are off")
    # not below pytest's own folder: every start of pytest shuts that to others again
    with tempfile.TemporaryDirectory() as made:
        _check_sealed_as_another_user(Path(made))


def _check_sealed_as_another_user(folder: Path) -> None:
    folder.joinpath("answer").write_text(ANSWER, encoding="utf-8")
    program = folder / "namespaces.py"
    program.write_text(Path(namespaces.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    for each in (folder, *folder.iterdir()):
        each.chmod(0o755)
    code = f"import os; print(os.getuid(), os.listdir({str(folder)!r}))"
    python = next(
        (each for each in ("/usr/bin/python3", "/usr/local/bin/python3") if Path(each).exists()),
        None,
    )
    if python is None:
        pytest.skip("no Python that others may run")
    order = json.dumps([str(folder)])
    done = subprocess.run(
        [python, "-I", "-S", str(program), order, python, "-I", "-S", "-c", code],
        capture_output=True, text=True, check=False, user=65534, group=65534, extra_groups=[],
    )  # fmt: skip
    assert done.stdout.split(maxsplit=1) == ["65534", "[]\n"], done.stderr
