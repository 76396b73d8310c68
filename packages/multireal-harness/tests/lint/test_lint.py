from __future__ import annotations

import itertools
import json
import re
from datetime import date
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import jmespath
import pytest
from jmespath.exceptions import JMESPathError

from bench_core.errors import InputError
from multireal_harness.definitions import Definition
from multireal_harness.lint import lint_task, lint_tasks
from multireal_harness.lint.report import FIX_MARK, write_fixed
from multireal_harness.states.files import load_states
from multireal_harness.states.schemas import Schemas, learn_schemas, shipped_schemas
from multireal_harness.tasks import load_definitions, resolve_tasks_dir

if TYPE_CHECKING:
    from pathlib import Path

    from multireal_harness.lint.findings import EvalReport

TASK = {
    "id": "calendar-mail-1",
    "goal": "Invite ann@example.com to 'Lunch'.",
    "websites": [{"id": "calendar"}, {"id": "mail"}],
}
MAILS = {
    "mail": {
        "differences": {
            "emails": {"added": [{"to": ["a@b.c"], "subject": "Hi", "sent": True, "size": 3}]}
        }
    },
    "calendar": {
        "differences": {"events": {"added": {"0": {"title": "Lunch", "start": "2024-07-18T12:00"}}}}
    },
}
ADDED = "mail.differences.emails.added"
EVENTS = "calendar.differences.events.added"


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    return learn_schemas([MAILS])


def report(query: str, schemas: Schemas | None = None, **eval_: Any) -> EvalReport:
    one = {"query": query, "expected_value": True, "description": "Verify it was done.", **eval_}
    return lint_task(Definition.model_validate({**TASK, "evals": [one]}), schemas)[0]


def codes(found: EvalReport, severity: str = "fatal") -> set[str]:
    return {each.code for each in found.findings if each.severity == severity}


CASES = [
    ("a[?", "does_not_compile", None),
    (f"all({ADDED}, &sent)", "unknown_function", None),
    (f"contains({ADDED})", "wrong_arguments", None),
    (f"contains({ADDED}[?sent][0].subject, 'Hi')", "index_in_projection",
     f"contains({ADDED}[?sent] | [0].subject, 'Hi')"),
    (f"{ADDED}[?sent]", "list_result", f"length({ADDED}[?sent]) >= `1`"),
    (f"{ADDED}[?sent][0].subject", "list_result", f"({ADDED}[?sent] | [0].subject) != `null`"),
    (f"{ADDED}[?subject == 'Hi'] | [0]", "value_result",
     f"({ADDED}[?subject == 'Hi'] | [0]) != `null`"),
    (f"{ADDED}[?time >= '21:00']", "ordering_of_text", None),
    ("dining.bookings", "foreign_app", None),
    (f"{ADDED}.x && {ADDED}[*].y", "contradictory_use", None),
]  # fmt: skip


@pytest.mark.parametrize(("query", "code", "fixed"), CASES)
def test_structure_alone_gives_findings(query: str, code: str, fixed: str | None) -> None:
    found = report(query)
    assert code in codes(found)
    if fixed is not None:
        assert found.fix is not None
        assert found.fix.query == fixed
        assert found.fix.expected_value is True


SLIPS = [
    (f'length({ADDED}[?subject == "Hi"]) >= `1`', "wrong_quotes", f"length({ADDED}[?subject == 'Hi']) >= `1`"),
    (f'length({ADDED}[?contains(subject, "Hi")]) >= `1`', "wrong_quotes",
     f"length({ADDED}[?contains(subject, 'Hi')]) >= `1`"),
    (f"length({ADDED}[?sent == true]) >= `1`", "bare_boolean", f"length({ADDED}[?sent == `true`]) >= `1`"),
    (f"length({ADDED}[?contains('Hi', subject)]) >= `1`", "swapped_arguments",
     f"length({ADDED}[?contains(subject, 'Hi')]) >= `1`"),
    (f"length({ADDED}) >= 1", "does_not_compile", f"length({ADDED}) >= `1`"),
    (f"length({ADDED}[?subject = 'a = b']) >= `1`", "does_not_compile",
     f"length({ADDED}[?subject == 'a = b']) >= `1`"),
    (f"length({ADDED}[?sent and subject == 'x and y']) >= `1`", "does_not_compile",
     f"length({ADDED}[?sent && subject == 'x and y']) >= `1`"),
    (f"length({ADDED}[?subject == \u201cHi\u201d]) >= `1`", "does_not_compile",
     f"length({ADDED}[?subject == 'Hi']) >= `1`"),
    (f"length({ADDED}[?subject == 'Hi'] >= `1`", "does_not_compile",
     f"length({ADDED}[?subject == 'Hi']) >= `1`"),
    (f"{ADDED}[0].subject == 'Hi", "does_not_compile", f"{ADDED}[0].subject == 'Hi'"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "code", "meant"), SLIPS)
