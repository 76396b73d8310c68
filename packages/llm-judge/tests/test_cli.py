from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import llm_judge
from bench_core.records.judge import Verdict
from llm_judge import samples
from llm_judge.cli.commands import main

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

FOLDER = samples.folder()
GOOD = str(FOLDER / "dinner.json")
BAD = str(FOLDER / "dinner-wrong-time.json")
REPLAY = f"replay:{samples.cassette()}"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_version_names_the_distribution() -> None:
    assert run("--version").output == f"llm-judge, version {llm_judge.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["judge", "--help"], ["stress", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom llm_judge.cli.commands import main\n"
        f"main({arguments!r}, standalone_mode=False)\n"
        "heavy = {'numpy', 'pydantic', 'anthropic', 'openai', 'google.genai', 'genai_prices'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, llm_judge; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_pass_exits_with_zero_and_shows_its_evidence() -> None:
    result = run("judge", GOOD, "-m", REPLAY)
    assert result.exit_code == 0
    assert "PASS (supported)  dinner" in result.output
    assert '+ /tablely/finalstate/bookings/0/time "8:30 PM" (exact)' in result.output


def test_a_place_that_cannot_be_written_is_told_before_anything_is_judged(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run("judge", GOOD, "-m", REPLAY, "--out", str(tmp_path / "file" / "verdict.json"))
    assert result.exit_code == 2
    assert result.output == f"Error: cannot use {tmp_path / 'file'}: File exists\n"


def test_a_fail_exits_with_one() -> None:
    result = run("judge", BAD, "-m", REPLAY, "--json")
    assert result.exit_code == 1
    assert json.loads(result.output)["outcome"] == "fail"


def test_what_is_undecided_exits_with_three(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps([{"text": "", "stop": "refusal", "refusal": "I would rather not"}])
    )
    result = run("judge", GOOD, "-m", f"scripted:{script}")
    assert result.exit_code == 3
    assert "I would rather not" in result.output


def test_a_provider_fault_exits_with_two(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["PASS", "PASS"]))
    result = run("judge", GOOD, "-m", f"scripted:{script}")
    assert result.exit_code == 2
    assert result.output.startswith("ERROR  dinner")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["judge", GOOD, "-m", "nobody:model"], "unknown provider 'nobody'"),
        (["judge", GOOD, "-m", "model"], "write `provider:model`"),
        (["judge", GOOD, "-m", "anthropic:some-model"], "ANTHROPIC_API_KEY"),
        (["judge", str(FOLDER / "dinner.state.json"), "-m", REPLAY], "not a case"),
        (["pack", GOOD, "--chars", "10"], "1000"),
        (["verify", GOOD], "--case FILE or --state FILE"),
        (["judge", GOOD, "-m", REPLAY, "--record", "a", "--replay", GOOD], "exclude each other"),
    ],
)
def test_wrong_input_exits_with_two_and_names_the_way_out(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_verdict_is_verified_against_its_state_and_broken_by_another(tmp_path: Path) -> None:
    out = tmp_path / "verdict.json"
    run("judge", BAD, "-m", REPLAY, "--out", str(out))
    assert Verdict.model_validate_json(out.read_bytes()).outcome == "fail"
    assert run("verify", str(out), "--case", BAD).exit_code == 0
    broken = run("verify", str(out), "--state", str(FOLDER / "dinner.state.json"))
    assert broken.exit_code == 1
    assert "something else stands there" in broken.output


def test_a_recording_replays_without_key_or_sdk() -> None:
    shown = run("judge", GOOD, "-m", "by-hand:written", "--replay", str(samples.cassette()))
    assert shown.exit_code == 0
    assert "replayed" in shown.output


def test_lint_is_silent_about_a_sound_case_and_exits_with_one_for_others(tmp_path: Path) -> None:
    assert run("lint", GOOD).exit_code == 0
    case = json.loads((FOLDER / "dinner.json").read_text())
    case["state_path"] = None
    case["state"] = {"tablely": {"initialstate": {"a": 1}, "finalstate": {"a": 1}}}
    (tmp_path / "case.json").write_text(json.dumps(case))
    result = run("lint", str(tmp_path / "case.json"))
    assert result.exit_code == 1
    assert "state.missing_app" in result.output
    assert "state.no_change" in result.output


def test_show_prompt_needs_no_key_and_tells_the_cost() -> None:
    shown = run("show-prompt", GOOD, "-m", "anthropic:claude-sonnet-4-0")
    assert shown.exit_code == 0
    assert '<evidence id="' in shown.output
    assert "input tokens, about" in shown.output
    assert "$0.0" in shown.output
    assert "price unknown" in run("show-prompt", GOOD, "-m", "openai:no-such-model").output


def test_show_prompt_prints_the_request_for_machines() -> None:
    request = json.loads(run("show-prompt", GOOD, "--json").output)["request"]
    assert request["output_schema"]["required"] == ["answers"]


def test_stress_without_a_model_measures_visibility() -> None:
    shown = run("stress", GOOD, "--json")
    assert shown.exit_code == 0
    report = json.loads(shown.output)
    assert report["visibility"]["overall"]["rate"]["estimate"] == 1.0
    assert report["judged"] is None


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """A model none of whose replies can be read."""
    (tmp_path / "replies.json").write_text(json.dumps(["I think it passes."] * 500))
    return f"scripted:{tmp_path / 'replies.json'}"


def test_stress_of_which_every_call_failed_is_no_success(broken: str) -> None:
    few = ("--per-operator", "1", "--attacks", "0", "--every", "9")
    found = run("stress", GOOD, "-m", broken, *few)
    assert found.exit_code == 2
    assert re.search(r"(\d+) of \1 calls failed, the first: \S", found.output)


def test_batch_tells_of_cases_it_cannot_read_before_it_asks_for_a_key(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("{")
    found = run("batch", str(tmp_path / "cases.jsonl"), "-m", "openai:x", "-o", str(tmp_path / "v"))
    assert found.exit_code == 2
    assert "cases.jsonl, line 1: not JSON" in found.output
    assert "OPENAI_API_KEY" not in found.output


def test_batch_judges_a_folder_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "verdicts.jsonl"
    first = run("batch", str(FOLDER), "-m", REPLAY, "-o", str(out))
    assert first.exit_code == 0
    assert "1 fail, 1 pass; 0 of them earlier" in first.output
    again = run("batch", str(FOLDER), "-m", REPLAY, "-o", str(out))
    assert "1 fail, 1 pass; 2 of them earlier" in again.output
    assert len(out.read_text().splitlines()) == 2


def test_calibrate_tells_how_often_the_judge_errs(tmp_path: Path) -> None:
    out = tmp_path / "verdicts.jsonl"
    run("batch", str(FOLDER), "-m", REPLAY, "-o", str(out))
    labels = tmp_path / "labels.csv"
    labels.write_text("case_id,passed\ndinner,true\ndinner-wrong-time,false\n")
    shown = run("calibrate", str(labels), str(out))
    assert shown.exit_code == 0
    assert "2 labelled cases: 1 fail, 1 pass" in shown.output
    assert "not estimated: calibration" in shown.output


def test_models_lists_the_providers_and_what_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = {each["provider"]: each for each in json.loads(run("models", "--json").output)}
    assert set(rows) == {"anthropic", "openai", "openai-chat", "google"}
    assert rows["openai"]["key"] == "set OPENAI_API_KEY"


def test_batch_prints_the_criterion_that_decided_and_lint_reads_what_batch_reads(
    tmp_path: Path,
) -> None:
    lines = [json.dumps(json.loads((FOLDER / f"{name}.json").read_text())) for name in NAMES]
    cases = tmp_path / "cases.jsonl"
    cases.write_text("\n".join(lines))
    for name in NAMES:
        (tmp_path / f"{name}.state.json").write_bytes((FOLDER / f"{name}.state.json").read_bytes())
    done = run("batch", str(cases), "-m", REPLAY, "-o", str(tmp_path / "v.jsonl"), "-j", "1")
    assert done.exit_code == 0, done.output
    assert "fail     supported dinner-wrong-time  table: fail (supported)" in done.output
    assert run("lint", str(cases)).exit_code == 0


NAMES = ("dinner", "dinner-wrong-time")


def test_only_kinds_that_are_accepted_count() -> None:
    strict = run("judge", GOOD, "-m", REPLAY, "--accept-kinds", "proven")
    assert strict.exit_code == 3
    assert "is not a list of" in run("judge", GOOD, "-m", REPLAY, "--accept-kinds", "sure").output


def test_scripted_model_that_ends_is_told_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "script.json").write_text("[]")
    ended = run("judge", GOOD, "-m", f"scripted:{tmp_path / 'script.json'}")
    assert ended.exit_code == 2
    assert "Traceback" not in ended.output
