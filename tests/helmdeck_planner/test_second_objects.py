"""Two objects of one verb, each with a value of its own: "move a.txt to old and b.txt to new"."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, TEXT, described, plan, tool

MOVE = tool("move_file", source=described("Path of the file"), destination=described("New path"))
READ = tool(
    "read_file",
    {"head": described("The first N lines", NUMBER), "tail": described("The last N lines", NUMBER)},
    path=described("Path of the file"),
)
TICKET = tool("update_ticket", {"assignee": described("User to assign"), "estimate": NUMBER}, ticket_id=TEXT)
LAMP = tool("set_lamp", {"brightness": NUMBER, "color": described("Name of the color"), "kelvin": NUMBER})
VOLUME = tool("set_volume", volume=NUMBER)
SWITCH = tool("switch_branch", repo_path=described("Path of the repository"), branch_name=TEXT)
DIFF = tool("compare_files", old_path=TEXT, new_path=TEXT)

Steps = list[tuple[str, dict[str, Any]]]


def steps(request: str, *tools: dict[str, Any]) -> Steps:
    return [(step["tool"], step["args"]) for step in plan(request, *tools)]


@each_case(
    ("entry", "request_text", "found"),
    [
        (
            MOVE,
            "move a.txt to old and b.txt to new",
            [{"source": "a.txt", "destination": "old"}, {"source": "b.txt", "destination": "new"}],
        ),
        (
            MOVE,
            "move reports/a.txt to archive, reports/b.txt to trash",
            [
                {"source": "reports/a.txt", "destination": "archive"},
                {"source": "reports/b.txt", "destination": "trash"},
            ],
        ),
        (
            READ,
            "read the first 3 lines of a.txt and the last 4 lines of b.txt",
            [{"head": 3, "path": "a.txt"}, {"tail": 4, "path": "b.txt"}],
        ),
        (
            TICKET,
            "assign ENG-1 to Mia and ENG-2 to Bob",
            [{"ticket_id": "ENG-1", "assignee": "Mia"}, {"ticket_id": "ENG-2", "assignee": "Bob"}],
        ),
        (
            SWITCH,
            "switch /srv/a to main and /srv/b to dev",
            [{"repo_path": "/srv/a", "branch_name": "main"}, {"repo_path": "/srv/b", "branch_name": "dev"}],
        ),
        # One value for both objects, or one object.
        (
            MOVE,
            "move a.txt and b.txt to old",
            [{"source": "a.txt", "destination": "old"}, {"source": "b.txt", "destination": "old"}],
        ),
        (READ, "read the last 4 lines of b.txt", [{"tail": 4, "path": "b.txt"}]),
        (MOVE, "move a.txt to old", [{"source": "a.txt", "destination": "old"}]),
    ],
)
def test_each_object_gets_a_step_with_its_own_value(
    entry: dict[str, Any], request_text: str, found: list[dict[str, Any]]
) -> None:
    def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [dict(sorted(row.items())) for row in rows]

    assert ordered([args for _, args in steps(request_text, entry)]) == ordered(found)


def test_a_value_of_another_object_is_not_a_value_of_the_first() -> None:
    assert all(
        30 not in args.values() for _, args in steps("dim the desk lamp to 10 and the floor lamp to 30", LAMP, VOLUME)
    )


def test_another_thing_with_a_value_has_the_step_of_its_own_tool() -> None:
    found = steps("set the brightness to 20 and the volume to 30", LAMP, VOLUME)
    assert found == [("set_lamp", {"brightness": 20}), ("set_volume", {"volume": 30})]


@each_case(
    ("request_text", "args"),
    [
        ("set the brightness to 50 and the kelvin to 3000", {"brightness": 50, "kelvin": 3000}),
        ("set the brightness to 50 and the color to red", {"brightness": 50, "color": "red"}),
    ],
)
def test_two_inputs_by_their_labels_are_one_step(request_text: str, args: dict[str, Any]) -> None:
    [(_, found)] = steps(request_text, LAMP)
    assert found == args


def test_two_things_that_are_compared_are_one_step() -> None:
    assert len(steps("compare the size of a.txt and the size of b.txt", DIFF)) == 1