def test_slips_of_the_pen_are_found_with_what_was_meant(
    query: str, code: str, meant: str | None
) -> None:
    found = report(query)
    assert code in codes(found)
    assert found.fix is not None
    assert meant is None or found.fix.query == meant
    if meant is not None:
        assert found.fix.sound
        assert "did you mean" in found.findings[0].message


@pytest.mark.parametrize(
    ("written", "meant"), [("subjct", "subject"), ("Subject", "subject"), ("recipient", None)]
)
def test_misspelt_name_gets_the_one_that_is_like_it(
    written: str, meant: str | None, schemas: Schemas
) -> None:
    found = report(f"length({ADDED}[?{written} == 'Hi']) >= `1`", schemas)
    assert codes(found) == {"dead_field"}
    if meant is None:
        assert found.fix is None
    else:
        assert f"did you mean {meant}?" in found.findings[0].message
        assert found.fix is not None
        assert found.fix.query == f"length({ADDED}[?{meant} == 'Hi']) >= `1`"


SCHEMA_CASES = [
    (f"{ADDED}[?recipient == 'a'] | length(@) >= `1`", "dead_field", None),
    (f"{EVENTS}.values(@)[0].start.dateTime == 'x'", "dead_field", None),
    (f"length({EVENTS}[?title == 'Lunch']) >= `1`", "list_op_on_dict",
     f"length(values({EVENTS})[?title == 'Lunch']) >= `1`"),
    (f"{EVENTS}[0].title == 'Lunch'", "list_op_on_dict", f"values({EVENTS})[0].title == 'Lunch'"),
    (f"length({ADDED}[?subject == `3`]) >= `1`", "never_equal", None),
    (f"length({ADDED}[?subject >= `3`]) >= `1`", "ordering_of_text", None),
]  # fmt: skip


@pytest.mark.parametrize(("query", "code", "fixed"), SCHEMA_CASES)
def test_shapes_of_the_apps_give_more_findings(
    query: str, code: str, fixed: str | None, schemas: Schemas
) -> None:
    assert code not in codes(report(query))
    found = report(query, schemas)
    assert code in codes(found)
    if fixed is not None:
        assert found.fix is not None
        assert found.fix.query == fixed


@pytest.mark.parametrize(
    "query",
    [
        f"length({ADDED}[?sent && contains(to, 'a@b.c')]) >= `1`",
        f"{ADDED}[0].sent",
        f"({ADDED}[?sent] | [0].subject) == 'Hi'",
        f"contains(values({EVENTS})[].title, 'Lunch')",
        f"{EVENTS} != null && length({EVENTS}) >= `1`",
        f"{ADDED}[?to[0] == 'a@b.c'].size | sum(@) > `1`",
    ],
)
def test_sound_query_has_no_fatal_finding(query: str, schemas: Schemas) -> None:
    assert codes(report(query, schemas)) == set()


def test_false_is_only_expected_of_criteria_that_forbid() -> None:
    query = f"length({ADDED}) >= `1`"
    asked = report(query, expected_value=False, description="Verify a mail was sent.")
    forbidden = report(query, expected_value=False, description="Verify that no mail was sent.")
    assert codes(asked) == {"inverted_expected"}
    assert asked.fix is not None
    assert asked.fix.expected_value is True
    assert codes(forbidden) == set()


