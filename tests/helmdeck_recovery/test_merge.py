"""A truncated answer and its continuation are joined without loss and without repetition."""

from __future__ import annotations

import hashlib
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from helmdeck_recovery import continuation
from helmdeck_recovery.continuation.merge import Merger
from tests.case_support import each_case

MERGER = Merger(continuation.helmdeck_continuation_announcements())

PROSE = (
    "The pilot read the gauge twice and wrote the lower figure down. No one on the bridge asked her why, because "
    "everybody on the bridge had seen the other gauge.\n\nIn the afternoon the wind went round to the north, and the "
    "harbour, which had been"
)
REST = " open since the spring, was closed to anything with a keel."
TABLE = "| buoy | depth | colour |\n|---|---|---|\n| outer | 14 | red |\n| middle | 9 | gre"
CODE = "```python\ndef depth(reading, offset):\n    if reading is None:\n        return offset\n    return rea"


def joined(answer: str, more: str) -> str:
    """The merge, which must be the same whole and streamed."""
    merged = MERGER.merge(answer, more)
    assert merged.text == answer + merged.added
    for size in (1, 7, 64):
        stream = MERGER.stream(answer)
        pieces = [stream.feed(more[start : start + size]) for start in range(0, len(more), size)]
        assert "".join([*pieces, stream.finish()]) == merged.added
    return merged.text


@each_case(
    "more",
    [
        REST,
        "been" + REST,
        "harbour, which had been" + REST,
        "In the afternoon the wind went round to the north, and the harbour, which had been" + REST,
        PROSE + REST,
        "Sure, continuing from where I left off:\n\nharbour, which had been" + REST,
        "**Continued:**\n\nIn the afternoon the wind went round to the north, and the harbour, which had been" + REST,
        "Here is the rest of the report:\n\n" + PROSE + REST,
        "In  the  afternoon  the  wind  went  round  to  the  north,  and  the  harbour,  which  had  been" + REST,
        "In the afternoon the wind\nwent round to the north, and the harbour, which had been" + REST,
    ],
    ids=[
        "exactly",
        "word again",
        "phrase again",
        "paragraph again",
        "everything again",
        "announced, phrase again",
        "announced, paragraph again",
        "announced, everything again",
        "paragraph again with other whitespace",
        "paragraph again with a line break",
    ],
)
def test_a_continuation_is_joined_wherever_it_starts_again(more):
    assert joined(PROSE, more) == PROSE + REST


@each_case(
    ("answer", "more", "expected"),
    [
        (TABLE, "| middle | 9 | green |\n| inner | 6 | red |", TABLE + "en |\n| inner | 6 | red |"),
        (TABLE, "en |\n| inner | 6 | red |", TABLE + "en |\n| inner | 6 | red |"),
        (CODE, "```python\nding - offset\n```", CODE + "ding - offset\n```"),
        (CODE, "Continuing:\n\n```python\n    return reading - offset\n```", CODE + "ding - offset\n```"),
        ('{"a": 1, "b": "tw', '```json\no"}\n```', '{"a": 1, "b": "two"}'),
        ('{"a": "one lo', '\nng line"}', '{"a": "one long line"}'),
        ("See this:\n\n``", "```python\nx = 1\n```", "See this:\n\n```python\nx = 1\n```"),
        ("1. first\n2. sec", "2. second\n3. third", "1. first\n2. second\n3. third"),
        ("Ergebnis: fünf Bo", "Ergebnis: fünf Boote", "Ergebnis: fünf Boote"),
        (
            unicodedata.normalize("NFC", "Der Lotse über die Größe der Bö"),
            unicodedata.normalize("NFD", "Der Lotse über die Größe der Bö") + "en.",
            unicodedata.normalize("NFC", "Der Lotse über die Größe der Bö") + "en.",
        ),
        ("霧が低く流れ、昼には船の汽笛が二", "昼には船の汽笛が二度鳴る。", "霧が低く流れ、昼には船の汽笛が二度鳴る。"),
    ],
)
def test_tables_code_json_lists_and_other_scripts_are_joined_too(answer, more, expected):
    assert joined(answer, more) == expected


