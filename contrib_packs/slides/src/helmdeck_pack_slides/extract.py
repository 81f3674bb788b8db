"""An outline without a model: headings become messages, and sentences are copied, never written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import attrs

from helmdeck_runs import best_sentences, sentences, title_of

FINDING: Final = "no model is configured that writes: headings and sentences are copied from the text"
DEFAULT_SLIDES: Final = 12
MAX_SECTIONS: Final = 200
"""Sections that are considered one by one; more are joined first."""
_BULLETS: Final = 4
_MAX_WORDS: Final = 40
"""A longer sentence is no bullet where there are others."""

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_FENCE = re.compile(r"\s*(```|~~~)")
# The lengths are limited so that a text of brackets takes linear time.
_MARKS = re.compile(r"(\*\*|__|`)(.{1,300}?)\1|!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")


@attrs.frozen
class _Section:
    heading: str
    sentences: tuple[str, ...]


def extract_outline(text: str, count: int | None) -> tuple[str, list[dict[str, Any]]]:
    """Return the title and the slides of a text, at most ``count`` or 12; fewer if it has too few sentences."""
    title, sections = _sections(text)
    most = count or DEFAULT_SLIDES
    each = -(-len(sections) // MAX_SECTIONS)
    sections = [_joined(sections[at : at + each]) for at in range(0, len(sections), each)]
    while len(sections) > most:
        sizes = [len(one.sentences) + len(two.sentences) for one, two in pairwise(sections)]
        at = sizes.index(min(sizes))
        sections[at : at + 2] = [_joined(sections[at : at + 2])]
    while count and len(sections) < count:
        at = max(range(len(sections)), key=lambda place: len(sections[place].sentences), default=-1)
        if at < 0 or len(sections[at].sentences) < 4:
            break
        whole = sections[at]
        half = len(whole.sentences) // 2
        sections[at : at + 1] = [_Section(whole.heading, whole.sentences[:half]), _Section("", whole.sentences[half:])]
    return title, [_slide(section) for section in sections]


def _joined(sections: Sequence[_Section]) -> _Section:
    heading = next((section.heading for section in sections if section.heading), "")
    return _Section(heading, tuple(sentence for section in sections for sentence in section.sentences))


def _sections(text: str) -> tuple[str, list[_Section]]:
    found: list[tuple[str, list[str]]] = [("", [])]
    title, in_fence = "", False
    for line in text.splitlines():
        if _FENCE.match(line):
            in_fence = not in_fence
        elif in_fence or line.lstrip().startswith("|"):
            continue  # code and tables are not sentences
        elif heading := _HEADING.fullmatch(line):
            name = _plain(heading[2])
            if not title and len(heading[1]) == 1:
                title = name
            else:
                found.append((name, []))
        else:
            found[-1][1].append(line)
    title = title or _plain(title_of(text)) or "Untitled"
    sections = [_Section(heading, _sentences(lines, title)) for heading, lines in found]
    named = [section for section in sections if section.sentences] or [each for each in sections if each.heading]
    return title, named or [_Section(title, ())]


def _sentences(lines: Sequence[str], title: str) -> tuple[str, ...]:
    # Marks are removed first: a sentence may end within bold text.
    found = sentences(_plain("\n".join(lines)))
    return tuple(each for each in found if each.rstrip(".").casefold() != title.rstrip(".").casefold())


def _slide(section: _Section) -> dict[str, Any]:
    found = list(dict.fromkeys(section.sentences))
    # A sentence that ends with a colon announces what is not copied, such as code.
    short = [each for each in found if len(each.split()) <= _MAX_WORDS and not each.endswith(":")] or found[:1]
    message = section.heading or best_sentences(short, 1)[0]
    bullets = best_sentences([each for each in short if each != message], _BULLETS)
    rest = _without(section.sentences, [message, *bullets])
    return {"message": message, "bullets": bullets, "notes": " ".join(rest or section.sentences)}


def _without(found: Sequence[str], used: Sequence[str]) -> list[str]:
    return [each for each in found if each not in used]


def _plain(text: str) -> str:
    """Return a text without the marks of Markdown for emphasis, code and links."""
    return _MARKS.sub(lambda match: match[2] or match[3] or "", text).strip()