@pytest.mark.parametrize(
    ("criterion", "code", "fixed"),
    [
        ("Verify a mail was sent.", set(), f"length({ADDED}) >= `1`"),
        ("Verify that two mails were sent.", {"wrong_number"}, f"length({ADDED}) >= `1`"),
        ("Verify that no mail was sent.", {"wrong_number"}, f"length({ADDED}) == `0`"),
    ],
)
def test_number_passes_for_exactly_one_thing(criterion: str, code: set[str], fixed: str) -> None:
    found = report(f"length({ADDED})", description=criterion)
    assert codes(found) == code
    assert "number_result" in codes(found, "warning")
    assert found.fix is not None
    assert found.fix.query == fixed


def test_query_that_an_untouched_state_satisfies_is_reported(schemas: Schemas) -> None:
    assert "null_agent_passes" in codes(report(f"length({ADDED}) == `0`", schemas), "warning")
    assert "raises_on_empty_state" in codes(
        report(f"contains({ADDED}[0].subject, 'x')", schemas), "warning"
    )


def test_query_nested_too_deeply_to_be_checked_is_reported() -> None:
    found = report(" && ".join(["mail"] * 2000))
    assert codes(found, "warning") == {"too_deep"}


@pytest.mark.parametrize(
    ("query", "description", "code", "severity"),
    [
        (f"{ADDED}[0].at == '2024-07-20'", "On July 19.", "date_not_in_goal", "warning"),
        (f"{ADDED}[0].at == '2024-07-19T01:00:00.000Z'", "On July 19.", "date_not_in_goal", "warning"),
        (f"{ADDED}[0].at == '2024-07-20T01:00:00.000Z'", "On July 19.", None, "warning"),
        (f"{ADDED}[0].start != null", "Verify it starts on Tuesday at 7 PM.", "asks_less", "warning"),
        (f"{ADDED}[0].start == 'x'", "Verify it starts on Tuesday at 7 PM.", None, "warning"),
        (f"length({ADDED}) >= `1`", "Verify a mail was sent.", None, "warning"),
        (f"length({ADDED}) >= `3`", "Verify four mails were sent.", "number_not_in_goal", "info"),
        (f"length({ADDED}) >= `4`", "Verify four mails were sent.", None, "info"),
        (f"length({ADDED}) > `3`", "Verify four mails were sent.", None, "info"),
    ],
)  # fmt: skip
def test_values_beside_those_that_are_asked_for_are_reported(
    query: str, description: str, code: str | None, severity: str
) -> None:
    found = codes(report(query, description=description), severity)
    named = {"date_not_in_goal", "asks_less", "number_not_in_goal"}
    assert found & named == ({code} if code else set())


NAMES = "Verify 'Lunch' was sent to ann@example.com on July 19 at 7 PM."
SENT = f"length({ADDED}[?subject == 'Lunch' && to == 'ann@example.com'])"


