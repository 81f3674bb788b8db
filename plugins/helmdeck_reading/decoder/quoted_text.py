"""Whether visible text is inside a fenced code block, or inside a JSON value that it starts with."""

from __future__ import annotations

import re

_FENCE = re.compile(r"[ \t>]{0,8}(`{3,}|~{3,})([^`]*)")
_JSON_START = re.compile(r'\{\s*+"|\[\s*+[\[{"]')
_JSON_TOKEN = re.compile(r'\\.|["{}\[\]]', re.DOTALL)
_MAX_LINE = 200
"""Characters of a line that may be a fence."""


class QuotedText:
    """Follows the visible text; marks of reasoning that it quotes are content.

    Text is examined once, and only if a mark follows it.
    """

    def __init__(self) -> None:
        self._pending: list[str] = []
        self._fence = ""
        self._line = ""
        self._has_text = False
        self._depth = 0
        self._is_in_string = False

    def add(self, text: str) -> None:
        """Add visible text."""
        self._pending.append(text)

    def is_open(self) -> bool:
        """Whether the text so far ends inside a fenced block or JSON."""
        text = "".join(self._pending)
        self._pending.clear()
        content = "" if self._has_text else text.lstrip()
        if self._depth or _JSON_START.match(content):
            self._follow_json(text)
        self._has_text = self._has_text or bool(content)
        self._follow_fences(text)
        return self._depth > 0 or (bool(self._fence) and not self._closes(self._line))

    def _follow_json(self, text: str) -> None:
        for match in _JSON_TOKEN.finditer(text):
            char = match[0]
            if char == '"':
                self._is_in_string = not self._is_in_string
            elif not self._is_in_string and char in "{}[]":
                self._depth += 1 if char in "{[" else -1
                if not self._depth:
                    return

    def _follow_fences(self, text: str) -> None:
        *lines, last = text.split("\n")
        if lines:
            self._follow_line(self._line + lines[0])
            for line in lines[1:]:
                self._follow_line(line)
            self._line = ""
        self._line = (self._line + last)[:_MAX_LINE]

    def _follow_line(self, line: str) -> None:
        if self._fence:
            self._fence = "" if self._closes(line) else self._fence
        elif fence := _FENCE.match(line):
            self._fence = fence[1]

    def _closes(self, line: str) -> bool:
        fence = _FENCE.match(line)
        return fence is not None and fence[1].startswith(self._fence) and not fence[2].strip()
