"""Calls in the notations of Gemma, Llama 4, LFM2, Command R and gpt-oss are read, and never completed or guessed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_core import ToolDefinition
from helmdeck_testing import make_deck
from tests.case_support import each_case

DECK = make_deck()
TOOL = ToolDefinition("f", "", {"type": "object", "properties": {"city": {"type": "string"}, "n": {"type": "integer"}}})

FORMS = {
    "gemma 4": '<|tool_call>call:f{city:<|"|>Oslo<|"|>,n:3}<tool_call|>',
    "function gemma": "<start_function_call>call:f{city:<escape>Oslo<escape>,n:3}<end_function_call>",
    "llama 4": '<|python_start|>[f(city="Oslo", n=3)]<|python_end|>',
    "lfm2": "<|tool_call_start|>[f(city='Oslo', n=3)]<|tool_call_end|>",
    "lfm2 in JSON": '<|tool_call_start|>[{"name": "f", "arguments": {"city": "Oslo", "n": 3}}]<|tool_call_end|>',
    "llama 3 built-in": '<|python_tag|>f.call(city="Oslo", n=3)<|eom_id|>',
    "llama 3 without a stop token": '<|python_tag|>f(city="Oslo", n=3)',
    "command r": 'Action: ```json\n[\n    {\n        "tool_name": "f",\n        "parameters": {"city": "Oslo", "n": 3}\n    }\n]```',
    "harmony with code": '<|channel|>commentary to=functions.f code<|message|>{"city": "Oslo", "n": 3}<|call|>',
    "harmony, recipient first, with code": "<|start|>assistant to=functions.f<|channel|>commentary code<|message|>"
    '{"city": "Oslo", "n": 3}<|call|>',
    "typed parameters": '<invoke name="f"><parameter name="city" type="string">Oslo</parameter>'
    '<parameter type="integer" name="n">3</parameter></invoke>',
    "typed parameters of qwen": '<function=f><parameter=city type="string">Oslo</parameter><parameter=n>3</parameter></function>',
}


def found(text, **options):
    return [(each.call.name, dict(each.args)) for each in DECK.tool_calls(text, **options).calls]


@pytest.mark.parametrize("form", FORMS)
def test_call_is_read_with_the_types_of_its_schema(form):
    for before in ("", "Let me look.\n\n"):
        read = DECK.tool_calls(before + FORMS[form], tools=[TOOL], stop_reason="stop")
        assert [(each.call.name, dict(each.args), each.repairs) for each in read.calls] == [
            ("f", {"city": "Oslo", "n": 3}, ())
        ]
        assert (read.text, read.broken, read.inert) == (before.strip(), (), 0)


@pytest.mark.parametrize("form", FORMS)
def test_truncated_call_is_never_completed(form):
    text = FORMS[form]
    whole = [("f", {"city": "Oslo", "n": 3})]
    for stop in ("stop", "length", "tool_calls"):
        for cut in range(len(text)):
            assert found(text[:cut], tools=[TOOL], stop_reason=stop, partial=True) in ([], whole)
    assert DECK.tool_calls(text[: text.index("Oslo") + 2], tools=[TOOL]).is_truncated


@each_case(
    ("text", "calls"),
    [
        ('<|python_start|>[f(city="a"), g()]<|python_end|>', [("f", {"city": "a"}), ("g", {})]),
        (
            '<|tool_call_start|>[f(x=[1, -2.5, None], y={"k": True, "l": {}}, z=\'it"s\\n\\x41\\u00e9\\d\')]<|tool_call_end|>',
            [("f", {"x": [1, -2.5, None], "y": {"k": True, "l": {}}, "z": 'it"s\nAé\\d'})],
        ),
        (
            "<|tool_call>call:f{a:{b:[<|\"|>x{}', <|\"|>,true],c:{}},d:null}<tool_call|><|tool_call>call:g{}<tool_call|>",
            [("f", {"a": {"b": ["x{}', ", True], "c": {}}, "d": None}), ("g", {})],
        ),
        (
            "<start_function_call>call:f{a:<escape>{b: \"<escape>}<end_function_call><start_function_response>",
            [("f", {"a": '{b: "'})],
        ),
        ('<|tool_call_start|>[f(city="a")]<|tool_call_end|>Checking.', [("f", {"city": "a"})]),
        ('Action: ```json\n[{"tool_name": "f", "parameters": {}}, {"tool_name": "g", "parameters": {}}]\n```', [("f", {}), ("g", {})]),
    ],
)  # fmt: skip
def test_values_of_every_type_and_several_calls_are_read(text, calls):
    assert found(text) == calls


@each_case(
    "text",
    [
        '<|python_start|>[f("Oslo")]<|python_end|>',
        '<|python_start|>[f(city="a", city="b")]<|python_end|>',
        "<|python_start|>[f(city=Oslo)]<|python_end|>",
        "<|tool_call_start|>[f(x=g())]<|tool_call_end|>",
        "<|tool_call>call:f{city:Oslo}<tool_call|>",
        "<|tool_call>call:f{city:<|\"|>Oslo}<tool_call|>",
        "<start_function_call>call:f city<end_function_call>",
    ],
)  # fmt: skip
def test_call_outside_of_its_notation_is_malformed(text):
    for before in ("", "So:\n"):
        read = DECK.tool_calls(before + text)
        assert (read.calls, [each.problem for each in read.broken], read.text) == ((), ["malformed"], before.strip())


@each_case(
    "text",
    [
        "The token <|python_tag|> opens a call.",
        "Between <tool_call>f(x) and its end, arguments follow.",
        "<|python_tag|>print(math.pi)",
        "<|python_tag|>import math\nprint(math.pi)",
        "Write `<|tool_call>call:f{}<tool_call|>` and wait.",
        "Action: we should act.\n```json\n[]\n```",
        'For example:\n<|tool_call_start|>[f(city="a")]<|tool_call_end|>',
    ],
)
def test_text_about_the_notations_is_not_a_call(text):
    read = DECK.tool_calls(text)
    assert (read.calls, read.is_truncated, read.text) == ((), False, text)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
@settings(max_examples=50)
def test_strings_are_kept_unchanged(value):
    assert found(f"<|python_start|>[f(x={value!r})]<|python_end|>") == [("f", {"x": value})]
    assert found(f'<|tool_call>call:f{{x:<|"|>{value}<|"|>}}<tool_call|>') == [("f", {"x": value})]


def test_marks_left_over_from_calls_and_answers_are_removed():
    lone = "<function=f>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>"
    assert DECK.tool_calls(f"So:\n{lone}").text == "So:"
    assert DECK.tool_calls("The tag </tool_call> ends it.").text == "The tag </tool_call> ends it."
    action = '<|START_ACTION|>[{"tool_name": "f", "parameters": {}}]<|END_ACTION|><|END_OF_TURN_TOKEN|>'
    assert (DECK.tool_calls(action).text, found(action)) == ("", [("f", {})])
    assert DECK.tool_calls("<|START_RESPONSE|>Hi.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>").text == "Hi."


@pytest.mark.parametrize(
    "piece",
    ["<|python_tag|>", "<|python_start|>[f(", '<|tool_call>call:f{a:<|"|>', "<|tool_call>call:f{}<tool_call|>", "<|python_tag|>f(a=[",
     '\nAction: ```json\n[{"', '<parameter name="a" ', "</tool_call>"],
)  # fmt: skip
def test_notations_are_read_in_linear_time(work_counter, piece):
    work_counter.assert_linear(lambda count: DECK.tool_calls("x" + piece * count), 200)
