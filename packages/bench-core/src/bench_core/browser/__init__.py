"""Find, launch, watch and kill Chromium with the standard library alone; share one through Playwright.

async with launch_chromium() as chromium:
    connect(chromium.cdp_url)
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
