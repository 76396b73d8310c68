"""The judge: shows a model the evidence, checks the model's quotations, and lets code decide."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from typing_extensions import Self

from bench_core.errors import InputError
from bench_core.models import (
    Cassette,
    Model,
    ModelOptions,
    Prices,
    ReplyCache,
    ScriptedAdapter,
    open_model,
    published_prices,
)
from bench_core.protocols import Meter
from bench_core.records import ErrorInfo
from bench_core.records.judge import (
    Counterexample,
    CriterionVerdict,
    Finding,
    JudgeCase,
    Outcome,
    Verdict,
)
from llm_judge.__about__ import __version__
from llm_judge.calibration.label_choice import next_to_label
from llm_judge.calibration.report import JudgeCalibration, load_calibration
from llm_judge.case_files import case_state
from llm_judge.claims.counterexamples import counterexamples
from llm_judge.claims.decisions import ClaimFile
from llm_judge.evidence.flags import reused
from llm_judge.evidence.goal_check import goal_doubts
from llm_judge.model_calls.calls import CallBudget, ModelReply, ask_model
from llm_judge.model_calls.cost_estimate import Estimate, estimate, is_paid
from llm_judge.policy import JudgePolicy
from llm_judge.prepared_case import ClaimRule, PreparedCase, prepare
from llm_judge.prompts.answers import Answer
from llm_judge.prompts.prompt import INSTRUCTIONS, digest, output_schema
from llm_judge.verdicts.agreement import (
    ModelVerdict,
    common_outcome,
    error_of,
    joined_criteria,
    raw_confidence,
    reasoning,
    unconfirmed,
)
from llm_judge.verdicts.verdict_rules import (
    all_facts,
    decide_criterion,
    failed_controls,
    overall_kind,
    overall_outcome,
    unfounded,
)

_DOUBTFUL = frozenset({"warning", "error"})


class Judge:
    """Judges end states with a model, and with a second one for doubtful cases.

    Args:
        model: `provider:model`, `replay:CASSETTE`, `scripted:FILE`, or an open model.
        claims: A file of claims, or another `ClaimRule`: decides criteria by code; a model gets the
            rest.
        second: A model of another provider, asked about passes, low margins and doubtful cases;
            without its agreement nothing passes.
        policy: The rules; see `JudgePolicy`.
        calibration: The result of `calibrate` for this judge, or its file.
        api_key: Of the first model, instead of its provider's environment variable.
        base_url: URL of the first model's API.
        cache: Keeps replies by prompt, schema, evidence, model and sample.
        cassette: Records or replays the calls of both models.
        prices: Prices of calls; by default the published ones.
        samples: As in the policy, for callers that know only this class.
        max_cost_usd: Likewise, dollars for one case.

    Raises:
        InputError: A model cannot be opened: unknown provider, or no key, SDK or file.
    """

    name = "llm-judge"

    def __init__(
        self,
        model: str | Model,
        *,
        second: str | Model | None = None,
        claims: ClaimRule | Path | str | None = None,
        policy: JudgePolicy | None = None,
        calibration: JudgeCalibration | Path | str | None = None,
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
        self.policy = JudgePolicy.model_validate(
            {**(policy or JudgePolicy()).model_dump(), **given}
        )
        self.claims = ClaimFile.read(Path(claims)) if isinstance(claims, str | Path) else claims
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
        """The fields that identify this judge: models, prompt, schema, rules."""
        # without settings that change no answer: time, money, and the seed, which each sample changes
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

    @staticmethod
    def next_to_label(verdicts: Sequence[Verdict], count: int, *, seed: int = 0) -> tuple[str, ...]:
        """Return the cases that a person should label first, as `llm-judge label --next` does."""
        return next_to_label(verdicts, {}, count, seed=seed)

    async def judge(self, case: JudgeCase, meter: Meter | None = None) -> Verdict:
        """Judge one case.

        A provider's fault is the outcome `error`, never a fail.

        Args:
            case: The case to judge.
            meter: Receives the usage of each call.

        Raises:
            InputError: The case's own files cannot be read.
        """
        # seconds for large states
        prepared = await asyncio.to_thread(prepare, case, self.policy, self.claims)
        return await self.judge_prepared(prepared, meter)

    async def judge_prepared(self, prepared: PreparedCase, meter: Meter | None = None) -> Verdict:
        """Judge a case that `prepare` has read; see `judge`."""
        case = prepared.case
        budget = CallBudget(
            case.deadline_s or self.policy.deadline_s,
            case.max_cost_usd or self.policy.max_cost_usd,
            meter,
        )
        if not prepared.asked or not prepared.shows_something:
            return self._verdict(prepared, budget, [], [])
        model_verdicts: list[ModelVerdict] = []
        for trial in range(1, self.policy.samples + 1):
            model_verdicts.append(await self._ask_one(self.model, prepared, budget, trial))
            # all must agree: after one without a verdict, further samples can change nothing
            if not model_verdicts[-1].decided:
                break
        if self.second is not None and self._is_doubtful(prepared, model_verdicts):
            model_verdicts.append(await self._ask_one(self.second, prepared, budget, 1))
        return self._verdict(prepared, budget, model_verdicts, joined_criteria(model_verdicts))

    def fingerprint(self, prepared: PreparedCase) -> dict[str, str]:
        """Return the basis of a verdict on a case: the judge, the questions, the evidence."""
        return {
            **self.identity,
            "prompt": digest(prepared.prompt.system),
            "evidence": prepared.prompt.evidence_hash,
        }

    def estimate(self, prepared: PreparedCase) -> Estimate:
        """Return about how much asking the first model costs, without asking it."""
        return estimate(prepared.prompt, self.model.name, self.policy, self._prices)

    def judge_now(self, case: JudgeCase) -> Verdict:
        """Judge one case without async; works inside a running event loop, too (a notebook)."""
        # a thread with its own loop: `asyncio.run` raises inside a running one, and the SDKs' clients
        # must be closed in the loop that opened them
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
        """Return findings against an end state that counts as good; asks no model.

        Texts and addresses of the goal that stand nowhere, and bounds that nothing keeps; see `lint`.
        """
        found = goal_doubts(case_state(case), case.goal, initial=case.initial_state)
        return tuple(Finding(code=code, message=message) for code, message in found)

    @staticmethod
    def counterexamples(
        case: JudgeCase, claims: Path | str, rules: Mapping[str, Callable[[Any], bool]]
    ) -> tuple[Counterexample, ...]:
        """Return changes of an end state after which a claim and another rule of its criterion differ; asks no model.

        Args:
            case: The criteria and the end state from which the changes start.
            claims: A file of claims.
            rules: Whether an end state meets a criterion, by the criterion's id.

        Raises:
            InputError: The file or the case's state cannot be read.
        """
        known = ClaimFile.read(Path(claims))
        return tuple(counterexamples(known, case, case_state(case), rules))

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

    async def _ask_one(
        self, model: Model, prepared: PreparedCase, budget: CallBudget, trial: int
    ) -> ModelVerdict:
        reply = self._unaffordable(model, prepared, budget)
        if reply is None:
            prompt = prepared.prompt if trial == 1 else prepared.prompt_of(trial)
            names = {each.name for each in prompt.questions if each.criterion}

            def problems(answers: Iterable[Answer]) -> dict[str, str]:
                asked = [each for each in answers if each.question in names]
                return unfounded(prepared.context, asked)

            reply = await ask_model(model, prompt, self.policy, budget, trial, unfounded=problems)
        if reply.answers is None:
            return ModelVerdict(reply, "abstain" if reply.refused else "error")
        wrong = failed_controls(prompt.questions, reply.answers)
        facts: dict[str, list[CriterionVerdict]] = {each.id: [] for each in prepared.asked}
        for question in prompt.questions:
            if question.criterion is not None:
                answer = reply.answers[question.name]
                one = decide_criterion(prepared.context, question, answer, reply.model)
                facts[question.criterion.id].append(one)
        criteria = [each[0] if len(each) == 1 else all_facts(each) for each in facts.values()]
        passed = [(each.criterion_id, each.evidence) for each in criteria if each.verdict == "pass"]
        reply = replace(reply, findings=(*reply.findings, *wrong, *reused(passed)))
        outcome = overall_outcome(criteria, wrong, self.policy.accept_kinds)
        return ModelVerdict(reply, outcome, tuple(criteria))

    def _unaffordable(
        self, model: Model, prepared: PreparedCase, budget: CallBudget
    ) -> ModelReply | None:
        """Return an error if the next call may cost more than is left."""
        # before the call: a limit that is checked afterwards is exceeded by one call
        if budget.max_cost_usd is None or not is_paid(model.name):
            return None
        most = estimate(prepared.prompt, model.name, self.policy, self._prices).most_usd
        if most is None:
            message = (
                f"the price of {model.name} is unknown, so ${budget.max_cost_usd:g} cannot be kept"
            )
        elif (budget.cost_usd or 0.0) + most > budget.max_cost_usd:
            message = (
                f"the next call may cost ${most:.4f}, more than is left of ${budget.max_cost_usd:g}"
            )
        else:
            return None
        return ModelReply(
            model.name, error=ErrorInfo(kind="budget", message=message, phase="judge")
        )

    def _is_doubtful(self, prepared: PreparedCase, model_verdicts: Sequence[ModelVerdict]) -> bool:
        """Whether the second model is to look: only if it could change the outcome."""
        if {each.outcome for each in model_verdicts} not in ({"pass"}, {"fail"}):
            return False
        passed = model_verdicts[0].outcome == "pass"
        margin = min(
            (each.votes[0].confidence or 0.0 for one in model_verdicts for each in one.deciding),
            default=0.0,
        )
        flags = [flag for one in model_verdicts for each in one.criteria for flag in each.flags]
        doubtful = any(each.severity in _DOUBTFUL for each in (*prepared.findings, *flags))
        return (
            (passed and self.policy.second_on_pass)
            or margin < self.policy.low_margin
            or (doubtful and self.policy.second_on_findings)
        )

    def _verdict(
        self,
        prepared: PreparedCase,
        budget: CallBudget,
        model_verdicts: Sequence[ModelVerdict],
        of_model: Sequence[CriterionVerdict],
    ) -> Verdict:
        accepted = self.policy.accept_kinds
        by_id = {**{each.criterion_id: each for each in of_model}, **prepared.decided}
        criteria = [by_id[each.id] for each in prepared.case.criteria if each.id in by_id]
        by_code = overall_outcome(tuple(prepared.decided.values()), (), accepted)
        outcome: Outcome
        if by_code == "fail":
            # a criterion that code has refuted decides, whatever becomes of the others
            outcome = by_code
        elif not model_verdicts:
            # either code has decided all criteria, or there was nothing to show a model
            outcome = "abstain" if prepared.asked else by_code
        else:
            outcome = common_outcome([each.outcome for each in model_verdicts])
            if outcome == "pass" and prepared.decided and by_code != "pass":
                outcome = "abstain"
        doubts = unconfirmed(outcome, prepared.findings, model_verdicts)
        if doubts:
            outcome = "abstain"
        raw = raw_confidence(outcome, model_verdicts)
        confidence, notes = self._calibrated(outcome, raw)
        of_models = tuple(finding for each in model_verdicts for finding in each.reply.findings)
        first = model_verdicts[0].reply if model_verdicts else None
        replayed = bool(model_verdicts) and all(each.reply.replayed for each in model_verdicts)
        return Verdict(
            case_id=prepared.case.case_id,
            judge=self.name,
            outcome=outcome,
            kind=overall_kind(outcome, criteria, accepted),
            criteria=tuple(criteria),
            reasoning=reasoning(outcome, criteria, model_verdicts),
            confidence=confidence,
            raw_confidence=raw,
            findings=(*prepared.findings, *of_models, *doubts, *notes),
            model=self.model.name,
            model_reported=None if first is None else first.reported,
            usage=budget.usage,
            cost_usd=budget.cost_usd,
            fingerprint={**self.fingerprint(prepared), "replayed": str(replayed).lower()},
            error=error_of(outcome, model_verdicts),
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
        # the cassette holds every reply: neither key nor SDK is needed
        return Model(ScriptedAdapter([], model=name, provider=provider), **options)
    return open_model(model, api_key=api_key, base_url=base_url, **options)