@pytest.mark.parametrize(
    ("query", "description", "code", "mended"),
    [
        (f"{SENT} == `0`", "Verify it was sent.", "opposite", f"{SENT} >= `1`"),
        (f"{SENT} <= `1`", "Verify it was sent.", "opposite", f"{SENT} >= `1`"),
        (f"{SENT} == `0`", "Verify it was deleted.", None, ""),
        (f"{SENT} == `0`", "Verify it was not sent.", None, ""),
        (f"length({ADDED}[?size != `3`]) == `0`", "Verify each has three.", None, ""),
        (f"{SENT} >= `1`", "Verify that no mail was sent.", "opposite", f"{SENT} == `0`"),
        (f"{SENT} == `1`", "Verify that no other mail was sent.", None, ""),
        (f"{ADDED}[0].size != `3`", "Verify the size.", "opposite", f"{ADDED}[0].size == `3`"),
        (f"{ADDED}[0].subject != ''", "Verify the subject.", None, ""),
        (f"{SENT} > `1`", "Verify a mail was sent.", "asks_more", f"{SENT} >= `1`"),
        (f"{SENT} > `1`", "Verify several mails were sent.", None, ""),
        (f"{SENT.replace('&&', '||')} >= `1`", "Verify it.", "either_suffices", f"{SENT} >= `1`"),
        (f"{SENT.replace('&&', '||')} >= `1`", "Verify one or the other.", None, ""),
        (f"{ADDED}[?subject == 'Lunch' || subject == 'lunch'] != null", "Verify it.", None, ""),
        (f"{ADDED}[?sent && subject == 'Lunch' || subject == 'lunch'] != null", "Verify it.",
         "either_suffices", f"{ADDED}[?sent && (subject == 'Lunch' || subject == 'lunch')] != null"),
        (f"{ADDED}[?sent && subject == 'a' || content == 'b' || content == 'c'] != null", "Verify it.",
         "either_suffices", f"{ADDED}[?sent && subject == 'a' && (content == 'b' || content == 'c')] != null"),
        (f"{ADDED}[?sent || subject == 'a' || subject == 'b'] != null", "Verify it.",
         "either_suffices", f"{ADDED}[?sent && (subject == 'a' || subject == 'b')] != null"),
        (f"{ADDED}[?subject == 'a' || sent && subject == 'b' || subject == 'c'] != null", "Verify it.",
         "either_suffices", f"{ADDED}[?(subject == 'a' || subject == 'b' || subject == 'c') && sent] != null"),
        ("mail.initialstate.a == `3`", "Verify it.", "reads_beginning", "mail.finalstate.a == `3`"),
        ("mail.finalstate.a != mail.initialstate.a", "Verify it changed.", None, ""),
        (f"{ADDED}[1].size == `3`", "Verify it.", "later_element", f"{ADDED}[0].size == `3`"),
        (f"{ADDED}[1].size == `3`", "Verify the second mail.", None, ""),
        (f"{ADDED}[0].content == 'Lunch'", "Verify it.", "other_field", f"{ADDED}[0].subject == 'Lunch'"),
        (f"{ADDED}[0].subject == 'Lunch'", "Verify it.", None, ""),
        (f"{SENT} == `1`", "Verify the mail was deleted.", "opposite",
         f"{SENT} == `1`".replace("added", "deleted")),
        (f"{SENT} == `1`", "Verify the mail was deleted, and that one was sent.", None, ""),
        (f"{EVENTS}.a.start == '2024-07-19T20:00' && {EVENTS}.a.end == '2024-07-19T21:00'", "Verify it.", None, ""),
        (f"length({ADDED}[?start == '2024-07-19' && end == '2024-07-18']) == `1`", "Verify it.", "ends_first",
         f"length({ADDED}[?start == '2024-07-18' && end == '2024-07-19']) == `1`"),
        (f"length({ADDED}[?start == '2024-07-18' && end == '2024-07-19']) == `1`", "Verify it.", None, ""),
        (f"length({ADDED} && `[]`) == `1`", "Verify it.", "never_met", f"length({ADDED} || `[]`) == `1`"),
        (f"leng({ADDED}) == `1`", "Verify it.", "misspelt_function", f"length({ADDED}) == `1`"),
        (f"length({ADDED}) == '1'", "Verify it.", "quoted_number", f"length({ADDED}) == `1`"),
        (f"{ADDED}[0].size == '3'", "Verify it.", None, ""),
    ],
)  # fmt: skip
def test_a_query_beside_its_criterion_is_reported_and_mended(
    query: str, description: str, code: str | None, mended: str
) -> None:
    one = {"query": query, "expected_value": True, "description": description}
    goal = "Send ann@example.com a mail with the subject 'Lunch', on July 18 or 19."
    found = lint_task(Definition.model_validate({**TASK, "goal": goal, "evals": [one]}))[0]
    known = {"opposite", "asks_more", "either_suffices", "reads_beginning", "later_element", "other_field",
             "ends_first", "never_met", "misspelt_function", "quoted_number"}  # fmt: skip
    assert {each.code for each in found.findings} & known == ({code} if code else set())
    if code:
        assert found.fix is not None
        assert found.fix.query == mended


