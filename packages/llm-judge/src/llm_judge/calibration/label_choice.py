"""Which cases were labelled, and which to label next.

Labels chosen by looking at the verdicts mislead every correction that takes them for a random choice.
Chosen so on purpose, at random within each verdict, they are worth more: most are spent where the
judge is unsure.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from bench_core.errors import NotEstimableError
from bench_core.records import Record
from bench_core.records.judge import Verdict
from bench_core.seeded import seeded
from bench_core.statistics import Interval

_DRAWS = 4_000  # of the simulation
_UNLIKELY = 0.05  # a chance below which labels were not chosen at random
_LEAST = 2  # labels that a verdict needs, unless it has fewer cases
_EVERYWHERE = 0.7  # of the labels that a random choice would give each verdict
_BELIEF = 1.5  # labels that the judge's own verdict counts for
_BELIEVED = {"pass": 0.8, "fail": 0.2}
_LARGE = 0.05  # a verdict that fewer cases have cannot shift the rate by more
# rates of success to begin with, until labels of that verdict are there
_GUESSES = {
    "pass": 0.95,
    "fail": 0.05,
    "undecided, said pass": 0.8,
    "undecided, said otherwise": 0.2,
}


_Row = tuple[int, int, int, tuple[float, float]]
"""Per verdict: cases, labelled successes, labels, and pseudo-counts of successes and failures."""


class Selection(Record):
    """How the labelled cases were chosen, as far as it shows.

    Attributes:
        cases: Judged cases by verdict.
        labelled: How many of them are labelled.
        chance: How likely a random choice would be to differ as much between verdicts.
    """

    cases: dict[str, int]
    labelled: dict[str, int]
    chance: float

    @property
    def biased(self) -> bool:
        """Whether the labels are not a random choice of the verdicts."""
        return self.chance < _UNLIKELY


def stratum(verdict: Verdict) -> str:
    """Return the stratum of a case: `pass`, `fail`, or undecided with the model's answer before checks."""
    if verdict.outcome in {"pass", "fail"}:
        return verdict.outcome
    votes = [vote.verdict for each in verdict.criteria for vote in each.votes]
    if not votes:
        return "undecided"
    return "undecided, said pass" if set(votes) == {"pass"} else "undecided, said otherwise"


def selection_of(verdicts: Iterable[Verdict], labels: Mapping[str, bool]) -> Selection:
    """Return whether labels were chosen independently of the verdicts (chi-squared, by permutation)."""
    groups: dict[str, list[bool]] = defaultdict(list)
    for each in verdicts:
        if each.outcome != "error":
            groups[stratum(each)].append(each.case_id in labels)
    return Selection(
        cases={name: len(found) for name, found in groups.items()},
        labelled={name: sum(found) for name, found in groups.items()},
        chance=_chance(list(groups.values())),
    )


def stratified_rate(
    verdicts: Sequence[Verdict],
    labels: Mapping[str, bool],
    *,
    level: float = 0.95,
    believed: bool = False,
    seed: int = 0,
) -> Interval:
    """Return the rate of success over these cases, each verdict corrected by its own labels.

    Right also where the labels were chosen by verdict, as long as they are random within each. Labelled
    cases count as they are; the others of a verdict succeed with a rate estimated from its labels (Jeffreys
    prior), by simulation.

    Args:
        verdicts: Of all cases.
        labels: Case to whether it is a success.
        level: Nominal confidence.
        believed: Count the verdict itself as one and a half labels, four fifths of which agree with it; for
            labels that `next_to_label` spread over the verdicts.
        seed: Of the simulation.

    Raises:
        NotEstimableError: A verdict that many cases have has no label: nothing shows how often it errs.
    """
    cases: dict[str, list[str]] = defaultdict(list)
    for each in verdicts:
        if each.outcome != "error":
            cases[stratum(each)].append(each.case_id)
    n = sum(map(len, cases.values()))
    table = []
    for name, ids in sorted(cases.items()):
        known = [labels[case] for case in ids if case in labels]
        if len(known) < min(_LEAST, len(ids)) and len(ids) > _LARGE * n:
            raise NotEstimableError(
                f"{len(known)} of the {len(ids)} cases that the judge gave {name!r} are labelled, so nothing shows "
                f"how often it is wrong there: label some of each verdict (`llm-judge label`)"
            )
        prior = (0.5, 0.5)
        if believed:
            success = _BELIEVED.get(name, 0.5)
            prior = (_BELIEF * success, _BELIEF * (1 - success))
        table.append((len(ids), sum(known), len(known), prior))
    rng = seeded(seed)
    rates = sorted(_drawn(table, n, rng) for _ in range(_DRAWS))
    tail = (1.0 - level) / 2.0
    return Interval(
        estimate=math.fsum(rates) / len(rates),
        low=rates[int(tail * _DRAWS)],
        high=rates[min(_DRAWS - 1, int((1.0 - tail) * _DRAWS))],
        level=level,
        method=f"stratified by verdict, {'its own' if believed else 'Jeffreys'} prior, simulated",
        estimand="these_results",
        n=n,
    )


