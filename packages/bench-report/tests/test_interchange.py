"""Runs to the formats of other tools and back."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import re
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_core.errors import InputError
from bench_core.records import Status, Step, TrialResult
from bench_core.run_folder import read_lines, read_run
from bench_report.cli import main
from bench_report.exports import export, import_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Runs

FORMATS = {"inspect": "log.json", "atif": "trajectories"}


@pytest.fixture
def walked(run: Runs, add_trajectory: Callable[..., Path]) -> Path:
    """Make a run of two trials whose first task has a trajectory with calls and pictures."""
    folder = run(tasks=6, trials=2)
    steps = [
        Step(step=n, thought=f"thought {n}", duration_s=0.5, url="http://x/", actions=action,
             results=("done",), screenshot=f"screenshots/{n}.png")
        for n, action in enumerate([({"click": {"index": 3}},), ({"action": "type", "text": "é"},), ()], 1)
    ]  # fmt: skip
    add_trajectory(folder, "0", steps)
    return folder


def results_of(folder: Path) -> dict[Any, TrialResult]:
    unnumbered = dict.fromkeys(("sequence", "previous", "checksum"))  # a file's own
    return {
        key: each.model_copy(update=unnumbered) for key, each in read_run(folder).results.items()
    }


@pytest.mark.parametrize("what", FORMATS)
def test_a_run_survives_the_way_there_and_back(what: Any, walked: Path, tmp_path: Path) -> None:
    out = tmp_path / FORMATS[what]

    export(what, [walked], out)
    back = import_run(what, out, tmp_path / "back")

    assert results_of(back) == results_of(walked)
    ours, theirs = read_run(walked), read_run(back)
    by_id = {task.task_id: task for task in theirs.tasks}
    assert by_id == {task.task_id: task for task in ours.tasks}
    assert theirs.info.run_id == ours.info.run_id
    kept, came = (
        read_lines(folder / "trials/1/0/trajectory.jsonl", Step).records
        for folder in (walked, back)
    )
    assert kept == came


def test_inspect_gets_calls_scores_usage_and_errors(walked: Path, tmp_path: Path) -> None:
    export("inspect", [walked], tmp_path / "log.json")

    log = json.loads((tmp_path / "log.json").read_text())
    first = log["samples"][0]
    assert (log["version"], log["eval"]["task"], log["eval"]["config"]["epochs"]) == (2, "demo", 2)
    assert [m["role"] for m in first["messages"]] == [
        "user", "assistant", "tool", "assistant", "tool", "assistant", "tool",
    ]  # fmt: skip
    assert first["messages"][1]["tool_calls"][0] == {
        "id": "1-0", "type": "function", "function": "click", "arguments": {"index": 3},
    }  # fmt: skip
    assert first["messages"][3]["tool_calls"][0]["function"] == "type"
    for sample, result in zip(log["samples"], sorted_results(walked), strict=True):
        assert ("scores" in sample) == (result.score is not None)
        (usage,) = sample["model_usage"].values()
        assert usage["total_tokens"] == result.usage.total_tokens
        assert ("error" in sample) == (result.score is None)
    (score,) = log["results"]["scores"]
    assert (score["reducer"], sorted(score["metrics"])) == ("mean", ["accuracy", "stderr"])


def test_a_log_has_a_name_that_inspect_view_lists_or_a_warning(
    walked: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (listed,) = export("inspect", [walked], tmp_path / "logs")
    assert re.fullmatch(r"2026-03-01T09-00-00\+00-00_demo_[0-9a-f]{22}\.json", listed.name)
    export("inspect", [walked], tmp_path / listed.name)
    assert "does not list" not in caplog.text
    export("inspect", [walked], tmp_path / "log.json")
    assert "does not list log.json" in caplog.text


@pytest.mark.parametrize("dataset", [None, "webarena", "a/b\nvalue: 1"])
def test_an_entry_of_the_hub_needs_a_data_set_of_the_hub(
    dataset: str | None, walked: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="--dataset OWNER/NAME"):
        export("eval-results", [walked], tmp_path / "entry.yaml", dataset=dataset)
    with pytest.raises(InputError, match="'atif' has none"):
        export("atif", [walked], tmp_path / "atif", dataset="a/b")


def sorted_results(folder: Path) -> list[TrialResult]:
    found = results_of(folder).values()
    return sorted(found, key=lambda each: (int(each.task_id), each.trial))


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="needs inspect-ai")
def test_inspect_itself_reads_our_log(walked: Path, tmp_path: Path) -> None:
    export("inspect", [walked], tmp_path / "log.json")
    code = (
        "import sys; from inspect_ai.log import read_eval_log\n"
        "log = read_eval_log(sys.argv[1])\n"
        "print(log.status, len(log.samples), log.samples[0].messages[1].tool_calls[0].function)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "log.json"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["success", "12", "click"]


def foreign(**sample: Any) -> dict[str, Any]:
    """Return an EvalLog of one sample as Inspect writes it."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "demo",
            "task_version": 3,
            "solver": "basic_agent",
            "model": "openai/gpt-5",
        },
        "samples": [
            {"id": 7, "epoch": 1, "input": "Do it.", "target": "x", "messages": [], **sample}
        ],
    }


