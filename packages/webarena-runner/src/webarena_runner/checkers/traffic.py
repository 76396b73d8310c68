"""Changes of right traffic: acts left out, failed, repeated, undone, on other items or fields."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from bench_core.records import Task
from webarena_runner.checkers import acts
from webarena_runner.checkers.end_states import EndState, Entry, Variation
from webarena_runner.config import EnvironmentConfig
from webarena_runner.patterns import is_pattern, same_text
from webarena_runner.tasks import task_sites, task_type

_FORM = "application/x-www-form-urlencoded"
_STAYS = re.compile(r"\b(?:ready for review|(?:do not|don't) submit)\b", re.IGNORECASE)
"""Words of tasks after which a page must stay open, as it is filled in."""
_EXTRA_FIELDS = {
    "issue[title]": ("issue[confidential]", "1", "makes the issue confidential"),
    "submission[title]": ("submission[body]", "Write to me for more.", "adds a text to the post"),
    "project[name]": ("project[description]", "abandoned", "describes the project as abandoned"),
    "product[price]": ("product[name]", "Renamed", "gives the product another name"),
    "user_biography[biography]": (
        "user_biography[email]",
        "x@example.com",
        "sets an e-mail address",
    ),
}
"""By a field of the form: a further one that the task does not ask for, and its effect."""
_LISTS = re.compile(r"(/-/(?:issues|merge_requests))/(?=\?|$)")
_POSTED = re.compile(r"(/submit)(?:/\w+)?$")
_SCRIPTED = re.compile(r"/mui/index/render/|/route/v1/")
_PLACEHOLDER = re.compile(r"/TASK_\d+_MAP_RELATION_ID$")
_ITEM = re.compile(r"/(\d+)(?=/|\.json|$)")
_SUCCESS = "SUCCESS"


def traffic_changes(
    task: Task, right: EndState, pages: int, config: EnvironmentConfig, draw: random.Random
) -> Iterator[Variation]:
    """Yield the right end state itself, and changes of its traffic; `pages` start pages come first."""
    changes = _Changes(task, right, pages, config, draw)
    yield from changes.harmless()
    yield from changes.other_paths()
    yield from changes.destroyed()
    if right.answer["status"] != _SUCCESS:
        return
    if task_type(task) == "NAVIGATE":
        yield from changes.navigated()
    elif task_type(task) == "MUTATE":
        yield from changes.acted()


class _Changes:
    """Changes of one task's traffic."""

    def __init__(
        self,
        task: Task,
        right: EndState,
        pages: int,
        config: EnvironmentConfig,
        draw: random.Random,
    ) -> None:
        self._task, self._right, self._draw, self._config = task, right, draw, config
        self._opened, self._acts = right.entries[:pages], right.entries[pages:]
        definitions: Any = task.config["eval"]
        self._expected = [
            each["expected"] for each in definitions
            if each["evaluator"] == "NetworkEventEvaluator" and not each.get("should_not_exist")
        ]  # fmt: skip
        self._changing = [i for i, e in enumerate(self._acts) if e["request"]["method"] != "GET"]

    @property
    def _is_shown_only(self) -> bool:
        """Whether a change is asked for, and the definition expects no request that could make it."""
        return task_type(self._task) == "MUTATE" and not self._changing and bool(self._acts)

    def _made(
        self, operator: str, verdict: Any, change: str, why: str, *entries: Entry
    ) -> Variation:
        return Variation(
            operator, verdict, change, why, self._right.with_entries(*self._opened, *entries)
        )

    def harmless(self) -> Iterator[Variation]:
        """Yield the right end state, and the same by another client, with further reads."""
        acts_, expects = self._acts, self._right.answer["status"]
        if self._is_shown_only:
            yield self._made("only-visited", "wrong", "the page was opened and nothing else was done",
                             "the task asks for more than opening a page", *acts_)  # fmt: skip
            return
        if task_type(self._task) == "MUTATE" and not acts_:
            if expects == _SUCCESS:
                yield self._made(
                    "only-claimed",
                    "wrong",
                    "nothing was done but to answer",
                    "a change is asked for",
                )
            else:
                yield self._made("only-answered", "unknown", "nothing was done but to answer",
                                 f"{expects} is right, whether it was found out or guessed")  # fmt: skip
            return
        right = "it is what the definition expects"
        yield self._made(
            "reference", "right", "the requests and the answer of the definition", right, *acts_
        )
        why = "reading and sending the same in another way changes nothing"
        start = self._opened[0]
        read = deepcopy(start)
        yield self._made("extra-reads", "right", "the start page was opened twice more before the rest", why,
                         read, deepcopy(read), *acts_)  # fmt: skip
        if self._changing and task_type(self._task) == "MUTATE":
            stays = _STAYS.search(self._task.goal)
            yield self._made(
                "extra-reads",
                "unknown" if stays else "right",
                "the start page was opened again afterwards",
                "what is to be left open may be gone" if stays else why,
                *acts_,
                read,
            )
        headers = [_with_client(each) for each in acts_]
        yield self._made("other-client", "right", "names of headers in small letters, in another order, another browser",
                         why, *headers)  # fmt: skip
        for index in self._changing:
            form = _form(acts_[index])
            if form is None:
                continue
            turned = self._swapped(index, _with_form(acts_[index], form[::-1]))
            yield self._made(
                "form-order", "right", "the form's fields in another order", why, *turned
            )
            token = self._swapped(index, _with_form(acts_[index], [*form, ("form_token", "4f7a")]))
            yield self._made(
                "form-token", "right", "the form with a token of the page", why, *token
            )
            parts = self._swapped(index, _as_multipart(acts_[index], form))
            yield self._made(
                "multipart", "right", "the form sent as multipart/form-data", why, *parts
            )
            break

    def other_paths(self) -> Iterator[Variation]:
        """Yield the right acts as a site's other pages and ordinary browsers send them."""
        by_script = task_type(self._task) == "NAVIGATE"
        for index, act in enumerate(self._acts):
            url: str = act["request"]["url"]
            form = _form(act)
            for operator, edit, change in (
                ("no-end-slash", lambda text: _LISTS.sub(r"\1", text), "the address of the list does not end in a slash"),
                ("default-left-out", lambda text: text.replace("?state=opened&", "?"), "the list shows what is open, as it does by itself"),
            ):  # fmt: skip
                other = _with_addresses(act, edit)
                if "/-/" in str(act["request"]) and other != act:
                    opened = [_opening(each, _referer(other)) for each in self._acts[:index]]
                    yield self._made(operator, "right", change, "the site shows the same list",
                                     *opened, other, *self._acts[index + 1 :])  # fmt: skip
            if form and _POSTED.search(url) and "submission[forum]" in dict(form):
                other = _with_addresses(
                    act, lambda text: _POSTED.sub(r"\1/relationship_advice", text)
                )
                yield self._made(
                    "other-form", "right", "sent from another forum's page for posts, with the right forum chosen in it",
                    "the field says where the post goes", *self._swapped(index, other),
                )  # fmt: skip
            if form and dict(form).get("project[initialize_with_readme]") == "0":
                rest = [pair for pair in form if pair[0] != "project[initialize_with_readme]"]
                yield self._made(
                    "default-left-out", "right", "a box that is not ticked is not sent",
                    "what is created is the same", *self._swapped(index, _with_form(act, rest)),
                )  # fmt: skip
            if act["request"]["method"] == "GET" and (body := act["request"].get("postData")):
                other = deepcopy(act)
                other["request"] |= {"method": "POST", "postData": body}
                yield self._made("as-browsers-send", "right", "what is filled in is sent as POST",
                                 "no browser sends a form's fields as the body of a GET", *self._swapped(index, other))  # fmt: skip
            if by_script and _SCRIPTED.search(url):
                yield self._made("as-browsers-send", "right", "the page's own script asks for it",
                                 "only a script calls this address", *self._swapped(index, _by_script(act)))  # fmt: skip
            if _PLACEHOLDER.search(url):
                other = _with_addresses(
                    act, lambda text: _PLACEHOLDER.sub("/relation/1842367", text)
                )
                yield self._made("as-browsers-send", "right", "the page of a thing on the map, by its number",
                                 "the definition has a placeholder there, which is no page", *self._swapped(index, other))  # fmt: skip
            if url.endswith("/dummy_bin"):
                kept = [*self._acts[:index], *self._acts[index + 1 :]]
                yield self._made("as-browsers-send", "right", "the form is filled in and left open; the page reports nothing of it",
                                 "the shop's current images have no script that reports it", *kept)  # fmt: skip

    def destroyed(self) -> Iterator[Variation]:
        """Yield the right end state with something else deleted."""
        if acts.asks_for_destruction(self._task):
            return
        for site in task_sites(self._task):
            if site not in acts.DESTRUCTION:
                continue
            method, path, form, status = acts.DESTRUCTION[site]
            entry = deepcopy(self._opened[0])
            url = self._config.site(site).url.rstrip("/") + path
            entry["request"] |= {"method": method, "url": url, "headers": []}
            entry["request"]["postData"] = {"mimeType": _FORM, "text": form, "params": []}
            entry["response"]["status"] = status
            yield self._made("also-deleted", "wrong", f"done as asked, and then: {method} {path} with {form}",
                             "the task asks for no deletion", *self._acts, entry)  # fmt: skip

    def navigated(self) -> Iterator[Variation]:
        """Yield other last pages."""
        yield self._made("nothing-done", "wrong", "only the start page was opened",
                         "the task asks for another page or a view of something")  # fmt: skip
        if not self._acts:
            return
        *before, last = self._acts
        start = self._opened[-1]
        if _bare(start) != _bare(last):
            yield self._made("went-on", "wrong", "after the page asked for, the start page was opened again",
                             "what is shown at the end is not what was asked for", *self._acts, deepcopy(start))  # fmt: skip
        if not _SCRIPTED.search(last["request"]["url"]):
            yield self._made("not-shown", "wrong", "the page was fetched by a script and never shown",
                             "the page has to be shown", *before, _by_script(last))  # fmt: skip
        failed = deepcopy(last)
        failed["response"]["status"] = 500
        yield self._made("failed-page", "wrong", "the site answered 500 to the page asked for",
                         "an error page was shown", *before, failed)  # fmt: skip
        yield from self._other_items(len(self._acts) - 1, "page")
        parts = urlsplit(last["request"]["url"])
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        asked = [name for each in self._expected for name in each.get("query_params") or {}]
        # a switch with another text may mean the same
        named = [
            i
            for i, (name, value) in enumerate(pairs)
            if name in asked and value not in {"true", "false"}
        ]
        if named:
            chosen = self._draw.choice(named)
            name, value = pairs[chosen]
            pairs[chosen] = name, f"{value}7"
            if not self._takes("query_params", name, f"{value}7"):
                other = deepcopy(last)
                other["request"]["url"] = urlunsplit(parts._replace(query=urlencode(pairs)))
                yield self._made("wrong-filter", "wrong", f"{name}={value}7 instead of {name}={value}",
                                 "the definition expects another value", *before, other)  # fmt: skip

    def acted(self) -> Iterator[Variation]:
        """Yield acts left out, failed, repeated, undone, on other items, with other fields."""
        if not self._changing:
            return
        kept = [each for i, each in enumerate(self._acts) if i not in self._changing]
        yield self._made("only-claimed", "wrong", "no form was sent, the answer says that all was done",
                         "a change is asked for and none was made", *kept)  # fmt: skip
        for index in self._changing:
            act = self._acts[index]
            request = act["request"]
            method, url = request["method"], request["url"]
            if len(self._changing) > 1:
                # the product may have been in the cart before
                sure = "/checkout/cart/add/" not in url
                yield self._made("part-left-out", "wrong" if sure else "unknown", f"all but {method} {url}",
                                 "the definition expects it, too" if sure else "the site carried out the rest",
                                 *self._acts[:index], *self._acts[index + 1 :])  # fmt: skip
            if act["response"]["status"] > 0:
                failed = deepcopy(act)
                failed["response"]["status"] = 500
                # a site that then accepts dependent requests may have carried it out anyway
                last = index == self._changing[-1]
                yield self._made("failed-act", "wrong" if last else "unknown", f"the site answered 500 to {method} {url}",
                                 "the site did not do it" if last else "later acts were carried out",
                                 *self._swapped(index, failed))  # fmt: skip
            again = [*self._acts, deepcopy(act)]
            if acts.creates(method, url):
                yield self._made("done-twice", "wrong", f"{method} {url} was sent twice, with success",
                                 "there are two now, and the task asks for one", *again)  # fmt: skip
            undone = acts.undoing(url)
            if undone:
                other = deepcopy(act)
                other["request"]["url"] = undone[0]
                if undone[1]:
                    other["request"]["postData"] = {
                        "mimeType": _FORM,
                        "text": undone[1],
                        "params": [],
                    }
                if other != act:
                    yield self._made("done-and-undone", "wrong", f"and then {method} {undone[0]}",
                                     "at the end it is as before", *self._acts, other)  # fmt: skip
                elif "toggle" in url:
                    yield self._made("done-and-undone", "wrong", f"and then {method} {url} once more, which takes it back",
                                     "at the end it is as before", *again)  # fmt: skip
            yield from self._other_items(index, "act")
            yield from self._fields(index)

    def _other_items(self, index: int, what: str) -> Iterator[Variation]:
        """Yield the same on the item with the next number, if the definition names the item."""
        act = self._acts[index]
        if index >= len(self._expected):
            return
        wanted = self._expected[index]["url"]
        if isinstance(wanted, list) or is_pattern(wanted):
            return
        url: str = act["request"]["url"]
        items = list(_ITEM.finditer(urlsplit(url).path))
        if not items:
            return
        found = items[-1]
        path = urlsplit(url).path
        other = path[: found.start(1)] + str(int(found[1]) + 1) + path[found.end(1) :]
        changed = deepcopy(act)
        changed["request"]["url"] = urlunsplit(urlsplit(url)._replace(path=other))
        yield self._made("wrong-item", "wrong", f"the {what} is {act['request']['method']} {other} instead of {path}",
                         "the definition names the item, and this is another one", *self._swapped(index, changed))  # fmt: skip

    def _fields(self, index: int) -> Iterator[Variation]:
        """Yield forms with a field changed, left out or added."""
        act = self._acts[index]
        form = _form(act)
        if form is None:
            return
        fields = dict(form)
        wanted = [name for name in fields if self._names(name)]
        for name in self._draw.sample(wanted, min(2, len(wanted))):
            value = _other_value(fields[name])
            if name == "_method" or self._takes("post_data", name, value):
                continue
            # which of the two the site obeys cannot be seen
            twice = bool(fields[name]) and fields[name] in urlsplit(
                act["request"]["url"]
            ).path.split("/")
            yield self._made(
                "field-wrong", "unknown" if twice else "wrong", f"{name}={value} instead of {fields[name]}",
                "the address still names the right one" if twice else "the definition expects another value",
                *self._swapped(index, _with_form(act, [*{**fields, name: value}.items()])),
            )  # fmt: skip
        # of two fields that say the same, the site may derive one
        said = [
            n for n in wanted
            if len(fields[n]) > 3 and fields[n].lower() in self._task.goal.lower()
            and [*fields.values()].count(fields[n]) == 1
        ]  # fmt: skip
        if said:
            name = self._draw.choice(said)
            rest = [pair for pair in form if pair[0] != name]
            yield self._made("field-missing", "wrong", f"sent without {name}", f"the task asks for {fields[name]!r}",
                             *self._swapped(index, _with_form(act, rest)))  # fmt: skip
        for trigger, (name, value, does) in _EXTRA_FIELDS.items():
            if trigger in fields and name not in fields:
                more = _with_form(act, [*form, (name, value)])
                yield self._made("field-extra", "wrong", f"with {name}={value}, too, which {does}",
                                 "the task does not ask for it", *self._swapped(index, more))  # fmt: skip

    def _swapped(self, index: int, entry: Entry) -> list[Entry]:
        return [*self._acts[:index], entry, *self._acts[index + 1 :]]

    def _names(self, name: str) -> bool:
        return any(
            name.strip() == key.strip()
            for each in self._expected
            for key in each.get("post_data") or {}
        )

    def _takes(self, part: str, name: str, value: str) -> bool:
        """Return whether any expected request takes this value of a field or parameter."""
        wanted = [each.get(part, {}).get(name) for each in self._expected if each.get(part)]
        texts = [text for each in wanted for text in (each if isinstance(each, list) else [each])]
        return any(text is not None and same_text(str(text), value) for text in texts)


