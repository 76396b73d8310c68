"""Run folders: written by one process, read by any, checked, sealed and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.run_folder.artifacts import (
        FINISH_STATE,
        TRAJECTORY,
        TrialArtifacts,
        changed_artifacts,
        describe_artifacts,
        list_artifacts,
        read_json,
    )
    from bench_core.run_folder.baselines import (
        StoredRun,
        read_baseline,
        stored_baseline,
        stored_run,
    )
    from bench_core.run_folder.browsergym import (
        REPORTED_ONLY,
        BrowserGymExperiment,
        browsergym_experiments,
    )
    from bench_core.run_folder.folder import RunFolder, write_info
    from bench_core.run_folder.jsonl import (
        BadLine,
        Lines,
        collector_paused,
        read_lines,
        set_aside_lines,
        set_aside_torn,
    )
    from bench_core.run_folder.maintenance import RunCheck, SetAside, check_run, repair_run, seal_of
    from bench_core.run_folder.provenance import (
        PROCTOR_DISTRIBUTIONS,
        canonical_hash,
        current_session,
        describe_run,
        git_state,
        package_versions,
        task_set_hash,
    )
    from bench_core.run_folder.rescore_folder import (
        RescoreFolder,
        RescoreInfo,
        RescoreView,
        read_rescore,
        rescore_ids,
    )
    from bench_core.run_folder.schemas import (
        SCHEMA_RECORDS,
        schema_text,
        stale_schemas,
        write_schemas,
    )
    from bench_core.run_folder.stored import changed_objects, read_stored, trial_files
    from bench_core.run_folder.view import (
        Problem,
        RunView,
        changed_files,
        count_set_aside,
        misplaced_lines,
        read_info,
        read_run,
        read_task_lines,
        read_tasks,
        trial_path,
    )

__all__ = [
    "FINISH_STATE",
    "PROCTOR_DISTRIBUTIONS",
    "REPORTED_ONLY",
    "SCHEMA_RECORDS",
    "TRAJECTORY",
    "BadLine",
    "BrowserGymExperiment",
    "Lines",
    "Problem",
    "RescoreFolder",
    "RescoreInfo",
    "RescoreView",
    "RunCheck",
    "RunFolder",
    "RunView",
    "SetAside",
    "StoredRun",
    "TrialArtifacts",
    "browsergym_experiments",
    "canonical_hash",
    "changed_artifacts",
    "changed_files",
    "changed_objects",
    "check_run",
    "collector_paused",
    "count_set_aside",
    "current_session",
    "describe_artifacts",
    "describe_run",
    "git_state",
    "list_artifacts",
    "misplaced_lines",
    "package_versions",
    "read_baseline",
    "read_info",
    "read_json",
    "read_lines",
    "read_rescore",
    "read_run",
    "read_stored",
    "read_task_lines",
    "read_tasks",
    "repair_run",
    "rescore_ids",
    "schema_text",
    "seal_of",
    "set_aside_lines",
    "set_aside_torn",
    "stale_schemas",
    "stored_baseline",
    "stored_run",
    "task_set_hash",
    "trial_files",
    "trial_path",
    "write_info",
    "write_schemas",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "browsergym": ("REPORTED_ONLY", "BrowserGymExperiment", "browsergym_experiments"),
        "artifacts": (
            "FINISH_STATE",
            "TRAJECTORY",
            "TrialArtifacts",
            "changed_artifacts",
            "describe_artifacts",
            "list_artifacts",
            "read_json",
        ),
        "baselines": ("StoredRun", "read_baseline", "stored_baseline", "stored_run"),
        "folder": ("RunFolder", "write_info"),
        "jsonl": (
            "BadLine",
            "Lines",
            "collector_paused",
            "read_lines",
            "set_aside_lines",
            "set_aside_torn",
        ),
        "maintenance": ("RunCheck", "SetAside", "check_run", "repair_run", "seal_of"),
        "provenance": (
            "PROCTOR_DISTRIBUTIONS",
            "canonical_hash",
            "current_session",
            "describe_run",
            "git_state",
            "package_versions",
            "task_set_hash",
        ),
        "rescore_folder": (
            "RescoreFolder",
            "RescoreInfo",
            "RescoreView",
            "read_rescore",
            "rescore_ids",
        ),
        "schemas": ("SCHEMA_RECORDS", "schema_text", "stale_schemas", "write_schemas"),
        "stored": ("changed_objects", "read_stored", "trial_files"),
        "view": (
            "Problem",
            "RunView",
            "changed_files",
            "count_set_aside",
            "misplaced_lines",
            "read_info",
            "read_run",
            "read_task_lines",
            "read_tasks",
            "trial_path",
        ),
    },
)
