"""Values that no rule uses, and the open inputs that they belong to."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import Catalog
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.stated_values import StatedValue, StatedValues
from helmdeck_planner.embedded.arguments.value_fit import ValueFit
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.picks import understand
from helmdeck_selection import LexicalIndex
from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import TEXT, arguments, described, tool

LIST: dict[str, Any] = {"type": "array", "items": TEXT}
REPORT = tool("export_report", {"targetPath": described("Folder to write to")}, report_id=TEXT)
CACHE = tool("clear_pages", {"files": {**LIST, "description": "URLs of the pages to clear"}}, zone_id=TEXT)
TICKET = tool("create_ticket", {"notes": described("Remarks about the ticket"), "labels": LIST}, title=TEXT)
CARD = tool("update_card", {"state": TEXT, "owner": TEXT}, card_id=TEXT)
LOGS = tool("get_build_logs", project_id=TEXT)
CHANGE = tool("merge_change", {"commit_title": described("Title of the merge commit")}, change_id=TEXT)

OUTAGE = tool("report_outage", {"components": {**LIST, "description": "Affected components"}}, title=TEXT)
PLAY = tool("play_title", {"season": {"type": "integer"}}, title=described("Title of the film or series"))
EXPENSE = tool("add_expense", amount={"type": "number"}, merchant=described("Shop where it was paid"))


@each_case(
    ("entry", "request_text", "args"),
    [
        (REPORT, "the report rep_91 goes into /srv/out", {"report_id": "rep_91", "targetPath": "/srv/out"}),
        (CACHE, "clear https://a.example/x.css and https://a.example/y.js in zone 9f2c", {
            "zone_id": "9f2c", "files": ["https://a.example/x.css", "https://a.example/y.js"],
        }),
        (TICKET, "create the ticket 'Leaky valve' and add the remark 'ask the plumber'", {
            "title": "Leaky valve", "notes": "ask the plumber",
        }),
        (CARD, "card c_77: state In Review, owner mira", {"card_id": "c_77", "state": "In Review", "owner": "mira"}),
        (LOGS, "show the build logs for zvwqxk", {"project_id": "zvwqxk"}),
    ],
)  # fmt: skip
def test_unused_value_goes_to_the_open_input_that_its_form_or_label_fits(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (OUTAGE, "report the outage 'Slow login', affected are Gateway, Mail and Search", {
            "title": "Slow login", "components": ["Gateway", "Mail", "Search"],
        }),
        (PLAY, "play season 2 of Glass Harbour", {"title": "Glass Harbour", "season": 2}),
        (EXPENSE, "spent 12 at Tarn & Reed", {"amount": 12, "merchant": "Tarn & Reed"}),
        (TICKET, "create the ticket 'Leaky valve', labels bug and checkout", {
            "title": "Leaky valve", "labels": ["bug", "checkout"],
        }),
    ],
)  # fmt: skip
def test_span_of_words_that_fits_an_input_best_is_its_value(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "args"),
    [
        (TICKET, "create the ticket 'Leaky valve' with a subtask 'Order seals'", {"title": "Leaky valve"}),
        (LOGS, "get the build logs of the new release", {}),
        (TICKET, "repair pump_7x. Create the ticket 'Leaky valve'", {"title": "Leaky valve"}),
        (CHANGE, "merge the change ch_12 as commit title", {"change_id": "ch_12"}),
    ],
)  # fmt: skip
def test_value_with_another_label_or_unknown_meaning_fills_no_input(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_own_id_counts_more_than_one_that_is_stated_for_all_steps() -> None:
    comment, move = (
        tool("add_comment", issue_key=TEXT, comment=TEXT),
        tool("move_issue", {"column": TEXT}, issue_key=TEXT),
    )
    steps = arguments("OPS-1: add the comment 'Done'. And move OPS-2 to the column review", comment, move)
    assert steps["issue_key"] == "OPS-2"


def draft_of(request: str, entry: dict[str, Any]) -> Draft:
    catalog = Catalog.from_data({"packs": [entry]}, "test")
    lexical = LexicalIndex(catalog)
    profiles = Profiles(catalog.entries, lexical.lexicon)
    understood = understand(request, lexical, profiles)
    return Draft(request, understood.parts[0], profiles[0], understood.wording)


def stated(request: str, entry: dict[str, Any]) -> dict[str, StatedValue]:
    draft = draft_of(request, entry)
    return {draft.text(value.first, value.last): value for value in StatedValues(draft).all()}


def test_stated_values_are_whole_names_without_labels_and_verbs() -> None:
    found = stated("update the card for Dr. Alder with owner mira and image web:2.1-slim", CARD)
    assert {"Dr. Alder", "mira"} <= found.keys()
    assert not {"Alder", "owner mira", "update", "web:2.1"} & found.keys()


def test_values_of_a_list_share_the_label_of_the_first() -> None:
    found = stated("create the ticket 'Leak', labels 'urgent' and 'pump'", TICKET)
    assert found["pump"].is_listed
    assert found["pump"].label == found["urgent"].label


def test_probabilities_of_the_inputs_and_of_none_add_up_to_one() -> None:
    draft = draft_of("update card c_77 with state 'Ready'", CARD)
    value = next(each for each in StatedValues(draft).all() if draft.text(each.first, each.last) == "Ready")
    shares = ValueFit(draft).probabilities(value, draft.profile.properties)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert max(shares, key=shares.__getitem__) == "state"
