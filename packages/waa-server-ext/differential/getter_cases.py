"""Writes the committed cases of getters with vanilla's answers, and says where native ones differ.

python getter_cases.py --checkout DIR --vanilla-python PYTHON [--vanilla-path PATH] --keep FILE
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from getter_recipes import cases  # noqa: E402  # needs the path above
from whole_tasks import Asked, agree, both  # noqa: E402  # same


def main() -> int:
    """Ask both, compare, write."""
    options = _options()
    found, different = [], 0
    with tempfile.TemporaryDirectory(prefix="differential-") as scratch:
        common = {"skip_sleeps": True, "vm_timeout_s": 20.0, "web_timeout_s": 20.0}
        checkout = {"checkout": str(options.checkout.resolve())}
        theirs = Asked(
            options.vanilla_python,
            {**common, **checkout, "cache": f"{scratch}/vanilla"},
            options.vanilla_path,
        )
        ours = Asked(sys.executable, {**common, "cache": f"{scratch}/native"}, None)
        for case in cases():
            one, other = both(case, theirs, ours, options.host)
            if not agree(one, other):
                different += 1
                print(f"{case['id']}: vanilla {_answer(one)}, native {_answer(other)}")
            found.append({**case, "vanilla": _answer(one)})
        theirs.close()
        ours.close()
    lines = [json.dumps(each, ensure_ascii=False) + "\n" for each in found]
    options.keep.write_text("".join(lines), encoding="utf-8")
    print(f"{len(found)} cases, {different} differ")
    return int(bool(different))


def _answer(verdict: dict[str, Any]) -> dict[str, Any]:
    fault = verdict.get("evaluation_error")
    if fault:
        return {"score": None, "phase": fault["phase"], "raised": fault["type"]}
    return {"score": verdict.get("score"), **({} if "score" in verdict else {"broken": verdict})}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--checkout", type=Path, required=True)
    parser.add_argument("--vanilla-python", required=True)
    parser.add_argument("--vanilla-path", help="PYTHONPATH of that interpreter, where ours is not")
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--host", default="127.0.3.8", help="a loopback address of its own")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
