"""Parts with the same entry that are one step, acts that a request excludes, and siblings of which one fits."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import UNKNOWN_TOOL
from helmdeck_selection import read_catalog
from tests.case_support import each_case
from tests.helmdeck_planner import test_lexical_servers as servers
from tests.helmdeck_planner.test_lexical_plans import LIST_OF_TEXT, NUMBER, TEXT, plan, tool

FERRY = read_catalog(
    {
        "tools": [
            tool(
                "book_cabin",
                "Book a cabin on a ferry.",
                "ferry",
                ferry=TEXT,
                guests=NUMBER,
                guest_name=TEXT,
                is_read_only=False,
            ),
            tool("list_ferries", "List the ferries of a port.", "port", port=TEXT, limit=NUMBER),
            tool(
                "update_ticket",
                "Update a ticket.",
                "ticket_id",
                is_read_only=False,
                ticket_id=TEXT,
                status={**TEXT, "enum": ["refunded", "acknowledged"]},
                labels=LIST_OF_TEXT,
            ),
            tool("load_cars", "Load cars onto a ferry.", "cars", cars=LIST_OF_TEXT, is_read_only=False),
            tool(
                "post_notice", "Post a notice to a deck.", "deck_id text", deck_id=TEXT, text=TEXT, is_read_only=False
            ),
            tool(
                "reply_to_notice",
                "Reply to a notice on a deck.",
                "deck_id notice_id text",
                is_read_only=False,
                deck_id=TEXT,
                notice_id=TEXT,
                text=TEXT,
            ),
        ]
    },
    "ferry",
)


T_774 = {"ticket_id": "T-774", "status": "refunded"}
FJ_22 = {"ferry": "FJ-22"}
P_9 = {"port": "P-9"}


@each_case(
    ("request_text", "expected"),
    [
        ("list the ferries of port P-9. The first 5 ferries", [("list_ferries", {**P_9, "limit": 5})]),
        ("book a cabin on the ferry FJ-22. It is for 3 guests", [("book_cabin", {**FJ_22, "guests": 3})]),
        (
            "book a cabin on ferry FJ-22. Then book a cabin on ferry FJ-30",
            [("book_cabin", FJ_22), ("book_cabin", {"ferry": "FJ-30"})],
        ),
        ("list the ferries of port P-9 and of port P-7", [("list_ferries", P_9), ("list_ferries", {"port": "P-7"})]),
    ],
)
def test_a_part_that_states_more_of_a_step_is_no_step_of_its_own(
    request_text: str, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    assert plan(request_text, FERRY) == expected


@each_case(
    ("request_text", "expected"),
    [
        ("load the cars K-11 and K-12, leave the car K-40 out", [("load_cars", {"cars": ["K-11", "K-12"]})]),
        ("list the ferries of port P-9 and keep ticket T-774 as it is", [("list_ferries", P_9)]),
        ("please hold off on booking a cabin on ferry FJ-22", []),
    ],
)
def test_an_act_that_a_request_puts_off_or_spares_is_not_planned(
    request_text: str, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    assert plan(request_text, FERRY) == expected


@each_case(
    ("request_text", "expected"),
    [
        ("please refund the ticket T-774", ("update_ticket", T_774)),
        ("I want the ticket T-774 refunded", ("update_ticket", T_774)),
        ("tell deck D-4 'boarding starts'", ("post_notice", {"deck_id": "D-4", "text": "boarding starts"})),
    ],
)
def test_the_first_step_is_the_entry_that_does_it_with_the_stated_values(
    request_text: str, expected: tuple[str, dict[str, Any]]
) -> None:
    assert plan(request_text, FERRY)[0] == expected


def test_a_participle_that_no_entry_does_to_a_thing_is_a_gap() -> None:
    assert plan("I want the ferry FJ-22 sunk and the deck D-4 painted", FERRY)[0][0] == UNKNOWN_TOOL


@pytest.mark.parametrize("request_text", ["turn off light.hall and light.attic", "switch off light.hall, light.attic"])
def test_ids_that_look_like_a_path_and_like_a_word_have_a_step_each(request_text: str) -> None:
    assert servers.plan("home", request_text) == [
        ("turn_off", {"entity_id": entity_id}) for entity_id in ("light.hall", "light.attic")
    ]
