"""The decoder returns the JSON value in a text, or a failure with its cause."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import Any, TypedDict

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import DecodeFailed, DecodeStep, FailureClass, ReasoningTag, StopReason
from helmdeck_core.errors import FAILURES
from helmdeck_reading import json_repair
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder
from tests.case_support import each_case
from tests.work_support import WorkCounter

DECODER = Decoder(reasoning.helmdeck_reasoning_tags(), json_repair.helmdeck_decode_steps())
STRICT = Decoder(reasoning.helmdeck_reasoning_tags(), [])

NOTE = 'braces } and { and \\ and "quotes"'
PLAN = {"steps": [{"tool": "pick", "count": 2}], "note": NOTE}
PLAN_TEXT = json.dumps(PLAN, indent=1)


class Step(msgspec.Struct):
    tool: str
    count: int = 0


class Plan(msgspec.Struct):
    steps: list[Step]
    note: str = ""


@attrs.frozen
class AttrsPlan:
    steps: list[dict[str, Any]]
    note: str


@dataclasses.dataclass
class DataPlan:
    steps: list[dict[str, Any]]
    note: str


class DictPlan(TypedDict):
    steps: list[dict[str, Any]]
    note: str


def decode_failure(text: str | bytes, stop: StopReason | None = StopReason.END_TURN, type: type = dict) -> DecodeFailed:
    with pytest.raises(DecodeFailed) as caught:
        DECODER.decode(text, type, stop)
    return caught.value


# -- decoded values ----------------------------------------------------------------------------------------


def test_clean_object_is_returned_unchanged() -> None:
    decoded = DECODER.decode(PLAN_TEXT, dict)
    assert (decoded.value, decoded.step, decoded.repairs, decoded.reasoning) == (PLAN, "strict", (), "")


@pytest.mark.parametrize("type", [AttrsPlan, DataPlan])
def test_attrs_class_and_dataclass_are_decoded(type: type) -> None:
    assert DECODER.decode(PLAN_TEXT, type).value == type(**PLAN)


def test_struct_is_decoded() -> None:
    assert DECODER.decode(PLAN_TEXT, Plan).value == Plan([Step("pick", 2)], NOTE)


def test_typed_dict_is_validated_and_returned_as_dict() -> None:
    assert DECODER.decode(PLAN_TEXT, DictPlan).value == PLAN
    assert decode_failure('{"steps": []}', type=DictPlan).path == "$.note"


def test_bytes_are_decoded_like_strings() -> None:
    text = "naïve\n" + json.dumps({"a": "é"}, ensure_ascii=False)
    assert DECODER.decode(text.encode(), dict).value == {"a": "é"}


@each_case(
    ("text", "step"),
    [
        (f"\n {PLAN_TEXT}\n\n", "strict"),
        (f"```json\n{PLAN_TEXT}\n```", "fence"),
        (f"```\n{PLAN_TEXT}\n```", "fence"),
        (f"```JSON\r\n{PLAN_TEXT}\r\n```", "fence"),
        (f"````javascript\n{PLAN_TEXT}\n````", "fence"),
        (f"Here it is:\n```json\n{PLAN_TEXT}\n```\nEnjoy!", "fence"),
        (f"```json\n{PLAN_TEXT}", "fence"),
        (f"Sure, here it is: {PLAN_TEXT}", "object"),
        (f"{PLAN_TEXT}\nLet me know {{if}} it helps.", "object"),
        (f"{PLAN_TEXT}</answer><html><p>x</p>", "object"),
        (f"<answer>{PLAN_TEXT}</answer>", "object"),
        (f"By [1] and [docs]: {PLAN_TEXT}", "object"),
        (f"\ufeff\u200b{PLAN_TEXT}\u200b", "object"),
        (f"plan({PLAN_TEXT});", "object"),
    ],
)
def test_fences_and_prose_around_the_object_are_ignored(text: str, step: str) -> None:
    decoded = DECODER.decode(text, dict)
    assert (decoded.value, decoded.step, decoded.repairs) == (PLAN, step, ())


@each_case(
    "text",
    [
        f'<think>maybe {{"steps": []}}</think>\n{PLAN_TEXT}',
        f'<Reasoning effort="high">a\n\nb</Reasoning>\n```json\n{PLAN_TEXT}\n```',
        f'[REASONING]{{"steps": []}}[/REASONING]{PLAN_TEXT}',
        f"<think>a</think>\nSome words.\n<think>b</think>{PLAN_TEXT}",
        f"{PLAN_TEXT}\n<think>was that right?</think>",
        f"<think>12\" and {{x}} and it's [</think>{PLAN_TEXT}",
        f'<think>```json\n{{"steps": []}}\n```</think>\n```json\n{PLAN_TEXT}\n```',
        f'drafting {{"steps": []}}\n</think>\n{PLAN_TEXT}',
        f'<think>a<think>b</think>c {{"steps": []}}</think>{PLAN_TEXT}',
        f'drafting {{"steps": "never ended\n</think>\n{PLAN_TEXT}',
        f"<think/>{PLAN_TEXT}",
    ],
)
def test_reasoning_is_never_the_answer(text: str) -> None:
    assert DECODER.decode(text, dict).value == PLAN


@each_case(
    ("before", "text", "expected"),
    [
        ("```think\nx\n```", "```thinking\ny\n```", "\ny"),
        ("<think>x</think>", "<think>y</THINK>", "y"),
        ("<think>x</think>", "<think>and/or y</think >", "and/or y"),
        ("<|channel|>analysis<|message|>x<|end|>", "<|channel|>analysis<|message|>y<|channel|>final<|message|>", "y"),
    ],
)
def test_reasoning_block_does_not_depend_on_the_previous_response(before: str, text: str, expected: str) -> None:
    for previous in (before, text, before):
        DECODER.decode(f'{previous}{{"a": 1}}', dict)
    decoded = DECODER.decode(f'{text}{{"a": 1}}', dict)
    assert (decoded.value, decoded.reasoning) == ({"a": 1}, expected)


def test_stripped_reasoning_is_returned() -> None:
    assert DECODER.decode('<think>first</think><think>then</think>{"a": 1}', dict).reasoning == "first\nthen"


@each_case(
    "content",
    [
        "<think>b</think>",
        "use </think> only",
        "[REASONING]x",
        "a\n\n\n\nb",
        "```json\n{}\n```",
        "}{",
        "“curly”",
        "&amp;",
    ],
)
@each_case("around", ["{}", "<think>hm</think>\n{}", "```json\n{}\n```", "So: {} Right?"])
def test_strings_of_a_value_are_unchanged(content: str, around: str) -> None:
    value = {"text": content, "more": {"n": [1]}}
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        assert DECODER.decode(around.replace("{}", text), dict).value == value


@each_case(
    "prose",
    [
        "use {placeholder} or {name}:",
        "the set {1, 2, 3}",
        "\\frac{1}{2} + x_{i}",
        "{{ states('light') }} and {% if x %}",
        "function() { return 1; }",
        'a 12" vinyl',
        'He said "go. Then:',
        "a stray { on its own\n",
        'Format: {"steps": [...], "complexity": ...}\n',
        "Regex \\d{3}-\\d{4}.",
        "] and [MASK] and [1]",
    ],
)
def test_braces_and_quotes_in_prose_are_not_json(prose: str) -> None:
    assert DECODER.decode(f"{prose} {PLAN_TEXT}", dict).value == PLAN
    assert decode_failure(prose).cause is FailureClass.CONSTRAINED_DEADLOCK


def test_first_complete_object_is_decoded() -> None:
    assert DECODER.decode('{"a": 1} and {"a": 2}', dict).value == {"a": 1}
    assert DECODER.decode('x {"a": 1}\n```json\n{"a": 2}\n```', dict).value == {"a": 1}


def test_first_object_that_matches_the_type_is_decoded() -> None:
    text = f'Schema: {{"type": "object", "required": ["steps"]}}, with args {{}} it is {PLAN_TEXT}'
    assert DECODER.decode(text, Plan).value.steps[0].tool == "pick"
    assert DECODER.decode(text, dict, fits=lambda value: "steps" in value).value == PLAN
    assert DECODER.decode(PLAN_TEXT, dict, fits=lambda value: "steps" in value).value == PLAN


def test_json_fence_precedes_a_fence_for_another_language() -> None:
    assert DECODER.decode('```text\n{"a": 1}\n```\n```json\n{"a": 2}\n```', dict).value == {"a": 2}


def test_complete_object_is_decoded_if_only_the_following_text_is_truncated() -> None:
    for tail in ("", "\n```", "\n\nLet me also ment", '\n\nPlease set {"key'):
        assert DECODER.decode(PLAN_TEXT + tail, dict, StopReason.MAX_TOKENS).value == PLAN


@pytest.mark.parametrize("tail", ["", "\n```", "</answer>"])
def test_single_object_at_the_end_of_an_unclosed_block_is_decoded_after_end_turn(tail: str) -> None:
    text = f"<think>I never close this\n{PLAN_TEXT}{tail}"
    assert DECODER.decode(text, dict, StopReason.END_TURN).value == PLAN
    for stop in (None, StopReason.MAX_TOKENS, StopReason.SAFETY_BLOCKED, StopReason.UNKNOWN):
        assert decode_failure(text, stop).sub_cause == "unclosed_reasoning"


@pytest.mark.parametrize("text", ['<think>{"a": 1} or {"a": 2}', '<think>{"a": 1} hm', '<think>[{"a": 1}, {"a"'])
def test_other_objects_in_an_unclosed_block_are_ignored(text: str) -> None:
    assert decode_failure(text).is_empty


# -- failures ----------------------------------------------------------------------------------------------


@each_case(
    ("text", "stop", "cause", "sub_cause"),
    [
        ("", StopReason.SAFETY_BLOCKED, FailureClass.SAFETY_FILTERED, "empty"),
        ("", StopReason.MAX_TOKENS, FailureClass.LENGTH_TRUNCATED, "empty"),
        ("", None, FailureClass.LIKELY_TIMEOUT, "empty"),
        ("", StopReason.UNKNOWN, FailureClass.LIKELY_TIMEOUT, "empty"),
        (" \n\t", None, FailureClass.LIKELY_TIMEOUT, "empty"),
        ("", StopReason.END_TURN, FailureClass.LIKELY_TIMEOUT, "empty_though_finished"),
        ("```json\n```", StopReason.MAX_TOKENS, FailureClass.LENGTH_TRUNCATED, "empty"),
        ("\ufeff", None, FailureClass.LIKELY_TIMEOUT, "empty"),
        ('<think>{"a": 1}</think>', None, FailureClass.LIKELY_TIMEOUT, "only_reasoning"),
        ("<think>x</think>", StopReason.SAFETY_BLOCKED, FailureClass.SAFETY_FILTERED, "only_reasoning"),
        ("<think>x</think>\n```json\n```", StopReason.END_TURN, FailureClass.LIKELY_TIMEOUT, "only_reasoning"),
        ('draft {"a": 1} so\n</think>', StopReason.END_TURN, FailureClass.LIKELY_TIMEOUT, "only_reasoning"),
        ('{"a": 1}</think>', StopReason.MAX_TOKENS, FailureClass.LENGTH_TRUNCATED, "only_reasoning"),
        ('<think>draft {"a": 1} but', StopReason.MAX_TOKENS, FailureClass.LENGTH_TRUNCATED, "unclosed_reasoning"),
        ("<think>still", None, FailureClass.LIKELY_TIMEOUT, "unclosed_reasoning"),
        ("\n" * 600, StopReason.MAX_TOKENS, FailureClass.LENGTH_TRUNCATED, "whitespace_loop"),
        ("```" * 200, StopReason.END_TURN, FailureClass.LIKELY_TIMEOUT, "repeated_token"),
    ],
)
def test_cause_of_an_empty_response_depends_on_the_stop_reason(
    text: str, stop: StopReason | None, cause: FailureClass, sub_cause: str
) -> None:
    failure = decode_failure(text, stop)
    assert (failure.cause, failure.sub_cause, failure.is_empty) == (cause, sub_cause, True)
    assert str(failure).startswith("the answer is empty")


@each_case(
    ("stop", "cause"),
    [
        (StopReason.MAX_TOKENS, FailureClass.LENGTH_TRUNCATED),
        (StopReason.CONTEXT_WINDOW_EXCEEDED, FailureClass.LENGTH_TRUNCATED),
        (StopReason.SAFETY_BLOCKED, FailureClass.SAFETY_FILTERED),
        (StopReason.END_TURN, FailureClass.CONSTRAINED_DEADLOCK),
        (StopReason.TOOL_CALL, FailureClass.CONSTRAINED_DEADLOCK),
        (StopReason.UNKNOWN, FailureClass.CONSTRAINED_DEADLOCK),
        (None, FailureClass.CONSTRAINED_DEADLOCK),
    ],
)
@each_case("text", ["I cannot help with that.", '{"steps": [{"a": 1},', "[1, 2]", '{"a" "b"}'])
def test_cause_of_an_undecodable_response_depends_on_the_stop_reason(
    text: str, stop: StopReason | None, cause: FailureClass
) -> None:
    failure = decode_failure(text, stop)
    assert (failure.cause, failure.is_empty) == (cause, False)


@each_case(
    ("text", "sub_cause"),
    [
        ("no JSON in here", "no_json"),
        ("null", "not_an_object"),
        ("42", "not_an_object"),
        ('"ok"', "not_an_object"),
        ("[1, 2]", "not_an_object"),
        ('[{"a": 1}, {"a": 2}]', "not_an_object"),
        ('{"a": {"b": 1}, "c', "cut"),
        ('{"a": oops}', "malformed"),
        ('{"a": 1},"b": {"c": 2}}', "malformed"),
        ("[" * 50_000, "too_deep"),
        ('{"a":' * 50_000, "too_deep"),
        ('{"a": 1, "b": ' + " " * 1_000, "whitespace_loop"),
        ('{"a": ' + "\u00a0" * 1_000, "whitespace_loop"),
        ('{"a": "' + "ha " * 300, "repeated_token"),
        ("a" * 1_000, "repeated_token"),
        ("[" * 500, "repeated_token"),
    ],
)
def test_failure_has_a_sub_cause(text: str, sub_cause: str) -> None:
    assert decode_failure(text).sub_cause == sub_cause


def test_missing_stop_reason_fails_like_an_unknown_one() -> None:
    for text in ("", "prose", '{"a": ', "<think>x</think>"):
        assert attrs.asdict(decode_failure(text, None)) == attrs.asdict(decode_failure(text, StopReason.UNKNOWN))


def test_each_cause_has_a_distinct_next_action() -> None:
    causes = [
        FailureClass.SAFETY_FILTERED,
        FailureClass.LENGTH_TRUNCATED,
        FailureClass.CONSTRAINED_DEADLOCK,
        FailureClass.LIKELY_TIMEOUT,
    ]
    assert len({FAILURES[cause]("x").next_action for cause in causes}) == len(causes)


@each_case(
    ("text", "path", "expected", "found"),
    [
        ('{"steps": [{"tool": "x", "count": "two"}]}', "$.steps[0].count", "int", "str"),
        ('{"steps": [{"tool": 5}]}', "$.steps[0].tool", "str", "int"),
        ('{"note": "x"}', "$.steps", "a required field", "nothing"),
        ("{}", "$.steps", "a required field", "nothing"),
        ('{"error": "no"}', "$.steps", "a required field", "nothing"),
        ('{"steps": [{"count": 1}]}', "$.steps[0].tool", "a required field", "nothing"),
        ('Sure: {"steps": null}', "$.steps", "array", "null"),
    ],
)
def test_wrong_shape_names_path_expected_and_actual_value(text: str, path: str, expected: str, found: str) -> None:
    failure = decode_failure(text, type=Plan)
    assert (failure.sub_cause, failure.path, failure.expected, failure.found) == ("wrong_shape", path, expected, found)
    assert path in str(failure)
    assert expected in str(failure)


def test_excerpt_is_short_and_printable() -> None:
    excerpt = decode_failure("line\n\x00\x1b[31m \ud800" + "x" * 1_000).excerpt
    assert excerpt.startswith("line\\n\\x00\\x1b[31m \\ud800xxx")
    assert len(excerpt) == 200
    assert excerpt.isprintable()


def test_excerpt_escapes_invisible_characters() -> None:
    assert decode_failure("a\u200bb\u202ec").excerpt == "a\\u200bb\\u202ec"


# -- truncated payloads --------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.sampled_from(
    ["", "x", "<think>", "</think>", '{"a": 1}', "}", "```", 'say "hi"', "a\\b", "é😀", "line\n\nline", "it's", "// no"]
)  # fmt: skip
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)
)
OBJECTS = st.dictionaries(st.sampled_from(["steps", "note", "args", "k"]), VALUES, min_size=1, max_size=4)
STOPS = st.sampled_from([None, *StopReason])
LEADS = st.sampled_from(
    ["", "Here: ", "```json\n", "<think>x</think>\n", '<think>{"d": 1}</think>', "By [1]: ", "hm</think>"]
)


@given(OBJECTS, LEADS, st.floats(0, 1, exclude_max=True), STOPS, st.booleans(), st.sampled_from([None, 1]))
def test_truncated_payload_is_never_decoded(
    value: dict[str, Any], lead: str, share: float, stop: StopReason | None, as_python_repr: bool, indent: int | None
) -> None:
    whole = repr(value) if as_python_repr else json.dumps(value, ensure_ascii=False, indent=indent)
    with pytest.raises(DecodeFailed):
        DECODER.decode(lead + whole[: int(len(whole) * share)], dict, stop)


@each_case(
    "text",
    [
        '[{"a": 1}, {"a": 2',
        '{"a": {"b": 1}, "c": [{"d": 1}',
        '{"a": 1},\n{"b": ',
        '{"a": 1,},"b": {"c":',
        "{steps: [{a: 1}",
    ],
)
def test_no_object_inside_truncated_json_is_decoded(text: str) -> None:
    assert decode_failure(text, StopReason.MAX_TOKENS).cause is FailureClass.LENGTH_TRUNCATED
    decode_failure(text, StopReason.END_TURN)


@given(OBJECTS, LEADS, st.sampled_from(["", "\n```", " Done.", "\n<think>ok?</think>"]))
def test_every_object_is_decoded_exactly(value: dict[str, Any], lead: str, tail: str) -> None:
    assert DECODER.decode(lead + json.dumps(value) + tail, dict).value == value


@given(st.text(alphabet='{}[]":,\\ab1<>/`\n thinkTHINK', max_size=60), STOPS)
def test_value_is_a_span_of_the_text_and_only_decode_failed_is_raised(text: str, stop: StopReason | None) -> None:
    try:
        value = STRICT.decode(text, dict, stop).value
    except DecodeFailed:
        return
    ends = [index + 1 for index, char in enumerate(text) if char == "}"]
    starts = [index for index, char in enumerate(text) if char == "{"]
    spans = (text[start:end] for start in starts for end in ends if start < end)
    assert any(_json_or_none(span) == value for span in spans)


def _json_or_none(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


# -- hostile input -------------------------------------------------------------------------------------------

HOSTILE = [
    "{", "[", "<think>", "</think>", '{"a":', "<think", '{"a":"\\', "{x} ", '"', "[1] ", '{"a":x} ', '{"a":1} ', "<think ",
    '{"a":x</think>', "[1,", "{a:/*", '"{', "[{'", "{ ", "Here is ", "{'a':'", "\x00", "<think>a</think>", "[[x", "`", "\ud800",
]  # fmt: skip


HOSTILE_NESTED = [
    ("{", "“", ""), ("{", "“", "}"), ("{“a”:“", "“", "}"), ("{ ”", "“‘", "}"), ("“", "{a:“} ", ""), ("{", "“x” ", "}"),
    ("{a:", '\\",(#\\', "]"), ("", "{a:</think>", "}"), ('{\\"', '(\\"(\\"', "}"), ("{", "/*'", "}"), ("", "<think/>", "{}"),
]  # fmt: skip
"""A prefix, and two chunks that are repeated, one after the other."""


@each_case(("before", "chunk", "after"), [*(("", chunk, "") for chunk in HOSTILE), *HOSTILE_NESTED])
def test_work_on_hostile_text_grows_linearly(work_counter: WorkCounter, before: str, chunk: str, after: str) -> None:
    decoder = Decoder(reasoning.helmdeck_reasoning_tags(), json_repair.helmdeck_decode_steps())

    def read(length: int) -> None:
        count = length // len(chunk + after)
        with contextlib.suppress(DecodeFailed):
            decoder.decode(before + chunk * count + after * count, Plan)

    work_counter.assert_linear(read, 3_000)


def test_draft_is_not_decoded_when_the_scan_is_aborted() -> None:
    assert decode_failure("[1 </think>" * 12 + '{"draft": 1} [1 </think> {"a": 1}').sub_cause == "malformed"
    assert DECODER.decode("{x: </think> } " * 40 + '{"a": 1}', dict).value == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        "\x00",
        '{"a": "\x00"',
        '{"a": "\ud800"}',
        b'{"a": "\xff"}',
        b"\xff\xfe",
        '{"a": ' + "9" * 10_000 + "}",
        '{"a":' * 20_000 + "1" + "}" * 20_000,
        "{" * 100_000,
        "x" * 5_000_000,
    ],
    ids=["nul", "nul-inside", "surrogate", "not-utf8", "not-text", "huge-number", "deep", "brackets", "5MB"],
)
def test_undecodable_input_raises_only_decode_failed(text: str | bytes) -> None:
    decode_failure(text, type=Plan)


def test_last_value_of_a_duplicate_key_wins() -> None:
    assert DECODER.decode('{"a": 1, "a": 2}', dict).value == {"a": 2}


# -- steps -----------------------------------------------------------------------------------------------------


def test_steps_run_in_order_on_the_output_of_previous_steps() -> None:
    steps = [
        DecodeStep(name="second", order=2, candidates=lambda text: [text.replace("B", "2")]),
        DecodeStep(name="first", order=1, candidates=lambda text: [text.replace("A", "1")], is_repair=False),
        DecodeStep(name="idle", order=3, candidates=lambda text: ()),
    ]
    decoded = Decoder([], steps).decode('{"a": A, "b": B}', dict)
    assert (decoded.value, decoded.step, decoded.repairs) == ({"a": 1, "b": 2}, "second", ("second",))


def test_steps_do_not_receive_valid_or_truncated_json() -> None:
    seen: list[str] = []

    def spy(text: str) -> tuple[str, ...]:
        seen.append(text)
        return ()

    decoder = Decoder([], [DecodeStep(name="spy", candidates=spy)])
    decoder.decode('So {"a": 1}', dict)
    for text in ('{"a": ', "no JSON", '{"a": oops, "b": {'):
        with pytest.raises(DecodeFailed):
            decoder.decode(text, dict)
    assert seen == []


def test_invalid_json_at_the_output_limit_is_not_repaired() -> None:
    assert DECODER.decode('{"a": 1,}', dict, StopReason.END_TURN).repairs == ("trailing_commas",)
    assert decode_failure('{"a": 1,}', StopReason.MAX_TOKENS).cause is FailureClass.LENGTH_TRUNCATED


def test_decoder_without_tags_and_steps_decodes_clean_text() -> None:
    bare = Decoder([ReasoningTag(name="x", open="<x>", close=("</x>",))], [])
    assert bare.decode('<x>{"b": 1}</x>{"a": 1}', dict).value == {"a": 1}
    assert Decoder([], []).decode('{"a": 1}', dict).value == {"a": 1}
