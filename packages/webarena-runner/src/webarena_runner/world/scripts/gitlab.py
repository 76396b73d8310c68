"""Scripts for tasks on the stand-in for GitLab."""

from __future__ import annotations

from bench_core.browser_use.scripted_chat import click, fill
from webarena_runner.world.scripts.steps import (
    ScriptMaker,
    Steps,
    mutated,
    navigated,
    not_allowed,
    retrieved,
    until,
    walk,
)

__all__ = ["SCRIPTS"]

_PROJECT = "a11yproject/a11yproject.com"


def _count_commits(author: str, day: str) -> ScriptMaker:
    """Count the lines of the list of commits that have the author and the day."""

    def script() -> Steps:
        yield click(_PROJECT)
        page = yield click("Commits")
        page = yield from until(page, f"Commits of {_PROJECT}")
        lines = [each.lower() for each in page.text.splitlines()]
        wanted = (author.lower(), day.lower())
        yield retrieved(sum(all(word in line for word in wanted) for line in lines))

    return script


def _link_homepage(url: str) -> ScriptMaker:
    return walk(
        click("Edit profile"),
        (fill(url, name="user[website_url]"), click("Update profile settings")),
        mutated(),
    )


def _star(*projects: str) -> ScriptMaker:
    """Give each project a star, each time from the front page."""
    turns = [turn for path in projects for turn in (click(path), click("Star"), _HOME)]
    return walk(*turns, mutated())


_HOME = click("GitLab")

SCRIPTS: dict[int, ScriptMaker] = {
    44: walk(click("To-Do List"), navigated()),
    45: walk(click("Issues"), navigated()),
    132: _count_commits("kilian", "Mar 5, 2023"),
    133: _count_commits("Eric", "Mar 2, 2023"),
    134: _count_commits("kilian", "Mar 1, 2023"),
    156: walk(click("Assigned to you"), navigated()),
    258: walk(click("Public projects"), navigated()),
    418: walk(
        click("Set status", tag="a"),
        (click(type="checkbox"), click("Set status", tag="button")),
        mutated(),
    ),
    448: _link_homepage("https://egg.tart.com"),
    449: _link_homepage("https://helloworld.xyz"),
    523: _star(
        "umano/AndroidSlidingUpPanel",
        "facebook/create-react-app",
        "kkroening/ffmpeg-python",
        "mk-j/PHP_XLSXWriter",
        "koush/AndroidAsync",
    ),
    805: walk(
        click("Branches"),
        not_allowed("MUTATE", "the branch for template strings is merged already"),
    ),
    807: walk(
        click("Branches"),
        not_allowed("MUTATE", "the branch for build time debug is merged already"),
    ),
}
