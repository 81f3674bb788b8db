"""Texts without quotation marks, titles before a colon, and facts that "also" makes requests."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import UNKNOWN_TOOL
from helmdeck_selection import read_catalog
from tests.case_support import each_case
from tests.helmdeck_planner import test_lexical_servers as servers
from tests.helmdeck_planner.test_lexical_plans import NUMBER, TEXT, plan, tool

CHANNEL = {"channel_id": "C07HARBOR"}
THREAD = "1718000000.100200"
PARENT = {**TEXT, "description": "Timestamp of the parent message"}
CHAT = read_catalog(
    {
        "tools": [
            tool("post_message", "Post a new message to a channel.", "channel_id text", channel_id=TEXT, text=TEXT),
            tool(
                "reply_to_thread",
                "Reply to a message thread.",
                "channel_id thread_ts text",
                channel_id=TEXT,
                thread_ts=PARENT,
                text=TEXT,
            ),
            tool("list_channels", "List the channels of the workspace.", is_read_only=True),
        ]
    },
    "test",
)
FLEET = read_catalog(
    {
        "tools": [
            tool("log_catch", "Log a catch of fish.", "boat_id kilograms", boat_id=TEXT, kilograms=NUMBER),
            tool("log_repair", "Log a repair of a boat.", "boat_id", boat_id=TEXT),
        ]
    },
    "test",
)


@each_case(
    ("request_text", "text"),
    [
        ("tell C07HARBOR that the crane works again", "the crane works again"),
        ("inform C07HARBOR: the crane works again", "the crane works again"),
        ("post in C07HARBOR: the crane works again, please use it", "the crane works again, please use it"),
        ("post in C07HARBOR: the crane works, wear a helmet and mind the hook", "the crane works, wear a helmet and mind the hook"),
    ],
)  # fmt: skip
def test_a_text_needs_no_quotation_marks(request_text: str, text: str) -> None:
    assert plan(request_text, CHAT) == [("post_message", {**CHANNEL, "text": text})]


def test_a_verb_of_saying_directly_before_a_colon_takes_what_is_behind_it() -> None:
    assert plan(f"In C07HARBOR, under the thread {THREAD}, answer: Crane is back", CHAT) == [
        ("reply_to_thread", {**CHANNEL, "thread_ts": THREAD, "text": "Crane is back"})
    ]


def test_a_text_that_a_step_lacks_is_what_follows_the_colon_with_its_commas() -> None:
    assert servers.plan("notes", "create a file crane.md that says: oil the hook, lock the cab, tools last") == [
        ("write_file", {"path": "crane.md", "content": "oil the hook, lock the cab, tools last"})
    ]


def test_a_command_of_the_catalog_behind_a_text_is_a_step_of_its_own() -> None:
    assert [each for each, _ in plan("post in C07HARBOR: the crane works, and list the channels", CHAT)] == [
        "post_message",
        "list_channels",
    ]


def test_a_label_of_a_text_before_a_sentence_takes_the_sentence() -> None:
    assert servers.plan("gmail", "send ann@pier.example a mail, subject Crane, text Is it back in service?") == [
        ("send_email", {"to": ["ann@pier.example"], "subject": "Crane", "body": "Is it back in service?"})
    ]


def test_plus_a_thing_of_the_catalog_is_a_step_of_its_own() -> None:
    assert servers.plan("pagerduty", "ack P7 and P9, plus a note on P9: changed the fuse") == [
        ("manage_incidents", {"incident_ids": ["P7", "P9"], "status": "acknowledged"}),
        ("add_note_to_incident", {"incident_id": "P9", "note": "changed the fuse"}),
    ]


@pytest.mark.parametrize("title", ["Quick check", "Test run"])
def test_a_title_before_the_colon_of_a_command_is_no_step(title: str) -> None:
    assert servers.plan("docker", f"{title}: stop the container web-3") == [
        ("stop_container", {"container_id": "web-3"})
    ]


def test_a_fact_with_also_is_requested() -> None:
    found = plan("Log a repair of boat B-4. I also caught 12 kilograms of fish with B-4.", FLEET)
    assert ("log_catch", {"boat_id": "B-4", "kilograms": 12}) in found


def test_a_clear_look_up_before_an_act_that_the_catalog_lacks_stays_a_step() -> None:
    steps: list[tuple[str, dict[str, Any]]] = servers.plan(
        "supabase", "performance advisories for kqzwpt, and print a poster of it"
    )
    assert [each for each, _ in steps] == ["get_advisors", UNKNOWN_TOOL]
