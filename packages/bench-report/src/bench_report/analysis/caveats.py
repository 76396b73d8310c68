"""The caveats a reader must know before quoting a number, each derived from the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from bench_core.records import Status
from bench_core.records.vocabulary import FailureMode
from bench_report.analysis.checkers import doubts_sentence
from bench_report.comparison.comparability import repeated
from bench_report.model import Caveat, Mismatch, RunReport, TrialRow
from bench_report.text.numbers import count, counted, percent
from bench_report.text.untrusted import clip

FEW_TASKS = 30
"""Below this many tasks an interval is wide whatever the method."""
LARGE_EXCLUSION = 0.05
"""Above this share of unscored trials, their exclusion may change the result."""

FEW_ENDED = 3
"""From so many scored trials on their ways to end say something of the run."""
MOST_ENDED = 0.5
"""Above this share of scored trials that end before any act or malformed, the agent may not have received its task."""

Severity = Literal["info", "warning", "critical"]
_ORDER = {"critical": 0, "warning": 1, "info": 2}


def caveats(runs: Sequence[RunReport], mismatches: Sequence[Mismatch]) -> tuple[Caveat, ...]:
    """Return all caveats, the most serious first; those of one run name it."""
    found = [*_mixed(mismatches), *_subsets(runs, mismatches)]
    if text := repeated({run.label: run.info for run in runs}):
        found.append(Caveat(code="same_agent", severity="info", text=text))
    for run in runs:
        for rule in _RULES:
            found += [each.model_copy(update={"run": run.label}) for each in rule(run)]
    return tuple(sorted(found, key=lambda each: _ORDER[each.severity]))


def grouped(found: Iterable[Caveat]) -> list[tuple[Caveat, list[str]]]:
    """Put caveats of the same words together, with the runs they concern."""
    by_words: dict[tuple[str, str], tuple[Caveat, list[str]]] = {}
    for each in found:
        _, runs = by_words.setdefault((each.code, each.text), (each, []))
        if each.run is not None:
            runs.append(each.run)
    return list(by_words.values())


def _mixed(found: Sequence[Mismatch]) -> Iterator[Caveat]:
    if found:
        aspects = ", ".join(each.aspect for each in found)
        text = (
            f"These runs differ in: {aspects}. They were put together on purpose; "
            "differences between them say nothing about the agents alone."
        )
        yield Caveat(code="mixed", severity="critical", text=text)


def _subsets(runs: Sequence[RunReport], mismatches: Sequence[Mismatch]) -> Iterator[Caveat]:
    """State that runs have different parts of one task set; mixed runs are labelled as such already."""
    if mismatches or len({run.info.task_set_hash for run in runs if run.info.task_set_hash}) <= 1:
        return
    ended = [{row.task_id for row in run.trials} for run in runs]
    counts = ", ".join(
        f"{run.label} {count(len(each))}" for run, each in zip(runs, ended, strict=True)
    )
    shared = set.intersection(*ended)
    text = (
        f"The runs have different tasks of one task set ({counts}; {count(len(shared))} are in all of them). "
        "Each rate is about the run's own tasks; differences are about the tasks that both runs have."
    )
    yield Caveat(code="task_subsets", severity="warning", text=text)


def _world(run: RunReport) -> Iterator[Caveat]:
    if run.built_in:
        where = (
            "WAA's server under Wine, which is not Windows"
            if run.under_wine
            else "the small built-in copy of the benchmark's systems"
        )
        text = (
            f"Stand-in world: proves plumbing, not agent quality. The trials ran on {where}; do not set these "
            "rates beside published ones."
        )
        yield Caveat(code="built_in_world", severity="critical", text=text)


def _superseded(run: RunReport) -> Iterator[Caveat]:
    if run.superseded:
        text = (
            f"{counted(run.superseded, 'result was')} replaced by a later one of the same trial, which was run or scored again; "
            "the last one counts."
        )
        yield Caveat(code="superseded", severity="info", text=text)


def _programs(run: RunReport) -> Iterator[Caveat]:
    if len(run.programs) > 1:
        listed = ", ".join(f"{digest[:12]} ({count(n)})" for digest, n in run.programs.items())
        text = (
            f"This rate mixes {len(run.programs)} programs of the agent: its code was changed while the run "
            f"went on, and the change was accepted. Scored trials by digest of the code: {listed}."
        )
        yield Caveat(code="mixed_programs", severity="critical", text=text)


def _task_not_received(run: RunReport) -> Iterator[Caveat]:
    """Give the likely reason if most trials end before any act or with a malformed answer."""
    scored = [row for row in run.trials if row.score is not None]
    if len(scored) < FEW_ENDED or run.info.agent == "do-nothing":
        return
    failed = [row for row in scored if not row.success]
    malformed = [row for row in failed if _is_malformed(row)]
    idle = []
    for row in failed:
        # without steps: agents of other people write none down although they ask a model, and some crash before they do
        crashed = row.failure_mode == FailureMode.AGENT_ERROR
        silent = row.steps == 0 and crashed == bool(row.output_tokens)
        if (row.steps == 1 or silent) and not _is_malformed(row):
            idle.append(row)
    if len(malformed) + len(idle) <= len(scored) * MOST_ENDED:
        return
    how = [
        f"{count(len(idle))} ended at the first step or before it" if idle else "",
        f"{count(len(malformed))} ended in an answer of another form than the benchmark reads"
        if malformed
        else "",
    ]
    text = (
        f"Of {count(len(scored))} scored trials, {' and '.join(filter(None, how))}. Agents that can read their task "
        "seldom end so: this one may not have received its task, or the form of its answer. Look at what its model "
        "was sent, beside the steps of a trial, before you believe this rate."
    )
    yield Caveat(code="task_not_received", severity="critical", text=text)


def _is_malformed(row: TrialRow) -> bool:
    return row.failure_mode == FailureMode.MALFORMED_ANSWER or "malformed_ending" in row.flags


def _state(run: RunReport) -> Iterator[Caveat]:
    coverage = run.summary.coverage
    if not coverage.results:
        yield Caveat(code="no_results", severity="critical", text="The run has no results yet.")
    elif run.stopped and coverage.missing:
        text = (
            f"The run stopped at look {run.stopped.number} of {run.stopped.of} by the rule stored before its "
            f"first trial ({run.stopped.reason}). Runs that stop early overshoot: the difference they show is "
            "larger than the true one by about a point in the mean. Quote the repeated interval of that look."
        )
        yield Caveat(code="stopped_early", severity="warning", text=text)
    elif coverage.missing:
        why = "is still being written" if run.state == "running" else "was left unfinished"
        text = (
            f"The run {why}: {count(coverage.missing)} of {count(coverage.trials)} planned trials "
            "have no result."
        )
        yield Caveat(code="unfinished", severity="warning", text=text)


def _excluded(run: RunReport) -> Iterator[Caveat]:
    ended, scored = run.summary.coverage.results, run.summary.coverage.scored
    unscored = ended - scored
    if not unscored:
        return
    share = unscored / ended
    wins = sum(row.success is True for row in run.trials)
    treated = "count as failures" if run.summary.errors_count_as_failures else "are left out"
    # The two extremes bound the share of successes, whatever the unscored trials would have been.
    text = (
        f"{count(unscored)} of {counted(ended, 'trial')} ({percent(share)}) have no score and "
        f"{treated}. Had all of them failed, {percent(wins / ended)} of all trials would "
        f"be successes; had all succeeded, {percent((wins + unscored) / ended)}."
    )
    severity: Severity = "warning" if share >= LARGE_EXCLUSION else "info"
    yield Caveat(code="excluded", severity=severity, text=text)


def _unscored_tasks(run: RunReport) -> Iterator[Caveat]:
    coverage = run.summary.coverage
    left_out = len({row.task_id for row in run.trials}) - coverage.tasks_scored
    if left_out > 0 and not run.summary.errors_count_as_failures:
        text = f"{counted(left_out, 'task')} ended without a score in every trial: no part of the rate at all."
        yield Caveat(code="unscored_tasks", severity="warning", text=text)


def _suspect(run: RunReport) -> Iterator[Caveat]:
    suspects = run.summary.suspects
    if not suspects:
        return
    number = sum(bool(row.suspect) for row in run.trials)
    listed = ", ".join(f"{name.replace('_', ' ')} ({count(n)})" for name, n in suspects.items())
    rate = run.summary.without_suspects
    without = f" Without them the rate is {percent(rate.estimate)}." if rate is not None else ""
    text = (
        f"{counted(number, 'scored trial is')} suspect: the score may "
        f"not be the agent's own doing ({listed}).{without}"
    )
    yield Caveat(code="suspects", severity="warning", text=text)


def _integrity(run: RunReport) -> Iterator[Caveat]:
    found = run.integrity
    if found is None:
        return
    if found.flagged:
        codes = ", ".join(
            f"{name.replace('_', ' ')} ({count(n)})" for name, n in found.codes.items()
        )
        took = (
            f" In {count(found.succeeded)} it took effect, or may have." if found.succeeded else ""
        )
        text = (
            f"{counted(found.flagged, 'trial is')} flagged: the agent "
            f"did what no task needs ({codes}).{took} Scores are the benchmark's own all the same."
        )
        yield Caveat(code="integrity", severity="warning", text=text)
    if found.unsealed:
        text = (
            f"{counted(found.unsealed, 'trial is')} unsealed: the "
            "run's files and the benchmark's answers were within reach of the agent or its browser."
        )
        yield Caveat(code="unsealed", severity="info", text=text)


def _checkers(run: RunReport) -> Iterator[Caveat]:
    found = run.checkers
    if found and (text := doubts_sentence(found, run.summary.success.estimate)):
        severity: Severity = "warning" if found.shown else "info"
        yield Caveat(code="checkers", severity=severity, text=text)


def _flagged(run: RunReport) -> Iterator[Caveat]:
    flags = list(run.summary.flags.items())
    if flags:
        listed = ", ".join(
            f"{clip(name.replace('_', ' '), 60)} ({count(n)})" for name, n in flags[:6]
        )
        more = f" and {count(len(flags) - 6)} more" if len(flags) > 6 else ""  # as listed
        yield Caveat(code="flags", severity="info", text=f"Trials carry flags: {listed}{more}.")


def _left_out(run: RunReport) -> Iterator[Caveat]:
    trials = [row.left_out for row in run.trials if row.left_out]
    if trials:
        files = sum(trials)
        text = (
            f"{counted(files, 'file')} that agents left in {counted(len(trials), 'trial')} "
            f"{'is' if files == 1 else 'are'} not kept; each trial says why."
        )
        yield Caveat(code="files_left_out", severity="info", text=text)


def _size(run: RunReport) -> Iterator[Caveat]:
    success, macro = run.summary.success, run.summary.macro_average
    tasks = success.tasks
    if 0 < tasks < FEW_TASKS:
        text = (
            f"Only {counted(tasks, 'task has')} a score: "
            "the interval is wide, and only large differences could be seen."
        )
        yield Caveat(code="few_tasks", severity="warning", text=text)
    # With the headline's clusters, the notes of the template average would repeat those of the headline.
    own = macro.new_tasks if macro and macro.clusters != success.clusters else None
    for interval in (success.new_tasks, own):
        for note in interval.notes if interval else ():
            yield Caveat(
                code="interval_note", severity="warning", text=f"{note[:1].upper()}{note[1:]}."
            )


def _repetition(run: RunReport) -> Iterator[Caveat]:
    per_task = Counter(row.task_id for row in run.trials if row.score is not None)
    if not per_task:
        return
    low, high = min(per_task.values()), max(per_task.values())
    if high == 1:
        text = "One trial per task: how much results vary between repetitions is not known."
        yield Caveat(code="one_trial", severity="info", text=text)
    elif low != high:
        text = f"Tasks have between {low} and {high} scored trials; each task counts the same."
        yield Caveat(code="uneven_trials", severity="info", text=text)


def _drift(run: RunReport) -> Iterator[Caveat]:
    if run.drift and run.drift.alarm:
        text = (
            "The success rate changes while the run goes on, by trial number or by start time: something beside the "
            "agent and its tasks matters, as a site, a machine or a provider that was worse for some time. The "
            "intervals do not know of it."
        )
        yield Caveat(code="drift", severity="warning", text=text)


def _partial(run: RunReport) -> Iterator[Caveat]:
    partial = sum(row.score is not None and 0 < row.score < 1 for row in run.trials)
    if partial and run.summary.score:
        text = (
            f"{counted(partial, 'trial has')} a score between 0 and 1, which is "
            f"no success; the mean score is {percent(run.summary.score.estimate)}."
        )
        yield Caveat(code="partial_scores", severity="info", text=text)


def _retries(run: RunReport) -> Iterator[Caveat]:
    retried = sum(row.attempts > 1 for row in run.trials)
    if retried:
        text = (
            f"{counted(retried, 'trial')} needed more than one attempt because "
            "a VM, site, browser, recorder or model provider failed; only the last attempt counts."
        )
        yield Caveat(code="retries", severity="info", text=text)


def _evaluation_errors(run: RunReport) -> Iterator[Caveat]:
    broken = sum(row.status is Status.EVALUATION_ERROR for row in run.trials)
    if broken:
        text = (
            f"In {counted(broken, 'trial')} the evaluator could not decide; "
            "re-scoring tries again from what was stored."
        )
        yield Caveat(code="evaluation_errors", severity="warning", text=text)


def _judged(run: RunReport) -> Iterator[Caveat]:
    audit = run.audit
    if audit is None:
        return
    if audit.lifted:
        text = (
            f"{counted(audit.lifted, 'trial')} {'counts as a success' if audit.lifted == 1 else 'count as successes'} "
            "although the query failed, because a judge passed them; that can only raise the rate."
        )
        yield Caveat(code="judge_lifted", severity="warning", text=text)
    if audit.only_query:
        text = (
            f"In {counted(audit.only_query, 'trial')} the query passed what "
            "the judge failed: look at both."
        )
        yield Caveat(code="judge_disagrees", severity="warning", text=text)
    if audit.refused:
        text = f"The judge's error is not corrected for: {audit.refused}."
        yield Caveat(code="judge_unvalidated", severity="warning", text=text)


def _unsure(run: RunReport) -> Iterator[Caveat]:
    unsure = sum(row.confidence.get("low", 0) for row in run.methods)
    if unsure:
        text = f"{counted(unsure, 'trial was')} evaluated with low confidence."
        yield Caveat(code="low_confidence", severity="warning", text=text)


def _models(run: RunReport) -> Iterator[Caveat]:
    reported = run.summary.models_reported
    if len(reported) > 1:
        names = ", ".join(reported)
        text = f"The provider answered with more than one model during the run: {names}."
        yield Caveat(code="several_models", severity="warning", text=text)


def _sessions(run: RunReport) -> Iterator[Caveat]:
    if len({tuple(sorted(each.versions.items())) for each in run.info.sessions}) > 1:
        text = "The run was continued with other package versions than it began with."
        yield Caveat(code="versions_changed", severity="warning", text=text)
    if len({each.host for each in run.info.sessions if each.host}) > 1:
        text = "The run was continued on another host; times are not comparable throughout."
        yield Caveat(code="hosts_changed", severity="info", text=text)
    if run.info.git and run.info.git.dirty:
        text = "The working directory had uncommitted changes when the run started."
        yield Caveat(code="uncommitted", severity="info", text=text)


def _cost(run: RunReport) -> Iterator[Caveat]:
    cost = run.summary.cost_usd
    if cost.unknown and cost.known:
        text = f"The cost of {counted(cost.unknown, 'trial')} is unknown and not part of the total."
        yield Caveat(code="cost_incomplete", severity="info", text=text)


def _damage(run: RunReport) -> Iterator[Caveat]:
    for problem in run.problems:
        severity: Severity = "critical" if problem in run.damage else "warning"
        yield Caveat(code="damaged", severity=severity, text=problem)


# In the order of the report: sorting by severity keeps the order of equals.
_RULES: tuple[Callable[[RunReport], Iterator[Caveat]], ...] = (
    _world,
    _task_not_received,
    _programs,
    _state,
    _excluded,
    _suspect,
    _integrity,
    _unscored_tasks,
    _checkers,
    _flagged,
    _left_out,
    _size,
    _repetition,
    _drift,
    _partial,
    _retries,
    _evaluation_errors,
    _judged,
    _unsure,
    _models,
    _sessions,
    _cost,
    _superseded,
    _damage,
)
