"""Test tools for plugin authors and Proctor's own packages.

`make_run` and its parts write realistic run folders and need nothing but bench-core. The
conformance classes need pytest: subclass the one of your plugin's kind in a test module.
"""

import sys

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

if "pytest" in sys.modules:
    # so that it explains the asserts of these modules as it does those of others' tests
    sys.modules["pytest"].register_assert_rewrite(
        *(f"{__name__}.{each}" for each in ("conformance", "fault_matrix", "providers"))
    )