SAMPLES: dict[str, tuple[dict[str, Any], Status, float | None]] = {
    "a correct one": ({"scores": {"match": {"value": "C"}}}, Status.COMPLETED, 1.0),
    "an incorrect one": ({"scores": {"match": {"value": "I"}}}, Status.COMPLETED, 0.0),
    "a partial one": ({"scores": {"f1": {"value": 0.25}}}, Status.COMPLETED, 0.25),
    "a boolean": ({"scores": {"ok": {"value": True}}}, Status.COMPLETED, 1.0),
    "an unscored one": ({"scores": {"ok": {"value": math.nan}}}, Status.EVALUATION_ERROR, None),
    "an unscored one with a reason": (
        {"scores": {"ok": {"value": math.nan, "reason": "environment_error"}}}, Status.ENVIRONMENT_ERROR, None,
    ),
    "an unscored one with a reason of its own": (
        {"scores": {"ok": {"value": math.nan, "reason": "refused"}}}, Status.EVALUATION_ERROR, None,
    ),
    "a score of many values": ({"scores": {"ok": {"value": {"a": 1}}}}, Status.EVALUATION_ERROR, None),
    "one without a score": ({}, Status.EVALUATION_ERROR, None),
    "one that broke": ({"error": {"message": "docker"}}, Status.ENVIRONMENT_ERROR, None),
    "one out of turns": (
        {"scores": {"m": {"value": 0}}, "limit": {"type": "message", "limit": 5}},
        Status.STEP_LIMIT, 0.0,
    ),
    "one out of time": (
        {"scores": {"m": {"value": 0}}, "limit": {"type": "time", "limit": 5}}, Status.TIME_LIMIT, 0.0,
    ),
    "one out of money": ({"limit": {"type": "cost", "limit": 1}}, Status.BUDGET_EXCEEDED, None),
}  # fmt: skip


@pytest.mark.parametrize(("sample", "status", "score"), SAMPLES.values(), ids=SAMPLES)
def test_samples_of_inspect_keep_what_they_mean(
    sample: dict[str, Any], status: Status, score: float | None, tmp_path: Path
) -> None:
    (tmp_path / "log.json").write_text(json.dumps(foreign(**sample)))

    folder = import_run("inspect", tmp_path / "log.json", tmp_path / "run")

    (result,) = results_of(folder).values()
    assert (result.status, result.score) == (status, score)
    assert (result.benchmark, result.agent, result.model) == ("demo", "basic_agent", "openai:gpt-5")


def test_the_reason_of_an_unscored_sample_is_kept(tmp_path: Path) -> None:
    scores = {"ok": {"value": math.nan, "reason": "the VM did not answer"}}
    (tmp_path / "log.json").write_text(json.dumps(foreign(scores=scores)))
    (result,) = results_of(import_run("inspect", tmp_path / "log.json", tmp_path / "run")).values()
    assert result.error is not None
    assert result.error.message == "the VM did not answer"


