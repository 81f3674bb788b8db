"""The field in "change the title of ENG-5 to 'Fix header'" takes the value, and no other input does."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, tool

TICKET = tool(
    "update_ticket",
    {"title": described("The ticket title"), "state": described("The new workflow state"), "estimate": NUMBER},
    ticket_id=described("The ticket ID"),
)
TASK = tool(
    "update_task",
    {
        "content": described("New content of the task"),
        "due_string": described("New due date in natural language"),
        "priority": {"type": "integer", "enum": [1, 2, 3, 4]},
    },
    task_name=described("Name of the task to update"),
)
EVENT = tool("update_event", {"start": described("ISO 8601"), "end": described("ISO 8601")}, event_id=TEXT)
SETTINGS = tool("update_settings", {f"setting_{number}": [TEXT, NUMBER, SWITCH][number % 3] for number in range(30)})


@each_case(
    ("entry", "request_text", "args"),
    [
        (TICKET, 'change the title of ENG-5 to "Fix header"', {"ticket_id": "ENG-5", "title": "Fix header"}),
        (TICKET, 'rename ENG-5 to "Fix header"', {"ticket_id": "ENG-5", "title": "Fix header"}),
        (TICKET, "change the status of ENG-5 to In Review", {"ticket_id": "ENG-5", "state": "In Review"}),
        (TICKET, "move ENG-5 to In Review", {"ticket_id": "ENG-5", "state": "In Review"}),
        (TICKET, "set the estimate of ENG-5 to 3", {"ticket_id": "ENG-5", "estimate": 3}),
        (TASK, 'set the priority of "Gym" to 3', {"task_name": "Gym", "priority": 3}),
        (TASK, 'rename "Gym" to "Sports"', {"task_name": "Gym", "content": "Sports"}),
        (
            EVENT,
            "set the start of event ev5 to 2026-12-09T14:00:00",
            {"event_id": "ev5", "start": "2026-12-09T14:00:00"},
        ),
        (SETTINGS, "update the settings: set setting_4 to 42", {"setting_4": 42}),
        (SETTINGS, 'update the settings: set setting_6 to "dark"', {"setting_6": "dark"}),
    ],
)
def test_a_named_field_takes_its_value(entry: dict[str, Any], request_text: str, args: dict[str, Any]) -> None:
    found = arguments(request_text, entry)
    assert {name: found[name] for name in sorted(found)} == dict(sorted(args.items()))


@each_case(
    ("entry", "request_text", "value"),
    [
        (TICKET, "change the color of ENG-5 to red", "red"),
        (TASK, 'set the color of "Gym" to red', "red"),
    ],
)
def test_a_value_of_a_field_that_no_input_has_is_left_open(
    entry: dict[str, Any], request_text: str, value: str
) -> None:
    assert value not in arguments(request_text, entry).values()


def test_a_date_is_not_a_new_text_of_a_task() -> None:
    assert "content" not in arguments('postpone the task "File taxes" to Friday', TASK)
