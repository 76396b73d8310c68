"""POST /evaluate for Windows Agent Arena, and a simulated desktop that speaks its API."""

from __future__ import annotations

from bench_core.moved import moved_modules
from waa_server_ext.__about__ import __version__

__all__ = ["__version__"]

# what 0.1 documented, and `mounting`, which `install` has written into servers of users
moved_modules(
    {
        "waa_server_ext.evaluating": "waa_server_ext.evaluation.evaluators",
        "waa_server_ext.mounting": "waa_server_ext.server.mount",
        "waa_server_ext.simulate.geometry": "waa_server_ext.simulate.ui.geometry",
        "waa_server_ext.simulate.solutions": "waa_server_ext.built_in.solutions",
        "waa_server_ext.simulate.text_field": "waa_server_ext.simulate.ui.text_field",
        "waa_server_ext.simulate.windows": "waa_server_ext.simulate.ui",
        "waa_server_ext.simulate.world": "waa_server_ext.built_in.world",
        "waa_server_ext.vm_state": "waa_server_ext.vm.state",
    }
)
