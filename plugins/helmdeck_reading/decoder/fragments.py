"""Finds JSON fragments in a response, outside reasoning.

Reasoning marks inside strings of a complete value do not count, so one scan looks for both. A brace that cannot open
JSON is prose. Invalid JSON is skipped whole: an object inside it is not the answer.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import Generic, TypeVar

import attrs
import msgspec

from helmdeck_reading.decoder.control_tokens import ControlBlocks, TokenBlock
from helmdeck_reading.decoder.json_bounds import (
    ANY_SHAPE,
    INVISIBLE,
    OBJECT_SHAPE,
    STRING,
    Tokens,
    ascii_brackets,
    has_line_comment,
    is_commented_out,
)
from helmdeck_reading.reasoning_marks import ReasoningMark, ReasoningMarks

_MAX_FRAGMENTS = 500
"""Maximum fragments examined when one object is expected; a response contains a handful."""

_MAX_ITEMS = 1_000
"""The same when a list is expected, whose brackets may be missing."""

_MAX_INVALID = 200
"""Maximum invalid fragments; each costs several searches."""

_CONTINUES = re.compile(r'\s*,\s*"[^"\\{}]*"\s*:|"[^"\n]*"\s*[,}\]]')
"""Text after a value that was closed too early: the next key, or the rest of a string."""

_INVALID_CONTINUES = re.compile(r"""\s*(?:,\s*(?:["'“\[{]|[\w$-]+\s*:)|[\]}:])""")
"""The same after an invalid value, whose inner objects must not become the answer."""

_MEMBER_END = re.compile(r"""\s*+(?:,\s*+(?:["'}\]]|[\w$-]++\s*+:)|[}\]])""")
"""What follows a member of a larger value: its end or the next key. After a label such as ``Answer:``, none of them does."""

_CLOSES = re.compile(r"\s*+\}")
_KEY_FIRST = re.compile(r'(?:\s|`{3,}+[\w+#-]*+)*+"[^"\n]*+"\s*+:')
"""What shows that a value after a key is a member of an object without its opening brace, as after a brace in the prompt."""

_TRAILING = re.compile(r"JSON is malformed: trailing characters \(byte (\d+)\)")

_NON_SPACE = re.compile(r"\S")

_QUOTES = ('"', "'", "”")

_LOOK_BEHIND = 100  # characters; more whitespace than this does not occur inside a value

_JSON_FENCES = frozenset(("", "json", "jsonc", "json5", "jsonl", "javascript", "js"))

_MAX_UNBALANCED = 6
"""Maximum unclosed brackets examined; each costs a scan of the remaining text."""

_MAX_RESCANS = 12
"""Limit, in multiples of the text length, for rescans after reasoning that ended inside an invalid value."""

_BARE_KEY = re.compile(r"\{(?:\s|\\[nrt])*+[A-Za-z_$]")

_AROUND = re.compile(rf"(?:[\s;{INVISIBLE}]|`{{2,}}+[ ]*+[\w+#-]*+|</?[\w:.-]++>|<\|[\w/]++\|>)*+")
"""What may stand around the only value of a text: fences, elements, control tokens."""

_SET_APART = re.compile(r"(?:\n[ \t\r]*+\n|\n`{3,}+[ ]*+[\w+#-]*+[ \t\r]*+\n|:[ \t\r]*+\n)[ \t]*+\Z")
_LINE_END = re.compile(r"[ \t\r;]*+(?:\n|\Z)")
"""An object on lines of its own, after a blank line, a fence or a colon."""

_raw = msgspec.json.Decoder(msgspec.Raw)


class Kind(enum.Enum):
    """The type of a fragment, by its first character."""

    OBJECT = "object"
    LIST = "list"
    TEXT = "text"


_KINDS = {kind.value: kind for kind in Kind}


def _is_data(language: str | None) -> bool:
    """Whether a fence with this language may contain JSON, as text outside of fences may."""
    return language is None or language in _JSON_FENCES


@attrs.define(eq=False)
class Fragment:
    """A balanced part of the response.

    :ivar is_valid: it is JSON; otherwise only a decode step can repair it.
    :ivar language: language of the enclosing fence; ``None`` outside fences.
    :ivar is_prose: an object whose first key is a bare word, as in a style sheet; it is not repaired.
    """

    kind: Kind
    start: int
    end: int
    text: str
    is_valid: bool
    language: str | None = None
    is_prose: bool = False

    @property
    def is_foreign(self) -> bool:
        """Whether the enclosing fence declares a language other than JSON."""
        return not _is_data(self.language)


@attrs.define
class ScanResult:
    """Result of a scan.

    :ivar is_truncated: the text ends inside a value.
    :ivar is_unreliable: an invalid value makes the following text unusable.
    :ivar removed: the spans of marks and blocks of reasoning in the visible text, in order.
    :ivar visible_from: the end of the last closing mark without an opening mark.
    :ivar has_skipped_marks: marks alone divide the text otherwise, because of unknown control tokens or of a draft in reasoning.
    :ivar unclosed: an opening mark without a closing mark; the text after it was not scanned.
    :ivar ends_in_close: the text is one value, followed by a closing mark without an opening mark.
    """

    fragments: list[Fragment] = attrs.field(factory=list)
    reasoning: list[str] = attrs.field(factory=list)
    removed: list[tuple[int, int]] = attrs.field(factory=list)
    visible_from: int = 0
    has_skipped_marks: bool = False
    is_truncated: bool = False
    is_unreliable: bool = False
    is_too_deep: bool = False
    unclosed: ReasoningMark | None = None
    ends_in_close: bool = False

    @property
    def has_stopped(self) -> bool:
        """Whether the scan stopped before the end of the text."""
        return self.is_truncated or self.is_unreliable or self.is_too_deep or self.unclosed is not None


def find_fragments(text: str, marks: ReasoningMarks, start: int = 0, *, wants_list: bool = False) -> ScanResult:
    """Scan the text from left to right, in linear time.

    :raises RecursionError: the nesting is deeper than a decoder supports.
    """
    return _FragmentScan(text, marks, start, wants_list=wants_list).run()


def commented_value(text: str, marks: ReasoningMarks) -> Fragment | None:
    """The value of a text whose every line is a comment, with its comment marks; ``None`` for any other text."""
    if not has_line_comment(text):
        return None
    start = 0
    while block := marks.leading_block(text, start):
        start = block[2]
    content = text[start:]
    if not is_commented_out(content):
        return None
    opening = min(at for bracket in "{[" if (at := content.find(bracket)) >= 0)
    kind = Kind.OBJECT if content[opening] == "{" else Kind.LIST
    return Fragment(kind, start, len(text), content, is_valid=False)


def is_truncation_error(error: Exception) -> bool:
    """Whether the text is a valid prefix of JSON; the only evidence of truncation that needs no stop reason."""
    return str(error) == "Input data was truncated"


def end_of_value(error: Exception, text: str) -> int | None:
    """The end of a value that is followed by more text; ``None`` for any other error.

    The decoder counts UTF-8 bytes, so this works for ASCII only.
    """
    trailing = _TRAILING.match(str(error))
    return int(trailing[1]) - 1 if trailing and text.isascii() else None


def ends_in_key(text: str) -> bool:
    """Whether a text ends in a quote and a colon, as before the value of a key."""
    before = text.rstrip()
    return before.endswith(":") and before[:-1].rstrip().endswith(_QUOTES)


_MatchT = TypeVar("_MatchT")


class _NextMatch(Generic[_MatchT]):
    """Caches the next match of a search until the scan has passed it, so rare matches are not searched again."""

    def __init__(
        self, search: Callable[[int], _MatchT | None], start_of: Callable[[_MatchT], int], position: int
    ) -> None:
        self._search = search
        self._start_of = start_of
        self._match = search(position)

    def at(self, position: int) -> _MatchT | None:
        if self._match is not None and self._start_of(self._match) < position:
            self._match = self._search(position)
        return self._match


class _FragmentScan:
    def __init__(self, text: str, marks: ReasoningMarks, start: int, *, wants_list: bool) -> None:
        self._shapes = ANY_SHAPE if wants_list else OBJECT_SHAPE
        self._fragments_left = _MAX_ITEMS if wants_list else _MAX_FRAGMENTS
        self._invalid_left = _MAX_INVALID
        self._original = text
        self._text = text = ascii_brackets(text)
        self._marks = marks
        self._blocks = ControlBlocks(text)
        self._result = ScanResult()
        self._start = start
        self._result.visible_from = start
        self._language: str | None = None
        self._has_block = False
        self._block_end = start
        self._after_invalid = False
        self._tokens = Tokens(text)
        self._unbalanced_left = _MAX_UNBALANCED
        self._rescan_chars_left = _MAX_RESCANS * len(text)

    def run(self) -> ScanResult:
        position = self._start
        next_mark = _NextMatch[ReasoningMark](
            lambda at: self._marks.search(self._text, at), lambda mark: mark.start, position
        )
        next_shape = _NextMatch[re.Match[str]](
            lambda at: self._shapes.search(self._text, at), lambda shape: shape.start(), position
        )
        next_block = _NextMatch[TokenBlock](self._blocks.search, lambda block: block.start, position)
        result, text_end = self._result, len(self._text)
        while not result.has_stopped:
            mark, shape, block = next_mark.at(position), next_shape.at(position), next_block.at(position)
            limit = shape.start() if shape else text_end
            if mark and mark.start <= limit and not (block and block.start < mark.start):
                position = self._pass_mark(mark)
            elif block and block.start <= limit:
                position = self._pass_block(block)
            elif shape:
                position = self._pass_shape(shape)
            else:
                break
        return self._result

    # -- marks ---------------------------------------------------------------------------------------------

    def _pass_mark(self, mark: ReasoningMark) -> int:
        if mark.closer is None:
            self._pass_lone_close(mark)
            return mark.end
        if mark.is_empty:
            self._result.removed.append((mark.start, mark.end))
            return mark.end
        self._has_block = True
        close = mark.closer.search(self._text, mark.end)
        if close is None:
            self._result.unclosed = mark
            return mark.end
        self._result.removed.append((mark.start, close.end()))
        return self._pass_reasoning(mark.end, *close.span())

    def _pass_block(self, block: TokenBlock) -> int:
        self._has_block = self._result.has_skipped_marks = True
        close = self._text.find(block.close, block.end)
        if close < 0:
            self._result.unclosed = ReasoningMark("", block.start, block.end, None)
            return block.end
        return self._pass_reasoning(block.end, close, close + len(block.close))

    def _pass_reasoning(self, start: int, end: int, block_end: int) -> int:
        self._result.reasoning.append(self._text[start:end])
        self._block_end = block_end
        return block_end

    def _pass_lone_close(self, mark: ReasoningMark) -> None:
        """Text before a closing mark without an opening mark is reasoning, unless it is a bare value that ends the text."""
        if not _NON_SPACE.search(self._text, mark.end) and self._is_bare_value(mark.start):
            self._result.ends_in_close = True
            return
        self._result.reasoning.append(self._text[self._result.visible_from : mark.start])
        self._result.fragments.clear()
        self._result.removed.clear()
        self._result.visible_from = mark.end
        self._language = None

    def _is_bare_value(self, end: int) -> bool:
        fragments = self._result.fragments
        if len(fragments) != 1 or self._has_block:
            return False
        around = self._text[self._start : fragments[0].start] + self._text[fragments[0].end : end]
        return not around.strip()

    # -- shapes --------------------------------------------------------------------------------------------

    def _pass_shape(self, shape: re.Match[str]) -> int:
        if shape.lastgroup == "fence":
            self._pass_fence(shape.group("fence").lower())
            return shape.end()
        kind, start = _KINDS[shape.lastgroup or ""], shape.start()
        end = self._end_of(kind, start)
        return self._pass_unbalanced(kind, start) if end is None else self._pass_fragment(kind, start, end)

    def _pass_fence(self, language: str) -> None:
        closes = self._language is not None and not language
        self._language = None if closes else language

    def _end_of(self, kind: Kind, start: int) -> int | None:
        if kind is Kind.TEXT:
            string = STRING.match(self._text, start)
            return string.end() if string else None
        return self._tokens.balanced_end(start)

    def _pass_fragment(self, kind: Kind, start: int, end: int) -> int:
        text = self._original[start:end]
        is_valid = self._is_json(text)
        if not is_valid and (close := self._reasoning_close(start, end)):
            self._rescan_chars_left -= end - close
            if self._rescan_chars_left < 0:
                self._abort(close)
            return close
        if self._after_invalid and kind is not Kind.TEXT and self._is_inside_larger_value(start, end):
            self._result.is_unreliable = True
            return end
        self._after_invalid = not is_valid
        self._fragments_left -= 1
        self._invalid_left -= not is_valid
        if min(self._fragments_left, self._invalid_left) < 0:
            self._abort(end)
            return end
        if not is_valid and self._is_prose(kind, start, end):
            self._result.fragments.append(Fragment(kind, start, end, text, is_valid, self._language, is_prose=True))
            return end
        if (_CONTINUES if is_valid else _INVALID_CONTINUES).match(self._text, end) or self._is_member(start, end):
            self._result.is_unreliable = True
            return end
        self._result.fragments.append(Fragment(kind, start, end, text, is_valid, self._language))
        return end

    def _reasoning_close(self, start: int, end: int) -> int | None:
        """The closing mark that shows that the invalid value at ``start`` is a draft in reasoning."""
        close = self._marks.any_close.search(self._text, start, end)
        if close is None or self._tokens.is_in_string(start, close.start()):
            return None
        self._after_invalid = True
        mark = self._marks.search(self._text, start)
        if mark is None or mark.start < close.start():
            self._result.has_skipped_marks = True
        return close.start()

    def _abort(self, start: int) -> None:
        """Stop the scan; discard the fragments if a later closing mark may turn them into reasoning."""
        self._result.is_unreliable = True
        if self._marks.any_close.search(self._text, start):
            self._result.fragments.clear()

    def _is_inside_larger_value(self, start: int, end: int) -> bool:
        """Whether a value after an invalid one looks like a part of it."""
        before = self._text[max(self._result.visible_from, start - _LOOK_BEHIND) : start].rstrip()
        if before.endswith((",", "[")) or ends_in_key(before):
            return True
        return before.endswith(":") and bool(_MEMBER_END.match(self._text, end))

    def _is_member(self, start: int, end: int) -> bool:
        """Whether a value is a member of an object whose opening brace is missing."""
        first = max(self._result.visible_from, self._block_end)
        if not ends_in_key(self._text[max(first, start - _LOOK_BEHIND) : start]):
            return False
        return bool(_CLOSES.match(self._text, end) or _KEY_FIRST.match(self._text, first))

    def _is_prose(self, kind: Kind, start: int, end: int) -> bool:
        """Whether an object with bare keys is part of other text, as in a style sheet, and not set apart from it."""
        if kind is not Kind.OBJECT or not _BARE_KEY.match(self._text, start):
            return False
        first = max(self._result.visible_from, self._block_end)
        is_apart = _AROUND.fullmatch(self._text, first, start) or _SET_APART.search(
            self._text, max(first, start - _LOOK_BEHIND), start
        )
        is_apart = is_apart and (_AROUND.fullmatch(self._text, end) or _LINE_END.match(self._text, end))
        return not is_apart or not _is_data(self._language)

    def _is_json(self, text: str) -> bool:
        try:
            _raw.decode(text)
        except RecursionError:
            self._result.is_too_deep = True
            return False
        except ValueError:  # msgspec.DecodeError, and UnicodeEncodeError for lone surrogates
            return False
        return True

    def _pass_unbalanced(self, kind: Kind, start: int) -> int:
        """An unclosed bracket is a truncated value, unless reasoning ends after it."""
        self._unbalanced_left -= 1
        if self._unbalanced_left < 0:
            self._abort(start)
            return start + 1
        if self._is_truncated_at(start):
            self._stop_truncated(start)
        elif close := self._reasoning_close(start, len(self._text)):
            return close
        elif end := self._tokens.loose_end(start):
            return self._pass_fragment(kind, start, end)
        elif kind is not Kind.LIST or self._text[start + 1 :].lstrip()[:1] in '{["':
            self._stop_truncated(start)
        return start + 1

    def _is_truncated_at(self, start: int) -> bool:
        try:
            _raw.decode(self._text[start:])
        except RecursionError:
            self._result.is_too_deep = True
        except UnicodeError:
            return False
        except msgspec.DecodeError as error:
            return is_truncation_error(error)
        return False

    def _stop_truncated(self, start: int) -> None:
        """The text ends inside a value; values that only commas separate from it are part of it."""
        self._result.is_truncated = True
        fragments = self._result.fragments
        if fragments and not self._text[fragments[-1].end : start].strip(" \t\r\n,"):
            fragments.clear()