@pytest.mark.parametrize(
    ("query", "left_out"),
    [
        (f"{SENT} >= `1`", "July 19"),
        (f"{ADDED}[0].at == '2024-07-20T01:00:00.000Z'", "Lunch, ann@example.com"),
        (f"{ADDED}[0].at == '2024-07-20T02:00:00.000Z'", "Lunch, ann@example.com, 7 PM"),
        (f"contains({ADDED}[0].to, 'bob@example.com') && {ADDED}[0].day == '07-19'", "Lunch, ann@example.com"),
        (f'{ADDED}[0].title == `["Lunch", "ann@example.com", "July 19", "7:00 PM"]`', None),
    ],
)  # fmt: skip
def test_what_the_criterion_names_and_the_query_does_not_ask_is_told(
    query: str, left_out: str | None
) -> None:
    found = [each.message for each in report(query, description=NAMES).findings if each.code == "asks_less"]  # fmt: skip
    says = "The query asks for less than its criterion names: "
    assert found == ([says + left_out] if left_out else [])


def test_a_text_in_other_capitals_than_the_goals_is_told() -> None:
    one = {"query": f"{ADDED}[0].subject == 'Team Lunch'", "expected_value": True}
    goal = "Send a mail with the subject 'Team lunch'."
    found = lint_task(Definition.model_validate({**TASK, "goal": goal, "evals": [one]}))[0]
    assert "'Team Lunch', the goal has 'Team lunch'" in found.findings[0].message
    either = {"query": f"{ADDED}[0].subject == 'Team Lunch' || {ADDED}[0].subject == 'Team lunch'"}
    assert not lint_task(Definition.model_validate({**TASK, "goal": goal, "evals": [one | either]}))[0].findings  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ("<p>Invite ann@example.com to 'Lunch'.</p>", None),
        ("<p>Invite anne@example.com</p>", "'Invite anne@example.com'; did you mean 'Invite ann@example.com'?"),
        ("Invite anne@example.org", "'Invite anne@example.org'"),
    ],
)  # fmt: skip
def test_what_an_app_adds_is_none_of_the_texts_and_what_the_criterion_has_is_no_slip(
    expected: str, told: str | None
) -> None:
    says = "Verify it says Invite anne@example.org"
    found = report(f"{ADDED}[0].content", expected_value=expected, description=says)
    text = "The query asks for a text that the goal does not contain: "
    assert [f.message for f in found.findings] == ([text + told] if told else [])


def test_an_expected_value_is_looked_at_like_a_text_of_the_query() -> None:
    found = report(f"{ADDED}[0].subject", expected_value="Lunhc", description="Verify the subject.")
    hint = [each.message for each in found.findings if each.code == "literal_not_in_goal"]
    assert hint == ["The query asks for a text that the goal does not contain: 'Lunhc'"]
    near = report(f"{ADDED}[0].to", expected_value="anne@example.com", description="Verify.")
    assert "did you mean 'ann@example.com'?" in near.findings[0].message


@pytest.mark.parametrize(
    ("goal", "apps", "description", "past"),
    [
        ("Pay by card 1111, Exp: 12/25.", ["omnizon"], "Verify the order.", "12/25"),
        ("Pay by card, expiration date 6/2026.", ["omnizon"], "Verify the order.", "6/2026"),
        ("Pay by card 1111, Exp: 11/26.", ["omnizon"], "Verify the order.", None),
        ("Pay by card 1111, Exp: 12/25.", ["omnizon"], "Verify it is declined.", None),
        ("Pay by card, expires 12/25/31.", ["omnizon"], "Verify the order.", None),
        ("Dine on June 3rd, 2026.", ["opendining"], "Verify the table.", "June 3rd, 2026"),
        ("Dine on June 3, 2027, not on June 31, 2020.", ["opendining"], "Verify it.", None),
        ("Meet on July 19, 2024.", ["gocalendar", "omnizon"], "Verify the event.", None),
        ("Meet on July 17, 2024.", ["gocalendar", "omnizon"], "Verify it.", "July 17, 2024"),
    ],
)
def test_dates_that_are_past_for_every_app_are_reported(
    goal: str, apps: list[str], description: str, past: str | None
) -> None:
    one = {"query": f"length({ADDED}) > `0`", "expected_value": True, "description": description}
    sites = [{"id": each, "url": "http://127.0.0.1"} for each in apps]
    task = {"id": "a-1", "goal": goal, "websites": sites, "evals": [one, one]}
    first, second = lint_task(Definition.model_validate(task), today=date(2026, 11, 28))
    found = [each.message for each in first.findings if each.code == "past_date"]
    begins = "The query belongs to a goal with a date that is past at the apps' clock: "
    assert found == ([begins + past] if past else [])
    assert "past_date" not in codes(second, "warning")


