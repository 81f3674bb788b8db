"""Calls of weak models: Python notation between tags, damaged JSON, and stop tokens behind a call; nothing is completed."""

from __future__ import annotations

from typing import Any

from helmdeck_core import Decoded, ToolCallContext, ToolDefinition
from helmdeck_reading import json_repair
from helmdeck_reading.decoder.json_decoder import JsonDecoder
from helmdeck_reading.tool_calls import formats
from helmdeck_reading.tool_calls.reader import MAX_REPAIRED, FormatReader
from helmdeck_testing import make_deck
from tests.case_support import each_case

DECK = make_deck()


def _tool(name: str, **properties: Any) -> ToolDefinition:
    return ToolDefinition(name, name, {"type": "object", "properties": properties})


TOOLS = [
    _tool("get_weather", city={"type": "string"}, days={"type": "integer"}),
    _tool(
        "search",
        query={"type": "string"},
        tags={"type": "array", "items": {"type": "string"}},
        filters={"type": "object"},
    ),
    _tool("get_time"),
]


def read(text: str, **options: Any) -> Any:
    return DECK.tool_calls(text, tools=TOOLS, **options)


def calls(text: str, **options: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(found.call.name, dict(found.args)) for found in read(text, **options).calls]


OSLO = ("get_weather", {"city": "Oslo"})
ROME = ("get_weather", {"city": "Rome", "days": 2})

PYTHON = {
    "OLMo 3": '<function_calls>\nget_weather(city="Oslo")\nget_weather(city="Rome", days=2)\n</function_calls>',
    "tags": '<tool_call>\n[get_weather(city="Oslo"), get_weather(city="Rome", days=2)]\n</tool_call>',
    "Gemma 3": '```tool_code\nget_weather(city="Oslo")\nget_weather(city="Rome", days=2)\n```',
    "Gemini": "```tool_code\nprint(default_api.get_weather(city='Oslo'))\nprint(default_api.get_weather(city='Rome', days=2))\n```",
}


@each_case("text", PYTHON.values(), ids=PYTHON)
def test_python_notation_is_read_between_tags_and_in_fences_of_tool_code(text: str) -> None:
    found = read(f"I look it up.\n\n{text}")
    assert [(each.call.name, dict(each.args)) for each in found.calls] == [OSLO, ROME]
    assert found.text == "I look it up."


@each_case("text", PYTHON.values(), ids=PYTHON)
def test_prefix_of_python_notation_never_becomes_another_call(text: str) -> None:
    for end in range(len(text)):
        assert all(call in (OSLO, ROME) for call in calls(text[:end]))
        assert not calls(text[:end], stop_reason="length")


@each_case(
    "text",
    [
        "Use the <tool_call> tag (it's the marker) to call tools.",
        "In <function_calls> blocks (see above) one writes calls.",
        "Write <tool_call>tag(s) of it's kind.",
        "```tool_code\nprint(1 + 1)\n```\nThis prints 2.",
        'For example:\n```tool_code\nget_weather(city="Oslo")\n```',
    ],
)
def test_prose_and_code_beside_such_marks_are_no_calls(text: str) -> None:
    found = read(text)
    assert (found.calls, found.broken, found.is_truncated, found.text) == ((), (), False, text)


def test_unfinished_name_of_a_second_call_is_a_truncation() -> None:
    found = read('<function_calls>get_weather(city="Oslo")\nget_w')
    assert (found.calls, found.is_truncated) == ((), True)


DAMAGED = {
    "trailing comma": '{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"},}]}',
    "Python quotes": "{'tool_calls': [{'function': {'name': 'get_weather', 'arguments': {'city': 'Oslo'}}}]}",
    "list": '[{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}},]',
    "fence": '```json\n{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"},}]}\n```',
    "list between tags": '<tool_call>[{"name": "get_weather", "arguments": {"city": "Oslo"}},]</tool_call>',
    "Mistral": "[TOOL_CALLS] [{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}]",
}


@each_case("text", DAMAGED.values(), ids=DAMAGED)
def test_damaged_json_of_calls_is_repaired_and_reported(text: str) -> None:
    (found,) = read(text).calls
    assert (found.call.name, dict(found.args)) == OSLO
    assert {"trailing_commas", "single_quotes"} & set(found.repairs)


