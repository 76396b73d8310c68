"""The address bar of the active tab, read from the accessibility tree, and checks of tabs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlparse

from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.databases import search
from waa_server_ext.native.refusals import MAX_TEXT_BYTES, RefusedFileError, parse_xml
from waa_server_ext.native.registry import getter, metric
from waa_server_ext.native.rules import refuse_half_characters
from waa_server_ext.native.urls import same_pages, same_url

_ADDRESS_BAR = "Address and search bar"
_VALUE = "{uri:deskat:value.at-spi.gnome.org}value"
_DECLARED_ENCODING = re.compile(r"^\s*<\?xml[^>]*\bencoding\s*=", re.IGNORECASE)


@getter("chrome.py", needs=("defusedxml",))
def active_url_from_accessTree(env: EvaluationContext, config: Mapping[str, Any]) -> str | None:  # noqa: N802  # its name in tasks
    """The text of the address bar, after the prefix that the task gives (`https://`).

    Fails as: None without an address bar; KeyError for one without a value.
    """
    return active_url(env, config)


@getter("chrome.py", needs=("defusedxml",))
def active_tab_url_parse(
    env: EvaluationContext, config: Mapping[str, Any]
) -> dict[str, str] | None:
    """Parameters of the active tab's URL, some under other names.

    Fails as: None without an address bar; raises without a query, which counts as zero.
    """
    url = active_url(env, config)
    if url is None:
        return None
    query = parse_qs(urlparse(url).query)
    found = {key: query.get(key, [""])[0] for key in config["parse_keys"]}
    for key, name in config.get("replace", {}).items():
        found[name] = found.pop(key)
    for key, fallback in config.get("or", {}).items():
        found[key] = found[key] or found[fallback]
    return found


@getter("chrome.py", needs=("defusedxml",))
def url_dashPart(env: EvaluationContext, config: Mapping[str, Any]) -> Any:  # noqa: N802  # its name in tasks
    """One part of the active tab's URL between slashes.

    Fails as: None without an address bar.
    """
    url = active_url(env, config)
    if url is None:
        return None
    part = url.split("/")[config["partIndex"]]
    if config["needDeleteId"]:
        part = part.split("?")[0]
    if config["returnType"] == "string":
        return part
    return {config["key"]: part} if config["returnType"] == "json" else None


@metric("chrome.py")
def is_expected_active_tab(active_tab_info: Any, rule: Mapping[str, Any]) -> float:
    """Whether the active tab shows the page.

    Fails as: 0.0 for None.
    """
    if not active_tab_info:
        return 0.0
    if rule["type"] != "url":
        return 0
    tab = active_tab_info
    found = tab.get("url", None) if isinstance(tab, dict) else tab
    refuse_half_characters(rule["url"], found)
    return int(same_url(rule["url"], found))


@metric("chrome.py")
def is_expected_tabs(open_tabs: Any, rule: Mapping[str, Any]) -> int:
    """Whether exactly the expected pages are open.

    Fails as: TypeError for None.

    Oddities: As many tabs as pages; two tabs of one page count as two.
    """
    if rule["type"] != "url":
        return 0
    return int(same_pages(rule["urls"], [tab["url"] for tab in open_tabs]))


@metric("chrome.py")
def is_expected_url_pattern_match(result: Any, rules: Mapping[str, Any]) -> float:
    """Whether a URL has all the expected patterns.

    Fails as: 0.0 for None.
    """
    if not result:
        return 0.0
    url = result
    if type(result) is dict:
        url = result["url"]
        refuse_half_characters(url)
    return float(all(search(pattern, url) for pattern in rules["expected"]))


@metric("chrome.py")
def is_expected_search_query(active_tab_info: Any, rules: Mapping[str, Any]) -> float:
    """Whether the active tab's URL has the expected pattern.

    Fails as: TypeError for None.
    """
    return float(search(rules["expect"]["pattern"], active_tab_info["url"]))


@metric("chrome.py")
def is_added_to_steam_cart(active_tab_info: Any, rule: Mapping[str, Any]) -> float:
    """Whether the page's HTML names every item.

    Fails as: TypeError for None.
    """
    items, content = rule["items"], active_tab_info["content"]
    return float(all(item in content for item in items))


def active_url(env: EvaluationContext, config: Mapping[str, Any]) -> str | None:
    """Return the URL in the address bar; None if the bar is missing or empty."""
    system = env.platform
    tree = env.accessibility("uia" if system == "Windows" else None)
    # upstream's parser refuses a tree that names its encoding, which counts as no tree
    if tree is None or _DECLARED_ENCODING.match(tree):
        return None
    if len(tree) > MAX_TEXT_BYTES:
        raise RefusedFileError("the accessibility tree", f"more than {MAX_TEXT_BYTES} characters")
    # Elements called address bar inside a Chromium window, in the order of the tree
    root = parse_xml("the accessibility tree", tree)
    if system == "Windows":
        windows, tag = root.iter("chrome_widgetwin_1"), None
    else:
        named = root.iter("application")
        windows, tag = (each for each in named if each.get("name") == "Google Chrome"), "entry"
    found = {
        id(element)
        for window in windows
        for element in window.iter(tag)
        if element is not window and element.get("name") == _ADDRESS_BAR
    }
    bars = [element for element in root.iter() if id(element) in found]
    if not bars:
        return None
    text = bars[-1].attrib[_VALUE] if system == "Windows" else bars[-1].text
    return f"{config.get('goto_prefix', 'https://')}{text}" if text else None