@each_case(
    ("answer", "more"),
    [
        ("That was a very", " very long night."),
        ("The bells went ding,", " ding, ding, and stopped."),
        ("| 1 | 0 | 0 |\n| 2 | 0 | 0 |\n", "| 2 | 0 | 0 |\n| 3 | 0 | 1 |\n"),
        ("Row after row the lamps go out,\n", "Row after row the lamps go out,\nand no one counts them."),
        ("[0, 0, 0, 0", ", 0, 0, 0, 1]"),
        ('[{"a": 0}, {"a": 0}, ', '{"a": 0}, {"a": 1}]'),
        ("    }\n    }\n", "    }\n}\n"),
        ("The word is coco", "nut."),
        ("for boat in boats:\n    if boat.lost:\n        ", "continue\n    report(boat)\n"),
        ("- fog\n- ice\n- ", "fog\n- wind\n"),
        ("x = 1\n\n", "\n\ndef f():\n    return x\n"),
        ("The contin", "\n\nNew paragraph."),
        ("1", "10"),
    ],
)
def test_text_that_repeats_for_reasons_of_its_own_stays(answer, more):
    assert joined(answer, more) == answer + more


def test_dropped_text_is_reported():
    merged = MERGER.merge(PROSE, "Sure, continuing:\n\nharbour, which had been" + REST)
    assert merged.kinds == ("announcement", "repetition")
    assert merged.added == REST
    assert merged.dropped == len("Sure, continuing:\n\nharbour, which had been")


def test_a_cut_continuation_that_came_no_further_than_the_answer_adds_nothing():
    again = PROSE[: len(PROSE) // 2]
    assert MERGER.merge(PROSE, again, is_truncated=True).added == ""
    assert MERGER.merge(PROSE, again).added == again


def test_a_stream_shows_its_first_new_text_before_it_ends():
    stream = MERGER.stream(PROSE)
    shown = stream.feed(REST + " And so on." * 60)
    assert shown.startswith(REST)
    assert stream.feed(" The end.") == " The end."


def test_a_stream_that_repeats_the_answer_shows_nothing_of_it():
    answer = "\n\n".join(f"Part {number}. {PROSE} for {number} days." for number in range(3)) + PROSE
    stream = MERGER.stream(answer)
    shown = [stream.feed(answer[start : start + 50]) for start in range(0, len(answer), 50)]
    assert "".join(shown) == ""
    assert stream.feed(REST) + stream.finish() == REST


texts = st.text(alphabet=st.sampled_from('ab \n`|-{"é\u0301好👩\u200d'), max_size=60) | st.text(max_size=40)


@given(texts, texts, st.integers(1, 9))
@example("a" * 500, "a" * 900, 3)
@example("```", "```\n", 1)
@example("", "anything", 2)
def test_any_two_texts_join_and_nothing_is_made_up(answer, more, size):
    merged = MERGER.merge(answer, more)
    assert merged.text == answer + merged.added
    assert merged.added in more
    assert merged.dropped == len(more) - len(merged.added)
    stream = MERGER.stream(answer)
    pieces = [stream.feed(more[start : start + size]) for start in range(0, len(more), size)]
    assert "".join([*pieces, stream.finish()]) == merged.added


WORDS = " ".join(hashlib.sha256(str(number).encode()).hexdigest()[: 5 + number % 9] for number in range(200))


@given(cut=st.integers(200, len(WORDS) - 10), overlap=st.integers(16, 150))
def test_a_text_without_repetitions_is_joined_exactly_from_any_overlap(cut, overlap):
    assert MERGER.merge(WORDS[:cut], WORDS[cut - overlap :]).text == WORDS
    assert MERGER.merge(WORDS[:cut], WORDS[cut:]).text == WORDS


@each_case(
    ("answer", "more", "added"),
    [
        ("3. rope (501)", "Continuing:\n\n4. pier (7)", "\n4. pier (7)"),
        ("| a | b |", "(continued)\n\n| c | d |", "\n| c | d |"),
        ("    if depth:", "Okay, resuming.\n\n        return 1", "\n        return 1"),
        ("It was late.", "(continued)\n\n\nThe rope held.", "\n\nThe rope held."),
        ("the harb", "Continuing:\n\nour is blue", "our is blue"),
        ("3. rope\n1", "Continuing:\n\n4. pier", "4. pier"),
        ("3. rope\n", "Continuing:\n\n4. pier", "4. pier"),
    ],
)
def test_line_break_after_an_announcement_is_kept_before_a_line(answer: str, more: str, added: str) -> None:
    assert MERGER.merge(answer, more).added == added
