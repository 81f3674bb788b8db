"""Acts that a request says were done are not done again: "Ann merged PR 7", "the lamp was turned off"."""

from __future__ import annotations

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, described, plan, tool

TURN_ON = tool("turn_on", entity_id=described("Id of the device"))
TURN_OFF = tool("turn_off", entity_id=described("Id of the device"))
REFUND = tool("create_refund", payment=described("The ID of the payment to refund"))
MERGE = tool("merge_pull_request", number=described("Number of the pull request", NUMBER))
CLOSE = tool(
    "update_issue",
    {"state": {"type": "string", "enum": ["open", "closed"], "description": "New state"}},
    issue_number=described("Number of the issue", NUMBER),
)
HARVEST = tool("record_harvest", hive=described("Name of the hive"), kilograms=NUMBER)
TOOLS = (TURN_ON, TURN_OFF, REFUND, MERGE, CLOSE)


def tools(request: str) -> list[str]:
    return [step["tool"] for step in plan(request, *TOOLS)]


@each_case(
    "request_text",
    [
        "Ann merged pull request 7",
        "I already turned off light.hall",
        "my wife turned off light.hall",
        "someone has turned off light.hall",
        "light.hall was turned off by Tom",
    ],
)
def test_a_reported_act_is_not_done_again(request_text: str) -> None:
    assert set(tools(request_text)).isdisjoint({"merge_pull_request", "turn_off"})


def test_a_command_behind_a_reported_act_is_done() -> None:
    assert tools("we turned on light.hall, turn it off") == ["turn_off"]
    assert tools("Ann merged pull request 7, close issue 5")[-1] == "update_issue"


@each_case(
    "request_text",
    ["light.hall should be turned off", "light.hall has to be turned off", "I want light.hall turned off"],
)
def test_an_act_that_is_wanted_in_the_passive_is_done(request_text: str) -> None:
    assert tools(request_text) == ["turn_off"]


def test_what_happened_is_recorded_where_the_request_asks_for_it() -> None:
    [step] = plan("Rosa harvested 12 kg from hive H3, record it", HARVEST)

    assert step["tool"] == "record_harvest"


@each_case(
    ("request_text", "state"),
    [
        ("close the open issue 5", "closed"),
        ("reopen issue 5 that Bob closed", "open"),
        ("Bob closed issue 5 by mistake, reopen it", "open"),
        ("set issue 5 to closed", "closed"),
    ],
)
def test_the_verb_states_the_new_state_whatever_the_old_one_is(request_text: str, state: str) -> None:
    [step] = plan(request_text, CLOSE)

    assert step["args"]["state"] == state
