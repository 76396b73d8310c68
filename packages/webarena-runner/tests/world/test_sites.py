from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from bench_core.errors import EnvironmentFaultError
from webarena_runner.login.http_login import is_logged_in, log_in
from webarena_runner.web import WebClient
from webarena_runner.world.launch import environment_of

if TYPE_CHECKING:
    from webarena_runner.web import FetchedPage
    from webarena_runner.world import BuiltInWorld

WITH_LOGIN = ["gitlab", "reddit", "shopping", "shopping_admin"]


def _member(world: BuiltInWorld, site: str) -> WebClient:
    """A client that is logged in."""
    client = WebClient()
    client.cookies = list(log_in(environment_of(world).config.site(site), site).cookies)
    return client


def _token(page: FetchedPage) -> tuple[str, str]:
    found = re.search(
        r'name="(form_key|_csrf_token|authenticity_token)" value="([^"]+)"', page.text
    )
    assert found is not None
    return found[1], found[2]


@pytest.mark.parametrize("site", WITH_LOGIN)
def test_the_benchmarks_account_logs_in_through_the_form(world: BuiltInWorld, site: str) -> None:
    config = environment_of(world).config.site(site)

    session = log_in(config, site)

    assert is_logged_in(config, session)


@pytest.mark.parametrize("site", WITH_LOGIN)
def test_a_wrong_password_does_not_log_in(world: BuiltInWorld, site: str) -> None:
    config = environment_of(world).config.site(site)
    wrong = config.model_validate(
        {"urls": config.urls, "credentials": {"username": "root", "password": "wrong"}}
    )

    with pytest.raises(EnvironmentFaultError, match="did not accept the user 'root'"):
        log_in(wrong, site)


@pytest.mark.parametrize("site", WITH_LOGIN)
def test_sessions_expire(world: BuiltInWorld, site: str) -> None:
    config = environment_of(world).config.site(site)
    session = log_in(config, site)

    world.sites[site].expire_sessions()

    assert not is_logged_in(config, session)


@pytest.mark.parametrize("site", ["reddit", "shopping", "shopping_admin"])
def test_the_images_login_header_works(world: BuiltInWorld, site: str) -> None:
    stand_in = world.sites[site]
    account = stand_in.account
    assert stand_in.auto_login_header is not None
    header = (stand_in.auto_login_header, f"{account.user}:{account.password}")

    page = _get_with_header(world.urls[site] + _PRIVATE[site], header)

    assert "password" not in page


def test_reddit_and_shopping_share_a_cookie_name_but_no_host(world: BuiltInWorld) -> None:
    hosts = {name: url.split("/")[2].partition(":")[0] for name, url in world.urls.items()}

    assert world.sites["reddit"].session_cookie == world.sites["shopping"].session_cookie
    assert len(set(hosts.values())) == len(hosts)


def test_a_wish_is_answered_by_a_redirect_and_a_cookie(world: BuiltInWorld) -> None:
    client, shop = _member(world, "shopping"), world.urls["shopping"]
    page = client.get(f"{shop}/mint-whitening-toothpaste.html")

    landed = client.post(f"{shop}/wishlist/index/add/", [_token(page), ("product", "40101")])

    assert landed.url == f"{shop}/wishlist/index/index/wishlist_id/1/"
    assert "Mint Whitening Toothpaste" in landed.text
    notice = next(each for each in client.cookies if each.name == "mage-messages")
    assert "has%20been%20added%20to%20your%20Wish%20List" in notice.value


def test_strangers_are_sent_to_the_login(world: BuiltInWorld) -> None:
    stranger = WebClient()

    assert stranger.get(world.urls["gitlab"] + "/dashboard/todos").url.endswith("/users/sign_in")
    assert stranger.get(world.urls["shopping"] + "/customer/account/").url.endswith("/login/")
    assert stranger.get(world.urls["shopping_admin"] + "/customer/index/").url.endswith("/admin")


@pytest.mark.parametrize(
    ("site", "path", "form"),
    [
        ("reddit", "/user/MarvelsGrantMan136/edit_biography", ("user_biography[biography]", "x")),
        ("gitlab", "/-/profile", ("user[website_url]", "x")),
        ("shopping", "/wishlist/index/add/", ("product", "40101")),
        ("shopping_admin", "/sales/order/cancel/order_id/302/", ("any", "x")),
    ],
)
def test_a_form_without_its_token_changes_nothing(
    world: BuiltInWorld, site: str, path: str, form: tuple[str, str]
) -> None:
    answer = _member(world, site).post(world.urls[site] + path, [form])

    assert answer.status == 403


