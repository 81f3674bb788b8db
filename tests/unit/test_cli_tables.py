"""Layout of tables and paragraphs on a terminal."""

import pytest

from helmdeck_guards import terminal as tables


def test_columns_are_aligned_and_numbers_right_aligned():
    text = tables.table([("a", "1"), ("bbb", "22,000")], ("name", "bytes"), right={1}, width=80)
    assert text.split("\n") == ["name   bytes", "----  ------", "a          1", "bbb   22,000"]


def test_wide_characters_take_two_columns_and_combining_marks_none():
    assert tables.width_of("漢字") == 4
    assert tables.width_of("e\u0301") == 1
    rows = tables.table([("漢字", "x"), ("abcd", "y")], width=40).split("\n")
    assert rows == ["漢字  x", "abcd  y"]


@pytest.mark.parametrize("width", [20, 40, 79, 200])
def test_no_line_is_wider_than_the_terminal(width):
    rows = [("pack", "a.name", "words and words " * 8), ("pipeline", "x" * 50, "漢字" * 30)]
    assert all(tables.width_of(line) <= max(width, 28) for line in tables.table(rows, width=width).split("\n"))


def test_wrapping_loses_no_characters():
    text = "one two " + "x" * 50 + " 漢字漢字漢字 end"
    joined = "".join(tables.wrap(text, 12)).replace(" ", "")
    assert joined == text.replace(" ", "")


def test_ids_break_after_a_separator_only_if_breaking_at_spaces_is_not_enough():
    assert tables.wrap("openrouter/moonshotai/kimi", 14) == ["openrouter/", "moonshotai/", "kimi"]
    text = tables.table([("some/long-identifier", "many short words in here")], width=36)
    assert text.split("\n")[0].startswith("some/long-identifier  ")


def test_a_clipped_column_stays_on_one_line():
    text = tables.table([("a", "many words " * 20)], clipped={1}, width=30)
    assert "\n" not in text
    assert text.endswith("…")


def test_control_characters_are_escaped():
    assert tables.clean("a\x1b[31m\x07b\u202e\ud800") == "a\\x1b[31m\\x07b\\u202e\\ud800"
    assert tables.clean("line\n\ttab\u200d") == "line\n\ttab\u200d"


def test_paragraph_has_a_hanging_indent():
    lines = tables.hanging("label  ", "some words that wrap on", width=24).split("\n")
    assert lines == ["label  some words that", "       wrap on"]


def test_empty_table_is_an_empty_string():
    assert tables.table([]) == ""
