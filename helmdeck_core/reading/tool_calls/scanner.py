"""Compiles formats into one scanner for everything that a walk over an answer has to stop at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property

import attrs

from helmdeck_core.domain.tool_calls import ToolCallFormat, ToolCallFormatKind
from helmdeck_core.reading.reasoning_marks import ATTRIBUTES, compile_marks, literal

_LINE_START = r"[ \t*]{0,8}"
"""What may stand between the start of a line and a mark that belongs there: indentation and emphasis."""

_LONGEST_LINE_MARK = 64

_CODE = "`"
_JSON = {"{": [r"\{", r"""(?=\s*+["'}])"""], "[": [r"\[", r'(?=\s*+[\[{"])']}
"""What may open JSON that matters: an object with a key, a list of objects."""

_NEVER = re.compile(r"(?!)")


@attrs.frozen(eq=False)
class Compiled:
    """A format with its patterns.

    :ivar value_end: the closing mark of an argument, where the next argument or a closing mark follows.
    """

    data: ToolCallFormat
    head: re.Pattern[str]
    argument: re.Pattern[str]
    value_end: re.Pattern[str]
    close: re.Pattern[str]

    def close_of(self, mark: str) -> str:
        """The closing mark that belongs to an opening one, in lower case; empty when any of them does."""
        opens, closes = self.data.open, self.data.close
        if len(opens) != len(closes):
            return ""
        return next(close for open_, close in zip(opens, closes, strict=True) if open_.lower() == mark).strip().lower()


@attrs.frozen(eq=False)
class Sign:
    """What a position of the text may mean.

    :ivar mark: the mark as the formats write it; a bracket for JSON and a backtick for code.
    :ivar opens: the formats whose mark begins here, in order.
    :ivar closes: it is a closing mark.
    """

    mark: str
    opens: tuple[Compiled, ...] = ()
    closes: bool = False


class Scanner:
    """The marks of the formats that are active for a model; compiled when an answer first needs them."""

    def __init__(self, formats: Sequence[ToolCallFormat]) -> None:
        self._formats = sorted(formats, key=lambda call_format: (call_format.order, call_format.name))
        self._calls = [
            each for each in self._formats if each.kind in (ToolCallFormatKind.CALL, ToolCallFormatKind.GROUP)
        ]
        self._closes = {mark.lower() for call_format in self._calls for mark in call_format.close}
        self._any_close = _either(mark for mark in self._closes if not mark.startswith("\n"))
        self._words = [f'"{word}"' for call_format in self._calls for word in call_format.protocol]
        self.protocols = tuple(each for each in self._calls if each.protocol)
        self.leftovers = tuple(each for each in self._formats if each.kind is ToolCallFormatKind.LEFTOVER)

    def finds(self, text: str) -> bool:
        """Whether a walk over the text could find anything. One scan; almost every answer ends here."""
        return (
            self._opening.search(text) is not None
            or self._opening.match("\n" + text[:_LONGEST_LINE_MARK]) is not None
            or any(word in text for word in self._words)
        )

    def search(self, text: str, start: int, end: int) -> tuple[Sign, int, int] | None:
        """The first sign at or after ``start``, with where it starts and ends."""
        signs, pattern = self._signs
        match = pattern.search(text, start, end)
        return (signs[match.lastgroup or ""], *match.span()) if match else None

    def match(self, text: str, start: int, end: int) -> Sign | None:
        """The sign that starts exactly here."""
        signs, pattern = self._signs
        match = pattern.match(text, start, end)
        return signs[match.lastgroup or ""] if match else None

    @cached_property
    def any_close(self) -> re.Pattern[str]:
        """A closing mark of any call, but for those that only mean something to their own format."""
        return re.compile(self._any_close)

    @cached_property
    def introductions(self) -> tuple[re.Pattern[str], ...]:
        """What stands in the line before an example."""
        return tuple(_pattern(each.head) for each in self._formats if each.kind is ToolCallFormatKind.INTRODUCTION)

    @cached_property
    def _opening(self) -> re.Pattern[str]:
        marks = {mark.lower() for call_format in self._formats for mark in call_format.open}
        return compile_marks([_opening_atoms(mark) for mark in sorted(marks)])

    @cached_property
    def _signs(self) -> tuple[dict[str, Sign], re.Pattern[str]]:
        opens: dict[str, list[Compiled]] = {}
        for call_format in self._formats:
            compiled = self._compile(call_format)
            for mark in call_format.open:
                opens.setdefault(mark.lower(), []).append(compiled)
        # The end of a fence is the end of code, whoever opened it.
        closes = sorted(mark for mark in self._closes - opens.keys() if not mark.startswith("\n"))
        signs = [Sign(mark, tuple(formats)) for mark, formats in sorted(opens.items())]
        atoms = [_opening_atoms(sign.mark) for sign in signs] + [_closing_atoms(mark) for mark in closes]
        signs += [Sign(mark, closes=True) for mark in closes] + [Sign(mark) for mark in (*_JSON, _CODE)]
        pattern = compile_marks([*atoms, *_JSON.values(), [_CODE]])
        return {f"m{number}": sign for number, sign in enumerate(signs)}, pattern

    def _compile(self, call_format: ToolCallFormat) -> Compiled:
        value_end = ""
        if call_format.argument:
            # Groups may not be named twice, and here nobody asks for them.
            following = re.sub(r"\(\?P<\w+>", "(?:", call_format.argument)
            value_end = rf"{_either([call_format.argument_close])}(?=\s*+(?:{following}|{self._any_close}))"
        return Compiled(
            call_format,
            _pattern(call_format.head),
            _pattern(call_format.argument),
            _pattern(value_end),
            re.compile(_either(call_format.close)),
        )


def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE) if source else _NEVER


def _opening_atoms(mark: str) -> list[str]:
    """Angle brackets may carry attributes, and a line break stands for a line's start."""
    if mark.startswith("\n"):
        return [r"\n", _LINE_START, *literal(mark[1:])]
    if mark.startswith("<") and mark.endswith(">"):
        return [*literal(mark[:-1]), ATTRIBUTES, ">"]
    return literal(mark)


def _closing_atoms(mark: str) -> list[str]:
    if mark.startswith("</") and mark.endswith(">"):
        return ["<", "/", r"\s{0,8}", *literal(mark[2:-1]), r"\s{0,8}", ">"]
    return literal(mark)


def _either(marks: Iterable[str]) -> str:
    """Any of some closing marks, the longest first; those that stand on lines of their own without the line break."""
    parts = [
        "".join(_closing_atoms(mark.lstrip("\n"))) for mark in sorted(set(marks), key=lambda mark: (-len(mark), mark))
    ]
    return f"(?i:{'|'.join(parts)})" if parts else "(?!)"


def format_problem(call_format: ToolCallFormat) -> str | None:
    """What is wrong with a format; ``None`` when nothing is."""
    if not all((*call_format.open, *call_format.close)):
        return "a mark is empty"
    for field, group in (("head", "name"), ("argument", "key")):
        source = getattr(call_format, field)
        try:
            groups = _pattern(source).groupindex
        except re.error as error:
            return f"{field} is no regular expression: {error}"
        if source and group not in groups and call_format.kind is not ToolCallFormatKind.INTRODUCTION:
            return f"{field} has no group {group!r}"
    if bool(call_format.argument) != bool(call_format.argument_close):
        return "argument and argument_close belong together"
    if call_format.kind is ToolCallFormatKind.INTRODUCTION:
        return None if call_format.head else "an introduction needs a head"
    return None if call_format.open or call_format.protocol else "there is nothing to know it by: no mark, no protocol"
