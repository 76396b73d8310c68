"""Scripts for tasks on the stand-in discussion boards."""

from __future__ import annotations

from bench_core.browser_use.scripted_chat import click, fill
from webarena_runner.world.scripts.steps import ScriptMaker, mutated, walk

__all__ = ["SCRIPTS"]


def _write_biography(biography: str) -> ScriptMaker:
    return walk(
        click("MarvelsGrantMan136"),
        click("Edit biography"),
        (fill(biography, name="user_biography[biography]"), click("Save")),
        mutated(),
    )


def _vote(forum: str, sort: str, post: int, direction: str) -> ScriptMaker:
    """Vote for or against a post found in a forum's list."""
    return walk(
        click("Forums"),
        click(forum),
        click(sort, tag="a"),
        click(direction, data_url=f"/sv/{post}.json"),
        mutated(),
    )


def _subscribe_from(forum: str, sort: str, post: str) -> ScriptMaker:
    """Subscribe on the page of one of the forum's posts."""
    return walk(
        click("Forums"),
        click(forum),
        click(sort, tag="a"),
        click(post),
        click("Subscribe"),
        mutated(),
    )


SCRIPTS: dict[int, ScriptMaker] = {
    399: _write_biography("I am a robot"),
    400: _write_biography("Pro Python Developer with 20 years of Experience"),
    401: _write_biography("Seeking SDE positions"),
    402: _write_biography("Freelance Web Developer"),
    403: _write_biography("Awesome Prompt Artist"),
    404: _vote("Books", "New", 124260, "Upvote"),
    405: _vote("Do it yourself", "New", 119019, "Upvote"),
    595: _subscribe_from("Space", "Hot", "The Moon, Saturn and Jupiter through a small telescope"),
    714: _vote("Gadgets", "Top", 19459, "Downvote"),
}
