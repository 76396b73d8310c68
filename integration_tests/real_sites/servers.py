"""Four real applications in the roles of WebArena's sites, each behind nginx, which logs every request.

MediaWiki (PHP, SQLite) is `reddit`, django-oscar `shopping`, Fossil `gitlab`, and kiwix-serve, with a file made here,
`wikipedia` as in WebArena itself. nginx leads from the addresses of a role's login, private page and search to those
of the application. `python -m integration_tests.real_sites.servers FOLDER SITE` is the reset hook: it puts back the
data that a site began with.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

__all__ = ["ACCOUNTS", "BOOK", "NEEDED", "RealSites", "real_sites"]

NEEDED = ("php", "kiwix-serve", "zimwriterfs", "fossil", "nginx")
"""Programs of Debian's packages mediawiki, php-cli, php-sqlite3, kiwix-tools, zim-tools, fossil, nginx-light."""
MEDIAWIKI = Path("/usr/share/mediawiki")
ACCOUNTS = {
    "reddit": ("MarvelsGrantMan136", "test1234test"),
    "shopping": ("emma.lopez@gmail.com", "Password.123"),
    "gitlab": ("byteblaze", "hello1234"),
}
BOOK = "wikipedia_en_all_maxi_2022-05"
_PAGES = {
    "Pittsburgh": "Pittsburgh is a city in Pennsylvania with <a href='Bridge'>446 bridges</a>.",
    "Bridge": "A bridge spans an obstacle.",
    "User:The_other_Kiwix_guy/Landing": "Welcome to <a href='../Pittsburgh'>Pittsburgh</a>.",
}
_ROLES = {
    "reddit": """
    location = /login { return 302 /index.php?title=Special:UserLogin; }
    location = /logout { return 302 /index.php?title=Special:UserLogout; }
    location ~ ^/user/[^/]+/edit_biography$ { return 302 /index.php?title=Special:Preferences; }
    location = /search { return 302 /index.php?title=Special:Search&search=$arg_q; }
    location ^~ /f/ { return 302 /index.php?title=Main_Page; }
""",
    "shopping": """
    location = /customer/account/login/ { return 302 /accounts/login/; }
    location = /customer/account/logout { return 302 /accounts/logout/; }
    location = /customer/account/ { return 302 /accounts/profile/; }
    location /catalogsearch/result/ { rewrite ^ /search/ break; proxy_pass http://BEHIND; }
    location = /ciclon-energy-drink-regular-24-cans-8-3oz.html { return 302 /catalogue/; }
""",
    "gitlab": """
    location = /users/sign_in { return 302 /login; }
    location = /dashboard/todos { rewrite ^ /tktnew break; proxy_pass http://BEHIND; }
    location = /explore { rewrite ^ /timeline break; proxy_pass http://BEHIND; }
    location = /a11yproject/a11yproject.com { rewrite ^ /dir break; proxy_pass http://BEHIND; }
""",
    "wikipedia": "",
}
_PRODUCTS = """
from oscar.apps.catalogue.models import Category, Product, ProductClass
from oscar.apps.customer.models import ProductAlert
from oscar.apps.partner.models import Partner, StockRecord
from oscar.core.compat import get_user_model
get_user_model().objects.create_user("emma", "emma.lopez@gmail.com", "Password.123")
made = ProductClass.objects.create(name="Things", requires_shipping=True, track_stock=True)
partner = Partner.objects.create(name="Maker")
for number, title in enumerate(["usb wifi adapter", "usb cable", "green tea"]):
    product = Product.objects.create(title=title, product_class=made, upc=str(number))
    StockRecord.objects.create(product=product, partner=partner, partner_sku=str(number),
                               price=9.5 + number, num_in_stock=1000)
"""


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class RealSites:
    """The running sites.

    Attributes:
        urls: The address of each site, as a browser asks for it.
        config: A file for `webarena-runner --config`.
    """

    def __init__(self, folder: Path, urls: dict[str, str]) -> None:
        self.urls = urls
        self.config = folder / "sites.yaml"
        self._folder = folder

    def requests(self) -> list[dict[str, str]]:
        """Return what browsers asked the sites for, by their access log: site, method, uri, status."""
        lines = (self._folder / "access.jsonl").read_text(encoding="utf-8").splitlines()
        return [each for each in map(json.loads, lines) if "Chrome" in each["agent"]]

    def forget_requests(self) -> None:
        """Begin the access log anew."""
        os.truncate(self._folder / "access.jsonl", 0)


@contextmanager
def real_sites(folder: Path) -> Iterator[RealSites]:
    """Install the applications' data in a folder, serve them, and end them."""
    behind = {site: _free_port() for site in _ROLES}
    before = {site: _free_port() for site in _ROLES}
    hosts = {site: f"{site}.localhost:{before[site]}" for site in _ROLES}
    urls = {site: f"http://{host}" for site, host in hosts.items()}
    makers = {"reddit": _wiki, "shopping": _shop, "gitlab": _code, "wikipedia": _book}
    with ExitStack() as stack:
        for site, make in makers.items():
            data = folder / site
            data.mkdir()
            command, environment = make(data, behind[site], urls[site])
            shutil.copytree(data, folder / "kept" / site)
            stack.enter_context(_process(folder, site, command, environment))
        stack.enter_context(_nginx(folder, before, behind))
        for url in urls.values():
            _until_served(url)
        sites = RealSites(folder, urls)
        sites.config.write_text(json.dumps({"sites": _configured(folder, urls)}), encoding="utf-8")
        yield sites


