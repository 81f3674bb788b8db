"""The value that a text literally holds is read, and where there is none the failure says why."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import Any, TypedDict

import attrs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_core import DecodeFailed, Decoder, DecodeStep, FailureClass, ReasoningTag, StopReason
from helmdeck_core.errors import FAILURES
from helmdeck_plugins import json_repair, reasoning
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


def failed(text: str | bytes, stop: StopReason | None = StopReason.END_TURN, type: type = dict) -> DecodeFailed:
    with pytest.raises(DecodeFailed) as caught:
        DECODER.decode(text, type, stop)
    return caught.value


# -- what is read ------------------------------------------------------------------------------------------


def test_a_clean_object_is_returned_unchanged() -> None:
    decoded = DECODER.decode(PLAN_TEXT, dict)
    assert (decoded.value, decoded.step, decoded.repairs, decoded.reasoning) == (PLAN, "strict", (), "")


@pytest.mark.parametrize("type", [AttrsPlan, DataPlan])
def test_a_class_of_attrs_or_dataclasses_is_filled(type: type) -> None:
    assert DECODER.decode(PLAN_TEXT, type).value == type(**PLAN)


def test_a_struct_is_filled() -> None:
    assert DECODER.decode(PLAN_TEXT, Plan).value == Plan([Step("pick", 2)], NOTE)


def test_a_typed_dict_is_checked_and_stays_a_dict() -> None:
    assert DECODER.decode(PLAN_TEXT, DictPlan).value == PLAN
    assert failed('{"steps": []}', type=DictPlan).path == "$.note"


def test_bytes_are_read_like_text() -> None:
    text = "naïve\n" + json.dumps({"a": "é"}, ensure_ascii=False)
    assert DECODER.decode(text.encode(), dict).value == {"a": "é"}


@pytest.mark.parametrize(
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
def test_fences_and_prose_around_the_object_are_tolerated(text: str, step: str) -> None:
    decoded = DECODER.decode(text, dict)
    assert (decoded.value, decoded.step, decoded.repairs) == (PLAN, step, ())


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("before", "text", "thought"),
    [
        ("```think\nx\n```", "```thinking\ny\n```", "\ny"),
        ("<think>x</think>", "<think>y</THINK>", "y"),
        ("<think>x</think>", "<think>and/or y</think >", "and/or y"),
        ("<|channel|>analysis<|message|>x<|end|>", "<|channel|>analysis<|message|>y<|channel|>final<|message|>", "y"),
    ],
)
def test_a_block_is_read_the_same_whatever_the_answer_before_was_like(before: str, text: str, thought: str) -> None:
    for around in (before, text, before):
        DECODER.decode(f'{around}{{"a": 1}}', dict)
    decoded = DECODER.decode(f'{text}{{"a": 1}}', dict)
    assert (decoded.value, decoded.reasoning) == ({"a": 1}, thought)


def test_reasoning_is_kept_for_diagnosis() -> None:
    assert DECODER.decode('<think>first</think><think>then</think>{"a": 1}', dict).reasoning == "first\nthen"


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("around", ["{}", "<think>hm</think>\n{}", "```json\n{}\n```", "So: {} Right?"])
def test_the_strings_of_a_value_are_kept_as_they_are(content: str, around: str) -> None:
    value = {"text": content, "more": {"n": [1]}}
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        assert DECODER.decode(around.replace("{}", text), dict).value == value


@pytest.mark.parametrize(
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
    assert failed(prose).cause is FailureClass.CONSTRAINED_DEADLOCK


def test_the_first_complete_object_counts() -> None:
    assert DECODER.decode('{"a": 1} and {"a": 2}', dict).value == {"a": 1}
    assert DECODER.decode('x {"a": 1}\n```json\n{"a": 2}\n```', dict).value == {"a": 1}


def test_the_first_object_that_fits_is_chosen_over_one_that_does_not() -> None:
    text = f'Schema: {{"type": "object", "required": ["steps"]}}, with args {{}} it is {PLAN_TEXT}'
    assert DECODER.decode(text, Plan).value.steps[0].tool == "pick"
    assert DECODER.decode(text, dict, fits=lambda value: "steps" in value).value == PLAN
    assert DECODER.decode(PLAN_TEXT, dict, fits=lambda value: "steps" in value).value == PLAN


def test_a_fence_for_json_comes_before_a_fence_for_another_language() -> None:
    assert DECODER.decode('```text\n{"a": 1}\n```\n```json\n{"a": 2}\n```', dict).value == {"a": 2}


def test_a_complete_object_counts_when_only_what_follows_it_was_cut() -> None:
    for tail in ("", "\n```", "\n\nLet me also ment", '\n\nPlease set {"key'):
        assert DECODER.decode(PLAN_TEXT + tail, dict, StopReason.MAX_TOKENS).value == PLAN


@pytest.mark.parametrize("tail", ["", "\n```", "</answer>"])
def test_after_a_regular_end_the_one_object_at_the_end_of_an_unclosed_block_counts(tail: str) -> None:
    text = f"<think>I never close this\n{PLAN_TEXT}{tail}"
    assert DECODER.decode(text, dict, StopReason.END_TURN).value == PLAN
    for stop in (None, StopReason.MAX_TOKENS, StopReason.SAFETY_BLOCKED, StopReason.UNKNOWN):
        assert failed(text, stop).sub_cause == "unclosed_reasoning"


@pytest.mark.parametrize("text", ['<think>{"a": 1} or {"a": 2}', '<think>{"a": 1} hm', '<think>[{"a": 1}, {"a"'])
def test_other_objects_in_an_unclosed_block_are_drafts(text: str) -> None:
    assert failed(text).is_empty


# -- what is not -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
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
def test_an_empty_answer_fails_by_the_stop_reason(
    text: str, stop: StopReason | None, cause: FailureClass, sub_cause: str
) -> None:
    failure = failed(text, stop)
    assert (failure.cause, failure.sub_cause, failure.is_empty) == (cause, sub_cause, True)
    assert str(failure).startswith("the answer is empty")


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("text", ["I cannot help with that.", '{"steps": [{"a": 1},', "[1, 2]", '{"a" "b"}'])
def test_unusable_text_fails_by_the_stop_reason(text: str, stop: StopReason | None, cause: FailureClass) -> None:
    failure = failed(text, stop)
    assert (failure.cause, failure.is_empty) == (cause, False)


@pytest.mark.parametrize(
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
def test_the_finer_cause_is_named(text: str, sub_cause: str) -> None:
    assert failed(text).sub_cause == sub_cause


def test_without_a_stop_reason_a_failure_is_that_of_an_unknown_one() -> None:
    for text in ("", "prose", '{"a": ', "<think>x</think>"):
        assert attrs.asdict(failed(text, None)) == attrs.asdict(failed(text, StopReason.UNKNOWN))


def test_each_cause_has_a_next_action_of_its_own() -> None:
    causes = [
        FailureClass.SAFETY_FILTERED,
        FailureClass.LENGTH_TRUNCATED,
        FailureClass.CONSTRAINED_DEADLOCK,
        FailureClass.LIKELY_TIMEOUT,
    ]
    assert len({FAILURES[cause].next_action for cause in causes}) == len(causes)


@pytest.mark.parametrize(
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
def test_a_wrong_shape_names_the_place_what_was_expected_and_what_was_found(
    text: str, path: str, expected: str, found: str
) -> None:
    failure = failed(text, type=Plan)
    assert (failure.sub_cause, failure.path, failure.expected, failure.found) == ("wrong_shape", path, expected, found)
    assert path in str(failure)
    assert expected in str(failure)


def test_the_excerpt_is_short_and_can_be_printed() -> None:
    excerpt = failed("line\n\x00\x1b[31m \ud800" + "x" * 1_000).excerpt
    assert excerpt.startswith("line\\n\\x00\\x1b[31m \\ud800xxx")
    assert len(excerpt) == 200
    assert excerpt.isprintable()


def test_the_excerpt_hides_nothing_that_cannot_be_seen() -> None:
    assert failed("a\u200bb\u202ec").excerpt == "a\\u200bb\\u202ec"


# -- cut payloads --------------------------------------------------------------------------------------------

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
@settings(max_examples=500)
def test_a_cut_payload_never_becomes_a_value(
    value: dict[str, Any], lead: str, share: float, stop: StopReason | None, in_python: bool, indent: int | None
) -> None:
    whole = repr(value) if in_python else json.dumps(value, ensure_ascii=False, indent=indent)
    with pytest.raises(DecodeFailed):
        DECODER.decode(lead + whole[: int(len(whole) * share)], dict, stop)


@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1}, {"a": 2',
        '{"a": {"b": 1}, "c": [{"d": 1}',
        '{"a": 1},\n{"b": ',
        '{"a": 1,},"b": {"c":',
        "{steps: [{a: 1}",
    ],
)
def test_no_inner_or_first_object_of_a_cut_text_is_the_answer(text: str) -> None:
    assert failed(text, StopReason.MAX_TOKENS).cause is FailureClass.LENGTH_TRUNCATED
    failed(text, StopReason.END_TURN)


@given(OBJECTS, LEADS, st.sampled_from(["", "\n```", " Done.", "\n<think>ok?</think>"]))
def test_every_object_is_read_as_it_was_written(value: dict[str, Any], lead: str, tail: str) -> None:
    assert DECODER.decode(lead + json.dumps(value) + tail, dict).value == value


@given(st.text(alphabet='{}[]":,\\ab1<>/`\n thinkTHINK', max_size=60), STOPS)
@settings(max_examples=500)
def test_a_value_was_literally_in_the_text_and_nothing_else_escapes(text: str, stop: StopReason | None) -> None:
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


HOSTILE_WITHIN = [
    ("{", "“", ""), ("{", "“", "}"), ("{“a”:“", "“", "}"), ("{ ”", "“‘", "}"), ("“", "{a:“} ", ""), ("{", "“x” ", "}"),
    ("{a:", '\\",(#\\', "]"), ("", "{a:</think>", "}"), ('{\\"', '(\\"(\\"', "}"), ("{", "/*'", "}"), ("", "<think/>", "{}"),
]  # fmt: skip
"""What stands in front once, and two pieces that are repeated, one behind the other."""


@pytest.mark.parametrize(("before", "piece", "behind"), [*(("", piece, "") for piece in HOSTILE), *HOSTILE_WITHIN])
def test_work_on_hostile_text_grows_linearly(work_counter: WorkCounter, before: str, piece: str, behind: str) -> None:
    decoder = Decoder(reasoning.helmdeck_reasoning_tags(), json_repair.helmdeck_decode_steps())

    def read(length: int) -> None:
        count = length // len(piece + behind)
        with contextlib.suppress(DecodeFailed):
            decoder.decode(before + piece * count + behind * count, Plan)

    work_counter.assert_linear(read, 3_000)


def test_when_too_much_is_broken_no_draft_is_the_answer() -> None:
    assert failed("[1 </think>" * 12 + '{"draft": 1} [1 </think> {"a": 1}').sub_cause == "malformed"
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
def test_unreadable_input_is_a_failure_and_nothing_else(text: str | bytes) -> None:
    failed(text, type=Plan)


def test_a_key_that_is_given_twice_has_its_last_value() -> None:
    assert DECODER.decode('{"a": 1, "a": 2}', dict).value == {"a": 2}


# -- steps -----------------------------------------------------------------------------------------------------


def test_steps_run_in_order_and_each_goes_on_from_what_the_ones_before_made() -> None:
    steps = [
        DecodeStep(name="second", order=2, candidates=lambda text: [text.replace("B", "2")]),
        DecodeStep(name="first", order=1, candidates=lambda text: [text.replace("A", "1")], is_repair=False),
        DecodeStep(name="idle", order=3, candidates=lambda text: ()),
    ]
    decoded = Decoder([], steps).decode('{"a": A, "b": B}', dict)
    assert (decoded.value, decoded.step, decoded.repairs) == ({"a": 1, "b": 2}, "second", ("second",))


def test_steps_see_neither_clean_nor_cut_text() -> None:
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


def test_text_that_ends_where_the_model_was_stopped_is_not_mended() -> None:
    assert DECODER.decode('{"a": 1,}', dict, StopReason.END_TURN).repairs == ("trailing_commas",)
    assert failed('{"a": 1,}', StopReason.MAX_TOKENS).cause is FailureClass.LENGTH_TRUNCATED


def test_a_decoder_without_tags_and_steps_reads_clean_text() -> None:
    bare = Decoder([ReasoningTag(name="x", open="<x>", close=("</x>",))], [])
    assert bare.decode('<x>{"b": 1}</x>{"a": 1}', dict).value == {"a": 1}
    assert Decoder([], []).decode('{"a": 1}', dict).value == {"a": 1}
