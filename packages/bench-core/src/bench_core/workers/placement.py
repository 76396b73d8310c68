"""Assigns work to nodes: resources bound to labels, nodes that carry these, and workers on them.

Plain data without a cluster, so that its laws can be tested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench_core.errors import InputError

Labels = frozenset[str]
_NONE: Labels = frozenset()


@dataclass(frozen=True)
class NodeRoom:
    """A node on which workers may run.

    Attributes:
        room: How many.
        labels: The names of the custom resources that it carries.
    """

    room: int
    labels: Labels = _NONE


class Bindings:
    """The labels that a node needs to run trials that use a resource.

    Args:
        given: `NAME=LABEL` each; a NAME that ends in `*` is the beginning of names.

    Raises:
        InputError: One is not of this form.

    >>> Bindings(["webarena:*=lab"]).labels_of(["webarena:gitlab", "webarena:map"])
    frozenset({'lab'})
    """

    def __init__(self, given: Iterable[str] = ()) -> None:
        self._labels: list[tuple[str, str]] = []
        for each in given:
            # an address may hold the sign, a label cannot
            name, _, label = each.rpartition("=")
            if not (name and label):
                raise InputError(
                    f"--bind {each}: give NAME=LABEL, such as webarena:gitlab=lab; `--dry-run` lists the names"
                )
            self._labels.append((name, label))

    def __bool__(self) -> bool:
        return bool(self._labels)

    @property
    def labels(self) -> Labels:
        """All labels that something is bound to."""
        return frozenset(label for _, label in self._labels)

    def labels_of(self, names: Collection[str]) -> Labels:
        """Return the labels a node needs to run a trial that uses these resources."""
        return frozenset(
            label for name, label in self._labels if any(_is(each, name) for each in names)
        )

    def why(self, names: Collection[str], label: str) -> tuple[str, str]:
        """Return which of these resources is bound to a label, and the name by which it is."""
        return next(
            (each, name)
            for name, given in self._labels
            for each in sorted(names)
            if given == label and _is(each, name)
        )

    def refuse_unused(self, names: Collection[str]) -> None:
        """Refuse a binding of a resource that the run does not use: a slip would let its trials run anywhere.

        Raises:
            InputError: There is one.
        """
        for bound, label in self._labels:
            if not any(_is(each, bound) for each in names):
                raise InputError(
                    f"--bind {bound}={label}: no trial of this run uses {bound}; they use "
                    f"{', '.join(sorted(names)) or 'nothing that can be bound'}"
                )


@dataclass(frozen=True)
class Placement:
    """The nodes of a run's workers.

    Attributes:
        workers: Of each the bound labels that its node carries.
        bindings: The labels each resource needs.
        needs: The sets of labels that trials of the run need.
    """

    workers: tuple[Labels, ...]
    bindings: Bindings
    needs: frozenset[Labels] = frozenset()

    @classmethod
    def anywhere(cls, workers: int) -> Placement:
        """Return the placement of workers that may run everything."""
        return cls((_NONE,) * workers, Bindings())


class FreePlaces:
    """The idle workers, by their numbers."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._free = [*reversed(range(len(placement.workers)))]

    def has_room(self, names: Collection[str]) -> bool:
        """Whether one of them may run a trial that uses these resources."""
        if not self._placement.bindings:
            return bool(self._free)
        return bool(self._able(names))

    def take(self, names: Collection[str]) -> int:
        """Return the worker for a trial that uses these resources, if there is room; it is then not free.

        The worker that could run least else is taken, so that the others stay free for trials only they can run;
        among equals, the one freed last.
        """
        if not self._placement.bindings:
            return self._free.pop()
        workers = self._placement.workers
        number = min(self._able(names), key=lambda each: len(workers[each]))
        self._free.remove(number)
        return number

    def give_back(self, number: int) -> None:
        """Let a worker be free."""
        self._free.append(number)

    def _able(self, names: Collection[str]) -> list[int]:
        needs = self._placement.bindings.labels_of(names)
        return [each for each in reversed(self._free) if needs <= self._placement.workers[each]]