def _configured(folder: Path, urls: dict[str, str]) -> dict[str, dict[str, str]]:
    hook = f"{sys.executable} {Path(__file__)} {folder} {{site}}"
    configured: dict[str, dict[str, str]] = {}
    for site, url in urls.items():
        if site in ACCOUNTS:
            username, password = ACCOUNTS[site]
            configured[site] = {
                "url": url,
                "username": username,
                "password": password,
                "reset_hook": hook,
            }
        else:
            configured[site] = {"url": f"{url}/{BOOK}/A/User:The_other_Kiwix_guy/Landing"}
    return configured


def _wiki(data: Path, port: int, url: str) -> tuple[list[str], dict[str, str]]:
    user, password = ACCOUNTS["reddit"]
    _run(
        "php", MEDIAWIKI / "maintenance" / "install.php", "--dbtype", "sqlite", "--dbpath", data,
        "--dbname", "wiki", "--confpath", data, "--server", url, "--scriptpath", "", "--pass", password,
        "A wiki", user,
    )  # fmt: skip
    environment = {"MW_CONFIG_FILE": str(data / "LocalSettings.php"), "PHP_CLI_SERVER_WORKERS": "4"}
    return ["php", "-S", f"127.0.0.1:{port}", "-t", str(MEDIAWIKI)], environment


def _shop(data: Path, port: int, url: str) -> tuple[list[str], dict[str, str]]:
    environment = {
        "SHOP_FOLDER": str(data),
        "DJANGO_SETTINGS_MODULE": "shop_settings",
        "PYTHONPATH": str(Path(__file__).parent),
    }
    django = [sys.executable, "-m", "django"]
    _run(*django, "migrate", "-v0", environment=environment)
    _run(*django, "shell", "-v0", "-c", _PRODUCTS, environment=environment)
    return [*django, "runserver", "--noreload", f"127.0.0.1:{port}"], environment


def _code(data: Path, port: int, url: str) -> tuple[list[str], dict[str, str]]:
    user, password = ACCOUNTS["gitlab"]
    repository = data / "repository.fossil"
    _run("fossil", "init", "--admin-user", user, repository)
    _run("fossil", "user", "password", user, password, "-R", repository)
    served = ["--localhost", "--port", str(port), "--baseurl", url]
    return ["fossil", "server", *served, str(repository)], {}


def _book(data: Path, port: int, url: str) -> tuple[list[str], dict[str, str]]:
    pages = data / "pages"
    for name, text in _PAGES.items():
        page = pages / name
        page.parent.mkdir(parents=True, exist_ok=True)
        head = f"<meta charset='utf-8'><title>{name}</title>"
        page.write_text(
            f"<!DOCTYPE html><html><head>{head}</head><body><h1>{name}</h1><p>{text}</p></body></html>",
            encoding="utf-8",
        )
    from PIL import Image  # which not every environment of these tests has

    Image.new("RGB", (48, 48), "white").save(pages / "icon.png")
    book = data / f"{BOOK}.zim"
    _run(
        "zimwriterfs", "-w", "User:The_other_Kiwix_guy/Landing", "-I", "icon.png", "-l", "eng", "-t", "Some pages",
        "-d", "Some pages", "-c", "us", "-p", "us", pages, book,
    )  # fmt: skip
    return ["kiwix-serve", "--address", "127.0.0.1", "--port", str(port), str(book)], {}


@contextmanager
def _nginx(folder: Path, before: dict[str, int], behind: dict[str, int]) -> Iterator[None]:
    servers = [
        f"""server {{
    listen 127.0.0.1:{before[site]};
    set $site {site};
{roles.replace("BEHIND", f"127.0.0.1:{behind[site]}")}
    location / {{ proxy_pass http://127.0.0.1:{behind[site]}; }}
}}"""
        for site, roles in _ROLES.items()
    ]
    log = '{"site":"$site","method":"$request_method","uri":"$request_uri","status":"$status","agent":"$http_user_agent"}'
    file = folder / "nginx.conf"
    file.write_text(
        f"""daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
client_body_temp_path {folder}/bodies; proxy_temp_path {folder}/proxied; fastcgi_temp_path {folder}/fastcgi;
uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
log_format requests escape=json '{log}';
access_log {folder}/access.jsonl requests;
absolute_redirect off;
proxy_set_header Host $http_host;
{chr(10).join(servers)}
}}
""",
        encoding="utf-8",
    )
    with _process(folder, "nginx", ["nginx", "-c", str(file), "-p", str(folder)], {}):
        yield


@contextmanager
def _process(
    folder: Path, name: str, command: list[str], environment: dict[str, str]
) -> Iterator[None]:
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=log, env={**os.environ, **environment}, start_new_session=True
        )  # fmt: skip
        try:
            yield
        finally:
            # PHP's workers outlive the process that began them
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)


def _until_served(url: str) -> None:
    for _ in range(100):
        try:
            # the name is this machine's for browsers alone
            host, _, port = url.removeprefix("http://").partition(":")
            answer = httpx.get(
                f"http://127.0.0.1:{port}/", headers={"Host": f"{host}:{port}"}, trust_env=False
            )
        except httpx.TransportError:
            time.sleep(0.2)
            continue
        if answer.status_code < 500:  # nginx answers 502 until the application does
            return
        time.sleep(0.2)
    raise RuntimeError(f"{url} is not served")


def _run(*command: object, environment: dict[str, str] | None = None) -> None:
    subprocess.run(
        [str(each) for each in command], check=True, capture_output=True,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip


def _reset(folder: Path, site: str) -> None:
    for kept in (folder / "kept" / site).rglob("*"):
        if kept.is_file():
            place = folder / site / kept.relative_to(folder / "kept" / site)
            # over the open file: the application goes on with it
            shutil.copyfile(kept, place)


if __name__ == "__main__":
    _reset(Path(sys.argv[1]), sys.argv[2])
