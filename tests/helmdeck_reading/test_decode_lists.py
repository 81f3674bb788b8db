"""Requested lists are decoded, also without their brackets."""

from __future__ import annotations

import gc
import weakref

import msgspec
import pytest

from helmdeck_core import DecodeFailed, StopReason
from helmdeck_reading import json_repair
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder
from tests.case_support import each_case

DECODER = Decoder(reasoning.helmdeck_reasoning_tags(), json_repair.helmdeck_decode_steps())


class Step(msgspec.Struct):
    tool: str


def decode_failure(text: str, stop: StopReason | None = StopReason.END_TURN) -> DecodeFailed:
    with pytest.raises(DecodeFailed) as caught:
        DECODER.decode(text, list[Step], stop)
    return caught.value


@each_case(
    ("text", "tools", "step", "repairs"),
    [
        ('[{"tool": "a"}]', "a", "strict", ()),
        ('Here: [{"tool": "a"}, {"tool": "b"}]', "ab", "list", ()),
        ('<think>[{"tool": "x"}]</think>\n```json\n[{"tool": "a"}]\n```', "a", "fence", ()),
        ('By [1]: [{"tool": "a"}]', "a", "list", ()),
        ('[{"tool": "a",},]', "a", "trailing_commas", ("trailing_commas",)),
        ('{"tool": "a"}', "a", "missing_brackets", ("missing_brackets",)),
        ('It is {"tool": "a"}.', "a", "missing_brackets", ("missing_brackets",)),
        ('{"tool": "a"} {"tool": "b"}', "ab", "missing_brackets", ("missing_brackets",)),
        ('{"tool": "a"}\n{"tool": "b"}\n', "ab", "missing_brackets", ("missing_brackets",)),
        ('{"tool": "a"},\n{"tool": "b"},\n{"tool": "c"}', "abc", "missing_brackets", ("missing_brackets",)),
        ('```json\n{"tool": "a"}\n```\n```json\n{"tool": "b"}\n```', "ab", "missing_brackets", ("missing_brackets",)),
        (
            '{"tool": "a",}\n{"tool": "b"}',
            "ab",
            "missing_brackets",
            ("missing_brackets", "trailing_commas"),
        ),
    ],
)
def test_list_is_decoded_and_missing_brackets_are_reported(
    text: str, tools: str, step: str, repairs: tuple[str, ...]
) -> None:
    decoded = DECODER.decode(text, list[Step], StopReason.END_TURN)
    assert decoded.value == [Step(tool) for tool in tools]
    assert (decoded.step, decoded.repairs) == (step, repairs)


@each_case(
    ("text", "sub_cause"),
    [
        ('[{"tool": "a"}, {"tool"', "cut"),
        ('{"tool": "a"}\n{"tool": ', "cut"),
        ('[ # one\n{"tool": "a"}, {"tool": "b"}', "not_a_list"),
        ('{"tool": "a"} or {"tool": "b"}', "not_a_list"),
        ('{"note": "a"}', "wrong_shape"),
        ('[{"tool": 1}]', "wrong_shape"),
        ('"a"', "not_a_list"),
        ("", "empty_though_finished"),
    ],
)
def test_incomplete_or_invalid_list_fails(text: str, sub_cause: str) -> None:
    assert decode_failure(text).sub_cause == sub_cause


def test_objects_of_a_truncated_response_are_not_a_list() -> None:
    assert decode_failure('{"tool": "a"}\n{"tool": "b"}', StopReason.MAX_TOKENS).sub_cause == "not_a_list"


@each_case("stop", [StopReason.UNKNOWN, StopReason.CANCELLED, StopReason.MAX_TOKENS])
@each_case("text", ['{"tool": "a"}\n{"tool": "b"}\n', '{"tool": "a"}', '```json\n{"tool": "a"}\n```'])
def test_objects_without_brackets_are_not_a_list_if_the_response_may_lack_some(text: str, stop: StopReason) -> None:
    decode_failure(text, stop)


def test_list_in_brackets_is_complete_whatever_the_stop_reason() -> None:
    assert DECODER.decode('[{"tool": "a"}]', list[Step], StopReason.UNKNOWN).value == [Step("a")]


def test_types_that_are_made_per_call_are_not_kept() -> None:
    made = []
    for number in range(400):
        made.append(weakref.ref(kind := msgspec.defstruct(f"Kind{number}", [("a", int)])))
        DECODER.decode('{"a": 1}', kind)
    del kind
    gc.collect()
    assert sum(ref() is not None for ref in made) <= 150
