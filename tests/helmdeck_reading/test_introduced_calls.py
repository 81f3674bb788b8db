"""An example of a call is introduced as one; a call after any other line is a call."""

from __future__ import annotations

import pytest

from helmdeck_testing import make_deck
from tests.case_support import each_case

DECK = make_deck()
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
MISTRAL = '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Oslo"}}]'
QWEN = "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>"
FENCED = f"```xml\n{CALL}\n```"


def names(text, **options):
    return [found.call.name for found in DECK.tool_calls(text, **options).calls]


@pytest.mark.parametrize("call", [CALL, MISTRAL, QWEN, FENCED], ids=["tags", "mistral", "qwen", "fence"])
@each_case(
    "line",
    [
        "Let me list the examples directory:",
        "Checking the syntax of the file:",
        "Let me read the template first:",
        "I'll look at the sample data in Oslo:",
        "Here's what the weather looks like:",
        "**Step 1: open the template**:",
        "I'll illustrate the route on a map:",
        "Let me render templates/index.html:",
        "It looks like I need the weather:",
        "Let me open the example:",
        "Here's an example of what I found. Let me look at Oslo:",
        "Fill in the placeholders:",
        "I would look up the weather:",
        "I must write the file first:",
        "Search for usage examples:",
        "Ich lese die Beispieldatei:",
    ],
)
def test_line_that_is_not_about_the_call_introduces_a_real_call(line, call):
    found = DECK.tool_calls(f"{line}\n{call}", tools=["get_weather"], stop_reason="stop")
    assert [each.call.name for each in found.calls] == ["get_weather"]
    assert (found.text.rstrip(), found.inert) == (line, 0)


@pytest.mark.parametrize("call", [CALL, MISTRAL, QWEN, FENCED], ids=["tags", "mistral", "qwen", "fence"])
@each_case(
    "line",
    [
        "For example:",
        "An example call:",
        "**Example 1**:",
        "Here is a simple example of a call:",
        "The format is:",
        "Use the following format:",
        "You would write:",
        "A call looks like this:",
        "The syntax for a call is as follows:",
        "To illustrate:",
        "Zum Beispiel:",
        "Par exemple :",
        "例如：",
    ],
)
def test_line_about_the_call_introduces_an_example(line, call):
    for options in ({}, {"tools": ["get_weather"], "stop_reason": "stop"}):
        found = DECK.tool_calls(f"{line}\n{call}\n", **options)
        assert (found.calls, found.broken, found.text.strip()) == ((), (), f"{line}\n{call}")
        assert found.inert


@pytest.mark.parametrize("call", [CALL, MISTRAL, QWEN, FENCED], ids=["tags", "mistral", "qwen", "fence"])
def test_call_at_the_end_of_a_response_that_ended_for_tool_calls_is_no_example(call):
    for end in ("", "\n", "\n<|im_end|>"):
        found = DECK.tool_calls(
            f"I can ask, for example:\n{call}{end}", tools=["get_weather"], stop_reason="tool_calls"
        )
        assert [each.call.name for each in found.calls] == ["get_weather"]
        assert (found.text, found.inert) == ("I can ask, for example:", 0)


def test_several_calls_at_the_end_of_a_response_that_ended_for_tool_calls_are_no_examples():
    text = f"For example:\n{CALL}\n{CALL}"
    assert names(text, stop_reason="tool_calls") == ["get_weather", "get_weather"]
    assert names(text, stop_reason="stop") == []


def test_introduced_call_of_a_tool_that_was_not_offered_is_reported():
    found = DECK.tool_calls(f"For example:\n{CALL}", tools=["search"], stop_reason="tool_calls")
    assert [each.problem for each in found.broken] == ["unknown_tool"]


def test_example_before_other_text_or_beside_a_call_stays_an_example():
    assert names(f"For example:\n{CALL}\nThat is how it works.", stop_reason="tool_calls") == []
    own = '<tool_call>{"name": "search", "arguments": {}}</tool_call>'
    assert names(f"For example:\n{CALL}\nI search:\n{own}", stop_reason="tool_calls") == ["search"]
    assert names(f"I search:\n{own}\nFor example:\n{CALL}", stop_reason="tool_calls") == ["search"]


@pytest.mark.parametrize(
    "piece", ["For example:\n<tool_call>", "e.g.:\n<tool_call>{}</tool_call>\n", "the format is " * 9]
)
def test_introductions_are_read_in_linear_time(work_counter, piece):
    work_counter.assert_linear(lambda count: DECK.tool_calls("x" + piece * count, stop_reason="tool_calls"), 200)