def test_a_foreign_conversation_becomes_a_trajectory(tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": "Do it."},
        {"role": "assistant", "content": [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "ok"}],
         "tool_calls": [{"id": "a", "function": "bash", "arguments": {"cmd": "ls"}}]},
        {"role": "tool", "content": "file", "tool_call_id": "a"},
        {"role": "assistant", "content": "done"},
    ]  # fmt: skip
    usage = {"openai/gpt-5": {"input_tokens": 10, "input_tokens_cache_read": 5, "output_tokens": 2}}
    log = foreign(
        messages=messages, model_usage=usage, scores={"m": {"value": "C"}}, total_time=9.5
    )
    (tmp_path / "log.json").write_text(json.dumps(log))

    folder = import_run("inspect", tmp_path / "log.json", tmp_path / "run")

    steps = read_lines(folder / "trials/1/7/trajectory.jsonl", Step).records
    assert [(s.thought, s.actions, s.results) for s in steps] == [
        ("hm\nok", ({"bash": {"cmd": "ls"}},), ("file",)),
        ("done", (), ()),
    ]
    (result,) = results_of(folder).values()
    assert (result.usage.input_tokens, result.usage.cached_input_tokens) == (15, 5)
    assert result.timings_s == {"total": 9.5}


def harbor(folder: Path, **extra: Any) -> None:
    """Write a trajectory as Harbor does, with its record of the trial beside it."""
    (folder / "agent").mkdir(parents=True)
    document = {
        "schema_version": "ATIF-v1.5",
        "agent": {"name": "terminus", "version": "2", "model_name": "gpt-5"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Fix the build."},
            {"step_id": 2, "source": "agent", "message": "Looking.", "reasoning_content": "hm",
             "tool_calls": [{"tool_call_id": "a", "function_name": "bash", "arguments": {"cmd": "make"}}],
             "observation": {"results": [{"source_call_id": "a", "content": "error"}]}},
        ],
        "final_metrics": {"total_prompt_tokens": 9, "total_completion_tokens": 3, "total_cost_usd": 0.5},
    }  # fmt: skip
    (folder / "agent" / "trajectory.json").write_text(json.dumps(document))
    (folder / "result.json").write_text(json.dumps({"task_name": "build", **extra}))


def test_trials_of_harbor_are_scored_by_their_rewards(tmp_path: Path) -> None:
    harbor(tmp_path / "job" / "a", verifier_result={"rewards": {"reward": 1.0}})
    harbor(tmp_path / "job" / "b", verifier_result={"rewards": {"reward": 0}})
    harbor(
        tmp_path / "job" / "c",
        exception_info={"exception_type": "Timeout", "exception_message": "x"},
    )

    folder = import_run("atif", tmp_path / "job", tmp_path / "run", benchmark="tb")

    found = sorted(results_of(folder).values(), key=lambda each: each.trial)
    assert [(r.task_id, r.trial, r.score) for r in found] == [
        ("build", 1, 1.0),
        ("build", 2, 0.0),
        ("build", 3, None),
    ]
    assert found[2].status is Status.ENVIRONMENT_ERROR
    assert (found[0].benchmark, found[0].cost_usd, found[0].usage.total_tokens) == ("tb", 0.5, 12)
    (step,) = read_lines(folder / "trials/1/build/trajectory.jsonl", Step).records
    assert (step.thought, step.results) == ("hm\nLooking.", ("error",))


def test_atif_numbers_steps_from_one_and_refers_to_calls_that_are_there(
    walked: Path, tmp_path: Path
) -> None:
    for file in export("atif", [walked], tmp_path / "atif"):
        document = json.loads(file.read_text())
        steps = document["steps"]
        assert document["schema_version"] == "ATIF-v1.8"
        assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
        for step in steps:
            calls = {call["tool_call_id"] for call in step.get("tool_calls", ())}
            for result in step.get("observation", {}).get("results", ()):
                assert result.get("source_call_id") in {None, *calls}
    pictures = [
        part["source"]["path"]
        for step in json.loads((tmp_path / "atif" / "0.1.json").read_text())["steps"]
        for result in step.get("observation", {}).get("results", ())
        for part in result["content"]
        if isinstance(part, dict)
    ]
    assert len(pictures) == 3
    assert all((tmp_path / "atif" / each).is_file() for each in pictures)


