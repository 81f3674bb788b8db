"""The built-in reasoning tags, on the answers of the models that they were seen with."""

from __future__ import annotations

import pytest

from helmdeck_core import DecodeFailed, StopReason
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder
from tests.case_support import each_case

TAGS = reasoning.helmdeck_reasoning_tags()
DECODER = Decoder(TAGS, [])

ANSWER = '{"answer": 42}'
DRAFT = 'maybe {"answer": 1} or [MASK] or a < b'

CLOSED = [
    *(f"<{name}>{DRAFT}</{name}>" for name in ("think", "thinking", "thought", "thoughts", "reasoning", "reflection")),
    *(f"<{name}>{DRAFT}</{name}>" for name in ("analysis", "scratchpad", "antThinking", "TheReasoning", "seed:think")),
    f"<mm:think>{DRAFT}</mm:think>",
    *(f"[{name}]{DRAFT}[/{name}]" for name in ("REASONING", "THINK", "THINKING", "thought")),
    f"<|channel|>analysis<|message|>{DRAFT}<|end|>",
    f"<|channel|>commentary<|message|>{DRAFT}<|end|>",
    f"<|channel>thought\n{DRAFT}\n<channel|>",
    f"<|START_THINKING|>{DRAFT}<|END_THINKING|>",
    f"<|begin_of_thought|>{DRAFT}<|end_of_thought|>",
    f"&lt;think&gt;{DRAFT}&lt;/think&gt;",
    f"◁think▷{DRAFT}◁/think▷",
    f"<|think|>{DRAFT}<|/think|>",
    f"<|thinking_start|>{DRAFT}<|thinking_end|>",
    f"<unused94>thought\n{DRAFT}<unused95>",
    f"<|im_start|>think\n{DRAFT}<|im_start|>answer\n",
    f"```thinking\n{DRAFT}\n```",
    f"Here is my thought process: {DRAFT}\nHere is my response: ",
    f"Here's my thought process: {DRAFT}\nHere's my response: ",
    f"Here are my reasoning steps: {DRAFT}\n[BEGIN FINAL RESPONSE]",
]


def test_tags_have_unique_names() -> None:
    names = [tag.name for tag in TAGS]
    assert len(set(names)) == len(names)


@each_case("block", CLOSED)
def test_draft_in_a_reasoning_block_is_not_the_answer(block: str) -> None:
    decoded = DECODER.decode(f"{block}\n{ANSWER}", dict)
    assert decoded.value == {"answer": 42}
    assert DRAFT in decoded.reasoning
    assert DECODER.strip(f"{block}\n{ANSWER}").text == ANSWER


@each_case("block", CLOSED)
def test_reasoning_block_alone_is_an_empty_answer(block: str) -> None:
    with pytest.raises(DecodeFailed) as caught:
        DECODER.decode(block, dict)
    assert caught.value.is_empty
    assert DECODER.has_reasoning(block)


@each_case("block", CLOSED)
def test_draft_in_a_truncated_reasoning_block_is_not_the_answer(block: str) -> None:
    cut = block[: block.index(" or a < b")]
    with pytest.raises(DecodeFailed):
        DECODER.decode(cut, dict, StopReason.MAX_TOKENS)


@each_case("block", CLOSED)
def test_reasoning_block_is_removed_from_a_stream(block: str) -> None:
    stream = DECODER.stream()
    pieces = [stream.feed(char) for char in block + ANSWER] + [stream.finish()]
    assert "".join(visible for visible, _ in pieces).strip() == ANSWER


@each_case(
    "close",
    [
        "</think>",
        "</THINK>",
        "\n</reasoning>\n",
        "</thinking >",
        "[/THINK]",
        "[/REASONING]",
        "<channel|>",
        "assistantfinal",
    ],
)
def test_closing_tag_alone_ends_reasoning_that_started_in_the_prompt(close: str) -> None:
    assert DECODER.decode(f"{DRAFT}{close}{ANSWER}", dict).value == {"answer": 42}


