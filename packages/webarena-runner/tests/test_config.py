from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import InputError
from webarena_runner.config import (
    EnvironmentConfig,
    default_config,
    load_config,
    official_config,
    shared_cookie_hosts,
)
from webarena_runner.evaluator_loader import evaluator_module

if TYPE_CHECKING:
    from pathlib import Path

YAML = """
sites:
  shopping:
    url: http://shop.test:7770/
    aliases: [http://10.0.0.5:7770]
  shopping_admin:
    url: http://admin.test:7780
    username: root
    password: s3cret
  wikipedia:
    url: http://wiki.test:8888
"""


@pytest.fixture
def yaml_file(tmp_path: Path) -> Path:
    path = tmp_path / "sites.yaml"
    path.write_text(YAML)
    return path


def test_file_gives_urls_aliases_and_credentials(yaml_file: Path) -> None:
    config = load_config(yaml_file, {})
    assert config.site("shopping").urls == ("http://shop.test:7770", "http://10.0.0.5:7770")
    admin = config.site("shopping_admin").credentials
    assert (admin.username, admin.password.get_secret_value()) == ("root", "s3cret")


def test_paths_that_belong_to_a_site_are_added(yaml_file: Path) -> None:
    config = load_config(yaml_file, {})
    assert config.site("shopping_admin").url == "http://admin.test:7780/admin"
    assert config.site("wikipedia").url == (
        "http://wiki.test:8888/wikipedia_en_all_maxi_2022-05/A/User:The_other_Kiwix_guy/Landing"
    )


def test_given_path_is_kept() -> None:
    config = load_config(None, {"WEBARENA_SHOPPING_ADMIN_URL": "http://h/backend"})
    assert config.site("shopping_admin").url == "http://h/backend"


def test_documented_accounts_are_the_default(yaml_file: Path) -> None:
    credentials = load_config(yaml_file, {}).site("shopping").credentials
    assert credentials.username == "emma.lopez@gmail.com"
    assert credentials.password.get_secret_value() == "Password.123"


def test_sites_without_accounts_have_no_credentials(yaml_file: Path) -> None:
    assert load_config(yaml_file, {}).site("wikipedia").credentials is None


def test_variables_win_over_the_file(yaml_file: Path) -> None:
    environ = {"WEBARENA_SHOPPING_URL": "http://a:1, http://b:2", "WEBARENA_SHOPPING_PASSWORD": "x"}
    site = load_config(yaml_file, environ).site("shopping")
    assert site.urls == ("http://a:1", "http://b:2")
    assert site.credentials.password.get_secret_value() == "x"


def test_browsergym_variables_are_understood() -> None:
    assert load_config(None, {"WA_GITLAB": "http://g:8023"}).site("gitlab").url == "http://g:8023"


def test_official_configuration_is_read_with_its_active_url_first(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    entry = {"urls": ["http://a:1", "http://b:2"], "active_url_idx": 1}
    path.write_text(json.dumps({"environments": {"__REDDIT__": entry}}))
    assert load_config(path, {}).site("reddit").urls == ("http://b:2", "http://a:1")


def test_official_configuration_written_is_the_one_read_back(
    yaml_file: Path, tmp_path: Path
) -> None:
    config = load_config(yaml_file, {})
    path = tmp_path / "official.json"
    path.write_text(json.dumps(config.official()))
    again = load_config(path, {})
    assert {name: site.urls for name, site in again.sites.items()} == {
        name: site.urls for name, site in config.sites.items()
    }


def test_passwords_are_in_no_text_form_of_the_configuration(yaml_file: Path) -> None:
    config = load_config(yaml_file, {})
    for text in (repr(config), config.model_dump_json(), json.dumps(config.official())):
        assert "s3cret" not in text


def test_start_urls_are_rendered_with_the_first_url(yaml_file: Path) -> None:
    config = load_config(yaml_file, {})
    rendered = config.render(
        ["__SHOPPING_ADMIN__/customer", "__SHOPPING__"], ["shopping", "shopping_admin"]
    )
    assert rendered == ["http://admin.test:7780/admin/customer", "http://shop.test:7770"]


def test_every_alias_is_recognised_in_traffic(yaml_file: Path) -> None:
    rules = official_config(load_config(yaml_file, {}))
    for url in ("http://shop.test:7770/a", "http://10.0.0.5:7770/a"):
        assert (
            rules.derender_url(url, [evaluator_module("types.task").WebArenaSite.SHOPPING])
            == "__SHOPPING__/a"
        )


def test_site_that_is_not_configured_is_named_with_its_variable(yaml_file: Path) -> None:
    with pytest.raises(InputError, match=r"'gitlab' has no URL.*WEBARENA_GITLAB_URL"):
        load_config(yaml_file, {}).render(["__GITLAB__"], ["gitlab"])


def test_nothing_configured_says_what_to_do() -> None:
    with pytest.raises(InputError, match="--config"):
        load_config(None, {})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("sites: [", "cannot read"),
        ("other: 1", "has no 'sites'"),
        ("sites: {shoping: {url: 'http://x'}}", "shoping"),
        ("sites: {shopping: {url: 'shop.test:7770'}}", "is not a site URL"),
        ("sites: {shopping: {username: me}}", "urls"),
        ("sites: {shopping: {url: 'http://x', colour: red}}", "colour"),
        ("sites: {shopping: 5}", "shopping is 5"),
        ("environments: {__REDDIT__: {urls: 5}}", "urls"),
    ],
)
def test_bad_file_names_itself_and_the_reason(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=reason) as caught:
        load_config(path, {})
    assert "bad.yaml" in str(caught.value)


def test_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.yaml"):
        load_config(tmp_path / "absent.yaml", {})


def test_defaults_keep_sites_with_the_same_cookie_name_on_different_hosts() -> None:
    assert shared_cookie_hosts(default_config()) == {}
    assert default_config().site("reddit").urls == (
        "http://reddit.localhost:9999",
        "http://localhost:9999",
        "http://127.0.0.1:9999",
    )


def test_cookie_collision_is_found() -> None:
    config = EnvironmentConfig.model_validate(
        {
            "sites": {
                "shopping": {"url": "http://localhost:7770"},
                "reddit": {"url": "http://localhost:9999"},
                "gitlab": {"url": "http://localhost:8023"},
            }
        }
    )
    assert shared_cookie_hosts(config) == {"localhost": ["reddit", "shopping"]}
