"""Clauses behind a step that state one more input of it: "and label it bug", "and make it private"."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import UNKNOWN_TOOL
from helmdeck_selection import read_catalog
from tests.case_support import each_case
from tests.helmdeck_planner.test_lexical_plans import LIST_OF_TEXT, NUMBER, TEXT, tool
from tests.helmdeck_planner.test_lexical_plans import plan as plan_over
from tests.helmdeck_planner.test_lexical_servers import plan

ISSUES = read_catalog(
    {
        "tools": [
            tool("get_issue", "Get an issue.", "number", number=NUMBER),
            tool("close_window", "Close a window.", "window", window=TEXT),
            tool("update_issue", "Update an issue.", "number", number=NUMBER, labels=LIST_OF_TEXT, assignees=LIST_OF_TEXT,
                 state={**TEXT, "enum": ["open", "closed"]}),
        ]
    },
    "test",
)  # fmt: skip


@each_case(
    ("server", "request_text", "tool_name", "further"),
    [
        ("todoist", 'add a task "Renew passport" and make it urgent', "create_task", {"priority": "urgent"}),
        (
            "todoist",
            'add the task "Pay the plumber", give it a high priority and set it due 2027-03-01',
            "create_task",
            {"priority": "high", "due_date": "2027-03-01"},
        ),
        ("linear", 'open an issue for team Infra called "Renew certs" and tag it security and tls', "create_issue",
         {"labels": ["security", "tls"]}),
        ("linear", 'file an issue in team Mobile titled "Crash" and give it to maya', "create_issue", {"assignee": "maya"}),
        ("docker", "create a container from nginx:1.27 and call it edge-1", "create_container", {"name": "edge-1"}),
        ("streaming", 'make a playlist "Sunday run" and keep it private', "createPlaylist", {"public": False}),
        ("streaming", 'make a playlist "Sunday run" and describe it as "slow songs"', "createPlaylist",
         {"description": "slow songs"}),
        ("pagerduty", 'open an incident on service PSVC01 with the title "Slow" and set its urgency to high',
         "create_incident", {"urgency": "high"}),
        ("puppeteer", "grab a shot of just #total, call it total-v2", "puppeteer_screenshot", {"name": "total-v2"}),
        ("todoist", 'add a task "Call Bo", it is urgent', "create_task", {"priority": "urgent"}),
        ("calendar", 'create the event "Review" on 2027-02-03 and invite ann@oak.example and bo@oak.example',
         "create_event", {"attendees": ["ann@oak.example", "bo@oak.example"]}),
    ],
)  # fmt: skip
def test_a_clause_about_a_step_states_an_input_of_it(
    server: str, request_text: str, tool_name: str, further: dict[str, Any]
) -> None:
    [(name, args)] = plan(server, request_text)
    assert (name, {key: args.get(key) for key in further}) == (tool_name, further)


@pytest.mark.parametrize("clause", ["translate it into French", "give it a polish", "hand it a rose", "call Ada"])
def test_a_clause_that_states_no_input_is_a_gap(clause: str) -> None:
    assert [name for name, _ in plan("docker", f"create a container from nginx:1.27 and {clause}")] == [
        "create_container",
        UNKNOWN_TOOL,
    ]


@each_case(
    ("clause", "further"),
    [
        ("label it wontfix", {"labels": ["wontfix"]}),
        ("give it to the user maya", {"assignees": ["maya"]}),
        ("tag it bug and close it", {"labels": ["bug"], "state": "closed"}),
        ("tag it bug and give it to maya", {"labels": ["bug"], "assignees": ["maya"]}),
        ("move it to closed", {"state": "closed"}),
    ],
)
def test_a_clause_about_what_a_step_shows_updates_it(clause: str, further: dict[str, Any]) -> None:
    assert plan_over(f"show me issue 12, {clause}", ISSUES) == [
        ("get_issue", {"number": 12}),
        ("update_issue", {"number": 12, **further}),
    ]


@each_case(
    ("server", "request_text", "expected"),
    [
        (
            "todo",
            'read the comments on the task "Call Ada" and add "Done" there',
            ("todoist_comment_create", {"task_name": "Call Ada", "content": "Done"}),
        ),
        ("linear", 'show me ENG-12 and say "On it" under it', ("create_comment", {"issueId": "ENG-12", "body": "On it"})),
    ],
)  # fmt: skip
def test_a_text_about_what_a_step_shows_is_a_comment_on_it(
    server: str, request_text: str, expected: tuple[str, dict[str, Any]]
) -> None:
    assert plan(server, request_text)[1:] == [expected]


def test_it_is_what_the_step_before_acts_on() -> None:
    assert plan("trello", "move card C-77 to list L-9 and archive it") == [
        ("move_card", {"cardId": "C-77", "listId": "L-9"}),
        ("archive_card", {"cardId": "C-77"}),
    ]


LOGS = read_catalog(
    {
        "tools": [
            tool(
                "show_local_changes",
                "Show what changed in a workspace and is not saved.",
                "workspace",
                workspace=TEXT,
                margin_lines={**NUMBER, "description": "Number of lines of margin"},
                order={**TEXT, "enum": ["asc", "desc"], "description": "Sort order"},
            ),
            tool(
                "compare_changes",
                "Show the changes between a workspace and a revision.",
                "workspace revision",
                workspace=TEXT,
                revision=TEXT,
                margin_lines={**NUMBER, "description": "Number of lines of margin"},
            ),
            tool("read_margin", "Read the margin of a page.", "page", page=TEXT),
        ]
    },
    "test",
)


@pytest.mark.parametrize("clause", ["8 lines of margin", "give me 8 lines of margin", "margin lines: 8 max"])
def test_a_clause_with_only_a_value_and_its_label_is_no_step_of_a_neighbour(clause: str) -> None:
    request = f"show the local changes in the workspace /srv/a. {clause}"
    assert plan_over(request, LOGS) == [("show_local_changes", {"workspace": "/srv/a", "margin_lines": 8})]


def test_a_clause_with_a_value_of_its_own_is_a_step() -> None:
    request = "show the local changes in the workspace /srv/a. Read the margin of /srv/b"
    assert [name for name, _ in plan_over(request, LOGS)] == ["show_local_changes", "read_margin"]