def test_truncated_reasoning_fence_reads_the_same_whole_and_streamed() -> None:
    strip = DECODER.strip
    once = strip("so ```reasoning\n")
    assert once.is_unclosed
    assert strip(once.text) == once


@each_case("constrain", ["", " <|constrain|>json", "<|constrain|>json"])
@each_case("start", ["", "<|start|>assistant"])
@each_case("end", ["", "<|return|>", "<|end|>"])
def test_the_final_channel_is_the_answer(start: str, constrain: str, end: str) -> None:
    thoughts = f"{start}<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant"
    text = f"{thoughts}<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant"
    text += f"<|channel|>final{constrain}<|message|>{ANSWER}{end}"
    assert DECODER.decode(text, dict).value == {"answer": 42}


@each_case("word", ["<reason>", "<plan>", "<thinker>", "<thin", "< think>", "[REASON]", "[THINKS]", "<answer>"])
def test_other_words_in_brackets_stay_text(word: str) -> None:
    text = f"{word} {ANSWER}"
    assert DECODER.strip(text).text == text
    assert DECODER.decode(text, dict).value == {"answer": 42}


SPANS_AROUND_BLOCKS = [
    "`<think/><think>`",
    "`<think>a</think><|channel|>analysis<|message|>`",
    "` <think>a</think>`<think>` b",
    "`a`<think>x</think>`<think>`",
    "`<think>a</think>\n<think>` b",
]


@each_case("text", SPANS_AROUND_BLOCKS)
def test_mark_beside_a_removed_block_is_a_mention_exactly_if_it_is_one_without_the_block(text):
    stripped = DECODER.strip(text)
    again = DECODER.strip(stripped.text)
    assert (again.text, again.is_unclosed) == (stripped.text, stripped.is_unclosed)


@each_case("text", SPANS_AROUND_BLOCKS)
@each_case("size", [1, 2, 3, 5])
def test_chunk_borders_do_not_change_what_a_mark_beside_a_block_is(text, size):
    def released(chunks):
        stream = DECODER.stream()
        pieces = [*map(stream.feed, chunks), stream.finish()]
        return tuple("".join(each) for each in zip(*pieces, strict=True))

    assert released(text[at : at + size] for at in range(0, len(text), size)) == released([text])


@each_case(
    ("text", "sub_cause"),
    [
        ("<think>a</think>" * 3, "only_reasoning"),
        ("</think>" * 3, "only_reasoning"),
        ("<think>a</think> \n <think/>1", "not_an_object"),
        ("1</think>2", "not_an_object"),
        ("1<think>a</think>2 x", "no_json"),
        # An open bracket before a block: the text before the block is visible.
        ("[[<think>a</think>", "no_json"),
        ("`<think>` is a mark<think>a</think>", "no_json"),
    ],
)
def test_cause_of_a_failure_depends_on_the_text_outside_of_blocks(text, sub_cause):
    with pytest.raises(DecodeFailed) as failure:
        DECODER.decode(text, dict, StopReason.END_TURN)
    assert failure.value.sub_cause == sub_cause


@pytest.mark.parametrize("chunks", [["The"], ["T", "he"], ["Fourth", " with"], ["wit", "h", "er"]])
def test_end_of_a_word_is_not_held_back_as_the_start_of_a_phrase(chunks: list[str]) -> None:
    stream = DECODER.stream()
    assert [stream.feed(chunk) for chunk in chunks] == [(chunk, "") for chunk in chunks]


@pytest.mark.parametrize("chunks", [["He"], ["\n", "h"], ["Yes. ", "Here is my thought"]])
def test_word_that_may_start_a_phrase_is_held_back(chunks: list[str]) -> None:
    stream = DECODER.stream()
    assert [stream.feed(chunk) for chunk in chunks][-1] == ("", "")


@pytest.mark.parametrize("size", [1, 4, 100])
def test_phrase_inside_a_word_is_text(size: int) -> None:
    text = "There is my thought process: I think. There is my response: yes"
    stream = DECODER.stream()
    parts = [stream.feed(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join(visible for visible, _ in (*parts, stream.finish())) == text
    assert DECODER.strip(text).text == text
