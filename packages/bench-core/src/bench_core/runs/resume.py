"""A command's treatment of the run in its folder: which trials run again, and at whose request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from bench_core.errors import InputError, RunFolderError
from bench_core.records import AgentCode, AgentProgram, Task, TrialKey
from bench_core.run_folder.standings import Standing
from bench_core.run_folder.view import RunView
from bench_core.run_spec import RunSpec, select_tasks

RERUN_WORDS: dict[str, Callable[[Standing], bool]] = {
    "failed": lambda trial: trial.success is False,
    "unscored": lambda trial: not trial.status.scored,
    "suspect": lambda trial: trial.suspect,
    "all": lambda _: True,
}
"""The words that `--rerun` takes in addition to task ids, and the results each selects."""
_DIGITS = 12
_SHOWN_FILES = 5


def tasks_of_run(
    tasks: Sequence[Task], spec: RunSpec, before: RunView | None
) -> tuple[list[Task], frozenset[str]]:
    """Return the tasks of the run, and the ids of those among them that this session leaves out.

    `--skip-task` takes tasks out of a new run. In a folder whose plan has them, it leaves them to a later
    session: the plan of a run never shrinks.

    Args:
        tasks: All the benchmark has.
        spec: The run asked for.
        before: The run that is in the folder, if one is.

    Raises:
        InputError: As `select_tasks`.
    """
    wanted = spec.tasks
    planned = {task.task_id for task in before.tasks} if before is not None else set()
    skipped = frozenset(planned & set(wanted.skip_ids))
    kept = tuple(each for each in wanted.skip_ids if each not in skipped)
    chosen = select_tasks(tasks, wanted.model_copy(update={"skip_ids": kept}), spec.seed)
    return chosen, skipped


def trials_to_rerun(
    run: RunView | None, asked: Sequence[str], code: AgentCode | None
) -> tuple[TrialKey, ...]:
    """Return the trials with a result that `--rerun` runs again, none if it goes on with earlier ones.

    If an earlier session was asked for the same and ended before all of them had run, the same command
    runs the rest and looks for no others - unless the agent has changed since.

    Raises:
        InputError: A word is neither in `RERUN_WORDS` nor a planned task's id, the run is missing, or its
            looks forbid it.
    """
    if not asked:
        return ()
    if run is None:
        raise InputError("--rerun runs trials again that have a result: this folder has no run yet")
    if run.info.stopping_rule is not None:
        raise InputError(
            "--rerun would change what the looks at this run have seen: use another folder"
        )
    ids = {task.task_id for task in run.tasks}
    for each in asked:
        if each not in ids and each not in RERUN_WORDS:
            raise InputError(
                f"--rerun {each!r} is not a task of this run and none of {', '.join(RERUN_WORDS)}"
            )
    if not _differs(run.info.agent_code, code) and _unfinished(run, asked):
        return ()
    wanted = [RERUN_WORDS[each] for each in asked if each in RERUN_WORDS]
    return tuple(
        key
        for key, standing in zip(run.standings.keys(), run.standings, strict=True)
        if key.task_id in asked or any(holds(standing) for holds in wanted)
    )


def agent_changed(
    run: RunView | None, code: AgentCode, again: Collection[TrialKey], *, accept: bool
) -> bool:
    """Return whether the agent is another program than in earlier sessions.

    Programs are distinguished by the digest of their files, and by their place in them: the same files at
    another commit, or in another folder, are the same program. Results without a digest are from an older
    bench-core, or of agents that a program made itself; they are taken as they are.

    Args:
        run: The run that is in the folder, if one is.
        code: The agent's program now.
        again: Trials that run again.
        accept: Let one rate mix the two.

    Raises:
        RunFolderError: It is another program, and the former one's results would stay among its own.
    """
    if run is None or not _differs(run.info.agent_code, code):
        return False
    kept = [
        result
        for result in run.latest
        if result.status.done
        and _differs(result.agent_code, code)
        and result.key not in again
        and result.key not in run.to_rerun
    ]
    if kept and not accept:
        raise RunFolderError(
            f"the agent {run.info.agent!r} has changed since {len(kept)} trials of {run.path} ran: its "
            f"program was {_in_words(run.info.agent_code)}, now it is {_in_words(code)}"
            f"{_changed_files(run.info.agent_code, code)}, and one rate must not mix two programs. Run all of them again (`--rerun all`), use another folder (--out), or "
            f"say that the change does not matter (`--accept-changes`)"
        )
    return True


def _unfinished(run: RunView, asked: Sequence[str]) -> bool:
    return any(
        session.rerun is not None
        and set(session.rerun.asked) == set(asked)
        and not run.to_rerun.isdisjoint(session.rerun.trials)
        for session in run.info.sessions
    )


def _differs(before: AgentCode | None, now: AgentCode | None) -> bool:
    if before is None or now is None:
        return False
    facts = ((before.sha256, now.sha256), (before.place, now.place))
    return any(None not in each and len(set(each)) > 1 for each in facts)  # None: unknown


def _changed_files(before: AgentCode | None, now: AgentCode) -> str:
    """Name the files and packages that differ, if those of both programs are known."""
    if before is None:
        return ""
    names: list[str] = []
    if before.files and now.files:
        names = sorted({each.partition(" ")[2] for each in {*before.files} ^ {*now.files}})
    names = [*_changed_packages(before.program, now.program), *names]
    more = f" and {len(names) - _SHOWN_FILES} more" if len(names) > _SHOWN_FILES else ""
    return f" (changed: {', '.join(names[:_SHOWN_FILES])}{more})" if names else ""


def _changed_packages(before: AgentProgram | None, now: AgentProgram | None) -> list[str]:
    """Name the packages that an agent's environment gained or lost."""
    old, new = _parts(before), _parts(now)
    return [
        f"{name} {old.get(name, 'absent')} -> {new.get(name, 'absent')}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]


def _parts(program: AgentProgram | None) -> dict[str, str]:
    if program is None:
        return {}
    packages = (each.partition("==") for each in program.packages)
    parts = {name: version for name, _, version in packages}
    return {**parts, "python": program.python} if program.python else parts


def _in_words(code: AgentCode | None) -> str:
    if code is None or code.sha256 is None:
        return "unknown"
    commit = "" if code.git is None else f" at commit {code.git.commit[:_DIGITS]}"
    place = f"{code.place}, " if code.place else ""
    return f"{place}sha256 {code.sha256[:_DIGITS]}{commit}{' with changes' if code.git and code.git.dirty else ''}"
