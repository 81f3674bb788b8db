"""Plans of the embedded planner over tools of other projects: parts, negation, effects, arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from helmdeck_core import UNKNOWN_TOOL, Catalog
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.picks import Understood, understand
from helmdeck_planner.embedded.steps import steps_of
from helmdeck_selection import read_catalog
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex
from helmdeck_testing import make_deck
from tests.case_support import each_case

TEXT: Mapping[str, Any] = {"type": "string"}
NUMBER: Mapping[str, Any] = {"type": "integer"}


def tool(
    name: str, description: str, required: str = "", *, is_read_only: bool | None = None, **properties: Any
) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required.split()}
    entry = {"name": name, "description": description, "inputSchema": schema}
    return entry if is_read_only is None else {**entry, "annotations": {"readOnlyHint": is_read_only}}


LIST_OF_TEXT = {"type": "array", "items": TEXT}
HARBOUR = read_catalog(
    {
        "tools": [
            tool("list_ships", "List the ships in a harbour.", "harbour", harbour=TEXT, limit=NUMBER),
            tool("get_ship", "Get the details of a ship.", "ship_id", ship_id=TEXT),
            tool("rename_ship", "Rename a ship.", "ship_id new_name", ship_id=TEXT, new_name=TEXT),
            tool("delete_ship", "Delete a ship.", "ship_id", ship_id=TEXT),
            tool("read_log", "Read a log file.", "path", path=TEXT, tail={**NUMBER, "description": "The last N lines"}),
            tool("send_message", "Send a message to a crew.", "crew text", crew=TEXT, text=TEXT),
            tool("get_tides", "Get the tides of a place.", "place", place=TEXT, date={**TEXT, "format": "date"}),
            tool(
                "search_charts", "Search the sea charts.", "query", query=TEXT, sort={**TEXT, "enum": ["age", "size"]}
            ),
            tool("plan_route", "Plan a route.", "origin destination", origin=TEXT, destination=TEXT),
            tool("query_registry", "Run a SQL query on the registry.", "sql", sql=TEXT),
            tool("mail_report", "Mail a report.", "recipients", recipients=LIST_OF_TEXT),
            tool("reset_beacon", "Resets the beacon.", is_read_only=False),
            tool("show_beacon", "Shows the beacon.", is_read_only=True),
        ]
    },
    "test",
)


def read(request: str, catalog: Catalog = HARBOUR) -> Understood:
    lexical = LexicalIndex(catalog)
    return understand(request, lexical, Profiles(catalog.entries, lexical.lexicon))


def plan(request: str, catalog: Catalog = HARBOUR) -> list[tuple[str, dict[str, Any]]]:
    return [(step["tool"], step["args"]) for step in steps_of(read(request, catalog), {}, ())]


def tools(request: str) -> list[str]:
    return [name for name, _ in plan(request)]


# -- parts -------------------------------------------------------------------------------------------------


@each_case(
    "request_text",
    [
        "get ship S-100 and get ship S-200",
        "Get ship S-100. Then get ship S-200, please.",
        "1. get ship S-100\n2. get ship S-200",
        "- get ship S-100\n- could you get ship S-200?",
        "get ship S-100; get ship S-200",
        "get ships S-100 and S-200",
    ],
)
def test_each_part_gets_a_step_with_its_own_value(request_text: str) -> None:
    assert plan(request_text) == [("get_ship", {"ship_id": "S-100"}), ("get_ship", {"ship_id": "S-200"})]


def test_an_uncovered_part_is_a_gap_that_names_it() -> None:
    steps = steps_of(read("get ship S-100 and iron my shirts"), {}, ())
    assert [step["tool"] for step in steps] == ["get_ship", UNKNOWN_TOOL]
    assert "iron my shirts" in steps[1]["rationale"]


def test_a_value_of_another_part_is_not_borrowed() -> None:
    assert plan("read the log a.log and list the ships") == [("read_log", {"path": "a.log"}), ("list_ships", {})]


def test_a_reference_takes_the_value_of_the_part_before() -> None:
    steps = plan("get ship S-100 and rename it to Heron")
    assert steps[1] == ("rename_ship", {"ship_id": "S-100", "new_name": "Heron"})


def test_number_of_results_after_and_is_no_part() -> None:
    assert tools("search the charts for reefs and return 5 results") == ["search_charts"]


# -- negation ----------------------------------------------------------------------------------------------

EXCLUDING = [
    "get ship S-100, but don't delete it",
    "Get ship S-100. Never delete a ship.",
    "get ship S-100 without deleting anything",
    "get ship S-100 instead of deleting it",
    "Don't delete anything, just get ship S-100",
    "I don't want you to delete a ship. Get ship S-100.",
    "Instead of deleting it, get ship S-100",
    "zeige ship S-100, aber lösche nichts",
    "zeige ship S-100, ohne etwas zu löschen",
    "affiche ship S-100 sans rien supprimer",
    "n'efface rien, affiche ship S-100",
    "muestra ship S-100, no borres nada",
    "muestra ship S-100 sin borrar nada",
]


@each_case("request_text", EXCLUDING)
def test_an_excluded_part_is_not_planned(request_text: str) -> None:
    assert tools(request_text) == ["get_ship"]


@pytest.mark.parametrize("request_text", ["never send a message to crew Gull", "don't delete ship S-1 or rename it"])
def test_a_request_that_only_excludes_plans_nothing(request_text: str) -> None:
    assert plan(request_text) == []


def test_a_plan_of_a_request_that_only_excludes_is_a_gap() -> None:
    with make_deck() as deck:
        found = deck.plan("never send an email to ceo@example.org", model="local/lexical")
    assert [step.tool for step in found.steps] == [UNKNOWN_TOOL] and "only excludes" in found.steps[0].rationale


def test_an_excluded_value_is_in_no_argument() -> None:
    assert plan("read the log a.log but not b.log") == [("read_log", {"path": "a.log"})]


@pytest.mark.parametrize("request_text", ["don't forget to get ship S-100", "vergiss nicht: zeige ship S-100"])
def test_a_reminder_is_a_request(request_text: str) -> None:
    assert tools(request_text) == ["get_ship"]


# -- effects -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("request_text", ["show the beacon", "what is the state of the beacon?", "check the beacon"])
def test_a_request_that_reads_gets_no_tool_that_writes(request_text: str) -> None:
    assert "reset_beacon" not in tools(request_text)


@pytest.mark.parametrize("request_text", ["delete the chart", "undo the route", "paint ship S-100"])
def test_a_verb_that_no_tool_has_is_a_gap(request_text: str) -> None:
    assert tools(request_text) == [UNKNOWN_TOOL]


def test_only_a_deletion_deletes() -> None:
    assert tools("delete ship S-100") == ["delete_ship"]
    assert tools("remove ship S-100") == ["delete_ship"]
    assert "delete_ship" not in tools("update ship S-100")


# -- arguments ---------------------------------------------------------------------------------------------


@each_case(
    ("request_text", "expected"),
    [
        ("show the last 20 lines of the log /var/a.log", ("read_log", {"path": "/var/a.log", "tail": 20})),
        ("list up to 5 ships", ("list_ships", {"limit": 5})),
        ("list the ships in Bergen", ("list_ships", {"harbour": "Bergen"})),
        ("get the tides in New Haven on 2025-05-01", ("get_tides", {"place": "New Haven", "date": "2025-05-01"})),
        ("search the charts for coral reefs", ("search_charts", {"query": "coral reefs"})),
        ("search the charts for 'old reefs' sorted by age", ("search_charts", {"query": "old reefs", "sort": "age"})),
        ("plan a route from Oslo to Kiel", ("plan_route", {"origin": "Oslo", "destination": "Kiel"})),
        ('send the message "Cast off" to the crew Gull', ("send_message", {"crew": "Gull", "text": "Cast off"})),
        ("run SELECT * FROM ships WHERE age > 9", ("query_registry", {"sql": "SELECT * FROM ships WHERE age > 9"})),
        ("mail the report to a@b.example and c@d.example", ("mail_report", {"recipients": ["a@b.example", "c@d.example"]})),
        ("rename ship S-7 to Heron", ("rename_ship", {"ship_id": "S-7", "new_name": "Heron"})),
    ],
)  # fmt: skip
def test_arguments_are_values_of_their_kind(request_text: str, expected: tuple[str, dict[str, Any]]) -> None:
    assert plan(request_text) == [expected]


def test_a_value_that_is_not_stated_stays_open() -> None:
    assert plan("get the ship") == [("get_ship", {})]
    assert plan("send a message to the crew Gull") == [("send_message", {"crew": "Gull"})]


def test_a_missing_argument_is_reported() -> None:
    with make_deck() as deck:
        (step,) = deck.plan("search the web", model="local/lexical").steps
    assert (step.tool, step.missing) == ("web.search", ("query",))


# -- typing mistakes and other languages -------------------------------------------------------------------


@each_case("request_text", ["gte ship S-100", "get shipp S-100", "delte ship S-100", "serch the charts"])
def test_one_typing_mistake_is_tolerated(request_text: str) -> None:
    assert UNKNOWN_TOOL not in tools(request_text)


@pytest.mark.parametrize("request_text", ["東京の天気を教えて", "Покажи корабль", "che tempo fa oggi", "اعرض السفينة"])
def test_a_request_in_an_unknown_language_advises_a_language_model(request_text: str) -> None:
    with make_deck() as deck:
        found = deck.plan(request_text, model="local/lexical")
    assert "language model" in found.advice and not found.is_usable


def test_a_gap_in_a_known_language_gives_no_such_advice() -> None:
    with make_deck() as deck:
        assert deck.plan("iron my shirts", model="local/lexical").advice == ""


# -- pasted text and pipelines -----------------------------------------------------------------------------


def test_a_text_after_a_colon_is_the_pasted_one_and_no_part() -> None:
    found = read("Summarize this text: The ship sails. It carries salt. Send no one.")
    assert found.document == "The ship sails. It carries salt. Send no one." and len(found.parts) == 1


def test_a_pipeline_with_a_step_that_was_not_requested_is_not_chosen() -> None:
    request = "Summarize this text and post it to Slack: The ferry runs hourly. Dogs travel free."
    with make_deck() as deck:
        assert [step.tool for step in deck.plan(request, model="local/lexical").steps] == [
            "text.summarize",
            "chat.post",
        ]


def test_a_sentence_that_states_something_is_no_part_but_a_fragment_is() -> None:
    assert tools("My harbour is full. Get ship S-100. Thanks!") == ["get_ship"]
    assert tools("Get ship S-100. Also the football scores.") == ["get_ship", UNKNOWN_TOOL]


def test_a_copy_does_not_move() -> None:
    catalog = read_catalog({"tools": [tool("move_file", "Move or rename a file.", "source", source=TEXT)]}, "test")
    assert plan("copy a.txt to b.txt", catalog) == [(UNKNOWN_TOOL, {})]
    assert plan("rename a.txt to b.txt", catalog) == [("move_file", {"source": "a.txt"})]
