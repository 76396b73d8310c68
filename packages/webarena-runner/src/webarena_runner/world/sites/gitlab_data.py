"""The projects and people of the stand-in for GitLab."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Commit", "Issue", "Project", "projects"]


@dataclass(frozen=True)
class Commit:
    """One commit on a project's default branch."""

    author: str
    date: str
    title: str


@dataclass
class Issue:
    """An issue of a project."""

    number: int
    title: str
    opened: bool = True


@dataclass
class Project:
    """A repository with the data that tasks use."""

    ident: int
    path: str
    stars: int = 0
    starred: bool = False
    commits: list[Commit] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    branches: tuple[str, ...] = ("main",)
    merged: tuple[str, ...] = ()
    members: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


_MOST_STARRED = {
    "umano/AndroidSlidingUpPanel": 55,
    "facebook/create-react-app": 52,
    "kkroening/ffmpeg-python": 51,
    "mk-j/PHP_XLSXWriter": 47,
    "koush/AndroidAsync": 46,
}


def projects() -> dict[str, Project]:
    """Return every project by path."""
    accessible = Project(
        174, "a11yproject/a11yproject.com", stars=21,
        commits=[
            Commit("Eric Bailey", "Mar 2, 2023", "Correct two links"),
            Commit("Eric Bailey", "Mar 2, 2023", "Describe the resources page"),
            Commit("kilian", "Mar 5, 2023", "Sort the list of posts"),
        ],
        issues=[
            Issue(1478, "Links on the posts page answer 404"),
            Issue(1500, "Say how the checklist is sorted"),
            Issue(1201, "Contrast of the footer", opened=False),
        ],
        branches=("main", "redesign"), merged=("template-strings",),
        members=("byteblaze", "Roshanjossey"),
    )  # fmt: skip
    design = Project(
        180, "primer/design", stars=31,
        commits=[Commit("Shawn Allen", "Feb 1, 2023", "Build in half the time")],
        branches=("main", "dialog", "dialog-component"), merged=("build-time-debug",),
        members=("byteblaze", "primer"),
    )  # fmt: skip
    own = Project(193, "byteblaze/dotfiles", stars=1, members=("byteblaze",))
    starred = [
        Project(200 + number, path, stars=stars, members=("root",))
        for number, (path, stars) in enumerate(_MOST_STARRED.items())
    ]
    return {each.path: each for each in (accessible, design, own, *starred)}
