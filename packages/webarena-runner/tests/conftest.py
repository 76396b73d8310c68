from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes depends on who shares the machine; no test asserts timings.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
