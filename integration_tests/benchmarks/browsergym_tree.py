"""Prints what BrowserGym makes of the first page of a browser, for `bench_observation.py`, in an environment of its own.

Reads a line from its input for each look and answers with one line of JSON: the flattened tree, and seconds taken.
"""

from __future__ import annotations

import json
import logging
import sys
import time

from browsergym.core.observation import _post_extract, _pre_extract, extract_merged_axtree
from browsergym.utils.obs import flatten_axtree_to_str
from playwright.sync_api import sync_playwright


def main() -> None:
    """Answer until the input ends."""
    logging.disable(logging.WARNING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.connect_over_cdp(sys.argv[1])
        for _ in sys.stdin:
            page = browser.contexts[0].pages[0]
            since = time.perf_counter()
            _pre_extract(page, lenient=True)
            text = flatten_axtree_to_str(extract_merged_axtree(page))
            taken = time.perf_counter() - since
            _post_extract(page)
            print(json.dumps({"text": text, "seconds": taken}), flush=True)


if __name__ == "__main__":
    main()