def test_text_the_goal_does_not_contain_is_reported() -> None:
    found = report(f"length({ADDED}[?subject == 'Dinner' && date == '2031-01-01']) >= `1`")
    assert codes(found, "info") == {"literal_not_in_goal"}
    assert codes(found, "warning") == {"hard_coded_year"}


def test_published_tasks_have_the_known_number_of_defects(shared_tasks: Path) -> None:
    definitions = load_definitions(shared_tasks)
    alone = lint_tasks(definitions)
    with_shapes = lint_tasks(definitions, shipped_schemas())
    assert alone.fatal_evals >= 90
    assert with_shapes.fatal_evals >= 110
    assert {e.index for e in alone.reports if e.fatal} <= {
        e.index for e in with_shapes.reports if e.fatal
    }
    for each in [*alone.reports, *with_shapes.reports]:
        if each.fix is not None:
            jmespath.compile(each.fix.query)


def test_perfect_mail_satisfies_queries_only_after_they_are_fixed(shared_tasks: Path) -> None:
    before = after = 0
    for definition in load_definitions(shared_tasks):
        state = {"gomail": perfect_mailbox(definition.goal)}
        for each in lint_task(definition, shipped_schemas()):
            marred = any(f.code == "index_in_projection" for f in each.findings)
            if marred and "gomail" in each.query:
                before += result(each.query, state) is True
                after += each.fix is not None and result(each.fix.query, state) is True
    assert before == 0
    assert after >= 50


def test_no_counted_mend_is_fatal_or_met_by_an_untouched_state_when_linted_itself(
    shared_tasks: Path, tmp_path: Path
) -> None:
    found = lint_tasks(load_definitions(shared_tasks), shipped_schemas())
    write_fixed(shared_tasks, found, tmp_path / "fixed")
    again = lint_tasks(load_definitions(tmp_path / "fixed"), shipped_schemas())
    after = {(each.task_id, each.index): each for each in again.reports}
    sound = [
        each for each in found.reports if each.fatal and each.fix is not None and each.fix.sound
    ]
    assert len(sound) == found.mended > 60
    assert [each for each in sound if after[each.task_id, each.index].fatal] == []
    assert found.unmended == 20
    assert again.fatal_evals == found.fatal_evals - found.mended - found.weakened


def test_a_rewrite_in_which_something_is_still_wrong_is_not_written(tmp_path: Path) -> None:
    one = {
        "query": f"{ADDED}[?subject=='Hi'][0].nothing == 'x'",
        "expected_value": True,
        "description": "A mail was sent.",
    }
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "a.json").write_text(
        json.dumps({**TASK, "evals": [one]}), encoding="utf-8"
    )
    found = lint_tasks(load_definitions(tmp_path / "tasks"), learn_schemas([MAILS]))
    fix = found.reports[0].fix
    assert fix is not None
    assert fix.left == ("dead_field",)
    assert (found.mended, found.unmended) == (0, 1)
    assert write_fixed(tmp_path / "tasks", found, tmp_path / "fixed") == []


@pytest.mark.parametrize(
    "query",
    [
        f"values({EVENTS})[0].title == 'Lunch'",
        f"{EVENTS}.values(@)[0].title == 'Lunch'",
        f"keys({EVENTS})[0] == '0'",
    ],
    ids=["values of", "values after a dot", "keys"],
)
def test_the_first_of_an_object_without_order_is_found_however_it_is_written(query: str) -> None:
    assert "first_of_unordered" in codes(report(query), "warning")


def test_fixed_tasks_say_what_they_were(shared_tasks: Path, tmp_path: Path) -> None:
    definitions = load_definitions(shared_tasks)
    found = lint_tasks(definitions, shipped_schemas())
    changed = write_fixed(shared_tasks, found, tmp_path / "fixed")
    assert len(load_definitions(tmp_path / "fixed")) == 63
    evals = [one for path in changed for one in json.loads(path.read_text())["evals"]]
    fixed = [one for one in evals if FIX_MARK in one]
    assert len(fixed) == sum(each.fix is not None and each.fix.usable for each in found.reports)
    assert all(one[FIX_MARK]["query"] and one[FIX_MARK]["changes"] for one in fixed)


