from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jmespath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jmespath.exceptions import JMESPathError

from multireal_harness.lint.syntax import normalise, unparse
from multireal_harness.tasks import load_definitions

if TYPE_CHECKING:
    from pathlib import Path

QUERIES = [
    "a[?c][0].f", "(a[?c])[0].f", "!a.b", "!(a.b)", "a.values(@)[0].t", "a[*].b[]", "a.*.b", "a[1:3].b",
    '{a: b, "c-d": e}', "a.[b, c]", "a[].b", "a || `{}`", "@.a", "[0]", "a | [0]", "a[*][0]",
    "sort_by(a, &b)", "a.{x: y}", "(a | b).c", "(a || b)[0]", "a[::2]", "*.x", "[].x", "[?a].b",
    "(a || b) && c", "a || b && c", "(a && b) && c", "a && (b && c)", "a[*].[x, y]", "`[1]`[0]",
    r"'it\'s'", r'`"x\\y"`', '"odd name".x', "a[?b == 'x' && c >= `1`] | [0].d", "a.b[*].c.d[?e]",
    "(a == b) == c", "a | (b | c)", "a[?contains(@, `1`)]", "a[].*.b", "a[*].*", "`1`[?c].*[0].b",
]  # fmt: skip


def parse(text: str) -> Any:
    return jmespath.compile(text).parsed


@pytest.mark.parametrize("text", QUERIES)
def test_what_is_written_parses_to_the_same_tree(text: str) -> None:
    assert parse(unparse(parse(text))) == parse(text)


def test_published_queries_survive_being_written(shared_tasks: Path) -> None:
    for definition in load_definitions(shared_tasks):
        for one in definition.evals:
            tree = parse(one.query)
            assert parse(unparse(tree)) == tree


NAMES = st.sampled_from(["a", "b", "c"])
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "x", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}.{}".format, inner, NAMES),
        st.builds("({}).{}".format, inner, NAMES),
        st.builds("{}[0]".format, inner),
        st.builds("({})[0]".format, inner),
        st.builds("{}[*].{}".format, inner, NAMES),
        st.builds("{}[?{}].{}".format, inner, inner, NAMES),
        st.builds("{}[?{}][0].{}".format, inner, inner, NAMES),
        st.builds("{}.*.{}".format, inner, NAMES),
        st.builds("{}[]".format, inner),
        st.builds("{}[1:].{}".format, inner, NAMES),
        st.builds("{} || {}".format, inner, inner),
        st.builds("{} && {}".format, inner, inner),
        st.builds("!{}".format, inner),
        st.builds("{} == {}".format, inner, inner),
        st.builds("{} | {}".format, inner, inner),
        st.builds("length({})".format, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{}.*".format, inner),
        st.builds("{}[*]".format, inner),
        st.builds("{}.[{}]".format, inner, inner),
        st.builds("{}.{}".format, inner, inner),
        st.builds("{}[?{}]".format, inner, inner),
        st.builds("{}.{{a: {}}}".format, inner, inner),
        st.builds("map(&{}, {})".format, inner, inner),
    )


EXPRESSIONS = st.recursive(
    NAMES | st.sampled_from(["`1`", "'x'", "@", "*", "[0]"]), _grown, max_leaves=6
)


def parsed_or_none(text: str) -> Any:
    try:
        return parse(text)
    except JMESPathError:
        return None


@given(EXPRESSIONS)
def test_law_what_was_written_is_written_the_same_again(text: str) -> None:
    tree = parsed_or_none(text)
    if tree is not None:
        written = unparse(tree)
        assert unparse(parse(written)) == written


@given(EXPRESSIONS, DOCUMENTS)
def test_law_writing_keeps_the_result(text: str, document: Any) -> None:
    tree = parsed_or_none(text)
    if tree is not None:
        assert outcome(unparse(tree), document) == outcome(text, document)


@given(EXPRESSIONS, DOCUMENTS)
def test_law_normalising_keeps_the_result(text: str, document: Any) -> None:
    tree = parsed_or_none(text)
    if tree is not None:
        assert outcome(unparse(normalise(tree)), document) == outcome(text, document)


def outcome(text: str, document: Any) -> str:
    try:
        return json.dumps(jmespath.search(text, document), sort_keys=True)
    except JMESPathError as error:
        return type(error).__name__
