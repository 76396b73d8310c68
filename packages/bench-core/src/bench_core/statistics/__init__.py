"""Intervals, comparisons and summaries of benchmark results: a tower over bench-core's base.

Closed forms are pure Python; `bootstrap` needs numpy (`pip install 'bench-core[statistics]'`), which
is loaded when the first bootstrap is asked for. Names are re-exported lazily.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
    from bench_core.statistics.gating import GateCheck, GateResult, GateVerdict, gate
    from bench_core.statistics.intervals import ESTIMAND_TEXT, Estimand, Interval
    from bench_core.statistics.judge_correction import (
        CorrectedRate,
        corrected_rate,
        latent_class,
        ppi,
        rogan_gladen,
    )
    from bench_core.statistics.multiplicity import benjamini_hochberg, holm
    from bench_core.statistics.paired_tests import (
        fisher_exact,
        mcnemar_mid_p,
        newcombe,
        paired_t,
        sign_flip,
        tango,
    )
    from bench_core.statistics.passes import (
        pass_at_k,
        pass_at_k_interval,
        pass_hat_k,
        pass_hat_k_interval,
    )
    from bench_core.statistics.planning import (
        Design,
        Plan,
        Variability,
        plan,
        plans_for,
        power_of,
        tasks_needed,
    )
    from bench_core.statistics.proportions import clopper_pearson, jeffreys, wilson
    from bench_core.statistics.rates import macro_average_interval, success_rate_interval
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
        SimulatedGate,
        simulate_coverage,
        simulate_gate,
    )
    from bench_core.statistics.summary import summarise
    from bench_core.statistics.summary_records import (
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
    "Calibration",
    "CalibrationBin",
    "Comparison",
    "CorrectedRate",
    "Coverage",
    "Design",
    "Distribution",
    "EndedTrial",
    "EndedTrials",
    "Estimand",
    "Exclusion",
    "GateCheck",
    "GateResult",
    "GateVerdict",
    "Interval",
    "PassRate",
    "Plan",
    "Population",
    "Rate",
    "SimulatedCoverage",
    "SimulatedGate",
    "Slice",
    "Summary",
    "TaskComparison",
    "Variability",
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
    "ended_trials",
    "fisher_exact",
    "gate",
    "holm",
    "identity_of",
    "jeffreys",
    "krippendorff_alpha",
    "latent_class",
    "latest_results",
    "macro_average_interval",
    "mcnemar_mid_p",
    "newcombe",
    "paired_t",
    "pass_at_k",
    "pass_at_k_interval",
    "pass_hat_k",
    "pass_hat_k_interval",
    "plan",
    "plans_for",
    "power_of",
    "ppi",
    "rogan_gladen",
    "sign_flip",
    "simulate_coverage",
    "simulate_gate",
    "success_rate_interval",
    "summarise",
    "tango",
    "task_differences",
    "task_scores",
    "task_successes",
    "tasks_needed",
    "total_usage",
    "wilson",
]

_HOMES = {
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
    "gating": ("GateCheck", "GateResult", "GateVerdict", "gate"),
    "intervals": ("ESTIMAND_TEXT", "Estimand", "Interval"),
    "judge_correction": ("CorrectedRate", "corrected_rate", "latent_class", "ppi", "rogan_gladen"),
    "multiplicity": ("benjamini_hochberg", "holm"),
    "paired_tests": ("fisher_exact", "mcnemar_mid_p", "newcombe", "paired_t", "sign_flip", "tango"),
    "passes": ("pass_at_k", "pass_at_k_interval", "pass_hat_k", "pass_hat_k_interval"),
    "planning": ("Design", "Plan", "Variability", "plan", "plans_for", "power_of", "tasks_needed"),
    "proportions": ("clopper_pearson", "jeffreys", "wilson"),
    "rates": ("macro_average_interval", "success_rate_interval"),
    "scores": (
        "IDENTITY",
        "EndedTrial",
        "EndedTrials",
        "ended_trials",
        "identity_of",
        "latest_results",
        "task_scores",
        "task_successes",
    ),
    "simulation": (
        "Population",
        "SimulatedCoverage",
        "SimulatedGate",
        "simulate_coverage",
        "simulate_gate",
    ),
    "summary": ("summarise",),
    "summary_records": (
        "Coverage",
        "Distribution",
        "Exclusion",
        "PassRate",
        "Rate",
        "Slice",
        "Summary",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
