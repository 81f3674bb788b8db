"""Reasoning is stripped from complete and streamed text; the tests define the tags, because the core has none."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helmdeck_core import ReasoningTag
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder
from tests.case_support import each_case
from tests.work_support import WorkCounter

TAGS = [
    ReasoningTag(name="muse", open="<muse>", close=("</muse>",), has_attributes=True),
    ReasoningTag(name="aside", open="[ASIDE]", close=("[/ASIDE]",)),
    ReasoningTag(name="inner", open="<|voice|>inner", close=("<|over|>",), closes_alone=False),
    ReasoningTag(name="inner-text", open="<|voice|>inner<|text|>", close=("<|over|>",), closes_alone=False),
    ReasoningTag(name="phrase", open="Let me think:", close=("My answer:", "My reply:"), closes_alone=False),
    ReasoningTag(name="curtain", open="", close=("<|curtain|>",)),
]
DECODER = Decoder(TAGS, [])

strip = DECODER.strip

CHUNKS = [
    "<muse>", "</muse>", "<Muse mood='x'>", "</ muse >", "[ASIDE]", "[/aside]", "<muse/>", "<|voice|>inner", "<|text|>",
    "<|over|>", "Let me think:", "My answer:", "<mus", "e>", "[", "<", "a < b", "\n\n\n", " ", "word", '{"a": 1}', "é😀",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(CHUNKS), max_size=12).map("".join)


@each_case("text", ["", "plain", "a < b and <b>c</b>", "<museum>x</museum>", "[ASIDES]", "< muse>", "x\n\n\n\ny"])
def test_text_without_marks_is_unchanged(text: str) -> None:
    stripped = strip(text)
    assert (stripped.text, stripped.reasoning, stripped.found, stripped.is_unclosed) == (text, "", (), False)


@pytest.mark.parametrize("text", ["", " ", "\n\t \n"])
def test_empty_text_stays_empty(text: str) -> None:
    assert strip(text).text == ""


def test_surrounding_whitespace_is_trimmed() -> None:
    assert strip("\n  a b \n").text == "a b"


@each_case(
    ("text", "expected"),
    [
        ("<muse>x</muse>rest", "rest"),
        ("[ASIDE]x[/ASIDE]rest", "rest"),
        ("a <muse>x</muse> b", "a  b"),
        ("<MUSE>x</Muse>rest", "rest"),
        ("[aside]x[/Aside]rest", "rest"),
        ('<muse mood="calm" n=1>x</muse>rest', "rest"),
        ("<muse\nmood='calm'>x</muse>rest", "rest"),
        ("<muse>x</muse >rest", "rest"),
        ("<muse>x</ muse>rest", "rest"),
        ("<muse/>rest", "rest"),
        ("<muse>a</muse>one<muse>b</muse>two[ASIDE]c[/ASIDE]", "onetwo"),
        ("<muse>line\nline\n\nline</muse>\nrest", "rest"),
        ("<muse></muse>rest", "rest"),
        ("<muse>I mention [ASIDE] here</muse>rest", "rest"),
        ("Let me think: x\nMy reply: rest", "rest"),
        ("<|voice|>inner<|text|>x<|over|>rest", "rest"),
        ("<|voice|>inner x<|over|>rest", "rest"),
    ],
)
def test_closed_block_is_removed(text: str, expected: str) -> None:
    assert strip(text).text == expected
    assert DECODER.has_reasoning(text)


def test_removed_reasoning_and_tag_names_are_returned() -> None:
    stripped = strip("<muse>one</muse>answer[ASIDE]two[/ASIDE]")
    assert stripped.reasoning == "one\ntwo"
    assert stripped.found == ("muse", "aside")


@each_case(
    ("text", "expected"),
    [
        ("above\n\n<muse>x</muse>\n\nbelow", "above\n\nbelow"),
        ("above\n\n<muse>x</muse>\n\n<muse>y</muse>\n\nbelow", "above\n\nbelow"),
        ("above\n<muse>x</muse>\nbelow", "above\n\nbelow"),
        ("<muse>x</muse>\n\n\n\nbelow", "below"),
        ("above\n\n\n\nstill\n<muse>x</muse>below", "above\n\n\n\nstill\nbelow"),
    ],
)
def test_only_blank_lines_around_a_removed_block_are_collapsed(text: str, expected: str) -> None:
    assert strip(text).text == expected


@pytest.mark.parametrize("text", ["<muse>never closed", "before <muse>x", "[ASIDE] x [/MUSE]"])
def test_unclosed_block_stays_in_place_and_is_flagged(text: str) -> None:
    stripped = strip(text)
    assert stripped.text == text
    assert stripped.is_unclosed
    assert not DECODER.has_reasoning(text)


def test_closing_mark_without_opening_mark_ends_reasoning_from_the_prompt() -> None:
    stripped = strip("hm, a or b\n</muse>\nanswer")
    assert (stripped.text, stripped.reasoning) == ("answer", "hm, a or b")


def test_closing_mark_that_requires_an_opening_mark_is_text() -> None:
    assert strip("answer<|over|>").text == "answer<|over|>"


def test_tag_without_opening_mark_only_closes() -> None:
    assert strip("thought<|curtain|>answer").text == "answer"


def test_longest_mark_wins() -> None:
    assert strip("<|voice|>inner<|text|>x<|over|>").found == ("inner-text",)


def test_marks_created_by_a_removal_are_removed() -> None:
    assert strip("<mu<muse>x</muse>se>y</muse>z").text == "z"


def test_decoder_without_tags_strips_nothing() -> None:
    strip_nothing = Decoder([], []).strip
    assert strip_nothing("<muse>x</muse>").text == "<muse>x</muse>"


def test_later_tag_replaces_an_earlier_one_of_the_same_name() -> None:
    tags = [
        ReasoningTag(name="muse", open="<muse>", close=("</muse>",)),
        ReasoningTag(name="muse", open="<mull>", close=("</mull>",), order=1),
    ]
    strip_mull = Decoder(tags, []).strip
    assert strip_mull("<muse>x</muse><mull>y</mull>").text == "<muse>x</muse>"


@given(TEXTS)
@example("word<muse>x</muse>Let me think: no end")
def test_stripping_is_idempotent(text: str) -> None:
    once = strip(text)
    again = strip(once.text)
    assert again.text == once.text
    assert again.is_unclosed == once.is_unclosed
    assert not DECODER.has_reasoning(once.text)


def streamed(chunks: list[str], *, starts_in_reasoning: bool = False) -> tuple[str, str]:
    stream = DECODER.stream(starts_in_reasoning=starts_in_reasoning)
    released = [stream.feed(chunk) for chunk in chunks] + [stream.finish()]
    return "".join(visible for visible, _ in released), "".join(reasoning for _, reasoning in released)


def split_text(text: str, sizes: list[int]) -> list[str]:
    chunks, start = [], 0
    for size in sizes:
        chunks.append(text[start : start + size])
        start += size
    return [*chunks, text[start:]]


@given(TEXTS, st.lists(st.integers(0, 5), max_size=30))
def test_streamed_result_does_not_depend_on_chunk_sizes(text: str, sizes: list[int]) -> None:
    assert streamed(split_text(text, sizes)) == streamed([text])


@settings(deadline=None)
@given(st.lists(st.sampled_from(["word ", "<muse>x y</muse>", "[aside][/aside]", "<b>", "\n", "<muse a='b'>z</muse>"])))
def test_streamed_text_equals_stripped_text(chunks: list[str]) -> None:
    text = "".join(chunks)
    visible, reasoning = streamed(list(text))
    assert visible.split() == strip(text).text.split()
    assert reasoning == strip(text).reasoning.replace("\n", "")


@each_case("text", ["<muse", "</mus", "[ASIDE", "a <", "Let me think", "<muse never finished"])
def test_partial_mark_at_the_end_of_a_stream_is_text(text: str) -> None:
    assert streamed(list(text)) == (text, "")


def test_unclosed_block_of_a_stream_is_reasoning() -> None:
    assert streamed(list("seen<muse>not seen")) == ("seen", "not seen")


def test_stream_may_start_in_reasoning() -> None:
    assert streamed(list("hm</muse>answer"), starts_in_reasoning=True) == ("answer", "hm")
    assert streamed(list("hm</muse>answer")) == ("hm</muse>answer", "")


def test_text_is_released_once_it_cannot_be_part_of_a_mark() -> None:
    stream = DECODER.stream()
    assert stream.feed("plain text <mus") == ("plain text ", "")
    assert stream.feed("t be text") == ("<must be text", "")
    assert stream.feed(" [AS") == (" ", "")
    assert stream.feed("IDE]thought") == ("", "thought")
    assert stream.finish() == ("", "")


@each_case(
    "chunk",
    [
        "<muse>",
        "</muse>",
        "<muse ",
        "<muse>a</muse> ",
        "<mu<muse></muse>se>",
        "<",
        "[ASIDE",
        "Let me ",
        "<muse/>",
        "\n",
        "\n```\n<muse>",
        '{"<muse>',
        '{"a": "</muse>"}',
    ],
)
def test_work_grows_linearly_for_whole_and_streamed_text(work_counter: WorkCounter, chunk: str) -> None:
    decoder = Decoder(TAGS, [])

    def read(count: int) -> None:
        decoder.strip(chunk * count)
        stream = decoder.stream()
        stream.feed(chunk * count)
        stream.finish()

    work_counter.assert_linear(read, 400)


@pytest.mark.parametrize("unit", ["<muse>a</muse>", "</muse>", "<muse/>"])
def test_marks_of_a_chunk_do_not_each_search_the_rest_of_the_chunk(work_counter: WorkCounter, unit: str) -> None:
    decoder, chunk = Decoder(TAGS, []), unit * (900 // len(unit))

    def read() -> None:
        stream = decoder.stream()
        for _ in range(10):
            stream.feed(chunk)

    assert work_counter.work(read).characters <= 8 * 10 * len(chunk)
