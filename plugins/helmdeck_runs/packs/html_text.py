"""The text of an HTML page, without scripts, styles and navigation."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

_SKIPPED: Final = frozenset(("script", "style", "template", "noscript", "svg", "nav", "footer", "form", "iframe"))
_BLOCKS: Final = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure h1 h2 h3 h4 h5 h6 header hr li main ol p "
    "pre section table td th tr ul".split()
)
_VOID: Final = frozenset(("br", "hr", "img", "input", "link", "meta", "source", "wbr"))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._skipping: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if self._skipping:
            if tag == self._skipping[-1]:
                self._skipping.append(tag)
        elif tag in _SKIPPED:
            self._skipping.append(tag)
        elif tag == "title":
            self._in_title = True
        elif tag in _BLOCKS:
            self.parts.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            if tag == self._skipping[-1]:
                self._skipping.pop()
        elif tag == "title":
            self._in_title = False
        elif tag in _BLOCKS - _VOID:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._skipping:
            self.parts.append(data)


def html_text(html: str) -> tuple[str, str]:
    """Return the title and the text of a page, one paragraph per line."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = (re.sub(r"\s+", " ", line).strip() for line in "".join(reader.parts).split("\n"))
    text = "\n".join(line for line in lines if line and line != "-")
    return " ".join("".join(reader.title).split()), text
