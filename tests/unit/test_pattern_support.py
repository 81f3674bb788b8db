"""Decks of the suite share compiled patterns, apart from those that count."""

from __future__ import annotations

import re

from helmdeck_plugins.reading import marks
from tests import pattern_support

MARKS = [["<", "a", ">"], ["<", "b", ">"]]


def test_equal_marks_have_one_pattern_and_others_their_own():
    for partial in (False, True):
        shared = marks.compile_marks(MARKS, partial=partial)
        assert shared is marks.compile_marks([list(each) for each in MARKS], partial=partial)
        assert shared == pattern_support._compile(MARKS, partial=partial)
    assert marks.compile_marks(MARKS) != marks.compile_marks(MARKS[:1])


def test_patterns_are_new_while_work_is_counted(work_counter):
    assert not isinstance(marks.compile_marks(MARKS), re.Pattern)
    assert work_counter.work(lambda: marks.compile_marks(MARKS).search("text")).characters == 4
