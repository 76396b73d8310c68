"""Screen, windows and folders of the VM as its server reports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.refusals import refuse_doctype
from waa_server_ext.native.registry import getter, metric

__all__: list[str] = []

_OK = 200
_NAMESPACES = {
    "st": "uri:deskat:state.at-spi.gnome.org",
    "attr": "uri:deskat:attributes.at-spi.gnome.org",
    "cp": "uri:deskat:component.at-spi.gnome.org",
    "doc": "uri:deskat:document.at-spi.gnome.org",
    "docattr": "uri:deskat:attributes.document.at-spi.gnome.org",
    "txt": "uri:deskat:text.at-spi.gnome.org",
    "val": "uri:deskat:value.at-spi.gnome.org",
    "act": "uri:deskat:action.at-spi.gnome.org",
}
"""XML namespaces of the accessibility tree; see section A.4 of the server's protocol."""


@getter("info.py")
def vm_screen_size(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """Width and height of the screen in pixels.

    Fails as: None if the VM fails.
    """
    answer = env.vm.post("/screen_size")
    return answer.json() if answer.status == _OK else None


@getter("info.py")
def vm_window_size(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """Width and height of a window in pixels.

    Fails as: None if the VM fails, which it always does on Windows.
    """
    answer = env.vm.post("/window_size", form={"app_class_name": config["app_class_name"]})
    return answer.json() if answer.status == _OK else None


@getter("info.py")
def vm_wallpaper(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """The wallpaper, fetched; its local path.

    Fails as: TypeError if the VM has none.
    """
    path = env.scratch_path(config["dest"])
    answer = env.vm.post("/wallpaper")
    if answer.status != _OK:
        raise TypeError("the VM gave no wallpaper")
    path.write_bytes(answer.body)
    return str(path)


@getter("info.py")
def list_directory(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The tree of a folder.

    Fails as: None for an absent folder.
    """
    return env.directory(config["path"])


@getter("misc.py")
def accessibility_tree(env: EvaluationContext, *_: Any) -> Any:
    """The accessibility tree as XML.

    Fails as: None if the VM fails.

    Oddities: Does not name a backend, which means win32 on Windows.
    """
    return env.accessibility(None)


@metric("general.py", needs=("lxml", "cssselect", "rapidfuzz"))
def check_accessibility_tree(result: str, rules: Sequence[Mapping[str, Any]]) -> float:
    """How well elements chosen by XPath or CSS have the expected text: a product over all rules.

    Fails as: 0.0 if nothing is selected.
    """
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    tree = etree.fromstring(result, parser)
    refuse_doctype("the accessibility tree", tree)
    from lxml.cssselect import CSSSelector

    total = 1.0
    for each in rules:
        if "xpath" in each:
            found = tree.xpath(each["xpath"], namespaces=_NAMESPACES)
        elif "selectors" in each:
            found = CSSSelector(", ".join(each["selectors"]), namespaces=_NAMESPACES)(tree)
        else:
            raise ValueError("At least one of xpath and selectors is required")
        if len(found) == 0:  # raises, as upstream's does, for an XPath that counts
            return 0.0
        total *= _best_text(found, each) if "text" in each else 1.0
    return float(total)


def _best_text(found: Sequence[Any], rule: Mapping[str, Any]) -> float:
    from rapidfuzz import fuzz

    texts: list[Any] = [element.text or None for element in found]
    if rule["exact"]:
        return float(any(rule["text"] == text for text in texts))
    return max(0.0, *(fuzz.ratio(rule["text"], text) / 100.0 for text in texts))
