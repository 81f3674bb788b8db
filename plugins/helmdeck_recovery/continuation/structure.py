"""What the structure of a text says about a seam: JSON, table rows, list markers, numbers in order, indentation.

Each check compares the two possible joins: with the repeated characters, and without them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise

from helmdeck_recovery.continuation.json_prefix import JsonPrefix, read_prefix

AHEAD = 400
"""Characters of the continuation that are compared."""
_RECENT = 20_000
"""Characters at the end of the answer from which its habits are learned."""
_NEAR = 400
_DOUBLES_WITHIN = 3_000
_FEW_LINES = 5
_FEWEST = 3
"""Examples from which a habit is recognised."""

_CELL_MARK = re.compile(r"(?<!\\)\|")
_NUMBERS_END = re.compile(r"(?:\d+[,; \t\n]+)+\d*\Z")
_NUMBERS = re.compile(r"[\d,; \t\n]*")
_ITEM_NUMBER = re.compile(r"^[ \t]*(\d+)[.)](?=\s)", re.MULTILINE)
_SLOT = re.compile(r"([^\s\d][^\d\n]{0,30})(\d[\d.]*)?\Z")
_NUMBER_HEAD = re.compile(r"[\d.]*")
_TOKEN_END = re.compile(r"[\w.,:/%+-]*\Z")
_TOKEN_HEAD = re.compile(r"[\w.,:/%+-]*")
_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"[\w.,:/%+-]*\d[\w.,:/%+-]*")
_DECIMAL = re.compile(r"(\d+)((?:[.,]\d+)+)")
_OPENERS, _CLOSERS = ":{([=", "])}"
_INDENT = re.compile(r"[ \t]*")

Check = Callable[["Ending", str, int], bool | None]
"""Takes the answer, the continuation and the length of the overlap. True if the overlap is repeated, false if it belongs to the
text, ``None`` if the check does not apply."""


def last_word(text: str) -> str:
    """Return the letters at the end of a text. A pattern that must match at the end would be tried everywhere."""
    end = len(text)
    while end and text[end - 1].isalpha():
        end -= 1
    return text[end:]


class Ending:
    """An answer with what is derived from it, each once."""

    def __init__(self, answer: str) -> None:
        self.text = answer

    @cached_property
    def json(self) -> JsonPrefix | None:
        """The JSON document that is truncated at the end of the answer."""
        return read_prefix(self.text)

    @cached_property
    def recent(self) -> str:
        """The end of the answer, from which habits are learned."""
        return self.text[-_RECENT:]

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of the recent text except the last one, in lower case."""
        start = len(self.recent) - len(last_word(self.recent))
        return frozenset(_WORD.findall(self.recent[:start].casefold()))

    @cached_property
    def shapes(self) -> dict[str, int]:
        """How often each shape of numbers, such as that of a date, occurs in the recent text."""
        counts: dict[str, int] = {}
        for token in _TOKEN.findall(self.recent):
            shape = _shape(token)
            counts[shape] = counts.get(shape, 0) + 1
        return counts

    @cached_property
    def has_doubles(self) -> bool:
        """Whether lines, items or phrases near the end occur twice in a row, as in a song or a table of zeros."""
        return self._doubles(4, "\n") or self._doubles(4, "\n,;.!?|[]{}")

    @cached_property
    def doubles_items(self) -> bool:
        """The same for short items, such as numbers."""
        return self._doubles(1, "\n,;|[]{}")

    @cached_property
    def doubles_lines(self) -> bool:
        """Whether lines may be doubled: one is, or the lines are too few to tell."""
        lines = [line.strip().casefold() for line in self.text[-_DOUBLES_WITHIN:].splitlines() if line.strip()]
        return len(lines) <= _FEW_LINES or any(first == second for first, second in pairwise(lines))

    @cached_property
    def squashed(self) -> str:
        """The recent text without whitespace."""
        return "".join(self.recent.split())

    def flows_into(self, more: str) -> bool:
        """Whether the last character is followed by the first one of the continuation elsewhere too, whitespace aside."""
        return self.squashed[-1:] + more.lstrip()[:1] in self.squashed

    def _doubles(self, fewest: int, separators: str) -> bool:
        recent = self.text[-_DOUBLES_WITHIN:].casefold()
        parts = [part.strip() for part in re.split(f"[{re.escape(separators)}]", recent)]
        return any(
            first == second and len(first) >= fewest and any(map(str.isalnum, first))
            for first, second in pairwise(parts)
        )

    @cached_property
    def last_line(self) -> str:
        """The text after the last line break."""
        return self.text[self.text.rfind("\n") + 1 :]

    @cached_property
    def indent_unit(self) -> int:
        """The smallest step of indentation between recent lines; 0 without any."""
        indents = [len(line) - len(line.lstrip()) for line in self.recent.splitlines() if line.strip()]
        return min((second - first for first, second in pairwise(indents) if second > first), default=0)


def structural_verdict(ending: Ending, rest: str, size: int) -> bool | None:
    """Return whether the structure of the text decides that an overlap is repeated; ``None`` if it does not."""
    rest = rest[: size + AHEAD]
    for check in _CHECKS:
        verdict = check(ending, rest, size)
        if verdict is not None:
            return verdict
    return None


def _compared(with_overlap: bool, without: bool) -> bool | None:
    """The verdict where exactly one of the joins is well-formed."""
    return None if with_overlap is without else without


def _json(ending: Ending, rest: str, size: int) -> bool | None:
    state = ending.json
    if state is None:
        return None
    return _compared(state.continued(rest) is not None, state.continued(rest[size:]) is not None)


