"""Captions of what was spoken, as WebVTT."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from helmdeck_pack_av.spoken_text import clips

LINE_CHARS: Final = 42
"""Characters of one of the two lines of a caption, as guidelines for subtitles have them."""


@attrs.frozen
class Cue:
    """A caption with its time in seconds."""

    start_s: float
    end_s: float
    text: str


def cues(text: str, start_s: float, end_s: float) -> Iterator[Cue]:
    """Yield the captions of a clip; each has a part of the time that corresponds to its length."""
    parts = clips(text, 2 * LINE_CHARS - 4)
    whole = sum(map(len, parts))
    for part in parts:
        part_end_s = start_s + (end_s - start_s) * len(part) / whole
        yield Cue(start_s, part_end_s, part)
        end_s, start_s, whole = end_s, part_end_s, whole - len(part)


def web_vtt(found: Sequence[Cue]) -> str:
    """Return captions as WebVTT. Characters that have a meaning in it are escaped."""
    blocks = ["WEBVTT"]
    for cue in found:
        text = cue.text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        lines = textwrap.wrap(text, LINE_CHARS, break_on_hyphens=False) or [text]
        blocks.append("\n".join([f"{_clock(cue.start_s)} --> {_clock(cue.end_s)}", *lines]))
    return "\n\n".join(blocks) + "\n"


def _clock(seconds: float) -> str:
    millis = round(seconds * 1000)
    return f"{millis // 3_600_000:02}:{millis // 60_000 % 60:02}:{millis // 1000 % 60:02}.{millis % 1000:03}"
