"""The text of an HTML page, without scripts, styles and navigation; in time linear in the length of the page.

It builds no tree: parsers that do search their stack of open elements at each end tag, which a page of 400 KB can turn into
20 seconds. Every regular expression here is possessive, or starts where the one before it ended: no character is read twice.
"""

from __future__ import annotations

import html as references
import re
from collections.abc import Iterator
from typing import Final

Token = tuple[str, str]
"""``("text", text)``, ``("start", name)``, ``("empty", name)`` for ``<name/>``, or ``("end", name)``."""

_SKIPPED: Final = frozenset(("script", "style", "template", "noscript", "svg", "nav", "footer", "iframe"))
_BLOCKS: Final = frozenset(
    "address article aside blockquote br dd div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6 header hr li main ol p "
    "pre section table td th tr ul".split()
)
_VOID: Final = frozenset(("br", "hr", "img", "input", "link", "meta", "source", "wbr"))

_RAW: Final = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "iframe")
}
"""The end of elements that contain text and no markup."""

_NAME = re.compile(r"[A-Za-z][^\s/>]*+")
# A quote is one only as the start of a value; after an equals sign it cannot be anything else.
_ATTRIBUTES = re.compile(r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])))*+>""")
_COMMENT_END = re.compile(r"--!?>")
_LONG_NUMBER = re.compile(r"&#[xX]?[0-9a-fA-F]{9,}+;?")
"""No character has this number, and to convert it takes quadratic time."""


def html_text(html: str, bullet: str = "- ") -> tuple[str, str]:
    r"""Return the title and the text of a page, one paragraph per line.

    :param bullet: what begins the items of lists.

    >>> from helmdeck_runs import html_text
    >>> html_text("<title>Tides</title><h1>Today</h1><ul><li>high at nine</li></ul>")
    ('Tides', 'Today\n- high at nine')
    """
    parts: list[str] = []
    title: list[str] = []
    skipped, depth, in_title = "", 0, False
    for kind, value in tokens(html):
        if skipped:
            if value == skipped and kind in ("start", "end"):
                depth += 1 if kind == "start" else -1
                skipped = skipped if depth else ""
        elif kind == "text":
            (title if in_title else parts).append(value)
        elif value == "title":
            in_title = kind == "start"
        elif kind == "start" and value in _SKIPPED:
            skipped, depth = value, 1
        elif value in _BLOCKS and not (kind == "end" and value in _VOID):
            parts.append(f"\n{bullet}" if value == "li" and kind != "end" else "\n")
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    text = "\n".join(line for line in lines if line and line != "-")
    return " ".join("".join(title).split()), text


def tokens(html: str) -> Iterator[Token]:
    """Yield the texts and tags of a page in order, as the HTML standard delimits them; names are in lower case.

    What the page does not close, such as a comment, ends with it.
    """
    position, size = 0, len(html)
    while position < size:
        start = html.find("<", position)
        if start != position:
            yield "text", _unescaped(html[position : start if start >= 0 else size])
        if start < 0:
            return
        name = _NAME.match(html, start + 2 if html.startswith("/", start + 1) else start + 1)
        if name is None:
            position = _after_comment(html, start)
            if position == start + 1:
                yield "text", "<"
            continue
        found = _ATTRIBUTES.match(html, name.end())
        if found is None:
            return
        position, tag = found.end(), name[0].lower()
        kind = "end" if name.start() == start + 2 else "empty" if html[position - 2] == "/" else "start"
        yield kind, tag
        if kind == "start" and tag in _RAW:
            end = _RAW[tag].search(html, position)
            stop = end.start() if end else size
            content = html[position:stop]
            position = stop
            if content:
                yield "text", content if tag in ("script", "style", "iframe") else _unescaped(content)


def _after_comment(html: str, start: int) -> int:
    """Return the end of what starts with ``<`` and is no tag: a comment, a declaration, or the character itself."""
    if html.startswith("<!--", start):
        # "<!-->" and "<!--->" are comments too.
        end = _COMMENT_END.search(html, start + 2)
        return end.end() if end else len(html)
    if html.startswith(("<!", "<?", "</"), start):
        end_at = html.find(">", start)
        return end_at + 1 if end_at >= 0 else len(html)
    return start + 1


def _unescaped(text: str) -> str:
    return references.unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text
