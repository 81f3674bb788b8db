"""Characters and numbers that JSON or UTF-8 do not have: the right text or a typed failure, in every wire format."""

from __future__ import annotations

import json

import pytest

from helmdeck_core import CallFailed, ToolCall
from helmdeck_providers import NOT_JSON, EventFeed, decode_json
from helmdeck_testing import ANTHROPIC, GEMINI, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES
from helmdeck_testing.server_formats.base import ScriptedAnswer
from tests.case_support import each_case
from tests.helmdeck_providers.test_wire_laws import ANSWERS, RUNTIME, reader_context

FORMATS = {
    "openai": OPENAI_CHAT,
    "openai-responses": OPENAI_RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}
each_format = pytest.mark.parametrize("wire_format", FORMATS)
WITH_JSON_TEXT = ("openai", "openai-responses", "anthropic")
"""Formats that stream the arguments of a call as JSON in strings."""


def whole(wire_format, body):
    answer = ANSWERS[wire_format](reader_context(wire_format))
    event = decode_json(body)
    if event is NOT_JSON:
        return None
    deltas = list(answer.read(event))
    return answer.finish(), deltas


def streamed(wire_format, body, size):
    answer = ANSWERS[wire_format](reader_context(wire_format))
    events = EventFeed(answer, has_lines=wire_format == "ollama")
    deltas = [delta for start in range(0, len(body), size) for delta in events.feed(body[start : start + size])] + list(
        events.finish()
    )
    return answer.finish(), deltas


def bodies(wire_format, answer):
    """The answer whole and streamed, as functions that read it."""
    server = FORMATS[wire_format]
    body = b"".join(server.events(answer))
    yield lambda change: whole(wire_format, change(json.dumps(server.whole(answer)).encode()))
    for size in (7, 1_000_000):
        yield lambda change, size=size: streamed(wire_format, change(body), size)


def judged(response):
    """The arguments of the calls that can be run, and the problems of the others."""
    found = RUNTIME.tool_calls.judge(response, tools=None, model="m")
    return [json.loads(each.call.arguments) for each in found.calls], [each.problem for each in found.broken]


def encode_all(response, deltas):
    """Encode every string, as sinks and outputs do."""
    calls = [(call.id, call.name, call.arguments) for call in response.tool_calls]
    json.dumps([response.text, response.reasoning_content, calls, judged(response)], ensure_ascii=False).encode()
    for delta in deltas:
        (delta.text + delta.reasoning_content + (delta.tool_call.arguments if delta.tool_call else "")).encode()


ODD_STRINGS = {
    rb"\ud83d\ude00": "\U0001f600",
    rb"\\ud83d": "\\ud83d",
    rb"\\\\ud83d": "\\\\ud83d",
    rb"\u0000": "\x00",
    b"\xe2\x80\xa8": "\u2028",
    rb"\ud83d": "?",
    rb"\ude00": "?",
}
"""The bytes in a JSON string, and its value."""


@each_format
@each_case("raw", ODD_STRINGS)
def test_odd_characters_in_text_are_read_or_replaced(wire_format, raw):
    for read in bodies(wire_format, ScriptedAnswer(text="a@@@b")):
        response, deltas = read(lambda body: body.replace(b"@@@", raw))
        assert response.text == f"a{ODD_STRINGS[raw]}b"
        assert "".join(delta.text for delta in deltas) == response.text
        encode_all(response, deltas)


@each_format
@each_case("end", ["\\ud83d", "\\\\ud83d", "\\"])
def test_text_that_ends_like_half_a_character_is_complete(wire_format, end):
    for read in bodies(wire_format, ScriptedAnswer(text=f"x{end}", reasoning=f"y{end}")):
        response, deltas = read(lambda body: body)
        assert (response.text, response.reasoning_content) == (f"x{end}", f"y{end}")
        encode_all(response, deltas)


@each_case("wire_format", WITH_JSON_TEXT)
@each_case("shift", range(12))
def test_escaped_character_in_arguments_may_be_split_anywhere(wire_format, shift):
    arguments = json.dumps({"a": "x" * shift + "\U0001f600"})
    answer = ScriptedAnswer(tool_calls=(ToolCall("c1", "look", arguments),), stop="tool_calls")
    for read in bodies(wire_format, answer):
        response, deltas = read(lambda body: body)
        assert judged(response) == ([json.loads(arguments)], [])
        encode_all(response, deltas)


NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "-0", "-0.0", "9" * 400, "9" * 5_000, "0." + "1" * 500]


@each_format
@each_case("number", NUMBERS)
def test_numbers_in_arguments_are_read_or_malformed(wire_format, number):
    """A call with a number that JSON does not have is never a truncated one, for which more output would be asked."""
    try:
        value = json.loads(number)
    except ValueError:  # of Python: too long
        value = 0
    arguments = f'{{"a": {number}}}' if wire_format in WITH_JSON_TEXT else json.dumps({"a": 424242})
    answer = ScriptedAnswer(tool_calls=(ToolCall("c1", "look", arguments),), stop="tool_calls")
    if wire_format == "anthropic":  # a whole message has an object
        readers = list(bodies(wire_format, answer))[1:] if number != "9" * 5_000 else []
    else:
        readers = list(bodies(wire_format, answer))
    for read in readers:
        try:
            found = read(lambda body: body.replace(b"424242", number.encode()))
        except CallFailed:
            continue
        if found is None:
            continue
        response, deltas = found
        values, problems = judged(response)
        assert values == [{"a": value}] or (values, problems) == ([], ["malformed"])
        encode_all(response, deltas)


@each_format
@each_case("raw", [rb'{"\ud800":1,"\ud801":2}', rb'"\ud800"', rb'"\ude00\ud83d"', rb'{"a":1,"a":2}'])
def test_odd_strings_in_arguments_can_be_encoded(wire_format, raw):
    arguments = f'{{"a": {raw.decode()}}}' if wire_format in WITH_JSON_TEXT else json.dumps({"a": 424242})
    answer = ScriptedAnswer(tool_calls=(ToolCall("c1", "look", arguments),), stop="tool_calls")
    for read in bodies(wire_format, answer):
        response, deltas = read(lambda body: body.replace(b"424242", raw))
        encode_all(response, deltas)
        values, problems = judged(response)
        assert len(values) + len(problems) == 1
