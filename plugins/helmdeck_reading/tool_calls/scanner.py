"""Compiles tool-call formats into one scanner for all tokens that the walker handles."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import attrs

from helmdeck_core import ToolCallFormat, ToolCallFormatKind
from helmdeck_reading.mark_patterns import compile_marks, mark_atoms, mark_of_group

_LINE_START = r"[ \t*]{0,8}"
"""What may precede a mark at the start of a line: indentation and emphasis."""

_LONGEST_LINE_MARK = 64

_CODE = "`"
_JSON = {"{": [r"\{", r"""(?=\s*+["'}])"""], "[": [r"\[", r'(?=\s*+[\[{"])']}
"""The start of relevant JSON: an object with a key, or a list of objects."""

_NEVER = re.compile(r"(?!)")


@attrs.frozen(eq=False)
class CompiledFormat:
    """A format with its compiled patterns.

    :ivar value_end: the closing mark of an argument, followed by the next argument or a closing mark.
    """

    data: ToolCallFormat
    head: re.Pattern[str]
    argument: re.Pattern[str]
    value_end: re.Pattern[str]
    close: re.Pattern[str]

    def close_of(self, mark: str) -> str:
        """The closing mark of an opening mark, in lower case; empty if any closing mark is valid."""
        opens, closes = self.data.open, self.data.close
        if len(opens) != len(closes):
            return ""
        return next(close for open_, close in zip(opens, closes, strict=True) if open_.lower() == mark).strip().lower()


@attrs.frozen(eq=False)
class Token:
    """A mark, JSON bracket or backtick in the text.

    :ivar mark: the mark as defined in the formats; a bracket for JSON, a backtick for code.
    :ivar opens: the formats that the mark opens, in order.
    :ivar closes: it is a closing mark.
    """

    mark: str
    opens: tuple[CompiledFormat, ...] = ()
    closes: bool = False


class Scanner:
    """The marks of the formats that apply to a model; compiled lazily."""

    def __init__(self, formats: Sequence[ToolCallFormat]) -> None:
        self._formats = sorted(formats, key=lambda call_format: (call_format.order, call_format.name))
        self._calls = [
            each for each in self._formats if each.kind in (ToolCallFormatKind.CALL, ToolCallFormatKind.GROUP)
        ]
        self._closes = {mark.lower() for call_format in self._calls for mark in call_format.close}
        self._any_close = _either(mark for mark in self._closes if not mark.startswith("\n"))
        words = {word for call_format in self._calls for word in call_format.protocol}
        self._words = [f"{quote}{word}{quote}" for word in sorted(words) for quote in ('"', "'")]
        self.protocols: tuple[ToolCallFormat, ...] = tuple(each for each in self._calls if each.protocol)
        self.leftovers: tuple[ToolCallFormat, ...] = tuple(
            each for each in self._formats if each.kind is ToolCallFormatKind.LEFTOVER
        )

    def finds(self, text: str) -> bool:
        """Whether the text may contain calls. One search, which rules out almost every response."""
        return (
            self._opening.search(text) is not None
            or self._opening.match("\n" + text[:_LONGEST_LINE_MARK]) is not None
            or self.has_protocol(text)
        )

    def has_protocol(self, text: str) -> bool:
        """Whether a text has a word by which JSON declares itself as calls."""
        return any(word in text for word in self._words)

    def search(self, text: str, start: int, end: int) -> tuple[Token, int, int] | None:
        """The first token at or after ``start``, with its start and end."""
        tokens, pattern = self._tokens
        match = pattern.search(text, start, end)
        return (tokens[match.lastindex], *match.span()) if match else None

    def match(self, text: str, start: int, end: int) -> Token | None:
        """The token at exactly ``start``."""
        tokens, pattern = self._tokens
        match = pattern.match(text, start, end)
        return tokens[match.lastindex] if match else None

    @cached_property
    def any_close(self) -> re.Pattern[str]:
        """A closing mark of any call format, except start-of-line marks, which are specific to their format."""
        return re.compile(self._any_close)

    @cached_property
    def introductions(self) -> tuple[re.Pattern[str], ...]:
        """Patterns for the line before an example."""
        return tuple(_pattern(each.head) for each in self._formats if each.kind is ToolCallFormatKind.INTRODUCTION)

    @cached_property
    def _opening(self) -> re.Pattern[str]:
        marks = {mark.lower() for call_format in self._formats for mark in call_format.open}
        return compile_marks([_opening_atoms(mark) for mark in sorted(marks)])

    @cached_property
    def _tokens(self) -> tuple[Mapping[int | None, Token], re.Pattern[str]]:
        opens: dict[str, list[CompiledFormat]] = {}
        for call_format in self._formats:
            compiled = self._compile(call_format)
            for mark in call_format.open:
                opens.setdefault(mark.lower(), []).append(compiled)
        # A closing fence ends any code block.
        closes = sorted(mark for mark in self._closes - opens.keys() if not mark.startswith("\n"))
        tokens = [Token(mark, tuple(formats)) for mark, formats in sorted(opens.items())]
        atoms = [_opening_atoms(token.mark) for token in tokens] + [_closing_atoms(mark) for mark in closes]
        tokens += [Token(mark, closes=True) for mark in closes] + [Token(mark) for mark in (*_JSON, _CODE)]
        pattern = compile_marks([*atoms, *_JSON.values(), [_CODE]])
        return {index: tokens[number] for index, number in mark_of_group(pattern).items()}, pattern

    def _compile(self, call_format: ToolCallFormat) -> CompiledFormat:
        value_end = ""
        if call_format.argument:
            # Group names must be unique, and these groups are not used.
            following = re.sub(r"\(\?P<\w+>", "(?:", call_format.argument)
            value_end = rf"{_either([call_format.argument_close])}(?=\s*+(?:{following}|{self._any_close}))"
        return CompiledFormat(
            call_format,
            _pattern(call_format.head),
            _pattern(call_format.argument),
            _pattern(value_end),
            re.compile(_either(call_format.close)),
        )


def _pattern(source: str) -> re.Pattern[str]:
    return re.compile(source, re.IGNORECASE) if source else _NEVER


def _opening_atoms(mark: str) -> list[str]:
    """A mark in angle brackets may have attributes; a leading line break means the start of a line."""
    if mark.startswith("\n"):
        return [r"\n", _LINE_START, *mark_atoms(mark[1:])]
    return mark_atoms(mark, has_attributes=mark.startswith("<"))


def _closing_atoms(mark: str) -> list[str]:
    if mark.startswith("</") and mark.endswith(">"):
        return ["<", "/", r"\s{0,8}", *mark_atoms(mark[2:-1]), r"\s{0,8}", ">"]
    return mark_atoms(mark)


def _either(marks: Iterable[str]) -> str:
    """Any of the closing marks, the longest first, without leading line breaks."""
    parts = [
        "".join(_closing_atoms(mark.lstrip("\n"))) for mark in sorted(set(marks), key=lambda mark: (-len(mark), mark))
    ]
    return f"(?i:{'|'.join(parts)})" if parts else "(?!)"
