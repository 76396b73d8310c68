from __future__ import annotations

from hypothesis import settings

# How long an example takes depends on who shares the machine; no test asserts timings.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
