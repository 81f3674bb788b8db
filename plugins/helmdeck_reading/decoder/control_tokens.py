"""Finds blocks between control tokens that no plugin registered, such as ``<|mull_start|>...<|mull_end|>``.

The template of an unknown model may put anything between such tokens, so nothing between them is an answer. Tokens that
are known to enclose whole messages, answers or tool calls are no blocks.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

_TOKEN = re.compile(r"<([|｜])([^|｜<>\s](?:[^|｜<>\n]{0,62}[^|｜<>\s])?)\1>")

_PAIRS = {
    "start": "end",
    "begin": "end",
    "open": "close",
    "prefix": "suffix",
    "START": "END",
    "BEGIN": "END",
    "OPEN": "CLOSE",
}
"""Words of an opening token, and what the closing token has in their place."""

_AFFIX = re.compile(rf"(?P<before>.*[_▁:. -])?(?P<word>{'|'.join(_PAIRS)})(?P<after>[_▁:. -].*)?")

_ENCLOSES_ANSWERS = re.compile(
    r"""
    answer | response | solution | final | output | result | box | im | header | text | sentence | role | turn | message | msg
  | tool | tools | function | functions | action | plugin | json | assistant | chatbot | document | code | system | user
  | content | call | calls | constrain | channel
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W_▁]+")


class TokenBlock(NamedTuple):
    """A block: the span of its opening token, and its closing token."""

    start: int
    end: int
    close: str


def has_token(text: str) -> bool:
    """Whether the text may contain a control token."""
    return "<|" in text or "<｜" in text


class ControlBlocks:
    """The blocks of a text."""

    def __init__(self, text: str) -> None:
        self._text = text if has_token(text) else ""
        self._closings: dict[str, str] = {}

    @cached_property
    def _slashed(self) -> frozenset[str]:
        return frozenset(token[2] for token in _TOKEN.finditer(self._text) if token[2].startswith("/"))

    def search(self, start: int) -> TokenBlock | None:
        """The first opening token at or after ``start``."""
        for token in _TOKEN.finditer(self._text, start):
            bar, name = token.groups()
            close = self._closings.get(name)
            if close is None:
                close = self._closings[name] = self._closing(name)
            if close:
                return TokenBlock(token.start(), token.end(), f"<{bar}{close}{bar}>")
        return None

    def _closing(self, name: str) -> str:
        """The name of the closing token; empty if the token opens no unknown block."""
        if any(map(_ENCLOSES_ANSWERS.fullmatch, _WORDS.findall(name))):
            return ""
        affix = _AFFIX.fullmatch(name)
        if affix is not None and (affix["before"] or affix["after"]):
            return f"{affix['before'] or ''}{_PAIRS[affix['word']]}{affix['after'] or ''}"
        # Without such a word a token opens a block only if the block is closed.
        return f"/{name}" if f"/{name}" in self._slashed else ""
