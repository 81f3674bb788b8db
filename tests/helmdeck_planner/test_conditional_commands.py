"""Commands under a condition, for a part of a thing, or behind an exclusion: what is not clearly requested is not done."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, TEXT, described, plan, tool

SHOW = {**tool("get_order", id=described("Id of the order")), "annotations": {"readOnlyHint": True}}
CANCEL = tool("cancel_order", id=described("Id of the order"))
REFUND = tool("create_refund", {"amount": NUMBER}, payment=described("The ID of the payment to refund"))
COMMENT = tool("add_comment", id=described("Id of the order"), text=described("Text of the comment"))
ALERT = tool("alert_me", sensor=described("Id of the sensor"), below=described("Lowest value", NUMBER))
SEARCH = {
    **tool("search_repositories", {"perPage": described("Number of results per page", NUMBER)}, query=TEXT),
    "annotations": {"readOnlyHint": True},
}
TIMER = tool("set_timer", duration=described("Duration in seconds", NUMBER))
ORDERS = (SHOW, CANCEL, COMMENT, REFUND)


def tools(request: str, *entries: dict[str, Any]) -> list[str]:
    return [step["tool"] for step in plan(request, *(entries or ORDERS)) if step["args"]]


@each_case(
    "request_text",
    [
        "cancel order A-7 if it is late",
        "cancel order A-7 unless it was sent",
        "cancel order A-7 when the customer agrees",
        "cancel order A-7 once the shop is closed",
        "cancel order A-7 after Bob approved it",
        "cancel order A-7 as soon as Ann calls",
        "if order A-7 is not paid, cancel it",
    ],
)
def test_a_command_whose_condition_nothing_checks_is_a_gap(request_text: str) -> None:
    [step] = plan(request_text, *ORDERS)

    assert step["args"] == {}
    assert "which no step checks" in step["rationale"]


@each_case(
    "request_text",
    [
        "cancel order A-7 if possible",
        "cancel order A-7 if you don't mind",
        "if you have time, cancel order A-7",
        "cancel order A-7, if that's ok",
        "cancel order A-7 after lunch",
    ],
)
def test_a_polite_condition_and_a_time_are_none(request_text: str) -> None:
    assert tools(request_text) == ["cancel_order"]


def test_a_condition_in_a_text_is_part_of_the_text() -> None:
    [step] = plan('comment "wait if it is late" on order A-7', *ORDERS)

    assert step["args"] == {"id": "A-7", "text": "wait if it is late"}


def test_a_condition_that_an_earlier_step_checks_and_an_order_of_steps_are_planned() -> None:
    assert tools("show order A-7 and cancel it if it is late")[0] == "get_order"
    assert tools("show order A-7, and cancel it when that's done") == ["get_order", "cancel_order"]


def test_an_alert_takes_its_condition() -> None:
    [step] = plan("alert me if sensor T-4 falls below 5", ALERT)

    assert step["args"] == {"sensor": "T-4", "below": 5}


@each_case(
    "request_text",
    ["refund half of pi_1", "refund a third of pi_1", "refund part of pi_1", "refund 50% of pi_1"],
)
def test_a_part_of_a_thing_is_not_the_whole(request_text: str) -> None:
    assert tools(request_text) == []


@each_case(
    "request_text",
    [
        'don\'t cancel order A-7 but comment "wait" on it',
        'don\'t cancel order A-7, but comment "wait" on it',
    ],
)
def test_a_command_behind_but_is_not_excluded(request_text: str) -> None:
    [step] = plan(request_text, *ORDERS)

    assert (step["tool"], step["args"]) == ("add_comment", {"id": "A-7", "text": "wait"})


def test_both_commands_behind_a_negation_are_excluded() -> None:
    assert tools("don't cancel or refund order A-7") == []


@each_case(
    "request_text", ["search for repositories with more than 100 stars", "search for apps with at least 50 forks"]
)
def test_a_lower_bound_is_not_a_number_of_results(request_text: str) -> None:
    [step] = plan(request_text, SEARCH)

    assert "perPage" not in step["args"]


@each_case(
    ("written", "seconds"),
    [("1h 30m", 5400), ("1h 5min", 3900), ("2m 10s", 130), ("2m10s", 130), ("1h 2m 10s", 3730), ("1h2m10s", 3730)],
)
def test_units_without_spaces_add_up(written: str, seconds: int) -> None:
    [step] = plan(f"set a timer for {written}", TIMER)

    assert step["args"] == {"duration": seconds}


STOP = tool("stop_container", container_id=described("Id or name of the container"))
REFUND = tool("create_refund", payment=described("Id of the payment"))


@each_case(
    "request_text",
    [
        "wenn web läuft, stoppe den Container web",
        "stoppe den Container web, wenn er läuft",
        "si web tourne, arrête le conteneur web",
        "si web está activo, detén el contenedor web",
    ],
)
def test_a_condition_in_another_language_is_one_as_well(request_text: str) -> None:
    assert "stop_container" not in [step["tool"] for step in plan(request_text, STOP)]


@each_case(
    ("request_text", "args"),
    [
        ("arrête le conteneur web", {"container_id": "web"}),
        ("detén el contenedor web", {"container_id": "web"}),
        ("erstatte pi_1", {"payment": "pi_1"}),
        ("rembourse pi_1", {"payment": "pi_1"}),
    ],
)
def test_words_of_what_tools_do_are_read_in_other_languages(request_text: str, args: dict[str, str]) -> None:
    assert [step["args"] for step in plan(request_text, STOP, REFUND)] == [args]