def test_original_tasks_are_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(TASK))
    found = lint_tasks(load_definitions(tmp_path))
    with pytest.raises(InputError, match="original"):
        write_fixed(tmp_path, found, tmp_path)


def test_learned_shapes_survive_their_file_notation(shared_states: Path) -> None:
    learned = learn_schemas(each.apps for each in load_states(shared_states))
    assert {"gocalendar", "opendining", "staynb", "topwork"} <= set(learned.apps)
    assert "gomail" not in learned.apps  # the recorded one is a copy of another app's
    shipped = shipped_schemas().to_json()
    assert learned.to_json()["gocalendar"] == shipped["gocalendar"]


def perfect_mailbox(goal: str) -> dict[str, Any]:
    """Return a mailbox with a mail to everybody the goal names, in its words and as headings."""
    words = re.findall(r"[\w'.@-]+", goal)
    phrases = [
        " ".join(words[start : start + size])
        for size, start in itertools.product((1, 2, 3), range(len(words)))
    ]
    text = " ".join([goal, *(f"{each}: {each.title()}: {each.capitalize()}:" for each in phrases)])
    people = list(dict.fromkeys(re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", goal)))
    mail = {
        "to": people,
        "cc": people,
        "subject": text,
        "content": f"{text} https://example.com/",
        "sent": True,
        "draft": True,
    }
    return {"differences": {"emails": {"added": [mail], "deleted": [], "updated": []}}}


def result(query: str, state: Any) -> Any:
    try:
        return jmespath.search(query, state)
    except JMESPathError:
        return None


def test_mended_and_weakened_evals_are_counted_apart() -> None:
    inverted = {"query": f"length({ADDED}) >= `1`", "expected_value": False}
    number = {"query": f"length({ADDED})", "expected_value": True}
    evals = [
        {**inverted, "description": "Verify a mail was sent."},
        {**number, "description": "Verify that two mails were sent."},
        {**number, "description": "Verify that no mail was sent."},
    ]
    found = lint_tasks([Definition.model_validate({**TASK, "evals": evals})])
    assert (found.fatal_evals, found.mended, found.weakened, found.unmended) == (3, 2, 1, 0)


AGISDK = find_spec("agisdk")


@pytest.mark.parametrize("version", ["v1", "v2", "v3"])
def test_shapes_of_other_clones_say_nothing_of_a_task_sets_apps(version: str) -> None:
    task = {
        "id": "gocalendar-3",
        "goal": "Plan it.",
        "website": {"id": "gocalendar", "url": "http://127.0.0.1:1"},
        "version": version,
        "evals": [{"query": "eventsDiff.added.values(@)[0].title", "expected_value": "Lunch"}],
    }
    shapes = shipped_schemas()
    assert not lint_tasks([Definition.model_validate(task)], shapes).fatal_evals
    multi = Definition.model_validate({**task, "version": ""})
    assert lint_tasks([multi], shapes).fatal_evals == 1
    # shapes that the user gives are those of these apps
    assert lint_tasks([Definition.model_validate(task)], Schemas(shapes.apps)).fatal_evals == 1


@pytest.mark.skipif(AGISDK is None, reason="agisdk is not installed (pip install --no-deps agisdk)")
@pytest.mark.parametrize(("version", "evals"), [("v1", 233), ("v2", 0)])
def test_no_eval_of_agisdk_is_fatally_defective(version: str, evals: int) -> None:
    report = lint_tasks(load_definitions(resolve_tasks_dir(version)), shipped_schemas())
    assert (report.evals, report.fatal_evals) == (evals, 0)


@pytest.mark.skipif(AGISDK is None, reason="agisdk is not installed (pip install --no-deps agisdk)")
def test_every_answer_of_agisdk_is_graded_by_its_rubric() -> None:
    tasks = load_definitions(resolve_tasks_dir("v1"))
    graded = [one for task in tasks for one in task.evals if one.kind == "llm_boolean"]
    assert len(graded) == 64
    assert [one.criterion for one in graded] == [one.rubric for one in graded]
