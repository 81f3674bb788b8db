"""Plans of the embedded planner over the tools of public MCP servers: values, units, references, silence, probability."""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs
import pytest

from benchmarks.first_use.data import public_tools
from helmdeck_core import UNKNOWN_TOOL, Catalog, CatalogSource, CompletedStep
from helmdeck_planner.embedded.choice.confidence import probability, score
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.picks import understand
from helmdeck_planner.embedded.steps import steps_of
from helmdeck_selection import LexicalIndex, read_catalog
from helmdeck_testing import make_deck, plugin_with
from tests.case_support import each_case

TEXT = {"type": "string"}


def tool(name: str, description: str, required: str, **properties: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required.split()}
    return {"name": name, "description": description, "inputSchema": schema}


IANA = {**TEXT, "description": "IANA timezone name, such as 'Europe/London'"}
EDITS = {
    "type": "array",
    "items": {"type": "object", "properties": {"oldText": TEXT, "newText": TEXT}, "required": ["oldText", "newText"]},
}
OWN = {
    "processes": [tool("kill_process", "Terminate a running process by PID.", "pid", pid={"type": "integer"})],
    "notes": [
        tool("write_file", "Create a new file or overwrite an existing one.", "path content", path=TEXT, content=TEXT)
    ],
    "clock": [
        tool("get_current_time", "Get current time in a specific timezone", "timezone", timezone=IANA),
        tool("convert_time", "Convert time between timezones", "source_timezone time target_timezone",
             source_timezone=IANA, time={**TEXT, "description": "Time in 24-hour format (HH:MM)"}, target_timezone=IANA),
    ],
    "files": [
        tool("create_directory", "Create a new directory.", "path", path=TEXT),
        tool("read_file", "Read a file. DEPRECATED: Use read_text_file instead.", "path", path=TEXT),
        tool("read_text_file", "Read the contents of a file as text.", "path", path=TEXT),
        tool("get_file_info", "Get detailed metadata about a file, including size and last modified time.", "path", path=TEXT),
        tool("edit_file", "Make line-based edits to a text file.", "path edits", path=TEXT, edits=EDITS),
        tool("search_files", "Search for files matching a pattern such as '**/*.ext'.", "path pattern", path=TEXT, pattern=TEXT),
    ],
}  # fmt: skip


@cache
def indexed(name: str) -> tuple[LexicalIndex, Profiles]:
    catalog = read_catalog({"tools": OWN[name] if name in OWN else public_tools()[name]}, name)
    lexical = LexicalIndex(catalog)
    return lexical, Profiles(catalog.entries, lexical.lexicon)


def plan(name: str, request: str) -> list[tuple[str, dict[str, Any]]]:
    return [(step["tool"], step["args"]) for step in steps_of(understand(request, *indexed(name)), {}, ())]


