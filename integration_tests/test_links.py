"""Every link of every page leads somewhere, in the documentation and on the code host alike."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from nox_support.packages import packages

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([
    *ROOT.glob("*.md"), *ROOT.glob(".github/**/*.md"), *ROOT.glob("docs/*.md"),
    *ROOT.glob("docs/reference/*.md"), *ROOT.glob("packages/*/*.md"),
])  # fmt: skip
OURS = "https://github.com/proctor-bench/proctor"
HOSTS = {
    "developmentseed.org", "docs.astral.sh", "docs.getmoto.org", "docs.ray.io", "github.com", "inspect.aisi.org.uk",
    "jcristharif.com", "microsoft.github.io",
    "proctor-bench.readthedocs.io", "pypi.org", "semver.org", "www.qemu.org",
}  # fmt: skip
"""Whom pages may link to: a host that is misspelt, or that sells something, is in no list."""
LINK = re.compile(
    r"!?\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]*(?:\([^()]*\))?[^()\s]*)\)"
)
BARE = re.compile(r"<(https?://[^>\s]+)>")
CODE = re.compile(r"^ *(`{3,}).*?^ *\1`*$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
ROLE = re.compile(r"(?<!`)\{[a-z]+(?::[a-z]+)?\}`[^`]+`")
HEADING = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)


def links(page: Path) -> Iterator[tuple[str, str]]:
    """Yield text and target of each link of a page, code left out."""
    text = CODE.sub(_blank, page.read_text("utf-8"))
    yield from ((each["text"], each["target"]) for each in LINK.finditer(text))
    yield from ((each, each) for each in BARE.findall(text))


def _blank(code: re.Match[str]) -> str:
    """Return what a piece of code looks like to one who looks for links."""
    return "\n" * code[0].count("\n") if "\n" in code[0] else "code"


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the names of a page's headings, as the code host and the documentation make them."""
    text = re.sub(
        r"^ *(`{3,}).*?^ *\1`*$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    titles = (re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", each) for each in HEADING.findall(text))
    named = re.findall(r"^\(([\w-]+)\)=$|<a (?:id|name)=\"([\w-]+)\"", text, re.MULTILINE)
    made = (re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in titles)
    return frozenset([*made, *(first or second for first, second in named)])


def fault_of(page: Path, text: str, target: str) -> str | None:
    """Return what is wrong with a link."""
    if not text.strip():
        return "it has no text"
    return fault_of_address(target) if ":" in target else fault_of_file(page, target)


def fault_of_file(page: Path, target: str) -> str | None:
    """Return what is wrong with a link to another page or file."""
    path, _, anchor = target.partition("#")
    found = page if not path else (page.parent / path).resolve()
    if path.startswith("/") or not found.exists():
        return "there is no such file"
    if ROOT not in found.parents and found != ROOT:
        return "it leaves the repository"
    if anchor and found.suffix == ".md" and anchor not in anchors(found):
        return f"{found.name} has no heading of that name"
    return None


def fault_of_address(target: str) -> str | None:
    """Return what is wrong with a link to elsewhere, as far as its text tells."""
    if target.startswith("mailto:"):
        return None if re.fullmatch(r"mailto:[\w.+-]+@[\w.-]+\.\w+", target) else "no address"
    address = urlsplit(target)
    if address.scheme != "https":
        return "it is not https"
    if address.hostname not in HOSTS or address.port is not None or address.username is not None:
        return f"{address.hostname} is no host that pages link to"
    if re.search(r"[^\w\-./~%#?=&+:@,]", target) or "//" in address.path:
        return "it is not well-formed"
    inside = re.match(rf"{re.escape(OURS)}/(?:blob|tree)/main/([^#?]+)", target)
    if inside and not (ROOT / inside[1]).exists():
        return "there is no such file in the repository"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    found = [(target, fault_of(page, text, target)) for text, target in links(page)]
    assert [(target, fault) for target, fault in found if fault] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_read_well_where_no_role_is_known(page: Path) -> None:
    text = re.sub(
        r"^ *(`{3,}).*?^ *\1`*$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    assert ROLE.findall(text) == []


def test_pages_link_to_each_other() -> None:
    internal = [target for page in PAGES for _, target in links(page) if "://" not in target]
    assert len(internal) > 150


@pytest.mark.parametrize("package", packages(), ids=lambda each: each.name)
def test_a_readme_that_is_shown_elsewhere_links_by_whole_addresses(package: object) -> None:
    readme = package.folder / "README.md"  # type: ignore[attr-defined]
    relative = [target for _, target in links(readme) if "://" not in target]
    assert [each for each in relative if not each.startswith("#")] == []


def test_links_that_lead_nowhere_are_found() -> None:
    page = ROOT / "README.md"
    wrong = [
        ("", "docs/index.md"), ("a", "docs/nowhere.md"), ("a", "docs/index.md#nowhere"),
        ("a", "http://github.com/x"), ("a", "https://gihtub.com/x"), ("a", "../../etc/passwd"),
        ("a", f"{OURS}/blob/main/nowhere.md"), ("a", "https://github.com/a|b"), ("a", "mailto:me"),
    ]  # fmt: skip
    assert [each for each in wrong if fault_of(page, *each) is None] == []
