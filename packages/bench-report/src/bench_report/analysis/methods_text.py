"""A methods paragraph written from the run's own records, fit to be quoted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from bench_report.model import Report, RunReport
from bench_report.text.numbers import count, counted, interval, level, percent
from bench_report.text.phrases import why_unscored
from bench_report.text.untrusted import inline

_WILSON = "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA 22:209-212."
_KISH = "Kish, L. (1965). Survey Sampling. Wiley. (Design effect and effective sample size.)"
_MILLER = "Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640."
_BELL = "Bell, R. M., McCaffrey, D. F. (2002). Bias reduction in standard errors for linear regression with multi-stage samples. Survey Methodology 28:169-181. (The jackknife over clusters.)"
_CHEN = "Chen, M. et al. (2021). Evaluating large language models trained on code. arXiv:2107.03374. (pass@k.)"
_YAO = "Yao, S. et al. (2024). tau-bench. arXiv:2406.12045. (pass^k.)"
_HOLM = "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6:65-70."
_MCNEMAR = "Fagerland, M. W., Lydersen, S., Laake, P. (2013). The McNemar test for binary matched-pairs data. BMC Medical Research Methodology 13:91."
_TANGO = "Tango, T. (1998). Equivalence test and confidence interval for the difference in proportions for the paired-sample design. Statistics in Medicine 17:891-908."
_PITMAN = "Pitman, E. J. G. (1937). Significance tests which may be applied to samples from any populations. Journal of the Royal Statistical Society Supplement 4:119-130."
_GAFFKE = "Gaffke, N. (2005). Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative variable. Mathematical Methods of Statistics 14:451-467."
_MOGSTAD = "Mogstad, M., Romano, J. P., Shaikh, A. M., Wilhelm, D. (2024). Inference for ranks with applications to mobility across neighbourhoods and academic achievement across countries. Review of Economic Studies 91:476-518."
_SEARLE = "Searle, S. R., Casella, G., McCulloch, C. E. (1992). Variance Components. Wiley."
_AGRESTI = "Agresti, A., Coull, B. A. (1998). Approximate is better than exact for interval estimation of binomial proportions. American Statistician 52:119-126."
_LAN = "Lan, K. K. G., DeMets, D. L. (1983). Discrete sequential boundaries for clinical trials. Biometrika 70:659-663."
_OBRIEN = "O'Brien, P. C., Fleming, T. R. (1979). A multiple testing procedure for clinical trials. Biometrics 35:549-556."
_BH = "Benjamini, Y., Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the Royal Statistical Society B 57:289-300."
_JOSEPH = "Joseph, L., Gyorkos, T. W., Coupal, L. (1995). Bayesian estimation of disease prevalence in the absence of a gold standard. American Journal of Epidemiology 141:263-272."
_PPI = "Angelopoulos, A. N., Duchi, J. C., Zrnic, T. (2023). PPI++: efficient prediction-powered inference. arXiv:2311.01453."
_COHEN = "Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20:37-46."


def methods_paragraphs(report: Report) -> tuple[str, ...]:
    """Return paragraphs about sampling, scoring, intervals and exclusions."""
    paragraphs = [" ".join(_run(run)) for run in report.runs]
    paragraphs += [" ".join(_intervals(report))]
    return tuple(each for each in paragraphs if each)


def references(report: Report) -> tuple[str, ...]:
    """Return the sources of the methods that were really used, in alphabetical order."""
    found: set[str] = set()
    if any(run.summary.success.new_tasks for run in report.runs):
        found |= {_WILSON, _KISH, _BELL, _MILLER}
    found |= {_LAN, _OBRIEN} if any(run.looks for run in report.runs) else set()
    found |= {_MOGSTAD} if report.ranking else set()
    found |= {_HOLM} if report.ranking and report.ranking.dominance else set()
    found |= {_SEARLE} if any(run.noise for run in report.runs) else set()
    # Every interval and test names its method, so that only methods in use are cited.
    rates = [run.summary.success.new_tasks for run in report.runs]
    if any(rate and "add-two" in rate.method for rate in rates):
        found.add(_AGRESTI)
    if any(rate and "Dirichlet" in rate.method for rate in rates):
        found.add(_GAFFKE)
    if any(each.k > 1 for run in report.runs for each in run.summary.pass_rates):
        found |= {_CHEN, _YAO}
    if report.comparison:
        for each in report.comparison.differences:
            found |= {_MCNEMAR, _TANGO} if "McNemar" in each.method else set()
            found |= {_PITMAN} if each.p_same_tasks is not None else set()
            found |= {_GAFFKE} if each.same_tasks else set()
            found |= {_BH} if each.tasks else set()
    for audit in filter(None, (run.audit for run in report.runs)):
        found |= {_JOSEPH, _PPI} if audit.corrected else set()
        found |= {_COHEN} if audit.judge_accuracy else set()
    return tuple(sorted(found))


def _run(run: RunReport) -> Iterator[str]:
    """Describe the run and its scoring."""
    info, coverage = run.info, run.summary.coverage
    model = f" with the model {inline(info.model, 100)}" if info.model else ""
    version = f" {info.benchmark_version}" if info.benchmark_version else ""
    stand_in = (
        "its server under Wine, which is not Windows"
        if run.under_wine
        else "the built-in stand-in world"
    )
    where = stand_in if run.built_in else "the benchmark's real systems"
    yield (
        f"{run.label}: the agent {inline(info.agent, 100)}{model} worked on {info.benchmark}{version} "
        f"on {where}, profile {info.profile}, with {counted(info.trials, 'trial')} per task and seed {info.seed}; "
        f"{count(coverage.results)} of {counted(coverage.trials, 'planned trial has')} a result."
    )
    if run.summary.methods:
        ways = ", ".join(
            f"{inline(name, 100)} ({count(n)})"
            for name, n in islice(run.summary.methods.items(), 6)
        )
        yield f"Scored trials were evaluated by: {ways}."
    if run.audit:
        outcomes = ", ".join(f"{count(n)} {outcome}" for outcome, n in run.audit.outcomes.items())
        yield f"A judge looked at {counted(sum(run.audit.outcomes.values()), 'trial')} ({outcomes})."
    if run.audit and run.audit.corrected:
        found = run.audit.corrected.new_tasks
        yield (
            f"Its error was measured on {counted(run.audit.known, 'trial')} of known truth; corrected for it, "
            f"the rate is {percent(found.estimate)} ({level(found.level)} interval "
            f"{interval(found)}; {found.method})."
        )
    yield from _headline(run)


def _headline(run: RunReport) -> Iterator[str]:
    """State the headline in a sentence that can be copied."""
    rate, strict = run.summary.success, run.summary.errors_count_as_failures
    if rate.estimate is None:
        return
    found = rate.new_tasks
    within = f" ({level(found.level)} interval {interval(found)}; {found.method})" if found else ""
    yield (
        f"Its {'strict ' if strict else ''}success rate is {percent(rate.estimate)}{within}, "
        f"from {counted(rate.trials, 'trial')} of {counted(rate.tasks, 'task')}."
    )
    if run.summary.exclusions:
        listed = ", ".join(
            f"{count(each.count)} {why_unscored(each.status, each.fault).replace('_', ' ')}"
            for each in run.summary.exclusions
        )
        left_out = "left out, because a fault of environment or evaluator is not the agent's"
        yield f"Trials without a score ({listed}) were {'counted as failures' if strict else left_out}."


def _intervals(report: Report) -> Iterator[str]:
    """Explain success, estimands and clustering."""
    yield (
        "A trial succeeds when its score reaches 1. Rates average each task over its trials and "
        "then over tasks, so that every task counts the same."
    )
    if any(run.summary.success.new_tasks for run in report.runs):
        yield (
            "Intervals on new tasks treat tasks (tasks of one template together) as the sample and "
            "say what to expect on other tasks of this kind; intervals for these tasks again hold "
            "the tasks fixed and count only the noise between trials, so they need at least two "
            "trials per task."
        )
    if any(run.summary.macro_average for run in report.runs):
        yield (
            "The template average gives each task template the same weight, however many tasks "
            "were made from it."
        )
    if report.comparison:
        yield (
            "Differences between runs are paired by task, with the jackknife over clusters and Student's t on "
            "their effective number less one (Kish's, by their weights); an interval leaves out zero exactly if "
            "the p-value beside it is below 5%. What holds together is adjusted for the number of runs, or of "
            "slices, by Bonferroni. That two runs are the same agent on these very tasks is "
            "tested exactly, by permuting trials within tasks; the limits of the difference on these "
            "tasks use Dirichlet weights over pairs of trials and hold for few of them."
        )
