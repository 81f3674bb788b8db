"""Everyday words of requests: verbs that no tool has, passives, questions inside sentences, context before a command."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import UNKNOWN_TOOL
from helmdeck_language import lexicon, scan
from helmdeck_planner.embedded.request.wording import language_of
from tests.case_support import each_case
from tests.helmdeck_planner.test_lexical_plans import plan
from tests.helmdeck_planner.test_specific_neighbours import TEXT, catalog, tool

HARBOUR = catalog(
    tool("add_monitor", "Create a monitor of a URL", url={**TEXT, "format": "uri"}),
    tool("resume_project", "Resume a suspended project", project_id=TEXT),
    tool("lend_boat", "Lend a boat to a member", boat_id=TEXT, member_id=TEXT),
    tool("skip_track", "Skip to the next track"),
)


@each_case(
    ("request_text", "expected"),
    [
        ("scrap ship S-100", [("delete_ship", {"ship_id": "S-100"})]),
        ("cat logs/gull.txt", [("read_log", {"path": "logs/gull.txt"})]),
        ("ship S-100 has to be deleted", [("delete_ship", {"ship_id": "S-100"})]),
        (
            "cat logs/gull.txt && scrap ship S-100",
            [("read_log", {"path": "logs/gull.txt"}), ("delete_ship", {"ship_id": "S-100"})],
        ),
        ("S-100 is sold, please delete it", [("delete_ship", {"ship_id": "S-100"})]),
        ("forward the report to bo@example.org", [("mail_report", {"recipients": ["bo@example.org"]})]),
    ],
)
def test_everyday_words_find_the_tool_that_does_it(
    request_text: str, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    assert plan(request_text) == expected


@pytest.mark.parametrize(
    "request_text",
    [
        "paint ship S-100",
        "toss the sofa",
        "get rid of logs/gull.txt",
        "ship S-100 has to be painted",
    ],
)
def test_an_everyday_verb_that_no_tool_does_is_a_gap(request_text: str) -> None:
    assert plan(request_text) == [(UNKNOWN_TOOL, {})]


@each_case(
    ("request_text", "code"),
    [
        ("escalate ticket T-12", "en"),
        ("mails and photos should get a backup", "en"),
        ("zeige tickets", "de"),
        ("liste tickets", "de"),
        ("supprime les photos", "fr"),
    ],
)
def test_common_english_words_outweigh_single_words_of_another_language(request_text: str, code: str) -> None:
    words = [token.word for token in scan(request_text) if token.is_word]
    assert language_of(words, lexicon()).code == code


@each_case(
    ("request_text", "name"),
    [
        ("keep an eye on https://tide.example.org", "add_monitor"),
        ("keep tabs on https://tide.example.org", "add_monitor"),
        ("wake up project P-77", "resume_project"),
        ("reactivate project P-77", "resume_project"),
        ("borrow boat B-4 for M-9", "lend_boat"),
        ("jump ahead", "skip_track"),
    ],
)
def test_phrases_of_everyday_speech_stand_for_what_a_tool_does(request_text: str, name: str) -> None:
    assert [found for found, _ in plan(request_text, HARBOUR)] == [name]
