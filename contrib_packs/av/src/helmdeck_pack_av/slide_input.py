"""What ``slides.narrate`` gets: an outline as ``slides.outline`` writes it, or slides with pictures as ``slides.render`` returns them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

_HEADING = re.compile(r"(#{1,3})[ \t]+(.*)")
_NUMBER = re.compile(r"\d{1,3}[.)][ \t]+")
_BULLET = re.compile(r"[-*+•][ \t]+(.*)")


@attrs.frozen(kw_only=True)
class NarratedSlide:
    """A slide.

    :ivar texts: what it shows below the title.
    :ivar notes: what is spoken; if empty, the title and the texts are.
    :ivar picture: ``None`` until it is drawn.
    """

    title: str = ""
    texts: tuple[str, ...] = ()
    notes: str = ""
    picture: Path | None = None

    @property
    def words(self) -> str:
        """What is spoken, one sentence or item per line."""
        return self.notes if self.notes.strip() else "\n\n".join([self.title, *self.texts])


@attrs.frozen
class Deck:
    """The title and the slides of a film."""

    title: str
    slides: tuple[NarratedSlide, ...]


def read_outline(outline: str | Mapping[str, Any]) -> Deck:
    """Return the slides of an outline: Markdown, or ``title`` and ``slides`` with ``message``, ``bullets`` and ``notes``."""
    if isinstance(outline, str):
        return _read_markdown(outline)
    slides = (
        NarratedSlide(title=each.get("message", ""), texts=tuple(each.get("bullets", ())), notes=each.get("notes", ""))
        for each in outline["slides"]
    )
    return Deck(outline.get("title", ""), tuple(slides))


def read_slides(title: str, slides: Sequence[Mapping[str, Any]]) -> Deck:
    """Return rendered slides; a slide without a picture gets a plain one."""
    found = []
    for each in slides:
        texts = [text for text in each.get("text", ()) if text != each.get("title")]
        picture = Path(each["picture"]) if each.get("picture") else None
        found.append(
            NarratedSlide(title=each.get("title", ""), texts=tuple(texts), notes=each.get("notes", ""), picture=picture)
        )
    return Deck(title or (found[0].title if found else ""), tuple(found))


def _read_markdown(text: str) -> Deck:
    """``#`` is the title of the deck, deeper headings begin slides, ``-`` are bullets, and ``>`` are notes."""
    title, slides = "", list[tuple[str, list[str], list[str]]]()
    for line in map(str.strip, text.splitlines()):
        if heading := _HEADING.fullmatch(line):
            if len(heading[1]) == 1 and not title:
                title = heading[2]
            else:
                slides.append((_NUMBER.sub("", heading[2], count=1), [], []))
        elif line and slides:
            _, texts, notes = slides[-1]
            if line.startswith(">"):
                notes.append(line[1:].strip())
            else:
                bullet = _BULLET.fullmatch(line)
                texts.append(bullet[1] if bullet else line)
    found = (NarratedSlide(title=a, texts=tuple(b), notes="\n".join(c)) for a, b, c in slides)
    return Deck(title, tuple(found))
