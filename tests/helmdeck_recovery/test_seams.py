"""Short overlaps between a truncated answer and its continuation are removed wherever the text decides."""

from __future__ import annotations

import json

import pytest

from helmdeck_recovery import continuation
from helmdeck_recovery.continuation.json_prefix import read_prefix
from helmdeck_recovery.continuation.merge import Merger
from tests.case_support import each_case

MERGER = Merger(continuation.helmdeck_continuation_announcements())
PROSE = "In the hall hung an old clock, and beside it stood a mirror. "
TABLE = "| a | b |\n|---|---|\n| 9 | 8 |\n"


@each_case(
    ("answer", "more", "expected"),
    [
        (PROSE + "She looked into the mirror", " mirror and smiled.", PROSE + "She looked into the mirror and smiled."),
        (PROSE + "She looked into the mirror ", "mirror and left.", PROSE + "She looked into the mirror and left."),
        (PROSE + "He saw a", " a cat.", PROSE + "He saw a cat."),
        (PROSE + "He came,", ", saw.", PROSE + "He came, saw."),
        (PROSE + "It is ", " nice.", PROSE + "It is nice."),
        ("[12,31,49,", "49,50]", "[12,31,49,50]"),
        ("[12,31,49", "49,50]", "[12,31,49,50]"),
        ("7, 14, 21, 2", "28, 35, 42", "7, 14, 21, 28, 35, 42"),
        (TABLE + "| 10", " 10 | 20 |\n", TABLE + "| 10 | 20 |\n"),
        (TABLE + "| 10 |", "| 20 |\n", TABLE + "| 10 | 20 |\n"),
        ("1. one\n2. two\n3", "3. three\n", "1. one\n2. two\n3. three\n"),
        ("1. one\n2. two\n3.", "3. three\n", "1. one\n2. two\n3. three\n"),
        ("- one\n- two\n- ", "- three\n", "- one\n- two\n- three\n"),
        ("- one\n- two\n", "\n- three\n", "- one\n- two\n- three\n"),
        (
            "def a():\n    return 1\n\n\ndef b():\n    ",
            "    return 2\n",
            "def a():\n    return 1\n\n\ndef b():\n    return 2\n",
        ),
    ],
)
def test_a_short_overlap_is_removed_where_the_text_decides(answer, more, expected):
    merged = MERGER.merge(answer, more)
    assert merged.text == expected
    stream = MERGER.stream(answer)
    assert "".join([*map(stream.feed, more), stream.finish()]) == merged.added


DOCUMENT = json.dumps(
    {"rows": [{"id": 7, "name": "quay", "depth": [12, 31]}, {"id": 8, "name": "lock", "depth": [40, 55]}], "ok": True},
    indent=2,
)


@pytest.mark.parametrize("size", range(1, 21))
def test_an_overlap_never_breaks_json(size):
    for cut in range(size, len(DOCUMENT)):
        merged = MERGER.merge(DOCUMENT[:cut], DOCUMENT[cut - size :])
        json.loads(merged.text)


def test_json_that_is_continued_exactly_is_never_shortened():
    for cut in range(1, len(DOCUMENT)):
        assert MERGER.merge(DOCUMENT[:cut], DOCUMENT[cut:]).text == DOCUMENT


@each_case(
    ("answer", "more"),
    [
        ("She said that", " that was the reason."),
        ("Demain nous", " nous levons avant le soleil."),
        ("The code is 20", "20 and the gate opens."),
        ("if (a &", "& b) {\n  run();\n}\n"),
        ('{"a": "', '", "b": 1}'),
        ("| a | b | c |\n|---|---|---|\n| 1 |", " | 3 |\n"),
        ("She took th", "is is the reason."),
        ("1. one\n2. two\n3. three\n4. four\n5. five\n6. six\n7. seven\n8. eight\n9. nine\n10. ten\n1", "1. eleven\n"),
    ],
)
def test_text_that_is_doubled_on_purpose_stays(answer, more):
    assert MERGER.merge(answer, more).text == answer + more


def test_a_long_continuation_is_joined_the_same_in_chunks_of_any_size():
    answer = PROSE * 30 + "She looked into the mirror"
    for more in (" mirror and smiled. " + PROSE * 40, answer + " and smiled. " + PROSE * 40):
        whole = MERGER.merge(answer, more).added
        for size in (1, 399, 400, 401, 799, 5_000):
            stream = MERGER.stream(answer)
            chunks = [stream.feed(more[start : start + size]) for start in range(0, len(more), size)]
            assert "".join([*chunks, stream.finish()]) == whole


@each_case(
    ("answer", "more", "is_possible"),
    [
        ('{"a": [1, 2', "3]}", True),
        ('{"a": [1, 2', ", 3]}", True),
        ('{"a": [1, 2', "]]", False),
        ('{"a": "x', 'y", "b": tru', True),
        ('{"a": "x', '"y"', False),
        ('{"a": 1, ', '"a": 2}', False),
        ('The plan:\n\n```json\n[{"a": 0', "1}]", False),
        ('The plan:\n{"a": 10', "}\n\nThat is all.", True),
    ],
)
def test_truncated_json_reports_what_can_continue_it(answer, more, is_possible):
    state = read_prefix(answer)
    assert state is not None
    assert (state.continued(more) is not None) is is_possible


@each_case("text", ["", "No JSON here.", "[a link](x) in a text", '{"a": 1}', "{'a': 1"])
def test_other_texts_and_complete_documents_are_no_truncated_json(text):
    assert read_prefix(text) is None
