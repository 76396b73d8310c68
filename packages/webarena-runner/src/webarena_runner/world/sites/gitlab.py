"""The stand-in for GitLab, with the pages of a GitLab server for a developer."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar

from webarena_runner.world.files import asset, initial
from webarena_runner.world.markup import Markup, Node, field, link, listing, tag
from webarena_runner.world.messages import Response, json_response, not_found, redirect
from webarena_runner.world.router import Router
from webarena_runner.world.site import SiteAccount, StandInSite, Visit


@dataclass
class Project:
    """A repository: its commits are (date, author, title), its open issues (number, title), newest first."""

    path: str
    stars: int = 0
    starred: bool = False
    commits: tuple[tuple[str, str, str], ...] = ()
    issues: tuple[tuple[int, str], ...] = ()
    branches: tuple[str, ...] = ("main",)
    merged: tuple[str, ...] = ()
    members: tuple[str, ...] = ()

    @property
    def shown_stars(self) -> str:
        """The number of stars in words."""
        return f"{self.stars} {'star' if self.stars == 1 else 'stars'}"


class GitLab(StandInSite):
    """Projects, issues, commits, the dashboard and the user's own settings."""

    name = "gitlab"
    hostname = "gitlab.localhost"
    colours = ("#1068bf", "#292961")
    account = SiteAccount("byteblaze", "hello1234")
    login_path = "/users/sign_in"
    session_cookie = "_gitlab_session"
    token_fields = ("authenticity_token",)
    routes: ClassVar[Router] = Router()

    def populate(self) -> None:
        """Reset projects, status and profile."""
        known = initial("gitlab", "projects", list[Project])
        self.projects = {each.path: each for each in known}
        self.status: dict[str, object] = {}
        self.website = ""

    @routes.get("/")
    def front(self, visit: Visit) -> Response:
        """List the user's projects."""
        rows = [_project_card(each) for each in self.projects.values()]
        return self._page(visit, "Your projects", *rows)

    @routes.get("/users/sign_in")
    def login_form(self, visit: Visit) -> Response:
        """Ask for user and password."""
        form = self.form(
            visit, "/users/sign_in",
            field("Username or email", "user[login]"),
            field("Password", "user[password]", kind="password"),
            tag("button", "Sign in", type="submit"),
        )  # fmt: skip
        return self.page(visit, "Sign in", form, header=[_header(visit)])

    @routes.post("/users/sign_in")
    def log_in_by_form(self, visit: Visit) -> Response:
        """Check the password."""
        refusal = "Invalid login or password."
        return self.log_in(visit, "user[login]", "user[password]", home="/", refusal=refusal)

    @routes.get("/dashboard/todos")
    def todos(self, visit: Visit) -> Response:
        """List the user's to-dos."""
        return self._page(visit, "To-Do List", tag("p", "Nothing is on your to-do list."))

    # Task 156 is scored by the last navigation here, with the assignee as parameter.
    @routes.get("/dashboard/merge_requests")
    def merge_requests(self, visit: Visit) -> Response:
        """List merge requests by assignee or reviewer."""
        if not visit.query:  # as GitLab does; task 156 asks for something else
            text = "Please select at least one filter to see results."
        else:
            role = "reviewed by" if "reviewer_username" in visit.query else "assigned to"
            text = f"None is {role} {visit.user}."
        return self._page(visit, "Merge requests", tag("p", text))

    @routes.get("/explore", "/search")
    def explore(self, visit: Visit) -> Response:
        """List projects, or those that are searched for; task 258 is scored by the filter."""
        word = visit.query.get("search", "")
        found = (each for each in self.projects.values() if word in each.path)
        ranked = sorted(found, key=lambda each: -each.stars)
        chosen = "Public" if visit.query.get("visibility_level") == "20" else "Any"
        bar = tag("nav", tag("span", f"Visibility: {chosen}. Most stars first."), link("Any", "/explore"),
                  link("Public", "/explore?visibility_level=20"), class_="sections")  # fmt: skip
        return self._page(visit, "Explore projects", bar, *(_project_card(each) for each in ranked))

    @routes.get("/-/profile")
    def profile_form(self, visit: Visit) -> Response:
        """Show the profile, to be changed."""
        form = self.form(
            visit, "/-/profile",
            tag("h2", "Main settings"),
            field("Website url", "user[website_url]", self.website, placeholder="https://website.com"),
            tag("button", "Update profile settings", type="submit"),
            class_="card",
        )  # fmt: skip
        return self._page(visit, "Edit profile", form)

    @routes.post("/-/profile")
    def save_profile(self, visit: Visit) -> Response:
        """Store the profile's fields."""
        if visit.user is None:
            return redirect(self.login_path)
        website = visit.form.get("user[website_url]", "")
        # Task 449 names an address without a scheme, and is scored by one that has it.
        if website and not website.startswith(("http://", "https://")):
            visit.session.notices.append(
                "Website url is not a valid URL: it begins with http:// or https://"
            )
            return redirect("/-/profile")
        self.website = website
        visit.session.notices.append("Profile was successfully updated.")
        return redirect("/-/profile")

    # A page of its own, for it is not saved with the profile.
    @routes.get("/-/user_status")
    def status_form(self, visit: Visit) -> Response:
        """Show the user's status, to be changed."""
        is_busy = self.status.get("availability") == "busy"
        box = tag("input", type="checkbox", name="availability", value="busy", checked=is_busy)
        form = self.form(
            visit, "#",
            field("Your status", "message", str(self.status.get("message") or "")),
            tag("p", tag("label", box, " Set yourself as busy")),
            tag("button", "Set status", type="submit"),
            tag("p", id="status-saved", class_="muted"),
            id="set-user-status", class_="card",
        )  # fmt: skip
        return self._page(visit, "Current status", form)

    # Task 418 is scored by the JSON of this request, in which `clear_status_after` must be null.
    @routes.put("/api/v4/user/status")
    def set_status(self, visit: Visit) -> Response:
        """Store the user's status."""
        if visit.user is None or not isinstance(visit.request.json, dict):
            return json_response({"message": "401 Unauthorized"}, HTTPStatus.UNAUTHORIZED)
        self.status = dict(visit.request.json)
        return json_response(self.status)

    @routes.get("/{group}/{name}")
    def project_page(self, visit: Visit, group: str, name: str) -> Response:
        """Show a project."""
        project = self.projects.get(f"{group}/{name}")
        if project is None:
            return not_found()
        branches = tag("ul", *(tag("li", each) for each in project.branches))
        members = tag("p", f"Members: {', '.join(project.members)}")
        button = tag(
            "button", "Unstar" if project.starred else "Star", type="button",
            data_star=f"/{project.path}/toggle_star.json", data_token=visit.session.token,
        )  # fmt: skip
        count = tag("span", project.shown_stars, id="stars", class_="muted")
        star = tag("p", button, " ", count)
        return self._page(visit, project.path, _project_menu(project), star, members, branches)

    @routes.post("/{group}/{name}/toggle_star.json")
    def toggle_star(self, visit: Visit, group: str, name: str) -> Response:
        """Give a project a star or take it back."""
        project = self.projects.get(f"{group}/{name}")
        if project is None or visit.user is None:
            return json_response({"message": "404 Not found"}, HTTPStatus.NOT_FOUND)
        project.starred = not project.starred
        project.stars += 1 if project.starred else -1
        return json_response({"star_count": project.stars, "starred": project.starred})

    @routes.get("/{group}/{name}/-/issues")
    def issue_list(self, visit: Visit, group: str, name: str) -> Response:
        """List a project's open issues, newest first."""
        project = self.projects.get(f"{group}/{name}")
        if project is None:
            return not_found()
        cards = [
            tag("div", f"#{number} {title}", class_="card") for number, title in project.issues
        ]
        order = tag("p", "Open issues, most recent first", class_="muted")
        return self._page(visit, f"Issues of {project.path}", _project_menu(project), order, *cards)

    @routes.get("/{group}/{name}/-/commits/{branch:path}")
    def commit_list(self, visit: Visit, group: str, name: str, branch: str) -> Response:
        """List a project's commits, newest first."""
        project = self.projects.get(f"{group}/{name}")
        if project is None or branch not in project.branches:
            return not_found()
        table = listing(("Date", "Author", "Commit"), project.commits)
        return self._page(visit, f"Commits of {project.path}", _project_menu(project), table)

    @routes.get("/{group}/{name}/-/branches")
    def branch_list(self, visit: Visit, group: str, name: str) -> Response:
        """List branches, with those already merged."""
        project = self.projects.get(f"{group}/{name}")
        if project is None:
            return not_found()
        rows = [(each, "active") for each in project.branches]
        rows += [(each, "merged, nothing is left for a merge request") for each in project.merged]
        table = listing(("Branch", "State"), rows)
        return self._page(visit, f"Branches of {project.path}", _project_menu(project), table)

    def _page(self, visit: Visit, title: str, *body: Node) -> Response:
        if visit.user is None:
            return redirect(self.login_path)
        return self.page(
            visit, title, *body, header=[_header(visit)], window=f"{title} - GitLab",
            script=asset("gitlab.js"),
        )  # fmt: skip


def _header(visit: Visit) -> Markup:
    brand = tag("a", "GitLab", href="/", class_="brand")
    if visit.user is None:
        return tag("header", brand)
    mine = f"/dashboard/merge_requests?assignee_username={visit.user}"
    reviews = f"/dashboard/merge_requests?reviewer_username={visit.user}"
    return tag(
        "header",
        brand,
        link("Assigned to you", mine),
        link("Review requests for you", reviews),
        link("To-Do List", "/dashboard/todos"),
        link("Public projects", "/explore?visibility_level=20"),
        link("Set status", "/-/user_status"),
        link("Edit profile", "/-/profile"),
    )


def _project_card(project: Project) -> Markup:
    stars = tag("span", project.shown_stars, class_="muted")
    return tag("div", link(project.path, f"/{project.path}"), " ", stars, class_="card")


def _project_menu(project: Project) -> Markup:
    base = f"/{project.path}"
    return tag(
        "nav",
        link("Project", base),
        link("Issues", f"{base}/-/issues"),
        link("Commits", f"{base}/-/commits/main"),
        link("Branches", f"{base}/-/branches"),
        class_="sections",
    )