@each_case(
    ("name", "request_text", "expected"),
    [
        ("clock", "it's 3pm in Madrid. what time is that in Sydney?",
         ("convert_time", {"source_timezone": "Europe/Madrid", "time": "15:00", "target_timezone": "Australia/Sydney"})),
        ("files", "how big is a.csv and when was it last modified", ("get_file_info", {"path": "a.csv"})),
        ("files", "how many words are in a.csv", (UNKNOWN_TOOL, {})),
        ("clock", "what time is it in Lima?", ("get_current_time", {"timezone": "America/Lima"})),
        ("clock", "what time is it in Nowhereville?", ("get_current_time", {})),
        ("clock", "if it's 14:30 in Oslo, what time is that in New York?",
         ("convert_time", {"source_timezone": "Europe/Oslo", "time": "14:30", "target_timezone": "America/New_York"})),
        ("clock", "if it's 9:15 in Oslo, what's the time in New York?",
         ("convert_time", {"source_timezone": "Europe/Oslo", "time": "09:15", "target_timezone": "America/New_York"})),
        ("files", "make a folder called old in /d", ("create_directory", {"path": "/d/old"})),
        ("files", "how big is /d/a.csv and when was it last modified?", ("get_file_info", {"path": "/d/a.csv"})),
        ("files", "replace cats with dogs in /d/a.txt",
         ("edit_file", {"path": "/d/a.txt", "edits": [{"oldText": "cats", "newText": "dogs"}]})),
        ("files", "find all markdown files under /d", ("search_files", {"path": "/d", "pattern": "**/*.md"})),
        ("files", "read /d/a.txt", ("read_text_file", {"path": "/d/a.txt"})),
        ("home", "set a timer for an hour and a half", ("set_timer", {"duration": 5400})),
        ("units", "convert 3 miles to km", ("convert_length", {"value": 3, "from_unit": "mi", "to_unit": "km"})),
        ("units", "sleep for a quarter of a second", ("sleep", {"milliseconds": 250})),
        ("units", "resize a.png to 640 by 480", ("resize_image", {"path": "a.png", "width": 640, "height": 480})),
        ("home", "set a timer for 1 hour and 20 minutes", ("set_timer", {"duration": 4800})),
        ("home", "switch switch.fan off", ("turn_off", {"entity_id": "switch.fan"})),
        ("home", "open the lock lock.shed", ("unlock_door", {"entity_id": "lock.shed"})),
        ("workflows", "load the workflow in a/b.json", ("import_workflow", {"path": "a/b.json"})),
        ("devtools", "drag 1_4 onto 1_9", ("drag", {"from_uid": "1_4", "to_uid": "1_9"})),
        ("devtools", "go forward in the history", ("navigate_page_history", {"navigate": "forward"})),
        ("units", "trim a.mp4 from 0 to 5 seconds", ("trim_video", {"path": "a.mp4", "start_seconds": 0, "end_seconds": 5})),
        ("maps", "geocode 5 Main Street, Springfield", ("maps_geocode", {"address": "5 Main Street, Springfield"})),
        ("maps", "find a bakery near the park", ("maps_search_places", {"query": "bakery near the park"})),
        ("packages", "install numpy version 1.26.4", ("install_package", {"package": "numpy", "version": "1.26.4"})),
        ("puppeteer", "fill #email with 'a@b.example'", ("puppeteer_fill", {"selector": "#email", "value": "a@b.example"})),
        ("jira", "mark OPS-4 as finished", ("jira_transition_issue", {"issue_key": "OPS-4", "status": "done"})),
        ("jira", "assign OPS-3 to Maria Lopez", ("jira_assign_issue", {"issue_key": "OPS-3"})),
        ("codec", "percent-encode 'a b'", ("url_encode", {"text": "a b"})),
        ("stripe", "refund $25 for the payment intent pi_3NxA1B2C", ("create_refund", {"payment_intent": "pi_3NxA1B2C", "amount": 2500})),
        ("fetch", "fetch https://example.org/a_(b)", ("fetch", {"url": "https://example.org/a_(b)"})),
    ],
)  # fmt: skip
def test_a_plan_has_the_tool_and_the_values_that_a_request_states(
    name: str, request_text: str, expected: tuple[str, dict[str, Any]]
) -> None:
    assert plan(name, request_text) == [expected]


@each_case(
    ("name", "request_text", "tools"),
    [
        ("docker", "stop web-1 and web-2", ["stop_container", "stop_container"]),
        ("asana", "complete task 12077 and task 12078", ["asana_update_task", "asana_update_task"]),
        ("codec", "hash 'a' with sha256 and md5", ["hash_text", "hash_text"]),
        ("docker", "list the containers and images", ["list_containers", "list_images"]),
        ("brave", "search the web for cats and dogs", ["brave_web_search"]),
        ("gmail", "send a mail to a@x.example and b@x.example", ["send_email"]),
    ],
)
def test_several_objects_are_steps_unless_one_input_takes_them_all(
    name: str, request_text: str, tools: list[str]
) -> None:
    assert [step for step, _ in plan(name, request_text)] == tools