def placed(
    nodes: Sequence[NodeRoom],
    own: Sequence[Collection[str]],
    uses: Iterable[Collection[str]],
    bindings: Bindings,
) -> Placement:
    """Return the placement with which each trial finds a worker that may run it, and most find many.

    Args:
        nodes: Those that are alive.
        own: Of each worker the resources that it alone uses, such as its VM.
        uses: Of each trial the resources that it uses.
        bindings: The labels each resource needs.

    Raises:
        InputError: No node carries a label, or there are too few or too many workers.
    """
    trials = [tuple(each) for each in uses]
    needs = Counter(bindings.labels_of(each) for each in trials)
    for names in (*own, *trials):
        _refuse_absent(nodes, names, bindings)
    rooms: Counter[Labels] = Counter()
    for node in nodes:
        rooms[node.labels & bindings.labels] += node.room
    free = _Rooms(rooms, needs)
    wants = [bindings.labels_of(each) for each in own]
    chosen: dict[int, Labels] = {}
    # those that only few nodes can have choose first
    for number in sorted(range(len(wants)), key=lambda each: -len(wants[each])):
        if wants[number]:
            chosen[number] = free.take(wants[number])
    others = [each for each in range(len(wants)) if each not in chosen]
    for need in sorted(needs, key=lambda each: (-len(each), sorted(each))):  # hardest first
        if free.serves(need):
            continue
        if not others:
            raise InputError(
                f"{len(wants)} workers are too few for what --bind asks for: no node can run all of these "
                f"trials; give --workers {len(wants) + 1} at least"
            )
        chosen[others.pop(0)] = free.take(need)
    for number in others:
        chosen[number] = free.take(None)
    workers = tuple(chosen[each] for each in range(len(wants)))
    return Placement(workers, bindings, frozenset(needs))


class _Rooms:
    """Room for workers by the labels of the nodes, and the labels of the workers that took some."""

    def __init__(self, rooms: Counter[Labels], needs: Mapping[Labels, int]) -> None:
        self._rooms = rooms
        self._needs = needs
        self._taken: Counter[Labels] = Counter()

    def serves(self, need: Labels) -> bool:
        """Whether a worker can run a trial that needs these labels."""
        return any(need <= each for each in self._taken)

    def take(self, need: Labels | None) -> Labels:
        """Take the most useful room, on nodes that carry these labels; None: labels that some trial needs.

        Raises:
            InputError: There is none left.
        """
        able = [
            each
            for each, room in self._rooms.items()
            if room and (self._gain(each) if need is None else need <= each)
        ]
        if not able:
            most = self._taken.total()
            where = f" that carry {_quoted(need)}" if need else " that can run these trials"
            raise InputError(
                f"the nodes of the cluster{where} have room for {most} workers of this run only: give "
                f"--workers {most or 1} at most, or bind less"
            )
        best = max(able, key=lambda each: (self._gain(each), -len(each), self._rooms[each]))
        self._rooms[best] -= 1
        self._taken[best] += 1
        return best

    def _gain(self, labels: Labels) -> float:
        """Return the trials that one more worker there could run, each divided by its number of workers."""
        return sum(
            count / (1 + sum(n for each, n in self._taken.items() if need <= each))
            for need, count in self._needs.items()
            if need <= labels
        )


def _refuse_absent(nodes: Sequence[NodeRoom], names: Collection[str], bindings: Bindings) -> None:
    labels = bindings.labels_of(names)
    offered = [each.labels for each in nodes if each.room]
    if not labels or any(labels <= each for each in offered):
        return
    absent = labels - frozenset().union(*offered)
    label = min(absent or labels)
    name, bound = bindings.why(names, label)
    resources = ", ".join(f'"{each}": 1' for each in sorted(labels))
    raise InputError(
        f"no node of the cluster with room for workers carries {_quoted(absent or labels)}, and {name} is bound "
        f"to it: start one with `ray start --resources='{{\"proctor\": 4, {resources}}}'`, or leave out "
        f"--bind {bound}={label}"
    )


def _quoted(labels: Iterable[str]) -> str:
    return " and ".join(repr(each) for each in sorted(labels))


def _is(name: str, bound: str) -> bool:
    return name.startswith(bound[:-1]) if bound.endswith("*") else name == bound
