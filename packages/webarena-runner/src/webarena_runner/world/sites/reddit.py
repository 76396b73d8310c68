"""The stand-in discussion boards, with the pages of a Postmill site for a member."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar

from webarena_runner.world.files import asset, initial
from webarena_runner.world.markup import Markup, Node, field, link, tag
from webarena_runner.world.messages import Response, json_response, not_found, redirect
from webarena_runner.world.router import Router
from webarena_runner.world.site import SiteAccount, StandInSite, Visit


@dataclass
class Submission:
    """A post; `hot` ranks it, `ident` grows with time."""

    ident: int
    title: str
    slug: str
    author: str = "lurker"
    body: str = ""
    score: int = 1
    hot: int = 0


@dataclass
class Forum:
    """A forum and its posts."""

    ident: int
    name: str
    title: str
    submissions: list[Submission]
    subscribed: bool = False


class Reddit(StandInSite):
    """Forums, posts, votes, subscriptions and the member's biography."""

    name = "reddit"
    hostname = "reddit.localhost"
    colours = ("#2462a8", "#1b2a3b")
    account = SiteAccount("MarvelsGrantMan136", "test1234")
    login_path = "/login"
    session_cookie = "PHPSESSID"
    token_fields = ("_csrf_token", "token")
    auto_login_header = "X-Postmill-Auto-Login"
    routes: ClassVar[Router] = Router()

    def populate(self) -> None:
        """Reset forums, votes and the biography."""
        known = initial("reddit", "forums", list[Forum])
        self.forums = {each.name: each for each in known}
        self.votes: dict[int, int] = {}
        self.biography = ""

    @routes.get("/")
    def front(self, visit: Visit) -> Response:
        """List the forums' hottest posts."""
        posts = [
            _post_card(forum, each) for forum in self.forums.values() for each in forum.submissions
        ]
        return self._page(visit, "Hot posts", *posts)

    @routes.get("/login")
    def login_form(self, visit: Visit) -> Response:
        """Ask for user and password."""
        form = self.form(
            visit, "/login_check",
            field("Username", "_username"),
            field("Password", "_password", kind="password"),
            tag("button", "Log in", type="submit"),
        )  # fmt: skip
        return self._page(visit, "Log in", form)

    @routes.post("/login_check")
    def log_in_by_form(self, visit: Visit) -> Response:
        """Check the password."""
        refusal = "Invalid credentials."
        return self.log_in(visit, "_username", "_password", home="/", refusal=refusal)

    @routes.get("/forums", "/search")
    def forum_list(self, visit: Visit) -> Response:
        """List all forums, or those whose title has the word that is searched for."""
        word = visit.query.get("q", "").lower()
        items = [
            tag(
                "li",
                link(each.title, f"/f/{each.name}"),
                " ",
                tag("span", each.name, class_="muted"),
            )
            for each in self.forums.values()
            if word in each.title.lower()
        ]
        return self._page(visit, "Forums", tag("ul", *items))

    @routes.get("/f/{name}", "/f/{name}/{sort}")
    def forum_page(self, visit: Visit, name: str, sort: str = "hot") -> Response:
        """List one forum's posts, hottest, newest or best first."""
        forum = self.forums.get(name)
        if forum is None or sort not in _ORDERS:
            return not_found()
        posts = sorted(forum.submissions, key=_ORDERS[sort], reverse=True)
        sorts = [link(each.title(), f"/f/{name}/{each}") for each in _ORDERS]
        tools = tag("nav", *sorts, link("Submit", f"/submit/{name}"), class_="sections")
        cards = [_post_card(forum, each) for each in posts]
        return self._page(visit, forum.title, tools, _subscribe_button(forum), *cards)

    @routes.get("/f/{name}/{ident}/{slug}")
    def post_page(self, visit: Visit, name: str, ident: str, slug: str) -> Response:
        """Show one post."""
        del slug
        forum = self.forums.get(name)
        post = self._post(ident)
        if forum is None or post is None:
            return not_found()
        body = _votes(post), tag("p", post.body), _subscribe_button(forum)
        return self._page(visit, post.title, *body)

    # Task 404 is scored by this POST of a form, in which a vote for the post is choice=1.
    @routes.post("/sv/{ident}.json")
    def vote(self, visit: Visit, ident: str) -> Response:
        """Vote for or against a post; voting 0 takes the vote back."""
        post = self._post(ident)
        if post is None or visit.user is None:
            return json_response({"error": "not allowed"}, HTTPStatus.FORBIDDEN)
        choice = int(visit.form.get("choice", "0"))
        post.score += choice - self.votes.get(post.ident, 0)
        self.votes[post.ident] = choice
        return json_response({"netScore": post.score})

    # Task 595 is scored by the JSON of this request and by its referer, the page of a post.
    @routes.post("/f/{name}/subscribe.json", "/f/{name}/unsubscribe.json")
    def subscribe(self, visit: Visit, name: str) -> Response:
        """Turn a subscription on or off."""
        forum = self.forums.get(name)
        if forum is None or visit.user is None:
            return json_response({"error": "not allowed"}, HTTPStatus.FORBIDDEN)
        forum.subscribed = not visit.request.path.endswith("/unsubscribe.json")
        return json_response({"subscribed": forum.subscribed})

    @routes.get("/user/{name}")
    def profile(self, visit: Visit, name: str) -> Response:
        """Show a member."""
        edit = link("Edit biography", f"/user/{name}/edit_biography")
        own = edit if visit.user == name else None
        return self._page(visit, name, tag("p", self.biography or "No biography yet."), own)

    @routes.get("/user/{name}/edit_biography")
    def biography_form(self, visit: Visit, name: str) -> Response:
        """Ask for the new biography."""
        if visit.user != name:
            return redirect(self.login_path)
        form = self.form(
            visit, f"/user/{name}/edit_biography",
            field("Biography", "user_biography[biography]", self.biography, kind="textarea"),
            tag("button", "Save", type="submit"),
        )  # fmt: skip
        return self._page(visit, "Edit biography", form)

    # Task 399 is scored by this POST and its 302: a recording that merges redirects loses it.
    @routes.post("/user/{name}/edit_biography")
    def edit_biography(self, visit: Visit, name: str) -> Response:
        """Store the new biography."""
        if visit.user != name:
            return redirect(self.login_path)
        self.biography = visit.form.get("user_biography[biography]", "")
        visit.session.notices.append("Your biography was updated.")
        return redirect(f"/user/{name}")

    @routes.get("/submit/{name}")
    def submit_form(self, visit: Visit, name: str) -> Response:
        """Ask for a new post."""
        forum = self.forums.get(name)
        if visit.user is None or forum is None:
            return redirect(self.login_path) if visit.user is None else not_found()
        form = self.form(
            visit, f"/submit/{name}",
            field("Title", "submission[title]"),
            field("Body", "submission[body]", kind="textarea"),
            tag("input", type="hidden", name="submission[forum]", value=forum.ident),
            tag("button", "Create submission", type="submit"),
        )  # fmt: skip
        return self._page(visit, f"Submit to {forum.title}", form)

    @routes.post("/submit/{name}")
    def submit(self, visit: Visit, name: str) -> Response:
        """Add a post and show it."""
        forum = self.forums.get(name)
        if visit.user is None or forum is None:
            return redirect(self.login_path) if visit.user is None else not_found()
        newest = max(each.ident for f in self.forums.values() for each in f.submissions)
        title = visit.form.get("submission[title]", "")
        body = visit.form.get("submission[body]", "")
        post = Submission(newest + 1, title, "-".join(title.lower().split()), visit.user, body)
        forum.submissions.append(post)
        return redirect(f"/f/{name}/{post.ident}/{post.slug or 'post'}")

    def _post(self, ident: str) -> Submission | None:
        posts = (each for forum in self.forums.values() for each in forum.submissions)
        return next((each for each in posts if str(each.ident) == ident), None)

    def _page(self, visit: Visit, title: str, *body: Node) -> Response:
        header = _header(visit), self.token_input(visit)
        return self.page(visit, title, *body, header=header, script=asset("reddit.js"))