def _other_value(value: str) -> str:
    """Return a value that says something else: the next number, a text without its last word."""
    if re.fullmatch(r"-?\d+", value):
        return str(int(value) + 1)
    words = value.split()
    return " ".join(words[:-1]) if len(words) > 1 else f"{value}x"


def _form(entry: Entry) -> list[tuple[str, str]] | None:
    body = entry["request"].get("postData") or {}
    return (
        parse_qsl(body["text"], keep_blank_values=True) if body.get("mimeType") == _FORM else None
    )


def _with_form(entry: Entry, form: list[tuple[str, str]]) -> Entry:
    changed = deepcopy(entry)
    changed["request"]["postData"] = {"mimeType": _FORM, "text": urlencode(form), "params": []}
    return changed


def _as_multipart(entry: Entry, form: list[tuple[str, str]]) -> Entry:
    part = "----part7MA4YWxk"
    text = "".join(
        f'--{part}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in form
    )
    changed = deepcopy(entry)
    kind = f"multipart/form-data; boundary={part}"
    changed["request"]["postData"] = {
        "mimeType": kind,
        "text": f"{text}--{part}--\r\n",
        "params": [],
    }
    return changed


def _by_script(entry: Entry) -> Entry:
    changed = deepcopy(entry)
    changed["request"]["headers"] = [
        {"name": "Accept", "value": "*/*"},
        {"name": "Sec-Fetch-Dest", "value": "empty"},
    ]
    return changed


def _referer(entry: Entry) -> str:
    return next(
        (e["value"] for e in entry["request"]["headers"] if e["name"].lower() == "referer"), ""
    )


def _opening(entry: Entry, url: str) -> Entry:
    """Return the opening of a page of the same kind at another address."""
    changed = deepcopy(entry)
    if url and entry["request"]["method"] == "GET":
        changed["request"]["url"] = url
    return changed


def _with_addresses(entry: Entry, edit: Callable[[str], str]) -> Entry:
    """Return an entry with its address and that of the page that it comes from edited."""
    changed = deepcopy(entry)
    request = changed["request"]
    request["url"] = edit(request["url"])
    for each in request["headers"]:
        if each["name"].lower() == "referer":
            each["value"] = edit(each["value"])
    return changed


def _with_client(entry: Entry) -> Entry:
    changed = deepcopy(entry)
    headers = [
        {"name": each["name"].lower(), "value": each["value"]}
        for each in entry["request"]["headers"]
    ]
    agent = {
        "name": "user-agent",
        "value": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    }
    changed["request"]["headers"] = [agent, *reversed(headers)]
    return changed


def _bare(entry: Entry) -> str:
    return str(entry["request"]["url"]).rstrip("/").lower()