def test_damaged_json_that_declares_no_call_stays_text() -> None:
    for text in ('{"type": "function", "count": 3,}', "{'function': 1}", "{'function': {'name': 'x'} is open"):
        found = read(text)
        assert (found.calls, found.broken, found.text) == ((), (), text)


def test_damaged_json_in_an_example_is_not_a_call() -> None:
    found = read("For example: {'tool_calls': [{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}]}")
    assert (found.calls, found.inert) == ((), 1)


@each_case("token", ["<|eom_id|>", "<|eot_id|>", "<|end_of_text|>", "\n<|im_end|>\n"])
def test_stop_token_behind_a_bare_call_of_llama_is_not_text(token: str) -> None:
    text = '{"name": "get_weather", "parameters": {"city": "Oslo"}}'
    found = read(text + token, model="llama-3.2-3b")
    assert ([each.call.name for each in found.calls], found.text) == (["get_weather"], "")
    assert not calls(f"{text}{token}More text.", model="llama-3.2-3b")


@each_case("token", ["<|end_of_text|>", "<|end|>", "<|observation|>", "<|user|>", "[|endofturn|]", "<end_of_turn>"])
def test_stop_token_is_removed_behind_calls_and_kept_elsewhere(token: str) -> None:
    call = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>'
    assert read(call + token).text == ""
    assert read(f"{call} The token {token} ends a turn.").text == f"The token {token} ends a turn."


def test_section_of_kimi_is_read_in_the_singular_too() -> None:
    call = '<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>'
    found = read(f"<|tool_call_section_begin|>{call}<|tool_call_section_end|>")
    assert ([dict(each.args) for each in found.calls], found.text) == ([{"city": "Oslo"}], "")


def test_python_literal_is_read_where_the_tool_takes_no_string() -> None:
    text = (
        "<tool_call><function=search><parameter=query>['a']</parameter><parameter=tags>['a', 'b']</parameter>"
        "<parameter=filters>{'year': 2020, 'open': True}</parameter></function></tool_call>"
    )
    arguments = {"query": "['a']", "tags": ["a", "b"], "filters": {"year": 2020, "open": True}}
    assert calls(text) == [("search", arguments)]


@each_case("number", ["NaN", "Infinity", "-Infinity", "1e999", "three", "1,000", "007", "[1e999]", "[NaN]"])
def test_text_that_is_not_a_json_number_stays_as_it_is(number: str) -> None:
    tools = [_tool("scale", factor={"type": "number"})]
    text = f"<tool_call><function=scale><parameter=factor>{number}</parameter></function></tool_call>"
    (found,) = DECK.tool_calls(text, tools=tools).calls
    assert (found.args["factor"], found.call.arguments) == (number, f'{{"factor":"{number}"}}')
    assert not DECK.tool_calls(f"<tool_call>scale(factor={number})</tool_call>", tools=tools).calls


def test_start_of_a_fence_is_not_the_input_of_an_action() -> None:
    for ticks in ("`", "``", "```", "```json\n"):
        found = read(f"Action: get_weather\nAction Input:\n{ticks}")
        assert (found.calls, found.is_truncated) == ((), True)


def test_nested_print_is_neither_a_call_nor_a_failure() -> None:
    for count in (2, 5_000):
        assert not calls(f"```tool_code\n{'print(' * count}get_time(){')' * count}\n```")


@each_case("prefix", ["", "<tool_call>"])
def test_repairs_of_damaged_calls_are_limited(prefix: str) -> None:
    repaired: list[str] = []

    def decode(text: str) -> Decoded[Any]:
        repaired.append(text)
        return decoder.decode(text, dict)

    decoder = JsonDecoder([], json_repair.helmdeck_decode_steps())
    formats_of_calls = formats.helmdeck_tool_call_formats()
    reader = FormatReader(ToolCallContext(formats=formats_of_calls, tags=(), strip=decoder.strip, decode=decode))
    reader.read(prefix + '{"function": {"name": "f", "arguments": {},},}\n' * 1_000)
    assert len(repaired) == MAX_REPAIRED
