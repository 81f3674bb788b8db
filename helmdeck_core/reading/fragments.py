"""Finds what looks like JSON in an answer, outside of reasoning.

Marks count only where they are not inside the strings of a complete value, so one walk over the text looks for both. A
brace that cannot open JSON is prose. What opens JSON and is broken is skipped whole: an object inside it is no answer.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import attrs
import msgspec

from helmdeck_core.reading.reasoning_marks import Mark, Marks

_SHAPES = r"""
    [{\["`] (?:                  # a set in front, because that is what the engine can skip to
      (?<=\{) (?P<object> (?= (?: \s | \\[nrt] )*+ (?: ["'}“>] | \\" | /[/*] | [A-Za-z_$] [\w$-]*+ \s* : | \Z ) ) )
    | (?<=\[) (?P<list>   (?= {flat} \s* (?: [\[{"'\]\d-] | true | false | null ) ) )
    | (?<=")  (?P<text>   (?= (?: \s | \\[nrt] )*+ \{ (?: \s | \\[nrt] )*+ (?: \\" | \} ) ) )
    | (?<=`)  `{2,}+ [ ]*+ (?P<fence> [\w+#-]*+ )
    )
"""
"""What may open JSON, by the first character behind the bracket; ``{x}``, ``{1, 2}`` and ``{{ x }}`` do not.

A ``text`` is JSON in a string; it has to be known for one before the braces inside it are looked at.
"""

_ANY_SHAPE = re.compile(_SHAPES.replace("{flat}", ""), re.VERBOSE)
_OBJECT_SHAPE = re.compile(_SHAPES.replace("{flat}", r"(?! [\d\s,.]++ \] )"), re.VERBOSE)
"""The same where an object is asked for: ``[1]`` is a reference then, and texts have hundreds of them."""

_MAX_DEPTH = 1_000
"""More than any decoder here goes down."""

_MAX_FRAGMENTS = 500
"""How many pieces of JSON are looked at where one object is asked for; an answer has a handful."""

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)

_TOKENS = re.compile(
    r"""
    " (?: [^"\\]++ | \\. )*+ "                              # a string
  | ' (?<= [\[{,:(\s] ') (?: [^'\\\n]++ | \\. )*+ '         # a string in Python's manner, not an apostrophe
  | \\" (?<! \\\\" ) (?: [^"\\]++ | \\\\ (?: \\. | [^\\] ) )*+ \\"  # a string inside a string that lost its quotes
  | // [^\n]*+
  | /\* (?: [^*]++ | \* (?!/) )*+ \*/
  | [{}\[\]]
  | “                                                     # with _CURLY, a string in curly quotes, if it is ever closed
  | " | ' (?<= [\[{,:] ') | ' (?<= [\[{,:] \s ') | /\*       # begun and never ended
    """,
    re.VERBOSE | re.DOTALL,
)

_STRAY_QUOTE = re.compile(r"""(?<=[^\s\[{,:\\])"(?=[ ]*+[^\s:,}\]])""")
"""A quote that neither begins a string nor ends one, so that it can only stand within one."""

_LOOSE = re.compile(
    r"""
    " (?: [^"\\]++ | \\. | " (?! \s*+ (?: [:,}\]] | \Z ) ) )*+ " | [{}\[\]] | "
    """,
    re.VERBOSE | re.DOTALL,
)
"""Tokens where a string ends at a quote that the syntax can go on behind."""

_CURLY = re.compile(r"“[^”]*+”")

_CONTINUED = re.compile(r'\s*,\s*"[^"\\{}]*"\s*:|"[^"\n]*"\s*[,}\]]')
"""How text goes on when the value before it was closed too early: with the next key, or with the rest of a string."""

_CONTINUED_BROKEN = re.compile(r"""\s*(?:,\s*["'“\[{]|[\]}:])""")
"""The same behind a value that is broken itself, of which no inner object may be taken for the answer."""

_NEVER_ENDED = frozenset(('"', "'", "/*"))

_TRAILING = re.compile(r"JSON is malformed: trailing characters \(byte (\d+)\)")

_INK = re.compile(r"\S")

_QUOTES = ('"', "'", "”")

_LOOK_BEHIND = 100  # characters; more blanks than that are not within a value

_JSON_FENCES = frozenset(("", "json", "jsonc", "json5", "jsonl", "javascript", "js"))

_MAX_UNBALANCED = 12
"""How many brackets without an end are looked at; each costs a look at the whole rest of the text."""

_MAX_AGAIN = 12
"""How often, in lengths of the text, characters are looked at again behind a thought that ended within a broken value."""

_raw = msgspec.json.Decoder(msgspec.Raw)


class Kind(enum.Enum):
    """What a fragment is by its first character."""

    OBJECT = "object"
    LIST = "list"
    TEXT = "text"


_KINDS = {kind.value: kind for kind in Kind}


@attrs.define(eq=False)
class Fragment:
    """A balanced piece of the answer.

    :ivar is_valid: it is JSON; otherwise it is broken and only a decode step can make something of it.
    :ivar language: of the fence it stands in; ``None`` outside of fences.
    """

    kind: Kind
    start: int
    end: int
    text: str
    is_valid: bool
    language: str | None = None

    @property
    def is_foreign(self) -> bool:
        """It stands in a fence that is for another language than JSON."""
        return self.language is not None and self.language not in _JSON_FENCES


@attrs.define
class Found:
    """What a walk found.

    :ivar is_cut: the text ends inside a value.
    :ivar is_confused: a value is so broken that nothing behind it can be trusted.
    :ivar unclosed: an opening mark that is never closed; nothing behind it was looked at.
    :ivar ends_in_close: a mark that closes alone stands at the very end, behind the only value.
    """

    fragments: list[Fragment] = attrs.field(factory=list)
    reasoning: list[str] = attrs.field(factory=list)
    is_cut: bool = False
    is_confused: bool = False
    is_too_deep: bool = False
    unclosed: Mark | None = None
    ends_in_close: bool = False

    @property
    def has_stopped(self) -> bool:
        """The walk did not reach the end of the text."""
        return self.is_cut or self.is_confused or self.is_too_deep or self.unclosed is not None


def find_fragments(text: str, marks: Marks, start: int = 0, *, wants_list: bool = False) -> Found:
    """Walk over the text from left to right, in time linear in its length.

    :raises RecursionError: it is nested deeper than a decoder goes down.
    """
    return _FragmentScan(text, marks, start, wants_list=wants_list).run()


class _Tokens:
    """The tokens of a text from any position on; a curly quote that nothing closes costs no look for its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._last_close = text.rfind("”")

    def behind(self, start: int) -> Iterator[re.Match[str]]:
        return _TOKENS.finditer(self._text, start) if self._last_close < start else self._with_curly(start)

    def _with_curly(self, start: int) -> Iterator[re.Match[str]]:
        while True:
            for token in _TOKENS.finditer(self._text, start):
                curly = _CURLY.match(self._text, token.start()) if token.start() < self._last_close else None
                yield curly or token
                if curly:
                    start = curly.end()
                    break
            else:
                return

    def balanced_end(self, start: int) -> int | None:
        """Where the bracket at ``start`` is closed, strings and comments apart; ``None`` when it never is."""
        depth = 0
        for token in self.behind(start):
            word = token.group()
            if word in "{[":
                depth += 1
                if depth > _MAX_DEPTH:
                    raise RecursionError
            elif word in "}]":
                depth -= 1
                if depth == 0:
                    return token.end()
            elif word in _NEVER_ENDED:
                return None
        return None

    def loose_end(self, start: int) -> int | None:
        """Where the bracket at ``start`` is closed when stray quotes are taken for content; ``None`` without any."""
        stray = _STRAY_QUOTE.search(self._text, start)
        if stray is None:
            return None
        depth = 0
        for token in _LOOSE.finditer(self._text, start):
            word = token.group()
            if word in "{[":
                depth += 1
            elif word in "}]":
                depth -= 1
                if depth == 0:
                    return token.end() if stray.start() < token.end() else None
            elif word == '"':
                return None
        return None

    def is_in_string(self, start: int, position: int) -> bool:
        """Whether a position inside the broken value at ``start`` is within one of its strings.

        In a value a string is followed by a comma, a colon or a closing bracket. A quote that a draft left open pairs up
        with the first quote of the answer behind it, and that is followed by a word.
        """
        for token in self.behind(start):
            if token.group() in _NEVER_ENDED and token.start() < position:
                return True
            if token.end() > position:
                behind = _INK.search(self._text, token.end())
                return token.start() < position and (behind is None or behind.group() in ",:}]")
        return False


def is_truncated(error: Exception) -> bool:
    """Whether the text was right as far as it went; the one sign of a cut that does not depend on a stop reason."""
    return str(error) == "Input data was truncated"


def end_of_value(error: Exception, text: str) -> int | None:
    """Where the value ends behind which a decoder found more text; ``None`` for any other error.

    The decoder counts in UTF-8 bytes, so this serves for ASCII alone.
    """
    trailing = _TRAILING.match(str(error))
    return int(trailing[1]) - 1 if trailing and text.isascii() else None


def is_json(text: str) -> bool:
    """Whether the text is one JSON value."""
    try:
        _raw.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


_HitT = TypeVar("_HitT")


class _Ahead(Generic[_HitT]):
    """The next hit of a search, kept until the walk has passed it; without that, rare hits cost a scan each time."""

    def __init__(self, search: Callable[[int], _HitT | None], start_of: Callable[[_HitT], int], position: int) -> None:
        self._search = search
        self._start_of = start_of
        self._hit = search(position)

    def at(self, position: int) -> _HitT | None:
        if self._hit is not None and self._start_of(self._hit) < position:
            self._hit = self._search(position)
        return self._hit


class _FragmentScan:
    def __init__(self, text: str, marks: Marks, start: int, *, wants_list: bool) -> None:
        self._shapes = _ANY_SHAPE if wants_list else _OBJECT_SHAPE
        self._fragments_left = len(text) if wants_list else _MAX_FRAGMENTS
        self._text = text
        self._marks = marks
        self._found = Found()
        self._start = start
        self._visible_from = start
        self._language: str | None = None
        self._has_block = False
        self._after_broken = False
        self._tokens = _Tokens(text)
        self._unbalanced_left = _MAX_UNBALANCED
        self._again_left = _MAX_AGAIN * len(text)

    def run(self) -> Found:
        position = self._start
        next_mark = _Ahead[Mark](lambda at: self._marks.search(self._text, at), lambda mark: mark.start, position)
        next_shape = _Ahead[re.Match[str]](
            lambda at: self._shapes.search(self._text, at), lambda shape: shape.start(), position
        )
        while not self._found.has_stopped:
            mark, shape = next_mark.at(position), next_shape.at(position)
            if mark and (shape is None or mark.start <= shape.start()):
                position = self._pass_mark(mark)
            elif shape:
                position = self._pass_shape(shape)
            else:
                break
        return self._found

    # -- marks ---------------------------------------------------------------------------------------------

    def _pass_mark(self, mark: Mark) -> int:
        if mark.closer is None:
            self._close_alone(mark)
            return mark.end
        if mark.is_empty:
            return mark.end
        self._has_block = True
        close = mark.closer.search(self._text, mark.end)
        if close is None:
            self._found.unclosed = mark
            return mark.end
        self._found.reasoning.append(self._text[mark.end : close.start()])
        return close.end()

    def _close_alone(self, mark: Mark) -> None:
        """What stands before a mark that closes alone was thought, unless it is a bare value that ends the text."""
        if not _INK.search(self._text, mark.end) and self._is_bare_value(mark.start):
            self._found.ends_in_close = True
            return
        self._found.reasoning.append(self._text[self._visible_from : mark.start])
        self._found.fragments.clear()
        self._visible_from = mark.end
        self._language = None

    def _is_bare_value(self, end: int) -> bool:
        fragments = self._found.fragments
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
            string = _STRING.match(self._text, start)
            return string.end() if string else None
        return self._tokens.balanced_end(start)

    def _pass_fragment(self, kind: Kind, start: int, end: int) -> int:
        text = self._text[start:end]
        is_valid = self._is_json(text)
        if not is_valid and (close := self._close_of_thought(start, end)):
            self._again_left -= end - close
            if self._again_left < 0:
                self._give_up(close)
            return close
        if self._after_broken and kind is not Kind.TEXT and self._continues(start):
            self._found.is_confused = True
            return end
        self._after_broken = not is_valid
        self._fragments_left -= 1
        if self._fragments_left < 0:
            self._give_up(end)
            return end
        if (_CONTINUED if is_valid else _CONTINUED_BROKEN).match(self._text, end):
            self._found.is_confused = True
            return end
        self._found.fragments.append(Fragment(kind, start, end, text, is_valid, self._language))
        return end

    def _close_of_thought(self, start: int, end: int) -> int | None:
        """Where a mark ends the thought that the broken value at ``start`` was only drafted in."""
        close = self._marks.any_close.search(self._text, start, end)
        if close is None or self._tokens.is_in_string(start, close.start()):
            return None
        self._after_broken = True
        return close.start()

    def _give_up(self, start: int) -> None:
        """Stop; what was found is no answer when a mark behind may say that it was thought."""
        self._found.is_confused = True
        if self._marks.any_close.search(self._text, start):
            self._found.fragments.clear()

    def _continues(self, start: int) -> bool:
        """Whether the text before reads as if a larger value went on here."""
        before = self._text[max(self._visible_from, start - _LOOK_BEHIND) : start].rstrip()
        return before.endswith((",", "[")) or (before.endswith(":") and before[:-1].rstrip().endswith(_QUOTES))

    def _is_json(self, text: str) -> bool:
        try:
            _raw.decode(text)
        except RecursionError:
            self._found.is_too_deep = True
            return False
        except ValueError:  # msgspec.DecodeError, and UnicodeEncodeError for lone surrogates
            return False
        return True

    def _pass_unbalanced(self, kind: Kind, start: int) -> int:
        """A bracket that is never closed: a cut value, unless a thought ends behind it."""
        self._unbalanced_left -= 1
        if self._unbalanced_left < 0:
            self._give_up(start)
            return start + 1
        if self._is_cut(start):
            self._stop_at_cut(start)
        elif close := self._close_of_thought(start, len(self._text)):
            return close
        elif end := self._tokens.loose_end(start):
            return self._pass_fragment(kind, start, end)
        elif kind is not Kind.LIST or self._text[start + 1 :].lstrip()[:1] in '{["':
            self._stop_at_cut(start)
        return start + 1

    def _is_cut(self, start: int) -> bool:
        try:
            _raw.decode(self._text[start:])
        except RecursionError:
            self._found.is_too_deep = True
        except UnicodeError:
            return False
        except msgspec.DecodeError as error:
            return is_truncated(error)
        return False

    def _stop_at_cut(self, start: int) -> None:
        """The text ends inside a value; with only a comma between, the values before it are parts of it."""
        self._found.is_cut = True
        fragments = self._found.fragments
        if fragments and not self._text[fragments[-1].end : start].strip(" \t\r\n,"):
            fragments.clear()