def next_to_label(
    verdicts: Sequence[Verdict], labels: Mapping[str, bool], count: int, *, seed: int = 0
) -> tuple[str, ...]:
    """Return the cases whose labels shrink the interval of the corrected rate fastest.

    Each verdict first gets seven tenths of its labels by a random choice, since a few labels without
    an error do not show that there are none; the rest go one by one to the verdict that leaves most
    of the variance open. Within a verdict the choice is random, as the correction requires.
    """
    rng = seeded(seed)
    open_cases: dict[str, list[str]] = defaultdict(list)
    known: dict[str, list[bool]] = defaultdict(list)
    for each in {each.case_id: each for each in verdicts}.values():
        if each.outcome == "error":  # it says nothing of a case, as where rates are corrected
            continue
        if each.case_id in labels:
            known[stratum(each)].append(labels[each.case_id])
        else:
            open_cases[stratum(each)].append(each.case_id)
    labelled = {name: len(found) for name, found in known.items()}  # and chosen to be, below
    chosen: list[str] = []
    for cases in open_cases.values():
        cases.sort()
        rng.shuffle(cases)
    spread_evenly = _EVERYWHERE * (sum(labelled.values()) + count)
    judged = {name: len(cases) + labelled.get(name, 0) for name, cases in open_cases.items()}
    total = sum(judged.values())
    while len(chosen) < count and any(open_cases.values()):
        name = max(
            (name for name, cases in open_cases.items() if cases),
            key=lambda each: (
                # how many labels it lacks of its even share; with all shares filled the gain decides
                max(0.0, spread_evenly * judged[each] / total - labelled.get(each, 0)),
                _gain(each, known[each], labelled.get(each, 0), len(open_cases[each])),
                each,
            ),
        )
        chosen.append(open_cases[name].pop())
        labelled[name] = labelled.get(name, 0) + 1
    return tuple(chosen)


def _gain(name: str, known: Sequence[bool], labelled: int, left: int) -> float:
    """How much variance one more label of a verdict takes away."""
    guess = _GUESSES.get(name, 0.5)  # until labels say otherwise
    rate = (sum(known) + 2 * guess) / (len(known) + 2)
    spread = rate * (1 - rate)
    # variance of the number of successes among the cases left: the estimated rate's, and their own
    now = left**2 * spread / (labelled + 1) + left * spread
    then = (left - 1) ** 2 * spread / (labelled + 2) + (left - 1) * spread
    return now - then


def _drawn(table: Sequence[_Row], n: int, rng: random.Random) -> float:
    """Return one simulated rate of success over `n` cases."""
    total = 0.0
    for size, hits, known, (successes, failures) in table:
        left = size - known
        total += hits
        if left:
            rate = rng.betavariate(hits + successes, known - hits + failures)
            total += _binomial(left, rate, rng)
    return total / n


def _binomial(n: int, rate: float, rng: random.Random) -> float:
    mean, spread = n * rate, math.sqrt(n * rate * (1 - rate))
    if n <= 30 or spread < 3:  # below, a normal curve is too rough
        return float(sum(rng.random() < rate for _ in range(n)))
    return float(min(n, max(0, round(rng.gauss(mean, spread)))))


def _chance(groups: Sequence[Sequence[bool]], seed: int = 0) -> float:
    """Return how often random labels differ at least as much between the groups."""
    pool = [each for group in groups for each in group]
    if not any(pool) or all(pool) or len(groups) < 2:  # one group differs from nothing
        return 1.0
    rng = seeded(seed)
    share = sum(pool) / len(pool)
    sizes = [len(each) for each in groups]
    seen = _distance([sum(each) for each in groups], sizes, share)
    rounds = 500
    more = 0
    for _ in range(rounds):
        rng.shuffle(pool)
        start, counts = 0, []
        for size in sizes:
            counts.append(sum(pool[start : start + size]))
            start += size
        more += _distance(counts, sizes, share) >= seen - 1e-12
    return (more + 1) / (rounds + 1)


def _distance(counts: Sequence[int], sizes: Sequence[int], share: float) -> float:
    return math.fsum(
        (count - size * share) ** 2 / (size * share * (1 - share))
        for count, size in zip(counts, sizes, strict=True)
    )