@each_case(
    ("name", "request_text", "expected"),
    [
        # One entry takes something of both parts.
        ("processes", "pid 48213 hangs, terminate", [("kill_process", {"pid": 48213})]),
        ("workflows", "workflow wf-12 mails everyone twice, turn it off", [("deactivate_workflow", {"id": "wf-12"})]),
        # Another act of a part is not joined.
        ("processes", "process 48213 is stuck. give it to Ada", [(UNKNOWN_TOOL, {})]),
    ],
)
def test_parts_without_an_entry_of_their_own_are_joined(
    name: str, request_text: str, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    assert plan(name, request_text) == expected


@each_case(
    ("name", "request_text", "tools"),
    [
        ("home", "light.kitchen off, lock.gate locked", ["turn_off", "lock_door"]),
        ("ableton", "rename track 0 to Kick and track 1 to Snare", ["set_track_name", "set_track_name"]),
        ("grafana", "We don't need the alert rule ar-disk-77 any more, bin it", ["delete_alert_rule"]),
    ],
)
def test_states_and_shortened_parts_are_steps(name: str, request_text: str, tools: list[str]) -> None:
    assert [step for step, _ in plan(name, request_text)] == tools


def test_a_label_behind_a_step_states_an_input_of_it() -> None:
    found = plan("gmail", "draft an email to a@x.example. Subject: Wreaths. Body: Could we get twelve?")
    expected = {"to": ["a@x.example"], "subject": "Wreaths", "body": "Could we get twelve?"}
    assert found == [("draft_email", expected)]


def test_a_gap_quotes_the_fact_that_it_refers_to() -> None:
    lexical, profiles = indexed("processes")
    [step] = steps_of(understand("I forgot my password, reset it", lexical, profiles), {}, ())
    assert step["tool"] == UNKNOWN_TOOL and "password" in step["rationale"]


def test_what_overwrites_a_file_does_not_serve_what_adds_to_it() -> None:
    assert plan("notes", "write 'done' to a.txt") == [("write_file", {"path": "a.txt", "content": "done"})]
    assert plan("notes", "put 'done' at the end of a.txt") == [(UNKNOWN_TOOL, {})]


def test_without_input_schemas_the_ranker_chooses() -> None:
    tools = [
        {"name": "BookTool", "description": "Recommends novels and publishers to readers."},
        {"name": "TripTool", "description": "Plans journeys, and compares hotels."},
    ]
    lexical = LexicalIndex(read_catalog({"tools": tools}, "bare"))
    understood = understand("which novels do you recommend?", lexical, Profiles(lexical.entries, lexical.lexicon))
    assert [pick.profile and pick.profile.entry.id for pick in understood.picks] == ["BookTool"]


@each_case(
    ("name", "request_text"),
    [
        ("workflows", "rename workflow wf-1"),
        ("gmail", "forward the email 18c2f9a1b7d3e4f5 to carl@example.org"),
        ("docker", "build an image from ./Dockerfile"),
        ("todoist", "postpone task 7025551001"),
        ("files", "validate /d/a.json"),
        ("home", "what is the weather?"),
        # An entry without inputs serves no request about a file.
        ("devtools", "load the pages in /d/a.json"),
        # What changes something and lacks inputs must be named by the request.
        ("asana", "book one please"),
    ],
)
def test_a_request_that_no_tool_serves_is_a_gap(name: str, request_text: str) -> None:
    assert [step for step, _ in plan(name, request_text)] == [UNKNOWN_TOOL]


@each_case(
    ("name", "request_text", "look_ups"),
    [
        ("weather", "get the air quality in Krakow", [("geocoding", {"name": "Krakow"}, ["latitude", "longitude"])]),
        ("todoist", "complete the task 'Water the ficus'", [("get_tasks", {}, ["task_id"])]),
        ("gmail", "read the email about the rent", [("search_emails", {"query": "rent"}, ["messageId"])]),
        ("airbnb", "show the listing details of 'Loft' in Porto", [("airbnb_search", {"location": "Porto"}, ["id"])]),
        # Nothing is named, the id is stated, no entry returns it, and the look-up would need what is not stated.
        ("weather", "get the air quality", []),
        ("todoist", "complete task 7025551001", []),
        ("jira", "assign OPS-3 to Maria Lopez", []),
        ("asana", "get the task 'Paint'", []),
    ],
)
def test_an_id_that_is_only_named_is_looked_up_by_an_inferred_step(
    name: str, request_text: str, look_ups: list[tuple[str, dict[str, Any], list[str]]]
) -> None:
    understood = understand(request_text, *indexed(name))
    *before, last = steps_of(understood, {}, ())
    assert [(step["tool"], step["args"], step["inferred_for"]) for step in before] == look_ups
    assert all(step["probability"] < last["probability"] for step in before)
    # An executed look-up is not planned again, nor one whose step was executed.
    for executed in [*before, last][:1]:
        assert executed not in steps_of(understood, {}, [CompletedStep(tool=executed["tool"])])
    assert steps_of(understood, {}, [CompletedStep(tool=last["tool"])]) == []


def test_a_step_that_may_be_wrong_has_a_low_probability_and_advice_in_one_line() -> None:
    tools = [
        tool("find_red_boats", "Find boats.", "query", query=TEXT),
        tool("find_old_boats", "Find boats.", "query", query=TEXT),
    ]
    source = CatalogSource(name="boats", load=lambda: Catalog(read_catalog({"tools": tools}, "boats").entries))
    with make_deck(plugin_with(helmdeck_catalog_sources=[source]), config={"catalog": {"sources": ["boats"]}}) as deck:
        unsure = deck.plan("find boats 'salt'", model="local/lexical")
        sure = deck.plan("find old boats 'salt'", model="local/lexical")
    assert "helmdeck plan --model" in unsure.advice and "\n" not in unsure.advice
    assert sure.advice == "" and (sure.steps[0].probability or 0) > 0.7


def test_step_whose_part_lacks_a_required_input_has_a_lower_probability() -> None:
    whole, lacking = (
        understand(text, *indexed("notes")).picks[0].found
        for text in ("write the file 'a.txt' with content 'tea'", "write the file 'a.txt'")
    )
    assert (whole[0].is_complete, lacking[0].is_complete) == (True, False)
    assert probability(lacking) < probability([attrs.evolve(lacking[0], is_complete=True)]) - 0.03
    assert probability(lacking) < score(lacking)


@pytest.mark.parametrize(
    "request_text", ["geocode , , ,", "between and", "#", "replace with", "5", "a" * 3000, "in in in to to"]
)
def test_malformed_requests_do_not_fail(request_text: str) -> None:
    for name in ("maps", "units", "puppeteer", "files", "clock"):
        plan(name, request_text)
