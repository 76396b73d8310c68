"""Intervals, comparisons and summaries of benchmark results: a tower over bench-core's base.

Closed forms are pure Python; `bootstrap` needs numpy (`pip install 'bench-core[statistics]'`), which
is loaded when the first bootstrap is asked for. Names are re-exported lazily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.statistics.agreement import (
        Accuracy,
        Calibration,
        CalibrationBin,
        accuracy,
        calibration,
        cohen_kappa,
        krippendorff_alpha,
    )
    from bench_core.statistics.bootstrap import (
        bootstrap_macro_average,
        bootstrap_mean,
        bootstrap_task_mean,
    )
    from bench_core.statistics.comparison import (
        Comparison,
        TaskComparison,
        compare,
        compare_models,
        compare_tasks,
        task_differences,
    )
    from bench_core.statistics.costs import describe, total_usage
    from bench_core.statistics.dirichlet import dirichlet_high, dirichlet_low, units_needed
    from bench_core.statistics.gate_simulation import (
        SimulatedAlarms,
        SimulatedGate,
        simulate_alarms,
        simulate_gate,
    )
    from bench_core.statistics.intervals import ESTIMAND_TEXT, Estimand, Interval
    from bench_core.statistics.judge_correction import (
        CorrectedRate,
        corrected_rate,
        latent_class,
        ppi,
        rogan_gladen,
    )
    from bench_core.statistics.limits import difference_limits
    from bench_core.statistics.look_simulation import SimulatedLooks, simulate_looks
    from bench_core.statistics.looks import Look, LookPlan, look_at, looks_of, plan_looks
    from bench_core.statistics.multiplicity import benjamini_hochberg, holm, tarone
    from bench_core.statistics.noise import Items, Noise, TaskItem, items_of, noise_of
    from bench_core.statistics.paired_tests import (
        fisher_exact,
        mcnemar_mid_p,
        newcombe,
        paired_t,
        sign_flip,
        tango,
    )
    from bench_core.statistics.pass_rates import (
        pass_at_k,
        pass_at_k_interval,
        pass_hat_k,
        pass_hat_k_interval,
    )
    from bench_core.statistics.permutation import WithinTask, within_task
    from bench_core.statistics.planning import (
        Design,
        Plan,
        Templates,
        Variability,
        plan,
        plans_for,
        power_of,
        tasks_needed,
    )
    from bench_core.statistics.proportions import (
        clopper_pearson,
        jeffreys,
        t_or_normal_quantile,
        wilson,
    )
    from bench_core.statistics.ranks import (
        Dominance,
        Leaderboard,
        RankSet,
        dominance,
        leaderboard,
    )
    from bench_core.statistics.rates import macro_average_interval, success_rate_interval
    from bench_core.statistics.regression_gate import GateCheck, GateResult, GateVerdict, gate
    from bench_core.statistics.scores import (
        IDENTITY,
        EndedTrial,
        EndedTrials,
        ended_trials,
        identity_of,
        latest_results,
        task_scores,
        task_successes,
    )
    from bench_core.statistics.simulation import (
        Population,
        SimulatedCoverage,
        simulate_coverage,
    )
    from bench_core.statistics.summary import summarise
    from bench_core.statistics.summary_records import (
        Bounds,
        Coverage,
        Distribution,
        Exclusion,
        PassRate,
        Rate,
        Slice,
        Summary,
    )

__all__ = [
    "ESTIMAND_TEXT",
    "IDENTITY",
    "Accuracy",
    "Bounds",
    "Calibration",
    "CalibrationBin",
    "Comparison",
    "CorrectedRate",
    "Coverage",
    "Design",
    "Distribution",
    "Dominance",
    "EndedTrial",
    "EndedTrials",
    "Estimand",
    "Exclusion",
    "GateCheck",
    "GateResult",
    "GateVerdict",
    "Interval",
    "Items",
    "Leaderboard",
    "Look",
    "LookPlan",
    "Noise",
    "PassRate",
    "Plan",
    "Population",
    "RankSet",
    "Rate",
    "SimulatedAlarms",
    "SimulatedCoverage",
    "SimulatedGate",
    "SimulatedLooks",
    "Slice",
    "Summary",
    "TaskComparison",
    "TaskItem",
    "Templates",
    "Variability",
    "WithinTask",
    "accuracy",
    "benjamini_hochberg",
    "bootstrap_macro_average",
    "bootstrap_mean",
    "bootstrap_task_mean",
    "calibration",
    "clopper_pearson",
    "cohen_kappa",
    "compare",
    "compare_models",
    "compare_tasks",
    "corrected_rate",
    "describe",
    "difference_limits",
    "dirichlet_high",
    "dirichlet_low",
    "dominance",
    "ended_trials",
    "fisher_exact",
    "gate",
    "holm",
    "identity_of",
    "items_of",
    "jeffreys",
    "krippendorff_alpha",
    "latent_class",
    "latest_results",
    "leaderboard",
    "look_at",
    "looks_of",
    "macro_average_interval",
    "mcnemar_mid_p",
    "newcombe",
    "noise_of",
    "paired_t",
    "pass_at_k",
    "pass_at_k_interval",
    "pass_hat_k",
    "pass_hat_k_interval",
    "plan",
    "plan_looks",
    "plans_for",
    "power_of",
    "ppi",
    "rogan_gladen",
    "sign_flip",
    "simulate_alarms",
    "simulate_coverage",
    "simulate_gate",
    "simulate_looks",
    "success_rate_interval",
    "summarise",
    "t_or_normal_quantile",
    "tango",
    "tarone",
    "task_differences",
    "task_scores",
    "task_successes",
    "tasks_needed",
    "total_usage",
    "units_needed",
    "wilson",
    "within_task",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "agreement": (
            "Accuracy",
            "Calibration",
            "CalibrationBin",
            "accuracy",
            "calibration",
            "cohen_kappa",
            "krippendorff_alpha",
        ),
        "bootstrap": ("bootstrap_macro_average", "bootstrap_mean", "bootstrap_task_mean"),
        "comparison": (
            "Comparison",
            "TaskComparison",
            "compare",
            "compare_models",
            "compare_tasks",
            "task_differences",
        ),
        "costs": ("describe", "total_usage"),
        "dirichlet": ("dirichlet_high", "dirichlet_low", "units_needed"),
        "gate_simulation": ("SimulatedAlarms", "SimulatedGate", "simulate_alarms", "simulate_gate"),
        "intervals": ("ESTIMAND_TEXT", "Estimand", "Interval"),
        "judge_correction": (
            "CorrectedRate",
            "corrected_rate",
            "latent_class",
            "ppi",
            "rogan_gladen",
        ),
        "limits": ("difference_limits",),
        "look_simulation": ("SimulatedLooks", "simulate_looks"),
        "looks": ("Look", "LookPlan", "look_at", "looks_of", "plan_looks"),
        "multiplicity": ("benjamini_hochberg", "holm", "tarone"),
        "noise": ("Items", "Noise", "TaskItem", "items_of", "noise_of"),
        "paired_tests": (
            "fisher_exact",
            "mcnemar_mid_p",
            "newcombe",
            "paired_t",
            "sign_flip",
            "tango",
        ),
        "pass_rates": ("pass_at_k", "pass_at_k_interval", "pass_hat_k", "pass_hat_k_interval"),
        "permutation": ("WithinTask", "within_task"),
        "planning": (
            "Design",
            "Plan",
            "Templates",
            "Variability",
            "plan",
            "plans_for",
            "power_of",
            "tasks_needed",
        ),
        "proportions": ("clopper_pearson", "jeffreys", "t_or_normal_quantile", "wilson"),
        "ranks": ("Dominance", "Leaderboard", "RankSet", "dominance", "leaderboard"),
        "rates": ("macro_average_interval", "success_rate_interval"),
        "regression_gate": ("GateCheck", "GateResult", "GateVerdict", "gate"),
        "scores": (
            "EndedTrial",
            "EndedTrials",
            "IDENTITY",
            "ended_trials",
            "identity_of",
            "latest_results",
            "task_scores",
            "task_successes",
        ),
        "simulation": ("Population", "SimulatedCoverage", "simulate_coverage"),
        "summary": ("summarise",),
        "summary_records": (
            "Bounds",
            "Coverage",
            "Distribution",
            "Exclusion",
            "PassRate",
            "Rate",
            "Slice",
            "Summary",
        ),
    },
)
