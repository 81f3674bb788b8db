"""Questions about an act: whether it happened, how it is done, whether it is possible. None of them does it."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import Catalog
from helmdeck_selection import read_catalog
from tests.helmdeck_planner.test_lexical_plans import TEXT, plan, tool


def _hosts(verb: str) -> Catalog:
    """Return a catalog whose only tool says nothing of its effect."""
    return read_catalog({"tools": [tool(f"{verb}_host", f"{verb.capitalize()} a host.", "host", host=TEXT)]}, "test")


PIPES = read_catalog(
    {
        "tools": [
            tool("get_valve", "Get the details of a valve.", "valve_id", valve_id=TEXT),
            tool("close_valve", "Close a valve.", "valve_id", valve_id=TEXT),
            tool("delete_valve", "Delete a valve.", "valve_id", valve_id=TEXT),
            tool("resolve_alarm", "Resolve an alarm.", "alarm_id", alarm_id=TEXT),
            tool("convert_pressure", "Convert a pressure into another unit.", "value unit", value=TEXT, unit=TEXT),
            tool("tide_table", "Tide table of a harbour.", "harbour", harbour=TEXT),
        ]
    },
    "test",
)


def tools(request: str, catalog: Catalog = PIPES) -> list[str]:
    found: list[tuple[str, dict[str, Any]]] = plan(request, catalog)
    return [name for name, _ in found]


@pytest.mark.parametrize("verb", ["restart", "reboot", "flush", "scale", "migrate", "drain", "stop", "finalize"])
@pytest.mark.parametrize(
    "question", ["how do I {} the host db1?", "when did the host db1 {}?", "may I {} the host db1?"]
)
def test_no_question_has_a_tool_of_unknown_effect(verb: str, question: str) -> None:
    assert tools(question.format(verb), _hosts(verb)) == ["unknown"]


@pytest.mark.parametrize("verb", ["restart", "flush", "scale", "migrate", "stop"])
@pytest.mark.parametrize(
    "request_", ["can you {} the host db1?", "would you {} the host db1?", "could you please {} the host db1"]
)
def test_a_request_in_the_form_of_a_question_has_it(verb: str, request_: str) -> None:
    assert tools(request_.format(verb), _hosts(verb)) == [f"{verb}_host"]


@pytest.mark.parametrize("question", ["was alarm A-5 resolved?", "who resolved alarm A-5?"])
def test_a_verb_that_may_read_or_act_acts_on_no_question(question: str) -> None:
    assert "resolve_alarm" not in tools(question)
    assert tools("resolve alarm A-5") == ["resolve_alarm"]


def test_a_tool_whose_name_and_description_have_no_act_answers_a_question() -> None:
    assert tools("what is the tide table of Dover?") == ["tide_table"]


@pytest.mark.parametrize(
    "question",
    [
        "can I close valve V-7?",
        "could we close valve V-7?",
        "may I delete valve V-7?",
        "is it possible to delete valve V-7?",
        "can valve V-7 be closed?",
        "could valve V-7 be deleted?",
        "kann ich valve V-7 löschen?",
        "puis-je supprimer valve V-7 ?",
        "¿puedo borrar valve V-7?",
    ],
)
def test_a_question_whether_an_act_is_possible_does_nothing(question: str) -> None:
    assert not {"close_valve", "delete_valve"} & set(tools(question))


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("can you close valve V-7?", "close_valve"),
        ("would you mind closing valve V-7?", "close_valve"),
        ("could valve V-7 be closed please", "close_valve"),
        ("valve V-7 can be deleted", "delete_valve"),
        ("can I see valve V-7?", "get_valve"),
        ("may I have the details of valve V-7?", "get_valve"),
        ("kannst du valve V-7 löschen?", "delete_valve"),
    ],
)
def test_polite_requests_and_what_one_may_see_are_requested(request_: str, expected: str) -> None:
    assert tools(request_) == [expected]
