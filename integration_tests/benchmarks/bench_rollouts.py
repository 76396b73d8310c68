"""What 64 episodes of a random policy in eight served worlds take: the sketch of docs/sessions.md."""

from __future__ import annotations

import resource
import runpy
import sys
import time
from pathlib import Path

SKETCH = Path(__file__).parents[2] / "docs" / "rollouts.py"
SESSIONS = 8
GROUPS = 8


def main() -> int:
    """Print the times; return 1 when an episode has no score, which nothing here explains."""
    rollouts = runpy.run_path(str(SKETCH))["rollouts"]
    began, masked, episodes = time.perf_counter(), 0, 0
    for task, found in rollouts(size=SESSIONS, groups=GROUPS):
        episodes += len(found)
        masked += found.count(None)
        print(f"{task:60} {sum(each is not None for each in found)} scored")
    wall = time.perf_counter() - began
    print(f"{episodes} episodes in {SESSIONS} sessions, {masked} masked")
    print(f"{wall:.1f} s, {cpu_s():.1f} s of CPU, {wall / episodes:.2f} s an episode")
    return 1 if masked else 0


def cpu_s() -> float:
    """Return the CPU seconds of this process and of those it has waited for."""
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    sys.exit(main())
