"""The tokens of one malformed JSON value, to be rewritten; kept from one decode step to the next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import attrs

from helmdeck_reading.json_comments import COMMENT as COMMENT_FORMS

MAX_TOKENS = 50_000  # a text with more tokens is not repaired

STRING, QUOTED, CURLY, COMMENT, SPACE, NUMBER, WORD = "squ# nw"
"""The kinds of tokens; a mark is its own kind."""

_TOKEN = re.compile(
    rf"""
    [{{}}\[\],:]         # most tokens first: the engine tries one alternative after the other
  | (?: \s | \\[nrt] )++
  | " [^"\\]*+ (?: \\. [^"\\]*+ )*+ "
  | [^\W\d] [\w$-]*+ | \$ [\w$-]*+
  | [-+]? \.? \d [\w.+-]*+
  | ' (?: [^'\\\n]++ | \\. )*+ '
  | “ (?: [^“”"\\]++ | \\. )*+ ”
  | {COMMENT_FORMS}
  | .                # keeps the scan linear: an unterminated string is not searched again
    """,
    re.VERBOSE | re.DOTALL,
)


@attrs.frozen(eq=False)
class Tokens:
    """The tokens of a text.

    :ivar kinds: one character for each token.
    :ivar texts: the text of each token; joined, they are the text.
    """

    kinds: str
    texts: list[str]

    @cached_property
    def _distinct(self) -> frozenset[str]:
        return frozenset(self.texts)

    @cached_property
    def structure(self) -> str:
        """The kinds without whitespace and comments."""
        return self.kinds.replace(SPACE, "").replace(COMMENT, "")

    def of_kind(self, kind: str) -> Sequence[str]:
        """The different tokens of a kind."""
        if kind not in self.kinds:
            return ()
        return [text for text in self._distinct if text and _KINDS[ord(text[0])] == kind]


class _Kinds(dict[int, str]):
    """The kind of a token by its first character."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char.isspace():
            kind = SPACE
        elif char.isdecimal():
            kind = NUMBER
        else:
            kind = WORD
        self[code] = kind
        return kind


_KINDS = _Kinds({ord(char): kind for char, kind in zip("\"'“/#\\+-.{}[],:", "squ## nnn{}[],:", strict=True)})
_SINGLE = re.compile(r"[\s\w$#{}\[\],:]")
"""A token of one character; any other character is outside of all tokens."""


def _read(text: str) -> Tokens | None:
    texts = _TOKEN.findall(text)
    if len(texts) > MAX_TOKENS:
        return None
    kinds = {each: _KINDS[ord(each[0])] for each in set(texts)}  # most tokens come several times
    if not all(_SINGLE.match(each) for each in kinds if len(each) == 1):
        return None
    return Tokens("".join(map(kinds.__getitem__, texts)), texts)


_last: tuple[str, Tokens | None] = ("", None)
"""The last text and its tokens: several steps in a row read the same text."""


def tokens_of(text: str) -> Tokens | None:
    """Return the tokens of a text; ``None`` for a character outside any token, or too many tokens."""
    known, tokens = _last
    if known != text:
        tokens = _read(text)
        keep_tokens(text, tokens)
    return tokens


def keep_tokens(text: str, tokens: Tokens | None) -> None:
    """Keep the tokens of a text that a step made, so that the next one need not read it."""
    global _last
    _last = (text, tokens)
