"""A step names the values of its part that none of its inputs takes."""

from __future__ import annotations

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, described, plan, tool

REFUND = tool("create_refund", payment=described("The ID of the payment to refund"))
ENCODE = tool("base64_encode", text=described("The text to encode"))
DEAL = tool("create_deal", title=described("Title of the deal"))
TIMER = tool("set_timer", duration=described("Duration in seconds", NUMBER))


def reason(request: str) -> str:
    [step] = plan(request, REFUND, ENCODE, TIMER, DEAL)
    return str(step["rationale"])


@each_case(
    ("request_text", "values"),
    [
        ("refund pi_1 on 2026-12-01", "'2026-12-01'"),
        ('refund pi_1 with "late" and 7', "'late', '7'"),
        ("refund pi_1 via Ann Lee", "'Ann Lee'"),
        ("create a deal 'Vans' for c12", "'c12'"),
        ("refund pi_1 at the end of the month", "'at the end of the month'"),
    ],
)
def test_a_value_that_no_input_takes_is_named(request_text: str, values: str) -> None:
    assert reason(request_text).endswith(f"; left unused: {values}")


@each_case("request_text", ["refund pi_1", 'encode "hello" to Base64', "set a timer for 5 minutes"])
def test_a_value_in_an_argument_or_in_the_name_of_the_entry_is_not(request_text: str) -> None:
    assert "left unused:" not in reason(request_text)
