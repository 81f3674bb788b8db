"""Values for one of two sides, new and old values, differences, and states that a command turns on or off."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, SWITCH, TEXT, arguments, described, plan, tool

STAGES = {"enum": ["dev", "staging", "production"], "description": "Environment"}
PROJECT = described("Key of the project")
FLAG = described("Key of the flag")
COPY = tool("copy_flag", project=PROJECT, flag=FLAG, source=STAGES, target=STAGES)
ARCHIVE = tool("archive_flag", project=PROJECT, flag=FLAG)
TOGGLE = {
    **tool("toggle_flag", project=PROJECT, flag=FLAG, environment=STAGES, on=described("Whether it is on", SWITCH)),
    "description": "Turn a feature flag on or off in an environment.",
}
PLACE = described("Location")
SKU = described("SKU")
SET_STOCK = tool("set_stock", sku=SKU, location=PLACE, quantity=described("Counted quantity", NUMBER))
ADJUST = tool(
    "adjust_stock",
    {"reason": {"enum": ["lost", "found", "recount"]}},
    sku=SKU,
    location=PLACE,
    delta=described("Difference; negative takes away", NUMBER),
)
TRANSFER = tool(
    "transfer_stock",
    sku=SKU,
    from_location=described("Location to take from"),
    to_location=described("Location to put into"),
    quantity=described("Units to move", NUMBER),
)
GRADE = tool("change_grade", student=described("Id of the student"), grade=described("Grade, 1 to 6", NUMBER))
CHARGE = tool("set_charge_limit", percent=described("Level, 50 to 100", NUMBER))
CACHE = tool("purge_cache", {"urls": {"type": "array", "items": TEXT}}, zone=described("Name of the zone"))
RECORD = tool(
    "create_record", zone=described("Name of the zone"), name=described("Name of the record"), value=described("Value")
)
DROP = tool("delete_record", zone=described("Name of the zone"), record_id=described("Id of the record"))
SECRET = tool("delete_secret", repo=described("Repository"), name=described("Name of the secret"))
PIPELINES = tool("list_pipelines", {"branch": described("Only of this branch")}, repo=described("Repository"))
START = tool("trigger_pipeline", repo=described("Repository"), ref=described("Branch or tag"))
BLOCK = tool("block_ip", {"minutes": described("Minutes until it is free again", NUMBER)}, ip=described("Address"))
BLOCKED = tool("list_blocked")
SOURCE = {"source": described("Address or network that may connect")}
ALLOW = {
    **tool("allow_port", SOURCE, port=described("Port", NUMBER)),
    "description": "Allow traffic to a port.",
}
DENY = {**tool("deny_port", SOURCE, port=described("Port", NUMBER)), "description": "Deny traffic to a port."}
PLAY = tool("play", {"uri": described("URI of what to play"), "device": described("Name of the device")})
ROLL_BACK = tool("rollback", {"to_version": described("Version")}, environment=STAGES)


@each_case(
    ("entry", "request_text", "args"),
    [
        (
            COPY,
            "copy dark-mode from staging to production",
            {"flag": "dark-mode", "source": "staging", "target": "production"},
        ),
        (COPY, "copy dark-mode to production", {"flag": "dark-mode", "target": "production"}),
        (ARCHIVE, "archive new-nav", {"flag": "new-nav"}),
        (
            TOGGLE,
            "turn dark-mode off in staging for project web",
            {"project": "web", "flag": "dark-mode", "environment": "staging", "on": False},
        ),
        (
            TOGGLE,
            "turn dark-mode on in production for project web",
            {"project": "web", "flag": "dark-mode", "environment": "production", "on": True},
        ),
        (DROP, "delete the record r1 from example.org", {"zone": "example.org", "record_id": "r1"}),
        (CACHE, "clear the whole cache of example.org", {"zone": "example.org"}),
        (PIPELINES, "list the pipelines of acme/web", {"repo": "acme/web"}),
        (PIPELINES, "list the pipelines of the branch fix/cart", {"branch": "fix/cart"}),
        (START, "start a pipeline for acme/web on develop", {"repo": "acme/web", "ref": "develop"}),
        (BLOCK, "block 198.51.100.4 for half an hour", {"ip": "198.51.100.4", "minutes": 30}),
        (ROLL_BACK, "roll staging back to 1.4.2", {"environment": "staging", "to_version": "1.4.2"}),
    ],
)
def test_a_value_goes_to_the_side_the_thing_or_the_state_that_its_words_name(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


@each_case(
    ("entry", "request_text", "name", "value"),
    [
        (TRANSFER, "we lost 2 A-100 in Hamburg", "from_location", "lost"),
        (SET_STOCK, "add 5 of A-100 to Berlin", "quantity", 5),
        (ADJUST, "adjust A-100 in Berlin to 40", "delta", 40),
        (ADJUST, "we lost 2 of A-100 in Berlin", "delta", 2),
        (GRADE, "change the grade of s12 from 3 to 2", "grade", 3),
        (CHARGE, "cool the car down to 68°F", "percent", 68),
        (RECORD, "add the record www to example.org", "value", "example.org"),
        (PLAY, "play something by Nina Simone", "device", "Nina Simone"),
    ],
)
def test_a_value_of_another_kind_is_none_of_an_input(
    entry: dict[str, Any], request_text: str, name: str, value: object
) -> None:
    assert all(step["args"].get(name) != value for step in plan(request_text, entry))


def test_two_names_of_one_verb_are_two_steps_and_neither_is_the_repository() -> None:
    found = plan("delete the secrets A_KEY and B_KEY of acme/web", SECRET)
    assert [step["args"] for step in found] == [{"repo": "acme/web", "name": each} for each in ("A_KEY", "B_KEY")]


@each_case(
    ("request_text", "names"),
    [
        ("allow 53 only from 10.1.0.0/16", ["allow_port"]),
        ("deny port 53", ["deny_port"]),
        ("block 198.51.100.4 and 198.51.100.5", ["block_ip", "block_ip"]),
        ("which addresses are blocked?", ["list_blocked"]),
        ("deploy version 1.4.3 to production", []),
    ],
)
def test_an_entry_that_undoes_or_only_shows_what_is_requested_is_not_chosen(
    request_text: str, names: list[str]
) -> None:
    found = plan(request_text, ALLOW, DENY, BLOCK, BLOCKED, ROLL_BACK)
    assert [step["tool"] for step in found if step["tool"] != "unknown"] == names


def test_what_only_limits_a_request_is_no_second_one() -> None:
    entry = {**ALLOW, "annotations": {"readOnlyHint": False}}
    [step] = plan("allow udp port 53, but only from 10.1.0.0/16", entry, BLOCK)
    assert step["tool"] != "block_ip"
