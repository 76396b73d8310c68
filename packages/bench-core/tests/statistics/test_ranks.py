from __future__ import annotations

import pytest
from simulations.ranks import claims_of, draw_models, simulate_ranks

from bench_core.errors import NotEstimableError
from bench_core.statistics import compare, dominance, leaderboard

np = pytest.importorskip("numpy", reason="models are drawn here")

Scores = dict[int, list[float]]


def drawn(rate: float, seed: int, tasks: int = 150) -> Scores:
    generator = np.random.default_rng(seed)
    return {n: [float(each)] * 2 for n, each in enumerate(generator.random(tasks) < rate)}


@pytest.fixture
def models() -> dict[str, Scores]:
    return {"low": drawn(0.2, 1), "high": drawn(0.9, 2), "near": drawn(0.8, 3)}


def test_ranks_that_the_pairs_leave_open_stay_open(models: dict[str, Scores]) -> None:
    found = leaderboard(models)
    assert [(each.model, each.best, each.worst) for each in found.ranks] == [
        ("high", 1, 2), ("near", 1, 2), ("low", 3, 3),
    ]  # fmt: skip
    assert found.ranks[0].rate == pytest.approx(
        np.mean([each[0] for each in models["high"].values()])
    )


def test_all_pairs_are_adjusted_together(models: dict[str, Scores]) -> None:
    pairs = leaderboard(models).pairs
    plain = [compare(models[each.new], models[each.baseline]).p_value for each in pairs]
    assert len(pairs) == 3
    assert [each.p_adjusted for each in pairs] == [min(1.0, 3 * each) for each in plain]
    for each in pairs:
        assert (0.0 not in each.joint) == (each.p_adjusted < 0.05)
        assert each.joint.level == pytest.approx(1 - 0.05 / 3)


def test_models_without_a_shared_task_are_not_told_apart(models: dict[str, Scores]) -> None:
    found = leaderboard({**models, "other": {999: [1.0], 998: [0.0]}})
    assert {"other"} < {name for pair in found.untested for name in pair}
    assert next(each for each in found.ranks if each.model == "other").best == 1
    assert next(each for each in found.ranks if each.model == "other").worst == 4


def test_one_model_is_first_and_none_is_refused(models: dict[str, Scores]) -> None:
    (only,) = leaderboard({"low": models["low"]}).ranks
    assert (only.best, only.worst) == (1, 1)
    assert leaderboard({"nothing": {}}).ranks[0].rate is None
    with pytest.raises(NotEstimableError, match="no model"):
        leaderboard({})


def test_a_model_is_dominated_only_by_one_that_is_better_and_cheaper(
    models: dict[str, Scores],
) -> None:
    costs = {
        "low": {n: [2.0 + n % 3] for n in range(150)},
        "high": {n: [3.5 + n % 2] for n in range(150)},
        "near": {n: [1.0 + n % 2] for n in range(150)},
    }
    found = {(each.model, each.by) for each in dominance(models, costs) if each.dominated}
    assert found == {("low", "near")}


def test_models_without_costs_are_left_out_of_the_front(models: dict[str, Scores]) -> None:
    assert dominance(models, {"low": {}, "high": {}}) == ()


@pytest.mark.slow
def test_simulated_claims_are_those_of_the_leaderboard_or_bolder() -> None:
    """`compare` never lets t fall below the sign-flip test, which few fractional scores can tell."""
    rates, costs = np.array([0.65, 0.5, 0.35]), np.array([1.0, 1.1, 1.4])
    alike = 0
    for seed in range(8):
        scores, spent = draw_models(np.random.default_rng(seed), rates, costs, 60, 2)
        found = claims_of(scores, spent, 0.05)
        models = {
            n: {t: [x] for t, x in enumerate(row)} for n, row in zip("abc", scores, strict=True)
        }
        costly = {
            n: {t: [x] for t, x in enumerate(row)} for n, row in zip("abc", spent, strict=True)
        }
        ranks = {each.model: (each.best, each.worst) for each in leaderboard(models).ranks}
        bold = {
            name: (
                1 + sum(worse == n for worse, _ in found.beaten),
                3 - sum(better == n for _, better in found.beaten),
            )
            for n, name in enumerate("abc")
        }
        assert all(ranks[n][0] <= bold[n][0] and ranks[n][1] >= bold[n][1] for n in bold)
        alike += ranks == bold
        dominated = {(each.model, each.by) for each in dominance(models, costly) if each.dominated}
        assert {("abc"[one], "abc"[by]) for one, by in found.dominated} == dominated
    assert alike >= 6


def test_rank_sets_cover_and_dominance_is_rarely_claimed_wrongly() -> None:
    for models, spread, dearer in ((3, 0.0, 0.0), (6, 0.1, 0.0), (6, 0.0, 0.3)):
        found = simulate_ranks(models, spread=spread, dearer=dearer, replications=200, seed=4)
        assert found.covered >= 0.92
        assert found.wrong_dominance <= 0.03