def test_searching_finds_products_by_any_word(world: BuiltInWorld) -> None:
    page = WebClient().get(world.urls["shopping"] + "/catalogsearch/result/?q=usb+wifi")

    assert "Compact USB WiFi Adapter" in page.text
    assert "Oak Dining Chair" not in page.text


def test_a_category_is_cut_and_sorted_by_price(world: BuiltInWorld) -> None:
    shelf = world.urls["shopping"] + "/home-kitchen/furniture.html"

    cheap = WebClient().get(f"{shelf}?price=0-100").text
    dear_first = WebClient().get(f"{shelf}?product_list_order=price&product_list_dir=desc").text

    assert "White Computer Desk" not in cheap
    assert dear_first.index("White Computer Desk") < dear_first.index("Oak Dining Chair")


@pytest.mark.parametrize(
    ("site", "path", "text"),
    [
        ("gitlab", "/dashboard/merge_requests", "select at least one filter"),
        ("gitlab", "/explore", "Visibility: Any"),
        ("gitlab", "/explore?visibility_level=20", "Visibility: Public"),
        ("gitlab", "/a11yproject/a11yproject.com/-/issues", "most recent first"),
        (
            "gitlab",
            "/a11yproject/a11yproject.com/-/branches",
            "nothing is left for a merge request",
        ),
        ("gitlab", "/byteblaze/dotfiles", ">1 star<"),
        ("gitlab", "/", ">GitLab<"),
        ("reddit", "/forums", ">DIY<"),
        ("shopping_admin", "/sales/order/view/order_id/299/", "sends no messages"),
        ("shopping_admin", "/review/product/", "Reviews cannot be deleted"),
    ],
)
def test_a_page_tells_what_a_task_turns_on(
    world: BuiltInWorld, site: str, path: str, text: str
) -> None:
    assert text in _member(world, site).get(world.urls[site] + path).text


@pytest.mark.parametrize(
    ("website", "notice"),
    [
        ("helloworld.xyz", "it begins with http:// or https://"),
        ("https://helloworld.xyz", "Profile was successfully updated."),
    ],
)
def test_a_website_without_its_scheme_is_refused(
    world: BuiltInWorld, website: str, notice: str
) -> None:
    client = _member(world, "gitlab")
    url = f"{world.urls['gitlab']}/-/profile"
    name, token = _token(client.get(url))

    page = client.post(url, [(name, token), ("user[website_url]", website)]).text

    assert notice in page
    assert (f'value="{website}"' in page) is website.startswith("https")


def test_a_set_status_is_shown_when_its_page_is_opened_again(world: BuiltInWorld) -> None:
    client = _member(world, "gitlab")
    url = f"{world.urls['gitlab']}/-/user_status"
    assert "checked" not in client.get(url).text

    world.sites["gitlab"].status = {"availability": "busy"}  # type: ignore[attr-defined]

    assert "checked" in client.get(url).text


def test_text_from_forms_is_escaped(world: BuiltInWorld) -> None:
    page = WebClient().get(world.urls["shopping"] + "/catalogsearch/result/?q=<script>alert(1)")

    assert "<script>alert" not in page.text


def test_an_unknown_page_is_404(world: BuiltInWorld) -> None:
    assert WebClient().get(world.urls["map"] + "/nowhere").status == 404


_PRIVATE = {"reddit": "/submit/books", "shopping": "/customer/account/", "shopping_admin": ""}


def _get_with_header(url: str, header: tuple[str, str]) -> str:
    """Fetch a page with a request header, which `WebClient` does not send."""
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port or 80)
    connection.request("GET", parts.path, headers=dict([header, ("Host", parts.netloc)]))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if answer.status == 302:
        assert answer.headers["Location"] != "/login"
        assert "login" not in answer.headers["Location"]
    return text


def test_the_map_finds_places_by_the_words_of_their_names(world: BuiltInWorld) -> None:
    place = next(iter(world.sites["map"].places))
    query = urlencode({"query": place.lower()})
    assert place in WebClient().get(f"{world.urls['map']}/search?{query}").text
    nothing = WebClient().get(f"{world.urls['map']}/search?query=nowhere-at-all").text
    assert "No results found" in nothing
