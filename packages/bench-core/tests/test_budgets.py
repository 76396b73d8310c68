from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.budgets import Budget, RunBudget, Spent, require_price
from bench_core.errors import BudgetExceededError, InputError
from bench_core.records import Spending, Usage

CALL = Usage(requests=1, input_tokens=90, output_tokens=10)

spents = st.builds(
    Spent,
    usage=st.builds(Usage, requests=st.integers(0, 9), input_tokens=st.integers(0, 10**6)),
    cost_usd=st.integers(0, 1000).map(float),
    unpriced_calls=st.integers(0, 3),
    seconds=st.integers(0, 10**6).map(float),
)


@pytest.mark.parametrize(
    ("budget", "calls"),
    [(Budget(max_cost_usd=1.0), 4), (Budget(max_tokens=400), 4), (Budget(max_tokens=401), 5)],
)
def test_the_call_that_spends_the_last_of_the_budget_is_told(budget: Budget, calls: int) -> None:
    meter = RunBudget(budget).meter()
    for _ in range(calls - 1):
        meter.spend(CALL, 0.25)
    assert not meter.stopped
    with pytest.raises(BudgetExceededError, match="the run's budget is spent"):
        meter.spend(CALL, 0.25)
    assert meter.stopped
    assert meter.spent.usage.requests == calls


def test_all_meters_of_a_run_count_against_one_budget() -> None:
    run = RunBudget(Budget(max_tokens=150))
    run.meter().spend(CALL)
    with pytest.raises(BudgetExceededError, match="200 of 150 tokens"):
        run.meter().spend(CALL)


def test_without_limits_nothing_is_refused_and_everything_counted() -> None:
    run = RunBudget()
    run.meter().spend(CALL)
    assert run.exhausted is None
    assert run.spent == Spent(usage=CALL, unpriced_calls=1)


def test_minutes_of_former_sessions_count() -> None:
    now = [0.0]
    run = RunBudget(Budget(max_minutes=10), spent=Spent(seconds=540), seconds=lambda: now[0])
    assert run.seconds_left == 60
    now[0] = 60
    assert run.exhausted == "10.0 of 10 minutes are over"


def test_a_call_of_unknown_price_spends_a_budget_in_dollars() -> None:
    with pytest.raises(BudgetExceededError, match="no known price"):
        RunBudget(Budget(max_cost_usd=1)).meter().spend(CALL, None)


def test_calls_from_several_threads_are_all_counted() -> None:
    run = RunBudget()
    meter = run.meter()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: meter.spend(CALL, 0.5), range(800)))
    assert run.spent.usage.requests == meter.spent.usage.requests == 800
    assert run.spent.cost_usd == 400.0


def test_listeners_receive_each_call_and_who_made_it() -> None:
    received: list[tuple[str, Spent]] = []
    meter = RunBudget().meter()
    meter.on_spend = lambda source, spent: received.append((source, spent))
    meter.spend(CALL, 0.5)
    meter.of("judge").spend(CALL)
    assert received == [
        ("agent", Spent(usage=CALL, cost_usd=0.5)),
        ("judge", Spent(usage=CALL, unpriced_calls=1)),
    ]


def test_what_each_source_spent_is_kept_apart() -> None:
    meter = RunBudget().meter()
    meter.spend(CALL, 0.5)
    meter.spend(CALL, 0.25)
    meter.of("judge").of("second judge").spend(CALL)
    assert meter.spendings() == (
        Spending(source="agent", usage=CALL + CALL, cost_usd=0.75),
        Spending(source="second judge", usage=CALL),
    )
    assert meter.spent.usage == CALL + CALL + CALL


@pytest.mark.parametrize(
    ("budget", "model", "price"),
    [
        (Budget(), "x:y", None),
        (Budget(max_cost_usd=1), None, None),
        (Budget(max_cost_usd=1), "x:y", 3),
    ],
)
def test_a_budget_that_can_be_kept_is_accepted(
    budget: Budget, model: str | None, price: int | None
) -> None:
    require_price(budget, model, lambda _: price)


@pytest.mark.parametrize("price_of", [None, lambda _: None])
def test_dollars_for_a_model_of_unknown_price_are_refused_up_front(price_of: object) -> None:
    with pytest.raises(InputError, match=r"price of 'x:y' is unknown.*--max-tokens"):
        require_price(Budget(max_cost_usd=1), "x:y", price_of)  # type: ignore[arg-type]


@given(spents, spents, spents)
def test_adding_is_associative(one: Spent, two: Spent, three: Spent) -> None:
    assert (one + two) + three == one + (two + three)


@given(spents, spents)
def test_spending_more_never_brings_a_budget_back(one: Spent, two: Spent) -> None:
    budget = Budget(max_cost_usd=500, max_tokens=500_000, max_minutes=8000)
    if budget.exceeded_by(one) is not None:
        assert budget.exceeded_by(one + two) is not None