def _table(ending: Ending, rest: str, size: int) -> bool | None:
    """Rows of a table have the same number of cells."""
    lines = ending.text[-_NEAR * 4 :].splitlines()
    rows = [line for line in lines[:-1] if line.startswith("|")] if not ending.text.endswith("\n") else lines[-1:]
    cells = len(_CELL_MARK.findall(rows[-1])) if rows else 0
    if cells < 2 or not (ending.last_line.startswith("|") or rows[-1:] == lines[-1:]):
        return None

    def is_whole(more: str) -> bool | None:
        complete = (ending.last_line + more).split("\n")[:-1][:_FEWEST]
        table = [line for line in complete if line.startswith("|")]
        return all(len(_CELL_MARK.findall(row)) == cells for row in table) if table else None

    with_overlap, without = is_whole(rest), is_whole(rest[size:])
    return None if with_overlap is None or without is None else _compared(with_overlap, without)


def _numbers_in_order(ending: Ending, rest: str, size: int) -> bool | None:
    """Numbers in a row and the numbers of list items continue with the same step."""
    for numbers, fewest in ((_row_of_numbers, 4), (_item_numbers, 2), (_slot_numbers, 4)):
        with_overlap, without = (_has_step(numbers(ending, more), fewest) for more in (rest, rest[size:]))
        if with_overlap is not without:
            return without
    return None


def _row_of_numbers(ending: Ending, more: str) -> Sequence[int]:
    begun = _NUMBERS_END.search(ending.text[-_NEAR:])
    following = _NUMBERS.match(more)
    if begun is None or following is None:
        return ()
    row = begun.group() + following.group()
    found = [int(number) for number in re.findall(r"\d+", row) if len(number) <= 18]
    # The last number may be truncated, and so may the first one.
    return found[1:-1] if following.end() == len(more) and row[-1:].isdigit() else found[1:]


def _item_numbers(ending: Ending, more: str) -> Sequence[int]:
    window = ending.text[-_NEAR * 5 :]
    if not ending.last_line.strip(" \t").rstrip(".) ").isdigit() and ending.last_line.strip():
        return ()
    if not _ITEM_NUMBER.match(ending.last_line + more):
        return ()
    items = [int(match[1]) for match in _ITEM_NUMBER.finditer(window + more) if len(match[1]) <= 18]
    start = next((at for at in range(len(items) - 1, -1, -1) if items[at] == 1), 0)
    return items[start:]


def _slot_numbers(ending: Ending, more: str) -> Sequence[int]:
    values = _slot(ending, more)
    return (
        [int(value) for value in values[-4:]]
        if all(value.isdigit() and len(value) <= 18 for value in values[-4:])
        else ()
    )


def _slot(ending: Ending, more: str) -> Sequence[str]:
    """Return the earlier numbers after the same text of a line, such as a key, and the one at the seam."""
    slot = _SLOT.search(ending.text[-_NEAR:])
    following = _NUMBER_HEAD.match(more)
    if slot is None or following is None or following.end() == len(more):
        return ()
    name, begun = slot[1], slot[2] or ""
    number = (begun + following.group()).rstrip(".")
    if not number or sum(map(str.isalnum, name)) < 2:
        return ()
    earlier = re.findall(re.escape(name) + r"(\d+(?:\.\d+)?)", ending.recent[: len(ending.recent) - len(begun)])
    return [*earlier, number]


def _has_step(numbers: Sequence[int], fewest: int) -> bool:
    """Whether numbers form a sequence with a constant step."""
    steps = {second - first for first, second in pairwise(numbers)}
    return len(numbers) >= fewest and len(steps) == 1 and steps != {0}


def _number_shapes(ending: Ending, rest: str, size: int) -> bool | None:
    """Dates, amounts and the like have the same shape as earlier ones."""
    if not (ending.text[-1].isdigit() and any(map(str.isdigit, rest[:size]))):
        return None
    begun = _TOKEN_END.search(ending.text[-_NEAR:])
    start = begun.group() if begun else ""
    shapes = []
    for more in (rest, rest[size:]):
        following = _TOKEN_HEAD.match(more)
        if following is None or following.end() == len(more):
            return None
        token = (start + following.group()).rstrip(".,:%/+-")
        shapes.append(_shape(token))
    if not any(mark in shapes[1] for mark in ".,:/-"):
        return None
    known = [ending.shapes.get(shape, 0) for shape in shapes]
    return True if known[1] >= _FEWEST and not known[0] else None


def _shape(token: str) -> str:
    """Return a token with its digits as zeros; the digits before a decimal or thousands separator do not count."""
    token = token.rstrip(".,:%/+-")
    if decimal := _DECIMAL.fullmatch(token):
        return "0" + re.sub(r"\d", "0", decimal[2])
    return re.sub(r"\d", "0", token)


def _indentation(ending: Ending, rest: str, size: int) -> bool | None:
    """A line is indented by at most one step more than the line before it, and only after an opening one."""
    begun, at = ending.last_line, len(ending.text) - len(ending.last_line)
    following = _INDENT.match(rest)
    if begun.strip(" \t") or not at or following is None or following.end() < size or following.end() == len(rest):
        return None
    before = ending.text[: at - 1].rstrip()
    line = before[before.rfind("\n") + 1 :]
    if not line or not ending.indent_unit:
        return None
    is_open = line[-1] in _OPENERS
    if not is_open and sum(map(line.count, "([{")) > sum(map(line.count, ")]}")):
        return None  # aligned with a bracket
    most = len(line) - len(line.lstrip()) + (ending.indent_unit if is_open else 0)
    if rest[following.end()] in _CLOSERS:
        most -= ending.indent_unit
    surplus = len(begun) + following.end() - max(0, most)
    return size == surplus if surplus > 0 else None


_CHECKS: tuple[Check, ...] = (_indentation, _json, _table, _numbers_in_order, _number_shapes)