BAD_LOGS = {
    "no JSON": ("{", "not JSON"),
    "another version": ('{"version": 1}', "not an Inspect log"),
    "no object": ("[]", "not a JSON object"),
    "a sample without an id": (
        '{"version": 2, "eval": {}, "samples": [{"epoch": 1}]}', "sample that cannot be read",
    ),
    "no samples": ('{"version": 2, "eval": {}}', "no trial"),
    "one trial twice": (
        json.dumps(foreign() | {"samples": [{"id": 1, "epoch": 1}] * 2}), "twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD_LOGS.values(), ids=BAD_LOGS)
def test_logs_that_cannot_be_read_say_why_and_leave_nothing(
    text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "log.json").write_text(text)

    with pytest.raises(InputError, match=message):
        import_run("inspect", tmp_path / "log.json", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def archive(log: object, samples: list[Any], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Pack an `.eval` file the way Inspect does."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as written:
        written.writestr("header.json", json.dumps(log))
        for number, sample in enumerate(samples):
            written.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return packed.getvalue()


def test_an_archive_says_what_its_log_does(tmp_path: Path) -> None:
    log = foreign(scores={"match": {"value": "C"}})
    samples = log.pop("samples")
    (tmp_path / "log.eval").write_bytes(archive(log, samples))
    (tmp_path / "log.json").write_text(json.dumps(log | {"samples": samples}))

    packed = import_run("inspect", tmp_path / "log.eval", tmp_path / "packed")
    plain = import_run("inspect", tmp_path / "log.json", tmp_path / "plain")

    assert results_of(packed) == results_of(plain)


@given(damage=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=40)), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_a_damaged_archive_is_refused_or_read(
    damage: list[tuple[float, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    log = foreign(scores={"match": {"value": "C"}})
    data = archive(log, log.pop("samples"))
    for place, piece in damage:
        at = int(place * len(data))
        data = data[:at] + piece + data[at + len(piece) :]
    folder = tmp_path_factory.mktemp("damaged")
    (folder / "log.eval").write_bytes(data)

    with contextlib.suppress(InputError):
        import_run("inspect", folder / "log.eval", folder / "run")


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_a_log_nested_too_deeply_is_refused(name: str, tmp_path: Path) -> None:
    deep = "[" * 100_000 + "]" * 100_000
    log = tmp_path / name
    if name == "log.json":
        log.write_text(deep)
    else:
        with zipfile.ZipFile(log, "w") as written:
            written.writestr("header.json", deep)

    with pytest.raises(InputError, match="log"):
        import_run("inspect", log, tmp_path / "run")


@pytest.mark.parametrize("log", [[], None, "log", {"version": 2, "eval": []}])
def test_an_archive_of_something_else_is_refused(log: object, tmp_path: Path) -> None:
    (tmp_path / "log.eval").write_bytes(archive(log, []))

    with pytest.raises(InputError, match="not an Inspect log"):
        import_run("inspect", tmp_path / "log.eval", tmp_path / "run")


@pytest.mark.parametrize(
    "text", ["{}", '{"schema_version": "ATIF-v2.0"}', "[]", '{"schema_version": "ATIF-v1.1"}']
)
def test_files_that_are_no_trajectory_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)

    with pytest.raises(InputError):
        import_run("atif", tmp_path / "x.json", tmp_path / "run")


def test_an_unknown_scorer_is_named_with_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(json.dumps(foreign(scores={"match": {"value": "C"}})))

    with pytest.raises(InputError, match="there are match"):
        import_run("inspect", tmp_path / "log.json", tmp_path / "run", scorer="other")


def test_the_commands_write_and_read(walked: Path, tmp_path: Path) -> None:
    def invoke(*arguments: object) -> str:
        result = CliRunner().invoke(main, [str(each) for each in arguments])
        assert result.exit_code == 0, result.output
        return result.stdout

    log = tmp_path / "log.json"
    assert str(log) in invoke("export", "inspect", walked, "--out", log)
    assert "back" in invoke("import", "inspect", log, "--out", tmp_path / "back")
    listed = json.loads(invoke("export", "atif", walked, "--out", tmp_path / "t", "--json"))
    assert len(listed["files"]) == 12
    invoke("export", "baseline", walked, "--out", tmp_path / "base.json")
    invoke("compare", tmp_path / "back", "--against", tmp_path / "base.json")
