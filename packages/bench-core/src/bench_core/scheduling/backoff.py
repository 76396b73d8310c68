"""How long to wait before a trial is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass

_DOUBLINGS = 30


@dataclass(frozen=True)
class Backoff:
    """Delays that double from `first_s` up to `longest_s`, each shortened at random.

    Up to the share `jitter` is taken off, so that trials which failed together come back one by
    one.

    Example:
        >>> [round(Backoff(jitter=0.0).delay_s(n, seed=0)) for n in (1, 2, 3, 9)]
        [2, 4, 8, 60]
    """

    first_s: float = 2.0
    longest_s: float = 60.0
    jitter: float = 0.5

    def delay_s(self, failures: int, *, seed: int) -> float:
        """Return the seconds to wait after this many failures; the same for the same seed."""
        full = min(self.longest_s, self.first_s * 2.0 ** min(failures - 1, _DOUBLINGS))
        return full * (1.0 - self.jitter * random.Random(f"{seed}:{failures}").random())  # noqa: S311  # seeded on purpose
