"""Values that an input may not have: cut from a longer one, negated, impossible, or of another form."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, TEXT, arguments, described, tool

WHOLE = {"type": "integer"}
BRANCHES = tool(
    "list_branches",
    {
        "contains": described("Only branches that contain this commit"),
        "not_contains": described("Only branches that do not contain this commit"),
    },
    repo_path=TEXT,
)
PROJECT = tool("add_project", {"color": {"type": "string", "enum": ["red", "green"]}}, name=TEXT)
COUPON = tool("create_coupon", {"amount_off": described("Amount in cents", WHOLE)}, name=TEXT)
IMAGE = tool("remove_image", image=described("Image name"))
PULL = tool("pull_image", {"tag": described("Image tag")}, repository=described("Image repository"))
SHOW = tool("show_revision", repo_path=TEXT, revision=TEXT)
ROOM = tool("book_room", {"start": {"type": "string", "format": "date-time"}}, room=described("Name of the room"))
LEAVE = tool("book_leave", day={"type": "string", "format": "date"})
PORTS = tool("turn_ports", {f"p{number}": {"type": "string", "enum": ["on", "off"]} for number in range(30)})
PARCEL: dict[str, Any] = {
    "name": "send_parcel",
    "description": "Send a parcel.",
    "input_schema": {
        "type": "object",
        "$defs": {"Address": {"type": "object", "properties": {"street": TEXT}}},
        "properties": {"to": {"$ref": "#/$defs/Address"}, "weight_kg": NUMBER},
        "required": ["to", "weight_kg"],
    },
}


@each_case(
    ("request_text", "name"),
    [
        ("list the branches of /srv/repo not containing abc1234", "not_contains"),
        ("list the branches of /srv/repo that do not contain abc1234", "not_contains"),
        ("list the branches of /srv/repo containing abc1234", "contains"),
    ],
)
def test_a_negated_filter_is_never_the_positive_one(request_text: str, name: str) -> None:
    assert arguments(request_text, BRANCHES) == {"repo_path": "/srv/repo", name: "abc1234"}


@each_case(
    ("entry", "request_text", "args"),
    [
        (PROJECT, "create a project called Renovation in green", {"name": "Renovation", "color": "green"}),
        (PROJECT, "create a project called Renovation 2027", {"name": "Renovation 2027"}),
        (COUPON, "create a coupon called Welcome worth $5 off", {"name": "Welcome", "amount_off": 500}),
        (IMAGE, "remove the image ghcr.io/acme/api:2.1.0", {"image": "ghcr.io/acme/api:2.1.0"}),
        (IMAGE, "remove the image nginx:1.27", {"image": "nginx:1.27"}),
        (PULL, "pull the image ghcr.io/acme/api:2.1.0", {"repository": "ghcr.io/acme/api", "tag": "2.1.0"}),
    ],
)
def test_names_end_where_another_value_starts_and_are_never_cut(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_a_pronoun_for_all_things_is_not_a_value() -> None:
    assert "everything" not in arguments("show everything in /srv/repo", SHOW).values()


@each_case(
    ("entry", "request_text", "name", "value"),
    [
        (ROOM, "book the room Elm on 2026-12-01", "start", None),
        (ROOM, "book the room Elm at 2026-12-01T09:00:00", "start", "2026-12-01T09:00:00"),
        (LEAVE, "book leave on 30 February 2027", "day", None),
        (LEAVE, "book leave on 2027-13-01", "day", None),
        (LEAVE, "book leave on 2027-02-28", "day", "2027-02-28"),
        (LEAVE, "book leave on 1 March 2027", "day", "2027-03-01"),
    ],
)
def test_a_date_exists_and_has_the_time_that_a_moment_needs(
    entry: dict[str, Any], request_text: str, name: str, value: str | None
) -> None:
    assert arguments(request_text, entry).get(name) == value


def test_a_referenced_object_takes_no_text() -> None:
    found = arguments("send a parcel of 800 g to 5 Main Street, Springfield", PARCEL)
    assert "to" not in found
    assert found["weight_kg"] == 0.8


def test_none_of_many_equal_inputs_is_picked() -> None:
    assert arguments("turn the lamp on", PORTS) == {}
