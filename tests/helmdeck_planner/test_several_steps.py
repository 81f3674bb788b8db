"""Requests of several steps: where one step ends, what belongs to it, and what it takes from the steps before it."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import UNKNOWN_TOOL
from helmdeck_selection import read_catalog
from tests.case_support import each_case
from tests.helmdeck_planner import test_lexical_plans as lexical
from tests.helmdeck_planner.test_lexical_plans import LIST_OF_TEXT, NUMBER, TEXT, tool
from tests.helmdeck_planner.test_lexical_servers import plan
from tests.helmdeck_planner.test_object_arguments import OBSERVE, REMOVE

Steps = list[tuple[str, dict[str, Any]]]

CITY = {**TEXT, "description": "Name of the city"}
PATHS = {**LIST_OF_TEXT, "description": "Paths of files"}
YARD = read_catalog(
    {
        "tools": [
            tool("get_ship_status", "Get the status of a ship.", "ship_id", is_read_only=True, ship_id=TEXT),
            tool("list_ship_repairs", "List the repairs of a ship.", "ship_id", is_read_only=True, ship_id=TEXT),
            tool("list_crew_members", "List the crew members of a ship.", "ship_id", is_read_only=True, ship_id=TEXT),
            tool("delete_ship", "Delete a ship.", "ship_id", ship_id=TEXT),
            tool("stage_files", "Stage files for the next upload.", "files", files=PATHS),
            tool("run_query", "Run a SQL query.", "sql", sql=TEXT),
            tool("list_tables", "List the tables.", is_read_only=True),
            tool("get_tides", "Get the tides of a city.", "city", is_read_only=True, city=CITY),
            tool("find_berths", "Find free berths in a city.", "city", is_read_only=True, city=CITY, max_price=NUMBER),
        ]
    },
    "test",
)
SHIP = {"ship_id": "S-40"}


@each_case(
    ("name", "request_text", "expected"),
    [
        (
            "linear",
            "GEO-8 to Done. GEO-9 to In Progress",
            [
                ("update_issue", {"id": "GEO-8", "state": "Done"}),
                ("update_issue", {"id": "GEO-9", "state": "In Progress"}),
            ],
        ),
        (
            "jira",
            "GEO-7 to done; get GEO-8",
            [
                ("jira_transition_issue", {"issue_key": "GEO-7", "status": "done"}),
                ("jira_get_issue", {"issue_key": "GEO-8"}),
            ],
        ),
        (
            "artifacts",
            "Promote tide-api 2.0.1 from tide-test to tide-live, then point the tag stable at that version",
            [
                (
                    "promote_version",
                    {
                        "package": "tide-api",
                        "version": "2.0.1",
                        "to_repository": "tide-live",
                        "from_repository": "tide-test",
                    },
                ),
                ("set_dist_tag", {"package": "tide-api", "tag": "stable", "version": "2.0.1"}),
            ],
        ),
        (
            "docker",
            "stop buoy-1, then the logs of buoy-2",
            [
                ("stop_container", {"container_id": "buoy-1"}),
                ("fetch_container_logs", {"container_id": "buoy-2"}),
            ],
        ),
    ],
)
def test_a_part_without_a_known_verb_is_a_step_of_its_own(name: str, request_text: str, expected: Steps) -> None:
    assert plan(name, request_text) == expected


def test_ids_of_a_command_that_takes_one_have_a_step_each() -> None:
    assert plan("jira", "get GEO-1, GEO-2 and GEO-3") == [
        ("jira_get_issue", {"issue_key": key}) for key in ("GEO-1", "GEO-2", "GEO-3")
    ]


@pytest.mark.parametrize(
    "request_text",
    [
        "Reserve 5 seats for the performance on 2027-03-02, name Wulf, 2 of them at the aisle",
        "5 seats under the name Wulf for the show on 2027-03-02, one of them at the aisle",
    ],
)
def test_a_share_of_what_a_step_orders_orders_nothing_more(request_text: str) -> None:
    assert plan("stagecraft", request_text) == [
        ("reserve_seats", {"performance_date": "2027-03-02", "name": "Wulf", "seats": 5})
    ]


def test_two_changes_of_one_thing_are_one_update() -> None:
    assert plan("asana", "Complete task 4410 and set its due date to 2027-02-01") == [
        ("asana_update_task", {"task_id": "4410", "due_on": "2027-02-01", "completed": True})
    ]


def test_an_own_id_is_preferred_to_the_one_in_front_of_all_parts() -> None:
    steps = plan("jira", "GEO-7: log 30 minutes, assign it to 5b10ac8d82e0. And GEO-8 has to go to done")
    assert [args["issue_key"] for _, args in steps] == ["GEO-7", "GEO-7", "GEO-8"]


def test_a_subtask_belongs_to_the_task_of_the_step_before() -> None:
    assert plan("asana", "Move task 4410 to 2027-02-01 and give it a subtask 'Call the port'")[-1] == (
        "asana_create_subtask",
        {"parent_task_id": "4410", "name": "Call the port"},
    )


def test_a_pronoun_takes_the_only_mail_address_before_it() -> None:
    steps = plan(
        "gmail",
        "Send the mail 'Tide' to ole@harbour.example with the body 'High at 9'. Then draft a mail to him, subject 'Wind', body 'Low'",
    )
    assert [args["to"] for _, args in steps] == [["ole@harbour.example"]] * 2


def test_a_value_of_a_second_command_is_not_taken_by_the_first() -> None:
    assert plan("docker", "pull tide tag 7.2, and push my image pier/buoy to the registry") == [
        ("pull_image", {"repository": "tide", "tag": "7.2"}),
        (UNKNOWN_TOOL, {}),
    ]


@each_case(
    ("request_text", "expected"),
    [
        (
            "For ship S-40 I need the status, the repairs and the crew members",
            [("get_ship_status", SHIP), ("list_ship_repairs", SHIP), ("list_crew_members", SHIP)],
        ),
        (
            "For ship S-40 I need the status, the repairs, and please delete it",
            [("get_ship_status", SHIP), ("list_ship_repairs", SHIP), ("delete_ship", SHIP)],
        ),
        (
            "list the repairs of ship S-40, and I also need the crew members of ship S-41",
            [("list_ship_repairs", SHIP), ("list_crew_members", {"ship_id": "S-41"})],
        ),
        (
            "CREATE TABLE tides (at TEXT) and list the tables when that is done",
            [("run_query", {"sql": "CREATE TABLE tides (at TEXT)"}), ("list_tables", {})],
        ),
        (
            "We sail to Turku. What are the tides there, and which berths are there under 40?",
            [("get_tides", {"city": "Turku"}), ("find_berths", {"city": "Turku", "max_price": 40})],
        ),
        ("stage a.txt and b.txt, leave c.txt out", [("stage_files", {"files": ["a.txt", "b.txt"]})]),
    ],
)
def test_each_needed_thing_is_a_step_and_takes_what_is_stated_once(request_text: str, expected: Steps) -> None:
    assert lexical.plan(request_text, YARD) == expected


def test_what_one_verb_deletes_does_not_include_what_another_adds() -> None:
    catalog = read_catalog({"tools": [REMOVE, OBSERVE]}, "test")
    first, *_ = lexical.plan("on entity pier-4 delete the observation 'closed' and add 'open' instead", catalog)
    assert first[1] == {"deletions": [{"entityName": "pier-4", "observations": ["closed"]}]}


def test_naming_it_names_what_the_step_before_creates() -> None:
    clip = {"track_index": 1, "clip_index": 3}
    assert plan("ableton", 'create a clip of 8 beats on track 1 in slot 3, then name it "Ropes"') == [
        ("create_clip", {**clip, "length": 8}),
        ("set_clip_name", {**clip, "name": "Ropes"}),
    ]
