"""Clauses that only limit what is requested, and parts that only name the thing that the others are about."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_language import scan
from helmdeck_planner.embedded.request.parts import split_parts
from helmdeck_selection import read_catalog
from tests.helmdeck_planner.test_lexical_plans import NUMBER, TEXT, plan, read, tool

KILN = read_catalog(
    {
        "tools": [
            tool("create_album", "Create an album.", "title", title=TEXT, is_read_only=False),
            tool("get_kiln_order", "Get a kiln order.", "number", number=NUMBER),
            tool("get_kiln_order_files", "Get the files of a kiln order.", "number", number=NUMBER),
            tool("get_kiln_order_status", "Get the state of the firing of a kiln order.", "number", number=NUMBER),
            tool("cancel_kiln_order", "Cancel a kiln order.", "number", number=NUMBER, is_read_only=False),
            tool(
                "add_kiln_order_comment",
                "Add a comment to a kiln order.",
                "number body",
                number=NUMBER,
                body={**TEXT, "description": "Text of the comment"},
                is_read_only=False,
            ),
            tool(
                "read_plan",
                "Read a plan.",
                "plan_id",
                plan_id=TEXT,
                include_prices={"type": "boolean", "description": "Whether prices are included"},
            ),
        ]
    },
    "kiln",
)


def steps(request: str) -> list[tuple[str, dict[str, Any]]]:
    return plan(request, KILN)


@pytest.mark.parametrize(
    "request_text",
    [
        'create an album "Glazes" that nothing else is in',
        'create an album "Glazes", and nothing else',
        'create an album "Glazes" which nothing may delete',
    ],
)
def test_a_clause_that_limits_a_thing_excludes_no_act(request_text: str) -> None:
    assert steps(request_text) == [("create_album", {"title": "Glazes"})]


def test_an_act_that_nothing_may_do_is_still_excluded() -> None:
    assert all(tool == "unknown" for tool, _ in steps('nothing may create an album "Glazes"'))


def test_a_heading_has_no_step_but_states_what_the_acts_are_about() -> None:
    assert steps("kiln order 41: cancel it") == [("cancel_kiln_order", {"number": 41})]


@pytest.mark.parametrize(
    "request_text",
    [
        "kiln order 41: cancel the thing",
        "Kiln order 41 is cracked, so cancel it",
        "Kiln order #41 isn't right at all. Please cancel it",
        "kiln order 41 can go: cancel it",
    ],
)
def test_a_sentence_about_a_thing_has_no_step_beside_the_act_on_it(request_text: str) -> None:
    assert steps(request_text) == [("cancel_kiln_order", {"number": 41})]


def test_a_command_in_the_same_sentence_is_kept() -> None:
    assert steps("kiln order 41 is cracked - cancel it") == [("cancel_kiln_order", {"number": 41})]


def test_all_acts_behind_a_sentence_are_on_its_thing() -> None:
    request = 'Kiln order 41 is cracked. Write the comment "cracked at 900 degrees" there and cancel it.'
    comment = {"number": 41, "body": "cracked at 900 degrees"}
    assert steps(request) == [("add_kiln_order_comment", comment), ("cancel_kiln_order", {"number": 41})]


@pytest.mark.parametrize("request_text", ["kiln order 41, and cancel kiln order 42", "get kiln order 41: cancel 42"])
def test_a_thing_beside_an_act_on_another_one_is_read(request_text: str) -> None:
    assert steps(request_text) == [("get_kiln_order", {"number": 41}), ("cancel_kiln_order", {"number": 42})]


def test_a_part_beside_an_excluded_one_is_no_setting() -> None:
    assert [tool for tool, _ in steps("plan pl-77 as an outline, I don't need the prices")] == ["read_plan"]


def test_a_question_with_a_verb_first_continues_other_questions() -> None:
    request = "which files does kiln order 41 have, and is GLAZE ok?"
    parts = split_parts(request, scan(request), read(request, KILN).wording)
    assert [part.text for part in parts] == ["which files does kiln order 41 have", "is GLAZE ok"]


def test_what_is_behind_the_colon_of_an_excluded_act_is_of_the_act_before() -> None:
    request = 'create an album, don\'t share it: title "Glazes"'
    assert steps(request) == [("create_album", {"title": "Glazes"})]


def test_what_a_command_is_done_for_has_no_step() -> None:
    request = "For kiln order 41, get the files. And the status too."
    assert steps(request) == [("get_kiln_order_files", {"number": 41}), ("get_kiln_order_status", {"number": 41})]


def test_a_new_thing_is_no_heading() -> None:
    request = "New comment on kiln order 41: cancel the next firing"
    assert "cancel_kiln_order" not in [tool for tool, _ in steps(request)]
