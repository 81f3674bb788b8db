"""Where JSON in a text opens and ends: the shapes of its start, and the tokens that balance its brackets.

``json_repair.tokens`` are the tokens of one malformed value, to be rewritten.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from helmdeck_reading.json_comments import HASH_COMMENT, SLASH_COMMENT

_SHAPES = r"""
    [{\["`] (?:                  # a set in front, because that is what the engine can skip to
      (?<=\{) (?P<object> (?= \{ \s*+ ["'}] | (?: {space} | \\[nrt] )*+
        (?: ["'}“>] | \\" | /[/*] | {hash} | &(?:quot|apos|\#3[49]|\#x2[27]); | [A-Za-z_$] [\w$-]*+ \s* : | \Z ) ) )
    | (?<=\[) (?P<list>   (?= {flat} \s* (?: [\[{"'\]\d-] | true | false | null ) ) )
    | (?<=")  (?P<text>   (?= (?: \s | \\[nrt] )*+ \{ (?: \s | \\[nrt] )*+ (?: \\" | \} ) ) )
    | (?<=`)  `{2,}+ [ ]*+ (?P<fence> [\w+#-]*+ )
    )
"""
"""What may open JSON, by the first characters after the bracket; ``{x}``, ``{1, 2}``, ``{{ x }}`` and ``{# x #}`` do not.

A ``text`` is JSON in a string; it must be recognized before the braces inside it.
"""

INVISIBLE = "\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
"""Characters without a glyph, for use in a set."""

_FIRST_HASH = r"(?<! \{\{ ) \# (?: (?! \S | [^#\n]*+ \#\} ) | (?! [^\n{}]*+ [{}] ) )"
"""A comment before the first key, but not ``{{# x }}``, ``{# x #}``, ``{#1}`` or ``{ #id { x } }``."""

_ANY = _SHAPES.replace("{space}", rf"[\s{INVISIBLE}]").replace("{hash}", _FIRST_HASH)
ANY_SHAPE = re.compile(_ANY.replace("{flat}", ""), re.VERBOSE)
OBJECT_SHAPE = re.compile(_ANY.replace("{flat}", r"(?! [\d\s,.]++ \] )"), re.VERBOSE)
"""The same when an object is expected: ``[1]`` is then a reference, and texts contain hundreds of them."""

_MAX_DEPTH = 1_000
"""More than any decoder here supports."""

STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)

_STRING = r"""
    " [^"\\]*+ (?: \\. [^"\\]*+ )*+ "                       # a string
  | ' (?<= [\[{,:(\s] ') (?: [^'\\\n]++ | \\. )*+ '         # a string in Python's manner, not an apostrophe
  | \\" (?<! \\\\" ) (?: [^"\\]++ | \\\\ (?: \\. | [^\\] ) )*+ \\"  # a string inside a string that lost its quotes
  | &(?:quot|\#34|\#x22); (?: [^&\\]++ | \\. | &(?!quot;|\#34;|\#x22;) )*+ &(?:quot|\#34|\#x22);  # quotes of a web page
"""
"""Strings."""

_NO_COMMENT = r"\# (?: \{ | [0-9a-fA-F]{3,8}+ [ ]*+ [;,)}!%\d] ) | (?: (?<= : ) | (?<= :[ ] ) ) \# \w"
"""A placeholder, a colour of a style sheet or the number of an issue: ``{color: #fff}`` ends at its brace."""

_COMMENT = rf"{SLASH_COMMENT} | (?! {_NO_COMMENT} ) {HASH_COMMENT}"

_OPEN = r"""
    [{}\[\]]
  | “                                                     # with a curly string, only if it is never closed
  | " | ' (?<= [\[{,:] ') | ' (?<= [\[{,:] \s ') | /\*       # begun and never ended
"""

_CURLY = "“ [^”]*+ ”"

_PLAIN = r"""[^{}\[\]"'“&/\\#]++ | /(?![/*])"""
"""Characters that are part of no token."""


@functools.cache
def _tokens(*, curly: bool, in_runs: bool) -> re.Pattern[str]:
    """The pattern of the tokens, compiled lazily.

    :param curly: curly quotes delimit strings.
    :param in_runs: consecutive strings, comments, and pairs of brackets without brackets inside are one match.
    """
    closed = f"{_CURLY} | {_STRING} | {_COMMENT}" if curly else f"{_STRING} | {_COMMENT}"
    if in_runs:
        pair = rf"[{{\[] (?: {_PLAIN} | {closed} )*+ [}}\]]"
        closed = f"(?: {closed} | {pair} ) (?: {_PLAIN} | {closed} | {pair} )*+"
    return re.compile(f"{closed} | {_OPEN}", re.VERBOSE | re.DOTALL)


_STRAY_QUOTE = re.compile(r"""(?<=[^\s\[{,:\\])"(?=[ ]*+[^\s:,}\]])""")
"""A quote that neither starts nor ends a string, so it must be inside one."""

_LOOSE = re.compile(
    r"""
    " (?: [^"\\]++ | \\. | " (?! \s*+ (?: [:,}\]] | \Z ) ) )*+ " | [{}\[\]] | "
    """,
    re.VERBOSE | re.DOTALL,
)
"""Tokens for which a string ends only at a quote that valid syntax may follow."""

_UNTERMINATED = frozenset(('"', "'", "/*"))

_FULL_WIDTH = tuple(zip("｛｝［］", "{}[]", strict=True))
_FULL_WIDTH_QUOTE = "＂"

_LINE_COMMENTS = ("//", "#")

_NON_SPACE = re.compile(r"\S")


def ascii_brackets(text: str) -> str:
    """The text with ASCII in place of full-width brackets, and of full-width quotes if these are its only ones."""
    if "｛" not in text and "［" not in text:
        return text
    for wide, narrow in _FULL_WIDTH:
        text = text.replace(wide, narrow)
    return text if '"' in text else text.replace(_FULL_WIDTH_QUOTE, '"')


def has_line_comment(text: str) -> bool:
    """Whether the text contains a mark that may start a comment."""
    return any(mark in text for mark in _LINE_COMMENTS)


def is_commented_out(text: str) -> bool:
    """Whether every line is a comment, apart from fences, and one of the comments starts with JSON."""
    lines = [line.lstrip() for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith("```")]
    for mark in _LINE_COMMENTS:
        if lines and all(line.startswith(mark) for line in lines):
            return any(line[len(mark) :].lstrip()[:1] in ("{", "[") for line in lines)
    return False


class Tokens:
    """Tokenizes a text from any position; an unclosed curly quote triggers no search for its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._last_close = text.rfind("”")
        self._is_closed = text.rfind("“") < self._last_close

    def after(self, start: int, *, in_runs: bool = False) -> Iterator[re.Match[str]]:
        """The tokens from a position on."""
        curly = self._last_close >= start
        if curly and not self._is_closed:
            return self._mixed(start, in_runs=in_runs)
        return _tokens(curly=curly, in_runs=in_runs).finditer(self._text, start)

    def _mixed(self, start: int, *, in_runs: bool) -> Iterator[re.Match[str]]:
        for token in _tokens(curly=True, in_runs=in_runs).finditer(self._text, start):
            yield token
            if token.end() > self._last_close:
                yield from _tokens(curly=False, in_runs=in_runs).finditer(self._text, token.end())
                return

    def balanced_end(self, start: int) -> int | None:
        """The end of the bracket at ``start``, ignoring strings and comments; ``None`` if unclosed."""
        depth = 1
        for token in self.after(start + 1, in_runs=True):
            symbol = token.group()
            if symbol in "{[":
                depth += 1
                if depth > _MAX_DEPTH:
                    raise RecursionError
            elif symbol in "}]":
                depth -= 1
                if depth == 0:
                    return token.end()
            elif symbol in _UNTERMINATED:
                return None
        return None

    def loose_end(self, start: int) -> int | None:
        """The end of the bracket at ``start`` if stray quotes count as content; ``None`` if there are no stray quotes."""
        stray = _STRAY_QUOTE.search(self._text, start)
        if stray is None:
            return None
        depth = 0
        for token in _LOOSE.finditer(self._text, start):
            symbol = token.group()
            if symbol in "{[":
                depth += 1
            elif symbol in "}]":
                depth -= 1
                if depth == 0:
                    return token.end() if stray.start() < token.end() else None
            elif symbol == '"':
                return None
        return None

    def is_in_string(self, start: int, position: int) -> bool:
        """Whether a position in the invalid value at ``start`` is inside one of its strings.

        A real string is followed by a comma, a colon or a closing bracket. An unclosed quote of a draft pairs with the
        first quote of the answer after it, which is followed by a word.
        """
        for token in self.after(start):
            if token.group() in _UNTERMINATED and token.start() < position:
                return True
            if token.end() > position:
                following = _NON_SPACE.search(self._text, token.end())
                return token.start() < position and (following is None or following.group() in ",:}]")
        return False