_ORDERS = {
    "hot": lambda each: each.hot,
    "new": lambda each: each.ident,
    "top": lambda each: each.score,
}


def _header(visit: Visit) -> Markup:
    who = link(visit.user, f"/user/{visit.user}") if visit.user else link("Log in", "/login")
    brand = tag("a", "Discussions", href="/", class_="brand")
    return tag("header", brand, link("Forums", "/forums"), who)


def _post_card(forum: Forum, post: Submission) -> Markup:
    where = f"/f/{forum.name}/{post.ident}/{post.slug}"
    byline = tag("p", f"{post.author} in {forum.name}", class_="muted")
    return tag("article", tag("h2", link(post.title, where)), byline, _votes(post), class_="card")


def _votes(post: Submission) -> Markup:
    url = f"/sv/{post.ident}.json"
    up = tag("button", "\u25b2", data_url=url, data_choice="1", aria_label="Upvote", class_="quiet")
    down = tag(
        "button", "\u25bc", data_url=url, data_choice="-1", aria_label="Downvote", class_="quiet"
    )
    return tag("div", up, tag("span", post.score, class_="score"), down, class_="row")


def _subscribe_button(forum: Forum) -> Markup:
    action = "unsubscribe" if forum.subscribed else "subscribe"
    return tag("button", action.title(), data_url=f"/f/{forum.name}/{action}.json")
