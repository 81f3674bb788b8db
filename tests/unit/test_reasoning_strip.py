"""Reasoning is taken out of text, whole or in pieces; the marks are given, for the core knows none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_core import Decoder, ReasoningTag
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

PIECES = [
    "<muse>", "</muse>", "<Muse mood='x'>", "</ muse >", "[ASIDE]", "[/aside]", "<muse/>", "<|voice|>inner", "<|text|>",
    "<|over|>", "Let me think:", "My answer:", "<mus", "e>", "[", "<", "a < b", "\n\n\n", " ", "word", '{"a": 1}', "é😀",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@pytest.mark.parametrize(
    "text", ["", "plain", "a < b and <b>c</b>", "<museum>x</museum>", "[ASIDES]", "< muse>", "x\n\n\n\ny"]
)
def test_text_without_marks_is_returned_as_it_is(text: str) -> None:
    stripped = strip(text)
    assert (stripped.text, stripped.reasoning, stripped.found, stripped.is_unclosed) == (text, "", (), False)


@pytest.mark.parametrize("text", ["", " ", "\n\t \n"])
def test_empty_text_stays_empty(text: str) -> None:
    assert strip(text).text == ""


def test_outer_blanks_are_trimmed() -> None:
    assert strip("\n  a b \n").text == "a b"


@pytest.mark.parametrize(
    ("text", "left"),
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
def test_a_closed_block_is_gone_and_the_rest_stays(text: str, left: str) -> None:
    assert strip(text).text == left
    assert DECODER.has_reasoning(text)


def test_what_was_taken_out_is_kept_for_diagnosis() -> None:
    stripped = strip("<muse>one</muse>answer[ASIDE]two[/ASIDE]")
    assert stripped.reasoning == "one\ntwo"
    assert stripped.found == ("muse", "aside")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("above\n\n<muse>x</muse>\n\nbelow", "above\n\nbelow"),
        ("above\n\n<muse>x</muse>\n\n<muse>y</muse>\n\nbelow", "above\n\nbelow"),
        ("above\n<muse>x</muse>\nbelow", "above\n\nbelow"),
        ("<muse>x</muse>\n\n\n\nbelow", "below"),
        ("above\n\n\n\nstill\n<muse>x</muse>below", "above\n\n\n\nstill\nbelow"),
    ],
)
def test_blank_lines_that_a_block_leaves_are_collapsed_and_others_are_not(text: str, left: str) -> None:
    assert strip(text).text == left


@pytest.mark.parametrize("text", ["<muse>never closed", "before <muse>x", "[ASIDE] x [/MUSE]"])
def test_an_unclosed_block_is_left_in_place_and_flagged(text: str) -> None:
    stripped = strip(text)
    assert stripped.text == text
    assert stripped.is_unclosed
    assert not DECODER.has_reasoning(text)


def test_a_mark_that_closes_alone_ends_a_thought_that_began_in_the_prompt() -> None:
    stripped = strip("hm, a or b\n</muse>\nanswer")
    assert (stripped.text, stripped.reasoning) == ("answer", "hm, a or b")


def test_a_close_of_a_kind_that_needs_its_opening_is_text() -> None:
    assert strip("answer<|over|>").text == "answer<|over|>"


def test_a_tag_without_an_opening_mark_only_closes() -> None:
    assert strip("thought<|curtain|>answer").text == "answer"


def test_of_two_marks_the_longer_one_counts() -> None:
    assert strip("<|voice|>inner<|text|>x<|over|>").found == ("inner-text",)


def test_marks_that_appear_when_a_block_is_gone_are_removed_too() -> None:
    assert strip("<mu<muse>x</muse>se>y</muse>z").text == "z"


def test_a_decoder_without_tags_strips_nothing() -> None:
    strip_nothing = Decoder([], []).strip
    assert strip_nothing("<muse>x</muse>").text == "<muse>x</muse>"


def test_a_later_tag_of_the_same_name_replaces_the_earlier_one() -> None:
    tags = [
        ReasoningTag(name="muse", open="<muse>", close=("</muse>",)),
        ReasoningTag(name="muse", open="<mull>", close=("</mull>",), order=1),
    ]
    strip_mull = Decoder(tags, []).strip
    assert strip_mull("<muse>x</muse><mull>y</mull>").text == "<muse>x</muse>"


@given(TEXTS)
def test_stripping_twice_is_stripping_once(text: str) -> None:
    once = strip(text)
    again = strip(once.text)
    assert again.text == once.text
    assert again.is_unclosed == once.is_unclosed
    assert not DECODER.has_reasoning(once.text)


def streamed(chunks: list[str], *, starts_in_reasoning: bool = False) -> tuple[str, str]:
    stream = DECODER.stream(starts_in_reasoning=starts_in_reasoning)
    released = [stream.feed(chunk) for chunk in chunks] + [stream.finish()]
    return "".join(visible for visible, _ in released), "".join(reasoning for _, reasoning in released)


def cut_up(text: str, sizes: list[int]) -> list[str]:
    chunks, start = [], 0
    for size in sizes:
        chunks.append(text[start : start + size])
        start += size
    return [*chunks, text[start:]]


@given(TEXTS, st.lists(st.integers(0, 5), max_size=30))
def test_a_stream_says_the_same_however_it_is_cut_up(text: str, sizes: list[int]) -> None:
    assert streamed(cut_up(text, sizes)) == streamed([text])


@settings(deadline=None)
@given(st.lists(st.sampled_from(["word ", "<muse>x y</muse>", "[aside][/aside]", "<b>", "\n", "<muse a='b'>z</muse>"])))
def test_a_stream_shows_what_stripping_the_whole_text_leaves(pieces: list[str]) -> None:
    text = "".join(pieces)
    visible, reasoning = streamed(list(text))
    assert visible.split() == strip(text).text.split()
    assert reasoning == strip(text).reasoning.replace("\n", "")


@pytest.mark.parametrize("text", ["<muse", "</mus", "[ASIDE", "a <", "Let me think", "<muse never finished"])
def test_a_stream_that_ends_within_a_mark_releases_it_as_text(text: str) -> None:
    assert streamed(list(text)) == (text, "")


def test_an_unclosed_block_of_a_stream_is_reasoning() -> None:
    assert streamed(list("seen<muse>not seen")) == ("seen", "not seen")


def test_a_stream_may_start_in_reasoning() -> None:
    assert streamed(list("hm</muse>answer"), starts_in_reasoning=True) == ("answer", "hm")
    assert streamed(list("hm</muse>answer")) == ("hm</muse>answer", "")


def test_visible_text_is_released_as_soon_as_it_cannot_be_part_of_a_mark() -> None:
    stream = DECODER.stream()
    assert stream.feed("plain text <mus") == ("plain text ", "")
    assert stream.feed("t be text") == ("<must be text", "")
    assert stream.feed(" [AS") == (" ", "")
    assert stream.feed("IDE]thought") == ("", "thought")
    assert stream.finish() == ("", "")


@pytest.mark.parametrize(
    "piece",
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
    ],
)
def test_work_grows_linearly_for_whole_and_streamed_text(work_counter: WorkCounter, piece: str) -> None:
    decoder = Decoder(TAGS, [])

    def read(count: int) -> None:
        decoder.strip(piece * count)
        stream = decoder.stream()
        stream.feed(piece * count)
        stream.finish()

    work_counter.assert_linear(read, 400)
