"""Write the replies to the sample cases again; run it when the prompt changes.

Those of the careful model are written by hand, here; the careless ones are scripted judges. From the root of the
repository: `PYTHONPATH=. python packages/llm-judge/tests/record_samples.py`.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from test_support.scripted_judges import rubber_stamp, sloppy

from bench_core.models import Cassette, Model, ScriptedAdapter
from llm_judge import Judge, prepare, samples

if TYPE_CHECKING:
    from bench_core.models import ModelRequest

BOOKING = "/tablely/finalstate/bookings/0"
EVENT = "/daybook/finalstate/events/1"
RATING = "/tablely/finalstate/restaurants/0/rating"


def main() -> None:
    """Record the verdicts on both sample cases, and how careless models answer."""
    careless: dict[str, list[dict[str, Any]]] = {"gullible": [], "sloppy": []}
    cassette = Cassette(samples.cassette(), "record", written_by="hand")
    adapter = ScriptedAdapter(_reply, model="written", provider="by-hand")
    judge = Judge(Model(adapter, cassette=cassette))
    for name in ("dinner", "dinner-wrong-time"):
        verdict = asyncio.run(judge.judge(samples.case(name)))
        print(verdict.model_dump_json(indent=1))  # noqa: T201  # a script
        request = prepare(samples.case(name)).prompt.request(8_000)
        careless["gullible"].append(rubber_stamp(request))
        careless["sloppy"].append(sloppy(request))
    text = json.dumps(careless, indent=1) + "\n"
    (samples.folder() / "careless.json").write_text(text, encoding="utf-8")


def _reply(request: ModelRequest) -> dict[str, Any]:
    evidence = request.messages[0].text
    asked = [
        json.loads(line)
        for line in (request.system or "").partition("The questions:\n")[2].splitlines()
    ]
    answers = [{"question": each["question"], **_answer(each["text"], evidence)} for each in asked]
    return {
        "data": {"answers": answers},
        "usage": {"input_tokens": len(evidence) // 3, "output_tokens": 120 * len(answers)},
    }


def _answer(question: str, evidence: str) -> dict[str, Any]:
    wrong = '"time":"6:00 PM"' in evidence
    if question.startswith("A table for 3"):
        time = "6:00 PM" if wrong else "8:30 PM"
        what = "at 6:00 PM instead of 8:30 PM" if wrong else "for 3 on July 18 at 8:30 PM"
        quotes = [
            (f"{BOOKING}/time", time),
            (f"{BOOKING}/guests", "3"),
            (f"{BOOKING}/date", "2026-07-18"),
        ]
        return _said(
            "fail" if wrong else "pass", f"The table at Steakhouse 101 is booked {what}.", quotes
        )
    if question.startswith("The restaurant booked"):
        quotes = [(f"{BOOKING}/restaurantId", "r7"), (RATING, "4.6")]
        return _said("pass", "The booking is for r7, Steakhouse 101, which is rated 4.6.", quotes)
    if question.startswith("The calendar"):
        quotes = [(f"{EVENT}/title", "Client dinner"), (f"{EVENT}/start", "2026-07-18T20:30")]
        return _said("pass", "The event was added; 20:30 is 8:30 PM.", quotes)
    return _said("unknown", "No record with this value is shown.", [])


def _said(verdict: str, reason: str, quotes: list[tuple[str, str]]) -> dict[str, Any]:
    evidence = [
        {"kind": "present", "pointer": pointer, "quote": quote, "screenshot": None, "region": None}
        for pointer, quote in quotes
    ]
    return {"reason": reason, "evidence": evidence, "verdict": verdict, "confidence": 0.95}


if __name__ == "__main__":
    main()
