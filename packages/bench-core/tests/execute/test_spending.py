"""What a run may spend and has spent, in this session and in former ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from toy_benchmark import SPEC, Toy, run

from bench_core.budgets import Budget, Spent
from bench_core.errors import InputError
from bench_core.records import Usage
from bench_core.run_folder import read_run
from bench_core.runs import plan_run, spent_before

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_row_of_the_models_price_is_kept_in_run_json(toy: Toy, out: Path) -> None:
    row = {"model": "toy:cheap", "input": 1.0, "as_of": "2026-11-01"}
    await run(toy, out, price_of={"toy:cheap": row}.get)
    assert read_run(out).info.prices == (row,)


async def test_money_spent_by_former_sessions_counts(out: Path) -> None:
    spec = SPEC.model_copy(update={"attempts": 1, "budget": Budget(max_cost_usd=1.2)})
    first = await run(Toy("0", "1", "2", "3"), out, spec, price_of=lambda _: 1)
    assert (first.outcome, first.spent.cost_usd) == ("finished", 1.0)
    healed = Toy()
    second = await run(healed, out, spec, price_of=lambda _: 1)
    assert second.outcome == "budget_exceeded"
    assert second.spent.cost_usd == 1.25
    assert len(healed.ran) == 1
    assert second.statuses == {"budget_exceeded": 1, "environment_error": 3}
    assert second.remaining == 4


async def test_a_budget_in_dollars_without_a_price_is_refused_before_anything_is_made(
    toy: Toy, tmp_path: Path
) -> None:
    spec = SPEC.model_copy(update={"budget": Budget(max_cost_usd=1)})
    with pytest.raises(InputError, match="price of 'toy:cheap' is unknown"):
        await run(toy, tmp_path, spec)
    assert list(tmp_path.iterdir()) == []  # a folder on a local disk


async def test_what_a_run_may_spend_stands_in_its_events_where_it_begins(
    toy: Toy, tmp_path: Path
) -> None:
    await run(toy, tmp_path / "free")
    await run(toy, tmp_path / "bound", SPEC.model_copy(update={"budget": Budget(max_tokens=10**6)}))

    assert "budget" not in {each.kind for each in read_run(tmp_path / "free").events}
    first = read_run(tmp_path / "bound").events[0]
    assert (first.kind, first.data) == ("budget", {"max_tokens": 10**6})


async def test_what_was_spent_is_read_back_from_the_events(toy: Toy, out: Path) -> None:
    outcome = await run(toy, out)
    spent = spent_before(read_run(out))
    assert (spent.usage, spent.cost_usd) == (outcome.spent.usage, 1.0)
    assert spent.seconds > 0


async def test_a_call_whose_event_the_disk_did_not_take_counts_by_its_result(
    toy: Toy, out: Path
) -> None:
    outcome = await run(toy, out)
    events = (out / "events.jsonl").read_text().splitlines(keepends=True)
    first = next(each for each in events if '"spend"' in each)
    (out / "events.jsonl").write_text("".join(each for each in events if each != first))
    assert spent_before(read_run(out)).cost_usd == outcome.spent.cost_usd


async def test_a_call_whose_trial_got_no_result_counts_by_its_event(toy: Toy, out: Path) -> None:
    outcome = await run(toy, out)
    (out / "results.jsonl").write_bytes(b"")
    assert spent_before(read_run(out)).cost_usd == outcome.spent.cost_usd


def test_without_a_price_there_are_no_dollars(toy: Toy, out: Path) -> None:
    for each in plan_run(toy, SPEC, out).capacities:
        assert (each.expected_s, each.expected_dollars, each.at_most_dollars) == (None, None, None)


def test_what_was_spent_survives_json() -> None:
    spent = Spent(usage=Usage(requests=2), cost_usd=0.5, unpriced_calls=1)
    stored = spent.model_dump(mode="json", exclude_defaults=True)
    assert Spent.model_validate(stored) == spent
