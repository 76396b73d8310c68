"""Compares native metrics with vanilla's own on random inputs; lists every difference.

    python run.py --checkout DIR --vanilla-python PYTHON [--cases 2000] [--seed 1]
                  [--fidelity v2|orig] [--metric NAME ...] [--keep FOLDER]

PYTHON is an interpreter in which the extra `vanilla` is installed; ours is the one that runs this.
`--keep` writes ten cases of each metric, passing and failing ones, with vanilla's answers: the corpus in
`tests/native/cases/metrics`. Exits with 1 when a difference has no explanation.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests" / "native")]

from document_builder import resolve  # noqa: E402  # needs the path above
from recipes import METRICS, draw  # noqa: E402  # same

KEPT_PER_METRIC = 10
TOLERANCE = {"compare_audios": 1e-6, "compare_images": 1e-6}
EXPLAINED: list[tuple[str, str]] = []
"""Pairs of a metric and the reason for which its differences are accepted."""


def main() -> int:
    """Draw, ask both, compare, print a table."""
    options = _options()
    names = options.metric or sorted(METRICS)
    cases = [
        draw(name, Random(f"{options.seed} {name} {index}"))  # no secret
        for name in names
        for index in range(max(1, options.cases // len(names)))
    ]
    with tempfile.TemporaryDirectory(prefix="differential-") as scratch:
        calls = [_resolved(case, Path(scratch) / str(n)) for n, case in enumerate(cases)]
        vanilla = _vanilla(calls, options.checkout, options.vanilla_python)
        native = [_native(call, options.fidelity) for call in calls]
    if options.keep:
        _keep(cases, vanilla, options.keep)
    return _report(cases, vanilla, native, names)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--vanilla-python", required=True)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--fidelity", choices=["v2", "orig"], default="v2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--metric", action="append", choices=sorted(METRICS))
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


def _resolved(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    folder.mkdir()
    return {**case, "args": [resolve(argument, folder) for argument in case["args"]]}


def _vanilla(calls: list[dict[str, Any]], checkout: Path, python: str) -> list[dict[str, Any]]:
    done = subprocess.run(  # noqa: S603  # the developer names the interpreter
        [python, str(HERE / "vanilla_worker.py"), str(checkout)],
        input="".join(json.dumps(call) + "\n" for call in calls),
        capture_output=True,
        text=True,
        errors="replace",  # the metrics print what they read
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(calls):
        raise SystemExit(f"vanilla answered {len(answers)} of {len(calls)}:\n{done.stderr[-3000:]}")
    return answers


def _native(call: dict[str, Any], fidelity: str) -> dict[str, Any]:
    from waa_server_ext.native.registry import find  # after the arguments are read

    metric = find("metric", call["metric"]).bind(fidelity)
    try:
        score = metric(*json.loads(json.dumps(call["args"])), **call["options"])
    except Exception as error:  # noqa: BLE001  # what is raised is the answer
        return {"raised": type(error).__name__, "message": str(error)[:200]}
    return {
        "score": None if score is None else float(score),
        "counts": isinstance(score, (float, int, bool)),
    }


def agree(metric: str, vanilla: dict[str, Any], native: dict[str, Any]) -> bool:
    """Whether both raised the same, or gave the same score."""
    if "raised" in vanilla or "raised" in native:
        return vanilla.get("raised") == native.get("raised")
    one, other = vanilla["score"], native["score"]
    if one is None or other is None:
        return one is other
    same = math.isclose(one, other, rel_tol=0, abs_tol=TOLERANCE.get(metric, 1e-9))
    return (same or (math.isnan(one) and math.isnan(other))) and vanilla["counts"] == native[
        "counts"
    ]


def _keep(cases: list[dict[str, Any]], vanilla: list[dict[str, Any]], folder: Path) -> None:
    """Write passing, failing and raising cases in turn until there are enough of each metric."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in dict.fromkeys(case["metric"] for case in cases):
        kinds: dict[Any, list[dict[str, Any]]] = {}
        for case, answer in zip(cases, vanilla, strict=True):
            if case["metric"] == name:
                kind = answer.get("raised") or answer["score"]
                kinds.setdefault(kind, []).append({**case, "vanilla": answer})
        kept = _in_turn(list(kinds.values()), KEPT_PER_METRIC)
        lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in kept]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def _in_turn(groups: list[list[dict[str, Any]]], most: int) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    while len(kept) < most and any(groups):
        for group in groups:
            if group and len(kept) < most:
                kept.append(min(group, key=lambda each: len(json.dumps(each))))
                group.remove(kept[-1])
    return kept


def _report(
    cases: list[dict[str, Any]],
    vanilla: list[dict[str, Any]],
    native: list[dict[str, Any]],
    names: list[str],
) -> int:
    explained = dict(EXPLAINED)
    total, same, passing = Counter[str](), Counter[str](), Counter[str]()
    different = []
    for case, theirs, ours in zip(cases, vanilla, native, strict=True):
        name = case["metric"]
        total[name] += 1
        passing[name] += theirs.get("score") == 1.0
        same[name] += agree(name, theirs, ours)
        if not agree(name, theirs, ours):
            different.append((case, theirs, ours))
    print(f"{'metric':45} {'cases':>6} {'pass':>6} {'agree':>6}")
    for name in names:
        print(f"{name:45} {total[name]:6} {passing[name]:6} {same[name]:6}")
    print(f"{'all':45} {total.total():6} {passing.total():6} {same.total():6}")
    for case, theirs, ours in different:
        reason = explained.get(case["metric"], "UNEXPLAINED")
        print(f"\n{case['metric']}: vanilla {theirs}, native {ours}: {reason}")
        print(json.dumps(case, ensure_ascii=False)[:1500])
    return int(any(case["metric"] not in explained for case, _, _ in different))


if __name__ == "__main__":
    sys.exit(main())
