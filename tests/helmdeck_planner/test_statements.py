"""Sentences that are no plain commands: statements to record, what must happen to a thing, what others do, clauses before a question."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import UNKNOWN_TOOL
from helmdeck_selection import read_catalog
from tests.case_support import each_case
from tests.helmdeck_planner import test_lexical_servers as servers
from tests.helmdeck_planner.test_lexical_plans import NUMBER, TEXT, plan, tool

STATE = {**TEXT, "enum": ["planned", "moored", "repaired"], "description": "State of the ship"}
DOCK = read_catalog(
    {
        "tools": [
            tool("get_ship", "Get the details of a ship.", "ship_id", ship_id=TEXT, is_read_only=True),
            tool("list_ships", "List the ships in a harbour.", "harbour", harbour=TEXT, is_read_only=True),
            tool("delete_ship", "Delete a ship.", "ship_id", ship_id=TEXT),
            tool("update_ship", "Update the state of a ship.", "ship_id", ship_id=TEXT, state=STATE, is_read_only=False),
            tool("log_refuelling", "Log a refuelling of a ship with diesel, in litres.", "ship_id litres", ship_id=TEXT,
                 litres={**NUMBER, "description": "Litres of diesel"}, is_read_only=False),
            tool("cancel_repair", "Cancel a planned repair.", "repair_id", repair_id=TEXT, is_read_only=False),
            tool("get_repair", "Get the details of a repair.", "repair_id", repair_id=TEXT, is_read_only=True),
            tool("turn_off", "Turn a device off.", "entity_id", entity_id=TEXT, is_read_only=False),
            tool("turn_on", "Turn a device on.", "entity_id", entity_id=TEXT, is_read_only=False),
            tool("unsubscribe", "Unsubscribe from a topic.", "topic", topic=TEXT, is_read_only=False),
            tool("send_message", "Send a message to a crew.", "crew text", crew=TEXT, text=TEXT, is_read_only=False),
            tool("add_note", "Add a note to the journal of a ship.", "ship_id text", ship_id=TEXT, text=TEXT, is_read_only=False),
            tool("append_to_almanac", "Add a finding to the almanac.", "finding", finding=TEXT, is_read_only=False),
            tool("set_fee_limit", "Set the monthly limit of a kind of fee.", "kind limit", kind=TEXT, limit=NUMBER,
                 is_read_only=False),
            tool("wait_for", "Wait until a text appears.", "text", text=TEXT),
        ]
    },
    "test",
)  # fmt: skip


def steps(request: str) -> list[tuple[str, dict[str, Any]]]:
    return plan(request, DOCK)


@pytest.mark.parametrize(
    "clause",
    ["write that down", "please put that on record", "log it", "please enter it in the books", "note that for me"],
)
def test_a_statement_with_a_clause_that_asks_to_record_it_is_one_step(clause: str) -> None:
    assert steps(f"Gave ship S-100 80 litres of diesel just now, {clause}") == [
        ("log_refuelling", {"ship_id": "S-100", "litres": 80})
    ]


def test_an_act_behind_a_record_clause_is_a_step_of_its_own() -> None:
    assert [name for name, _ in steps("Ship S-100 took 80 litres of diesel, note that, and iron my shirts")] == [
        "log_refuelling",
        UNKNOWN_TOOL,
    ]


@each_case(
    ("request_text", "expected"),
    [
        ("switch.pump has to go off now", ("turn_off", {"entity_id": "switch.pump"})),
        ("Repair R-4711 won't happen", ("cancel_repair", {"repair_id": "R-4711"})),
        ("ship S-100 can go to moored", ("update_ship", {"ship_id": "S-100", "state": "moored"})),
        (
            "I don't want to hear from harbour/tide any longer, it chatters all night",
            ("unsubscribe", {"topic": "harbour/tide"}),
        ),
        ("ship S-100 needs a note: rudder is loose", ("add_note", {"ship_id": "S-100", "text": "rudder is loose"})),
        (
            "One for the almanac: herring come early in warm years",
            ("append_to_almanac", {"finding": "herring come early in warm years"}),
        ),
        ("fees of the kind pilotage mustn't exceed 900", ("set_fee_limit", {"kind": "pilotage", "limit": 900})),
        ("let crew Gull know: the tide is late", ("send_message", {"crew": "Gull", "text": "the tide is late"})),
    ],
)
def test_what_must_happen_to_a_thing_is_a_command(request_text: str, expected: tuple[str, dict[str, Any]]) -> None:
    assert steps(request_text) == [expected]


@pytest.mark.parametrize(
    "remark",
    [
        "Deleting ship S-200 can wait.",
        "Deleting ship S-200 is Ada's job, hands off.",
        "Deleting ship S-200 is up to me.",
        "Ship S-200 stays as it is.",
        "Leave the deleting of ship S-200 to me.",
        "I'll delete ship S-200 myself.",
        "No deleting before Friday.",
    ],
)
def test_what_waits_or_what_others_do_is_excluded(remark: str) -> None:
    assert steps(f"Get ship S-100. {remark}") == [("get_ship", {"ship_id": "S-100"})]


def test_who_does_the_next_act_instead_is_no_part_of_a_command() -> None:
    assert steps("get ship S-100, I'll delete it myself") == [("get_ship", {"ship_id": "S-100"})]


@pytest.mark.parametrize(
    "request_text",
    [
        "No deleting before Friday, but do tell me which ships are in harbour Kiel",
        "Don't delete anything, do list the ships in harbour Kiel",
        "Be so kind and list the ships in harbour Kiel",
        "For today it is enough if you list the ships in harbour Kiel",
    ],
)
def test_what_follows_an_exclusion_or_polite_words_is_requested(request_text: str) -> None:
    assert steps(request_text) == [("list_ships", {"harbour": "Kiel"})]


@pytest.mark.parametrize(
    "lead", ["don't do anything until it says", "do nothing until you see", "don't continue until"]
)
def test_to_do_nothing_until_a_text_appears_is_to_wait(lead: str) -> None:
    assert steps(f'{lead} "Ready"') == [("wait_for", {"text": "Ready"})]


def test_a_clause_before_a_question_hides_none_of_it() -> None:
    assert steps("Before I call her back: is ship S-100 in repair?") == [("get_ship", {"ship_id": "S-100"})]


def test_a_remark_alone_has_no_step() -> None:
    assert [name for name, _ in steps("wow, this harbour has grown quite a bit")] == [UNKNOWN_TOOL]


def test_a_clause_without_a_mark_behind_it_hides_no_question() -> None:
    request = "I'm about to sail, and before I pay the crew I'd like to know which ships are in harbour Kiel"
    assert steps(request) == [("list_ships", {"harbour": "Kiel"})]


def test_a_reason_behind_a_question_is_no_gap() -> None:
    assert steps("Which ships are in harbour Kiel? Trying to find a free berth.") == [
        ("list_ships", {"harbour": "Kiel"})
    ]


def test_a_question_with_another_name_is_not_asked_again() -> None:
    assert steps("Which ships are in harbour Kiel, and which ships are in harbour Bergen?") == [
        ("list_ships", {"harbour": "Kiel"}),
        ("list_ships", {"harbour": "Bergen"}),
    ]


@pytest.mark.parametrize(
    "request_text",
    ["ask Ada whether ship S-100 can go to moored", "ship S-100 needs a paint job", "what can go from the harbour?"],
)
def test_what_is_only_reported_or_asked_changes_nothing(request_text: str) -> None:
    assert all(name not in ("update_ship", "add_note", "delete_ship") for name, _ in steps(request_text))


def test_what_happened_before_a_thing_that_is_needed_hides_nothing() -> None:
    assert steps("the mast broke again, just the details of ship S-100 please") == [("get_ship", {"ship_id": "S-100"})]


def test_a_question_for_another_place_keeps_the_fact_that_it_is_about() -> None:
    request = "The race starts at 16:00 in London. What is that in Toronto, and what in Lima?"
    zones = [arguments["target_timezone"] for _, arguments in servers.plan("clock", request)]
    assert zones == ["America/Toronto", "America/Lima"]
