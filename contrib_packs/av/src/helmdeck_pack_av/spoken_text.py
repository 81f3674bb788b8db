"""Text for voices: Markdown becomes plain sentences, a script becomes turns of hosts, and long turns become clips."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Final

import attrs

MAX_SCRIPT_LABEL_CHARS: Final = 30

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])[」』”）]*\s*|\n+")
_LABEL = re.compile(
    rf"\s*(?:\*\*)?([^\W\d_][\w .'-]{{0,{MAX_SCRIPT_LABEL_CHARS - 1}}}?)(?:\*\*)?\s*[:：](?:\*\*)?\s+(\S.*)"
)
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t].*$", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]", re.MULTILINE)
_MARKS = (
    (re.compile(r"!\[[^\[\]\n]*\]\([^)\n]{0,2000}\)"), " "),  # images
    (re.compile(r"\[([^\[\]\n]+)\]\([^)\n]{0,2000}\)"), r"\1"),  # links keep their text
    (re.compile(r"<?https?://\S+"), " "),
    (re.compile(r"^[ \t]*(?:#{1,6}|>|[-*+•]|\d{1,3}[.)])[ \t]+", re.MULTILINE), ""),
    (re.compile(r"^[ \t]*(?:[-*_=][ \t]*){3,}$", re.MULTILINE), ""),
    (re.compile(r"(\*\*|__|`)"), ""),
    (re.compile(r"(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)"), ""),
    (re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]"), " "),
    (re.compile(r"[ \t|]+"), " "),
)


@attrs.frozen
class Turn:
    """What one host says without a break.

    :ivar host: 0 or 1.
    """

    host: int
    text: str


def plain(text: str) -> str:
    """Return the words of Markdown or of plain text, one paragraph, heading or item per line, each with an end that is heard."""
    text = _FENCE.sub("\n", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _ITEM.sub(r"\n\g<0>", _HEADING.sub(r"\n\g<0>\n", text))
    for pattern, replacement in _MARKS:
        text = pattern.sub(replacement, text)
    paragraphs = (" ".join(each.split()) for each in re.split(r"\n[ ]?\n", text))
    return "\n".join(f"{each}." if each[-1].isalnum() else each for each in paragraphs if has_words(each))


def has_words(text: str) -> bool:
    """Whether there is a letter or a digit."""
    return any(each.isalnum() for each in text)


def turns(text: str, hosts: int) -> list[Turn]:
    """Return the turns of a script, or of a text whose paragraphs the hosts read in turn.

    A script is a text in which every line starts with one of exactly two labels, such as ``Ada: Hello.``; labels are not spoken. A
    text of a single paragraph changes the host after every second sentence.
    """
    script = _script(text)
    if script:
        return [Turn(host % hosts, words) for host, line in script if (words := plain(line))]
    paragraphs = plain(text).split("\n")
    if hosts == 1:
        return [Turn(0, each) for each in paragraphs if each]
    if len(paragraphs) == 1:
        found = sentences(paragraphs[0])
        size = 2 if len(found) > 3 else 1
        paragraphs = [" ".join(found[at : at + size]) for at in range(0, len(found), size)]
    return [Turn(number % 2, each) for number, each in enumerate(filter(None, paragraphs))]


def _script(text: str) -> list[tuple[int, str]]:
    lines = [line for line in text.splitlines() if line.strip()]
    found = [_LABEL.fullmatch(line) for line in lines]
    labels = list(dict.fromkeys(match[1].casefold() for match in found if match is not None))
    if len(labels) != 2 or None in found:
        return []
    return [(labels.index(match[1].casefold()), match[2]) for match in found if match is not None]


def sentences(text: str) -> list[str]:
    """Return the sentences of a plain text."""
    return [each.strip() for each in _split_after(text) if has_words(each)]


def _split_after(text: str) -> Sequence[str]:
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(ends)]


def clips(text: str, max_chars: int) -> list[str]:
    """Return a turn as groups of whole sentences; only a longer sentence is split, between words where it has any."""
    groups: list[str] = []
    for sentence in sentences(text):
        for part in _parts(sentence, max_chars):
            if groups and len(groups[-1]) + 1 + len(part) <= max_chars:
                groups[-1] += f" {part}"
            else:
                groups.append(part)
    return groups


def _parts(sentence: str, max_chars: int) -> list[str]:
    parts = []
    while len(sentence) > max_chars:
        at = sentence.rfind(" ", max_chars // 2, max_chars)
        at = at if at > 0 else max_chars
        parts.append(sentence[:at].strip())
        sentence = sentence[at:].strip()
    return [each for each in [*parts, sentence] if has_words(each)]
