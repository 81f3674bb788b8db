"""A stream and a whole text are read alike, with all registered tags and any borders of chunks."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from helmdeck_core import ChatDelta, StopReason
from helmdeck_core.calls.visible_text import VisibleText
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder

TAGS = reasoning.helmdeck_reasoning_tags()
DECODER = JsonDecoder(TAGS, [])
MARKS = [mark for tag in TAGS for mark in (tag.open, *tag.close) if mark]
WORDS = st.sampled_from(
    [
        "so ",
        "T",
        "The",
        "a < b",
        "`",
        "```",
        "\n",
        "\n\n",
        "<",
        "<|",
        "think",
        "</",
        '{"a": 1}',
        "é😀",
        " ",
        "\n```\n",
        '{"a": "',
        '"}',
        "~~~",
    ]
)
BLOCKS = st.builds(
    lambda tag, close, inner: f"{tag.open}{inner}{tag.close[close % len(tag.close)]}",
    st.sampled_from([tag for tag in TAGS if tag.open and tag.close]),
    st.integers(0, 20),
    WORDS,
)
PARTS = st.one_of(WORDS, WORDS, BLOCKS, st.sampled_from(MARKS), st.sampled_from(MARKS).map(str.upper))
TEXTS = st.lists(PARTS, max_size=12).map("".join)
BORDERS = st.lists(st.integers(0, 6), max_size=60)


def chunks_of(text: str, sizes: list[int]) -> list[str]:
    chunks, start = [], 0
    for size in sizes:
        chunks.append(text[start : start + size])
        start += size
    return [*chunks, text[start:]]


def streamed(chunks: list[str], **options: bool) -> tuple[str, str]:
    stream = DECODER.stream(**options)
    released = [stream.feed(chunk) for chunk in chunks] + [stream.finish()]
    return "".join(visible for visible, _ in released), "".join(reasoning for _, reasoning in released)


@given(TEXTS, BORDERS, st.booleans(), st.booleans())
def test_streamed_text_does_not_depend_on_the_borders_of_chunks(
    text: str, sizes: list[int], starts_in_reasoning: bool, only_leading: bool
) -> None:
    options = {"starts_in_reasoning": starts_in_reasoning, "only_leading": only_leading}
    assert streamed(chunks_of(text, sizes), **options) == streamed([text], **options)


@given(TEXTS, BORDERS)
def test_streamed_text_equals_the_whole_text_without_its_reasoning(text: str, sizes: list[int]) -> None:
    whole = DECODER.strip(text)
    if whole.is_unclosed or whole.starts_in_reasoning:  # a stream cannot look ahead, nor take back
        return
    visible, reasoning = streamed(chunks_of(text, sizes))
    assert visible.split() == whole.text.split()
    assert "".join(visible.split()) == "".join(whole.text.split())
    assert "".join(reasoning.split()) == "".join(whole.reasoning.split())  # blocks are joined by line breaks


@given(st.sampled_from([tag for tag in TAGS if tag.open and tag.close]), st.integers(0, 20), WORDS, BORDERS)
def test_block_of_every_tag_is_reasoning_in_a_stream_and_in_a_whole_text(tag, close: int, inner: str, sizes) -> None:
    text = f"{tag.open} so {inner} {tag.close[close % len(tag.close)]}Hello."
    assert streamed(chunks_of(text, sizes)) == ("Hello.", f" so {inner} ")
    assert DECODER.strip(text).text == "Hello."


@given(st.sampled_from([tag for tag in TAGS if tag.closes_alone]), st.integers(0, 20), WORDS, BORDERS)
def test_block_that_the_prompt_opened_ends_at_the_closing_mark_of_every_tag(tag, close: int, inner: str, sizes) -> None:
    text = f"so {inner} {tag.close[close % len(tag.close)]}Hello."
    assert streamed(chunks_of(text, sizes), starts_in_reasoning=True) == ("Hello.", f"so {inner} ")
    assert DECODER.strip(text).text == "Hello."


@given(st.sampled_from(["", "<|channel|>final<|message|>", "<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>final<|message|>"]),
       st.sampled_from([tag.open for tag in TAGS if not tag.close]), BORDERS)  # fmt: skip
def test_token_that_ends_a_harmony_message_is_neither_text_nor_reasoning(header: str, token: str, sizes) -> None:
    text = f"{header}Hello.{token}"
    assert streamed(chunks_of(text, sizes)) == ("Hello.", "so" if "so" in header else "")
    assert DECODER.strip(text).text == "Hello."
    assert streamed([f"It ends with `{token}`."]) == (f"It ends with `{token}`.", "")


@given(TEXTS, BORDERS, st.booleans(), st.booleans())
@example("\nSo: <think>x</think>", [4], False, False)
@example(" \n[THINK]x[/THINK]\n\nSo: ", [2], False, False)
def test_visible_text_of_a_response_does_not_depend_on_the_borders_of_chunks(
    text: str, sizes: list[int], starts_in_reasoning: bool, is_structured: bool
) -> None:
    def separated(chunks: list[str]) -> tuple[str, str]:
        visible = VisibleText(DECODER, starts_in_reasoning=starts_in_reasoning, is_structured=is_structured)
        deltas = [delta for chunk in chunks for delta in visible.feed((ChatDelta(chunk),))]
        deltas += visible.finish(StopReason.END_TURN)
        return "".join(each.text for each in deltas), "".join(each.reasoning_content for each in deltas)

    assert separated(chunks_of(text, sizes)) == separated([text])
