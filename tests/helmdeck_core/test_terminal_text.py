"""Layout of tables and paragraphs on a terminal."""

from helmdeck_core.cli import terminal
from tests.case_support import each_case


def test_columns_are_aligned_and_numbers_right_aligned():
    text = terminal.table([("a", "1"), ("bbb", "22,000")], ("name", "bytes"), right={1}, width=80)
    assert text.split("\n") == ["name   bytes", "----  ------", "a          1", "bbb   22,000"]


def test_wide_characters_take_two_columns_and_combining_marks_none():
    assert terminal.width_of("漢字") == 4
    assert terminal.width_of("e\u0301") == 1
    rows = terminal.table([("漢字", "x"), ("abcd", "y")], width=40).split("\n")
    assert rows == ["漢字  x", "abcd  y"]


@each_case("width", [20, 40, 79, 200])
def test_no_line_is_wider_than_the_terminal(width):
    rows = [("pack", "a.name", "words and words " * 8), ("pipeline", "x" * 50, "漢字" * 30)]
    assert all(terminal.width_of(line) <= max(width, 28) for line in terminal.table(rows, width=width).split("\n"))


def test_wrapping_loses_no_characters():
    text = "one two " + "x" * 50 + " 漢字漢字漢字 end"
    joined = "".join(terminal.wrap(text, 12)).replace(" ", "")
    assert joined == text.replace(" ", "")


def test_ids_break_after_a_separator_only_if_breaking_at_spaces_is_not_enough():
    assert terminal.wrap("openrouter/moonshotai/kimi", 14) == ["openrouter/", "moonshotai/", "kimi"]
    text = terminal.table([("some/long-identifier", "many short words in here")], width=36)
    assert text.split("\n")[0].startswith("some/long-identifier  ")


def test_a_clipped_column_stays_on_one_line():
    text = terminal.table([("a", "many words " * 20)], clipped={1}, width=30)
    assert "\n" not in text
    assert text.endswith("…")


def test_control_characters_are_escaped():
    assert terminal.clean("a\x1b[31m\x07b\u202e\ud800") == "a\\x1b[31m\\x07b\\u202e\\ud800"
    assert terminal.clean("line\n\ttab\u200d") == "line\n\ttab\u200d"


def test_paragraph_has_a_hanging_indent():
    lines = terminal.hanging("label  ", "some words that wrap on", width=24).split("\n")
    assert lines == ["label  some words that", "       wrap on"]


def test_empty_table_is_an_empty_string():
    assert terminal.table([]) == ""
