"""The input of ``slides.render``: an outline as data, or as the Markdown that ``slides.outline`` writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*)")
_NUMBERED = re.compile(r"\d{1,3}\.\s+")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")


class Chart(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A chart from rows: objects, or lists of which the first one holds the headings; the first column is the x axis.

    Labels of axes may have units, such as ``Height (m)``; left out, they are the headings.
    """

    rows: list[Any]
    kind: Literal["bar", "line", "scatter"] = "bar"
    x_label: str = ""
    y_label: str = ""


class Slide(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """One slide: its message, and what supports it. ``table`` are rows."""

    message: str
    bullets: list[str] = []
    notes: str = ""
    table: list[Any] = []
    chart: Chart | None = None


class Deck(msgspec.Struct, omit_defaults=True):
    """A deck, in the form that ``slides.outline`` returns."""

    title: str
    slides: list[Slide]


def read_markdown(text: str) -> Deck:
    """Read an outline: ``#`` is the title of the deck, ``##`` begins a slide, ``>`` is a line of its notes.

    List items and other lines are bullets, and rows between ``|`` are a table. Nothing is left out.
    """
    deck = Deck("", [])
    for line in _lines(text):
        mark, _, rest = line.partition(" ")
        rest = rest.strip()
        if mark == "#" and not deck.title and not deck.slides:
            deck.title = rest
        elif 1 <= len(mark) <= 3 and not mark.strip("#") and rest:
            deck.slides.append(Slide(_NUMBERED.sub("", rest, count=1)))
        else:
            if not deck.slides:
                deck.slides.append(Slide(deck.title))
            _add(deck.slides[-1], line)
    for slide in deck.slides:
        slide.notes = slide.notes.strip()
    return deck


def _lines(text: str) -> Iterator[str]:
    return (line.rstrip() for line in text.splitlines() if line.strip() and line.strip() != "---")


def _add(slide: Slide, line: str) -> None:
    item = _ITEM.fullmatch(line)
    if line.startswith(">"):
        slide.notes = f"{slide.notes}{line[1:].removeprefix(' ')}\n"
    elif line.startswith("|") and line.endswith("|") and len(line) > 1:
        if not _RULE.fullmatch(line):
            slide.table.append([cell.strip() for cell in line[1:-1].split("|")])
    else:
        slide.bullets.append(item[1] if item else line.strip())
