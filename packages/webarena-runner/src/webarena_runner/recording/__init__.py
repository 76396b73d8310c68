"""Recording of a browser's HTTP and HTTPS traffic as a HAR for WebArena-Verified's evaluator.

Example::

    async with HarRecorder(chromium.cdp_url) as recorder:
        ...
        har = await recorder.stop()
    har.write(folder / "network.har")
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
