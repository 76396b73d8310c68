"""The report as JUnit XML: a suite per run, a case per planned trial, as continuous integration shows them."""

from __future__ import annotations

import re
from collections import defaultdict
from xml.etree import ElementTree as ET

from bench_report.model import Report, RunReport, TaskEntry, TrialRow
from bench_report.text.note_phrases import note_line
from bench_report.text.numbers import rate_words
from bench_report.text.untrusted import clip, inline

# Characters that XML 1.0 forbids in any form: even a reference to one makes parsers refuse.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXT = 2_000
_NAME = 300


def render_junit(report: Report) -> str:
    """Return the report as JUnit XML.

    A failed trial is a `failure`, one without a score an `error` (environment and evaluator failures are
    not the agent's), a planned one without a result is `skipped`.
    """
    root = ET.Element("testsuites", {"name": _attribute(report.title)})
    tasks = {(task.benchmark, task.task_id): task for task in report.tasks}
    for run in report.runs:
        root.append(_suite(run, tasks))
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(run: RunReport, tasks: dict[tuple[str, str], TaskEntry]) -> ET.Element:
    suite = ET.Element("testsuite", {"name": _attribute(run.label)})
    properties = ET.SubElement(suite, "properties")
    info = run.info
    facts = {
        "benchmark": f"{info.benchmark} {info.benchmark_version or ''}".strip(),
        "agent": info.agent,
        "model": info.model or "",
        "world": info.world,
        "profile": info.profile,
        "success rate": rate_words(run.summary.success),
    }
    if len(run.programs) > 1:
        facts["warning"] = f"mixes {len(run.programs)} programs of the agent"
    facts |= {f"damaged {number}": each for number, each in enumerate(run.damage, start=1)}
    for name, value in facts.items():
        ET.SubElement(properties, "property", {"name": name, "value": _attribute(value)})
    noted: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for note in run.notes.notes if run.notes else ():
        noted[note.task_id, note.trial].append(f"Note by {note_line(note)}")
    cases = [
        _case(row, tasks[run.info.benchmark, row.task_id], noted[row.task_id, row.trial])
        for row in run.trials
    ]
    cases += _not_run(run, [key for benchmark, key in tasks if benchmark == run.info.benchmark])
    suite.extend(cases)
    seconds = sum(row.time_s or 0.0 for row in run.trials)
    suite.attrib |= {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
        "skipped": str(sum(case.find("skipped") is not None for case in cases)),
        "time": f"{seconds:.3f}",
        "timestamp": f"{run.info.started:%Y-%m-%dT%H:%M:%S}",
    }
    return suite


def _case(row: TrialRow, task: TaskEntry, notes: list[str]) -> ET.Element:
    values = [value for group in task.groups.values() for value in group]
    # Viewers divide a class name at its dots, as those of Java: a value's own dots would add levels.
    where = ".".join([task.benchmark, *(value.replace(".", "_") for value in values[:1])])
    case = ET.Element(
        "testcase",
        {
            "classname": _attribute(where),
            "name": _attribute(f"{row.task_id} trial {row.trial}"),
            "time": f"{row.time_s or 0.0:.3f}",
        },
    )
    mode = (row.failure_mode or row.status.value).replace("_", " ")
    if row.success is None:
        about = {
            "message": _attribute(row.status.value.replace("_", " ")),
            "type": row.status.value,
        }
        ET.SubElement(case, "error", about)
    elif not row.success:
        about = {"message": _attribute(f"{mode}, score {row.score:g}"), "type": row.status.value}
        failure = ET.SubElement(case, "failure", about)
        failure.text = _NO_XML.sub("\N{REPLACEMENT CHARACTER}", clip(task.goal, _TEXT))
    if lines := [*filter(None, (row.folder,)), *notes]:
        ET.SubElement(case, "system-out").text = "\n".join(map(_attribute, lines))
    return case


def _not_run(run: RunReport, planned: list[str]) -> list[ET.Element]:
    """Return the planned trials without a result."""
    ended = {(row.task_id, row.trial) for row in run.trials}
    cases = []
    for task_id in planned:
        for trial in range(1, run.info.trials + 1):
            if (task_id, trial) not in ended:
                about = {"classname": run.info.benchmark, "name": f"{task_id} trial {trial}"}
                case = ET.Element("testcase", {k: _attribute(v) for k, v in about.items()})
                ET.SubElement(case, "skipped", {"message": "no result yet"})
                cases.append(case)
    return cases


def _attribute(text: str) -> str:
    """Return one line of text that XML can contain."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", inline(text, _NAME))
