"""Notice facts about genuine quotations: their place, not their meaning.

A flag changes no verdict. These two were right in all of the 24 passes that they flagged among 668
labelled ones; "nothing quoted from the application that it names" (11 of 14) and "only text an
agent can write" (34 of 75) were not, and rules on the English of criteria refused more right passes
than wrong ones. The meaning of a criterion is left to the model, or to a claim.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench_core.records.judge import Decision, Evidence, Finding
from llm_judge.states.snapshots import App

_NOTHING = ("", "null", "[]", "{}")


def flags_of(
    apps: Sequence[App], evidence: Sequence[Evidence], verdict: Decision
) -> tuple[Finding, ...]:
    """Return the flags of a pass's quotations."""
    quoted = [each for each in evidence if each.pointer is not None and each.verified]
    found = []
    if verdict == "pass" and quoted and any(each.kind != "absent" for each in quoted):
        if all(each.kind != "absent" and _is_before(apps, each) for each in quoted):
            found.append(("evidence.before", "all it quotes is from before the run"))
        if all((each.quote or "").strip() in _NOTHING for each in quoted):
            found.append(("evidence.empty", "all it quotes is empty"))
    return tuple(Finding(code=code, message=message) for code, message in found)


def reused(verdicts: Sequence[tuple[str, tuple[Evidence, ...]]]) -> tuple[Finding, ...]:
    """Return a finding if all passes, more than one, rest on the same single quotation."""
    quoted = {
        tuple((each.pointer, each.quote, each.screenshot) for each in evidence)
        for _, evidence in verdicts
    }
    if len(verdicts) < 2 or len(quoted) != 1 or any(len(each) != 1 for _, each in verdicts):
        return ()
    one = verdicts[0][1][0]
    message = (
        f"all {len(verdicts)} passes rest on the same quotation: {one.pointer or one.screenshot}"
    )
    return (Finding(code="evidence.reused", message=message),)


def _is_before(apps: Sequence[App], evidence: Evidence) -> bool:
    if evidence.status == "before the run":
        return True
    return any(
        app.before is not None
        and app.before.pointer not in {part.pointer for part in app.after}
        and _below(evidence.pointer or "", app.before.pointer)
        for app in apps
    )


def _below(pointer: str, root: str) -> bool:
    return pointer == root or pointer.startswith(f"{root}/")
