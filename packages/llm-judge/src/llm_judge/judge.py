"""The judge: shows a model the evidence, checks what it quotes, and lets code decide."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.errors import InputError
from bench_core.judging import CriterionVerdict, Finding, Verdict
from bench_core.models.client import Model
from bench_core.models.opening import open_model
from bench_core.models.prices import published_prices
from bench_core.models.scripted import ScriptedAdapter
from bench_core.records import ErrorInfo
from llm_judge.__about__ import __version__
from llm_judge.asking import Purse, Said, ask_model
from llm_judge.briefing import Brief, prepare
from llm_judge.calibrating import Calibration, load_calibration
from llm_judge.documents import case_state
from llm_judge.estimating import Estimate, estimate, is_paid
from llm_judge.goal_check import goal_doubts
from llm_judge.opinions import (
    Opinion,
    common_outcome,
    error_of,
    joined_criteria,
    raw_confidence,
    reasoning,
    unconfirmed,
)
from llm_judge.policy import Policy
from llm_judge.prompting import INSTRUCTIONS, digest, output_schema
from llm_judge.settling import failed_controls, outcome_of, remarks, settle

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from typing_extensions import Self

    from bench_core.judging import JudgeCase, Outcome
    from bench_core.models.cache import ReplyCache
    from bench_core.models.cassettes import Cassette
    from bench_core.models.opening import ModelOptions
    from bench_core.models.prices import Prices
    from bench_core.protocols import Meter
    from llm_judge.controls import Question
    from llm_judge.prompting import Prompt

__all__ = ["Judge"]

_DOUBTFUL = frozenset({"warning", "error"})


class Judge:
    """Judges end states with a model, and with a second one where it matters.

    Args:
        model: `provider:model`, `replay:CASSETTE`, `scripted:FILE`, or an open model.
        second: A model of another provider, asked about passes, low margins and doubtful cases;
            without its agreement nothing passes.
        policy: The rules; see `Policy`.
        calibration: What `calibrate` found for this judge, or the file of it.
        api_key: Of the first model, instead of its provider's environment variable.
        base_url: Of the first model's API.
        cache: Keeps replies by prompt, schema, evidence, model and sample.
        cassette: Records or replays the calls of both models.
        prices: What calls cost; the published prices where not given.
        samples: As in the policy, for callers that know only this class.
        max_cost_usd: Likewise, dollars for one case.

    Raises:
        InputError: A model cannot be opened: no such provider, key, SDK or file.
    """

    name = "llm-judge"

    def __init__(  # noqa: PLR0913  # every part is optional and named
        self,
        model: str | Model,
        *,
        second: str | Model | None = None,
        policy: Policy | None = None,
        calibration: Calibration | Path | str | None = None,
        api_key: str | None = None,
        base_url: str | None = None,
        cache: ReplyCache | None = None,
        cassette: Cassette | None = None,
        prices: Prices | None = None,
        samples: int | None = None,
        max_cost_usd: float | None = None,
    ) -> None:
        self._prices = prices or published_prices()
        options: ModelOptions = {"cache": cache, "cassette": cassette, "prices": self._prices}
        own = {"samples": samples, "max_cost_usd": max_cost_usd}
        given = {name: value for name, value in own.items() if value is not None}
        self.policy = Policy.model_validate({**(policy or Policy()).model_dump(), **given})
        self.model = _opened(model, options, api_key=api_key, base_url=base_url)
        self.second = None if second is None else _opened(second, options)
        if self.second is not None and self.second.name == self.model.name:
            raise InputError(
                f"the second model is the first one, {self.model.name!r}: it would agree with "
                f"itself; use another provider's, or more samples"
            )
        self.calibration = (
            load_calibration(calibration) if isinstance(calibration, str | Path) else calibration
        )

    @property
    def identity(self) -> dict[str, str]:
        """What makes this judge the same judge: models, prompt, schema, rules."""
        return {
            "judge": f"{self.name} {__version__}",
            "model": self.model.name,
            "second": "" if self.second is None else self.second.name,
            "instructions": digest(INSTRUCTIONS),
            "schema": digest(repr(output_schema())),
            "policy": digest(
                self.policy.model_dump_json(exclude={"deadline_s", "max_cost_usd", "seed"})
            ),
        }

    async def judge(self, case: JudgeCase, meter: Meter | None = None) -> Verdict:
        """Judge one case.

        What a provider does wrong is the outcome `error`, never a fail.

        Args:
            case: What to judge.
            meter: Hears of every call.

        Raises:
            InputError: The case's own files cannot be read.
        """
        brief = await asyncio.to_thread(prepare, case, self.policy)  # seconds for large states
        return await self.judge_brief(brief, meter)

    async def judge_brief(self, brief: Brief, meter: Meter | None = None) -> Verdict:
        """Judge what `prepare` has read; see `judge`."""
        case = brief.case
        purse = Purse(
            case.deadline_s or self.policy.deadline_s,
            case.max_cost_usd or self.policy.max_cost_usd,
            meter,
        )
        if not case.criteria or (brief.state is None and not brief.prompt.pictures):
            return self._verdict(brief, purse, [], [])
        opinions: list[Opinion] = []
        for trial in range(1, self.policy.samples + 1):
            opinions.append(await self._opinion(self.model, brief, purse, trial))
            if not opinions[-1].decided:
                break
        if self.second is not None and self._is_doubtful(brief, opinions):
            opinions.append(await self._opinion(self.second, brief, purse, 1))
        return self._verdict(brief, purse, opinions, joined_criteria(case, opinions))

    def fingerprint(self, brief: Brief) -> dict[str, str]:
        """Return what a verdict on a case rests on: the judge, the questions, the evidence."""
        return {
            **self.identity,
            "prompt": digest(brief.prompt.system),
            "evidence": brief.prompt.evidence_hash,
        }

    def estimate(self, brief: Brief) -> Estimate:
        """Return about what asking the first model costs, without asking it."""
        return estimate(brief.prompt, self.model.name, self.policy, self._prices)

    def judge_now(self, case: JudgeCase) -> Verdict:
        """Judge one case without async; works inside a running event loop, too (a notebook)."""
        found: list[Verdict | BaseException] = []

        async def once() -> Verdict:
            async with self:
                return await self.judge(case)

        def run() -> None:
            try:
                found.append(asyncio.run(once()))
            except BaseException as error:  # noqa: BLE001  # raised again in the caller's thread
                found.append(error)

        thread = threading.Thread(target=run, name="llm-judge")
        thread.start()
        thread.join()
        if isinstance(found[0], BaseException):
            raise found[0]
        return found[0]

    @staticmethod
    def doubts(case: JudgeCase) -> tuple[Finding, ...]:
        """Return what speaks against an end state that is said to be good; asks no model.

        Texts and addresses of the goal that stand nowhere, and bounds that nothing keeps; see `lint`.
        """
        found = goal_doubts(case_state(case), case.goal, initial=case.initial_state)
        return tuple(Finding(code=code, message=message) for code, message in found)

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        await self.model.aclose()
        if self.second is not None:
            await self.second.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _opinion(self, model: Model, brief: Brief, purse: Purse, trial: int) -> Opinion:
        said = self._unaffordable(model, brief, purse)
        if said is None:
            prompt = brief.prompt if trial == 1 else brief.prompt_of(trial)
            said = await ask_model(model, prompt, self.policy, purse, trial)
        if said.answers is None:
            return Opinion(said, "abstain" if said.refused else "error")
        wrong = failed_controls(brief.court, prompt.questions, said.answers)
        criteria = [
            settle(brief.court, question, said.answers[question.name], said.model)
            for question in _in_order(brief.case, prompt)
        ]
        marks = remarks(brief.court, brief.case.criteria, criteria)
        said = replace(said, findings=(*said.findings, *wrong, *marks))
        return Opinion(said, outcome_of(criteria, wrong), tuple(criteria))

    def _unaffordable(self, model: Model, brief: Brief, purse: Purse) -> Said | None:
        """Return an error where the next call may cost more than there is."""
        if purse.max_cost_usd is None or not is_paid(model.name):
            return None
        most = estimate(brief.prompt, model.name, self.policy, self._prices).most_usd
        if most is None:
            message = (
                f"the price of {model.name} is unknown, so ${purse.max_cost_usd:g} cannot be kept"
            )
        elif (purse.cost_usd or 0.0) + most > purse.max_cost_usd:
            message = (
                f"the next call may cost ${most:.4f}, more than is left of ${purse.max_cost_usd:g}"
            )
        else:
            return None
        return Said(model.name, error=ErrorInfo(kind="budget", message=message, phase="judge"))

    def _is_doubtful(self, brief: Brief, opinions: Sequence[Opinion]) -> bool:
        """Whether the second model is to look: only where it could change what happens."""
        if {each.outcome for each in opinions} not in ({"pass"}, {"fail"}):
            return False
        passed = opinions[0].outcome == "pass"
        margin = min(
            (each.votes[0].confidence or 0.0 for one in opinions for each in one.deciding),
            default=0.0,
        )
        doubtful = any(each.severity in _DOUBTFUL for each in brief.findings)
        return (
            (passed and self.policy.second_on_pass)
            or margin < self.policy.low_margin
            or (doubtful and self.policy.second_on_findings)
        )

    def _verdict(
        self,
        brief: Brief,
        purse: Purse,
        opinions: Sequence[Opinion],
        criteria: Sequence[CriterionVerdict],
    ) -> Verdict:
        outcome = common_outcome([each.outcome for each in opinions])
        doubts = unconfirmed(outcome, brief.findings, opinions)
        if doubts:
            outcome = "abstain"
        raw = raw_confidence(outcome, opinions)
        confidence, notes = self._calibrated(outcome, raw)
        spoken = tuple(finding for each in opinions for finding in each.said.findings)
        first = opinions[0].said if opinions else None
        replayed = bool(opinions) and all(each.said.replayed for each in opinions)
        return Verdict(
            case_id=brief.case.case_id,
            judge=self.name,
            outcome=outcome,
            criteria=tuple(criteria),
            reasoning=reasoning(outcome, criteria, opinions),
            confidence=confidence,
            raw_confidence=raw,
            findings=(*brief.findings, *spoken, *doubts, *notes),
            model=self.model.name,
            model_reported=None if first is None else first.reported,
            usage=purse.usage,
            cost_usd=purse.cost_usd,
            fingerprint={**self.fingerprint(brief), "replayed": str(replayed).lower()},
            error=error_of(outcome, opinions),
        )

    def _calibrated(
        self, outcome: Outcome, raw: float | None
    ) -> tuple[float | None, tuple[Finding, ...]]:
        if self.calibration is None or raw is None:
            return None, ()
        if self.calibration.identity != self.identity:
            message = (
                "the calibration was made for another model, prompt or policy, so no calibrated "
                "confidence is given; calibrate again"
            )
            return None, (Finding(code="calibration.other_judge", message=message),)
        return self.calibration.confidence(outcome, raw), ()


def _opened(
    model: str | Model,
    options: ModelOptions,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
) -> Model:
    if isinstance(model, Model):
        return model
    cassette = options.get("cassette")
    provider, _, name = model.partition(":")
    if cassette is not None and cassette.mode == "replay" and name:
        # all calls are on the tape: neither key nor SDK is needed
        return Model(ScriptedAdapter([], model=name, provider=provider), **options)
    return open_model(model, api_key=api_key, base_url=base_url, **options)


def _in_order(case: JudgeCase, prompt: Prompt) -> list[Question]:
    """Return the criteria's questions in the case's order."""
    by_id = {each.criterion.id: each for each in prompt.questions if each.criterion}
    return [by_id[each.id] for each in case.criteria]
