from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from PIL import Image
from pyarrow import parquet

from bench_core.errors import InputError
from llm_judge.cli import main
from llm_judge.meta_evaluation.labelled_set import read_labelled
from llm_judge.meta_evaluation.published_sets import convert
from llm_judge.prepared_case import prepare

if TYPE_CHECKING:
    from pathlib import Path

LOG = [
    {"timestamp": "t", "action": "left_click", "arguments": {"action": "left_click", "coordinate": [3, 4], "thoughts": "I see"}, "url": "https://shop.test/"},
    {"timestamp": "t", "action": "terminate", "arguments": {"action": "terminate", "status": "success"}},
]  # fmt: skip


def png(colour: str = "navy") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (20, 10), colour).save(out, "PNG")
    return out.getvalue()


def trajectory(name: str, label: int | None, **changes: Any) -> dict[str, Any]:
    """Return a row as CUAVerifierBench has it."""
    return {
        "task_id": name, "instruction": "Find the price of a lamp.", "init_url": "https://shop.test/",
        "start_timestamp": "", "end_timestamp": "", "final_answer": "A lamp costs $12.50.", "is_aborted": False,
        "web_surfer_log": "\n".join(map(json.dumps, LOG)) + "\n",
        "screenshots": [{"bytes": png(), "path": "screenshot0.png"}, {"bytes": png("red"), "path": "screenshot1.png"}],
        "n_screenshots": 2, "gpt_eval_json": "", "uv_rubric_score": 0.5, "uv_outcome_success": 1, "mm_is_success": 1,
        "verifier_is_success": 0, "final_human_outcome_label": label, "final_human_process_label": 1,
        "median_human_rubric_score_agnostic": None, "majority_human_outcome_vote": label, **changes,
    }  # fmt: skip


def cua_set(folder: Path, *rows: dict[str, Any]) -> Path:
    (folder / "trajectories").mkdir()
    parquet.write_table(
        pa.Table.from_pylist(list(rows)),
        folder / "trajectories" / "internal-00000-of-00001.parquet",
    )
    return folder


def test_trajectories_of_cua_verifier_bench_become_a_labelled_set(tmp_path: Path) -> None:
    rows = (
        trajectory("Shop--1", 1),
        trajectory("b", 0, final_answer="<no_answer>"),
        trajectory("c", None),
    )
    source = cua_set(tmp_path, *rows)
    ran = CliRunner().invoke(
        main, ["convert", "cua-verifier-bench", str(source), "-o", str(tmp_path / "out")]
    )
    assert (ran.exit_code, "2 cases" in ran.output, "1 without a label" in ran.output) == (
        0,
        True,
        True,
    )
    told, untold = read_labelled(tmp_path / "out" / "labelled.jsonl")
    assert (told.outcome, told.process, untold.outcome) == (True, True, False)
    assert [each.id for each in told.case.criteria] == ["task", "answer"]
    assert [each.id for each in untold.case.criteria] == ["task"]
    prepared = prepare(told.case)
    assert [each.name for each in prepared.prompt.pictures] == ["s1 step 0", "s2 step 1"]
    assert '"at":"/actions/0"' in prepared.prompt.text
    assert '"coordinate":[3,4]' in prepared.prompt.text
    assert "I see" not in prepared.prompt.text
    assert "$12.50" in prepared.prompt.text
    assert "$12.50" not in prepare(untold.case).prompt.text
    assert not any(
        word in prepared.prompt.system + prepared.prompt.text
        for word in ("outcome", "human", "uv_")
    )


def arb_set(folder: Path, *labels: tuple[str, str]) -> tuple[Path, Path]:
    """Write one trajectory as AgentRewardBench has it, with an annotation per person."""
    agent, task = "GenericAgent-gpt", "webarena.7"
    cleaned = folder / "cleaned" / "webarena" / agent / f"{agent}_on_webarena"
    shots = folder / "screenshots" / "webarena" / agent / task
    cleaned.mkdir(parents=True)
    shots.mkdir(parents=True)
    steps = []
    for number, action in enumerate(["click('12')", "send_msg_to_user('It costs $12.50 today.')"]):
        (shots / f"screenshot_step_{number}.png").write_bytes(png())
        steps.append(
            {"num": number, "reasoning": "I think so", "action": action, "url": "http://shop.test/lamp",
             "screenshot_path": f"trajectories/screenshots/webarena/{agent}/{task}/screenshot_step_{number}.png",
             "open_pages_urls": ["http://shop.test/lamp"], "focused_element": "1", "last_action_error": "",
             "axtree": "", "axtree_pruned": "heading 'Lamp'\n\ttext '$12.50'", "chat_messages": [], "stats": {}}
        )  # fmt: skip
    data = {"benchmark": "webarena", "agent": agent, "model": "gpt", "valid": True, "experiment": "e", "goal": "Tell me the price of the lamp.\n", "seed": 1, "model_args": {}, "flags": {}, "summary_info": {"cum_reward": 1}, "steps": steps}  # fmt: skip
    (cleaned / f"{task}.json").write_text(json.dumps(data))
    head = "annotator_name,benchmark,task_id,model_name,exp_name,trajectory_success,trajectory_side_effect,trajectory_optimality,trajectory_looping"
    rows = [
        f"A,webarena,{task},{agent},e,{success},{side},2. Suboptimal,No" for success, side in labels
    ]
    annotations = folder / "annotations.csv"
    annotations.write_text("\n".join([head, *rows]))
    return folder, annotations


def test_trajectories_of_agent_reward_bench_become_a_labelled_set(tmp_path: Path) -> None:
    source, _ = arb_set(tmp_path, ("Successful", "No"), ("Successful", "Yes"))
    assert convert("agent-reward-bench", source, tmp_path / "out") == (1, 0)
    (one,) = read_labelled(tmp_path / "out" / "labelled.jsonl")
    assert (one.outcome, one.process, one.case.agent_answer) == (
        True,
        False,
        "It costs $12.50 today.",
    )
    assert one.case.case_id == "webarena.7@GenericAgent-gpt"
    prepared = prepare(one.case)
    assert [each.name for each in prepared.prompt.pictures] == ["s1 step 0", "s2 step 1"]
    assert "heading 'Lamp'" in prepared.evidence.text
    assert "12.50 today" not in prepared.evidence.text
    assert "I think so" not in prepared.prompt.text


@pytest.mark.parametrize(
    "labels", [[("Successful", "No"), ("Unsuccessful", "No")], [("Unsure", "No")]]
)
def test_trajectories_whose_label_is_in_doubt_are_left_out(
    tmp_path: Path, labels: list[tuple[str, str]]
) -> None:
    source, _ = arb_set(tmp_path, *labels)
    with pytest.raises(InputError, match="holds no labelled trajectory"):
        convert("agent-reward-bench", source, tmp_path / "out")


def test_what_is_not_such_a_set_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--annotations"):
        convert("agent-reward-bench", tmp_path, tmp_path / "out")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not trajectories of CUAVerifierBench"):
        convert("cua-verifier-bench", tmp_path / "x.parquet", tmp_path / "out")
    with pytest.raises(InputError, match="holds no labelled trajectory"):
        convert("cua-verifier-bench", tmp_path, tmp_path / "out")
