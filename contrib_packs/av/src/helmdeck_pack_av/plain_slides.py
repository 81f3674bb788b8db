"""Plain pictures of slides, drawn by the subtitle renderer of ``ffmpeg``: it wraps lines and finds fonts for every script.

The fallback where ``slides.render`` cannot draw pictures.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from helmdeck_pack_av.sound import SoundError, ffmpeg

WIDTH: Final = 1280
HEIGHT: Final = 720

_BACKGROUND, _ACCENT = "0xFAFAF7", "0x1F4E79"
_TITLE_SIZES: Final = (56, 50, 44, 38, 32)
_TEXT_SIZES: Final = (42, 38, 34, 30, 26, 22, 18)
_TEXT_WIDTH: Final = WIDTH - 2 * 90
_TITLE_HEIGHT, _TEXT_HEIGHT = 130, 420
_LINE: Final = 1.06
"""Height of a line as a part of the font size: the renderer counts ascenders and descenders in."""

_LETTER, _BOLD_LETTER = 0.44, 0.5
"""Average width of a letter of DejaVu Sans as a part of the font size; lines that turn out wider are wrapped by the renderer."""

_GAP: Final = 10
"""Font size of the empty line between bullets."""

_STYLE: Final = "Style: {name},DejaVu Sans,{size},&H00{colour},&H00FFFFFF,&H00000000,&H00000000,{bold},0,0,0,100,100,0,0,1,0,0,7,90,90,{top},1"
_HEAD: Final = f"""\
[Script Info]
ScriptType: v4.00+
PlayResX: {WIDTH}
PlayResY: {HEIGHT}
WrapStyle: 0

[V4+ Styles]
Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
{_STYLE.format(name="Title", size=54, colour="794E1F", bold=-1, top=72)}
{_STYLE.format(name="Text", size=38, colour="33291F", bold=0, top=232)}
{_STYLE.format(name="Foot", size=20, colour="8A7F76", bold=0, top=672)}

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
"""


@attrs.frozen
class PlainSlide:
    """The words of a picture."""

    title: str
    bullets: Sequence[str]
    foot: str


async def draw(slides: Sequence[PlainSlide], folder: Path, timeout_s: float) -> list[Path]:
    """Draw one picture of 1280 by 720 pixels for each slide, in their order.

    :raises SoundError: ``ffmpeg`` failed.
    """
    lines = []
    for second, slide in enumerate(slides):
        texts = (
            ("Title", _fitted([slide.title], _TITLE_SIZES, _TITLE_HEIGHT, "")),
            ("Text", _fitted(slide.bullets, _TEXT_SIZES, _TEXT_HEIGHT, "• ")),
            ("Foot", _escaped(slide.foot)),
        )
        lines += [f"Dialogue: 0,{_clock(second)},{_clock(second + 1)},{style},,0,0,0,,{text}" for style, text in texts]
    (folder / "slides.ass").write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    canvas = f"color=c={_BACKGROUND}:s={WIDTH}x{HEIGHT}:r=1:d={len(slides)}"
    filters = f"drawbox=x=0:y=0:w=24:h={HEIGHT}:color={_ACCENT}:t=fill,ass=slides.ass"
    options = ["-loglevel", "error", "-f", "lavfi", "-i", canvas, "-vf", filters, "-frames:v", str(len(slides))]
    await ffmpeg([*options, "-pix_fmt", "rgb24", "plain-%04d.png"], timeout_s, folder)
    pictures = [folder / f"plain-{number:04}.png" for number in range(1, len(slides) + 1)]
    if not all(picture.is_file() for picture in pictures):
        raise SoundError("ffmpeg did not draw all slides")
    return pictures


def _fitted(texts: Sequence[str], sizes: Sequence[int], height: int, bullet: str) -> str:
    """Texts in the largest size in which they fit; with the smallest one, what does not fit is left out."""
    gap = _GAP * _LINE if bullet else 0.0
    for size in sizes:
        items = _items(texts, size, bullet)
        if sum(len(item) * size * _LINE + gap for item in items) <= height:
            return _events(items, size, bullet)
    size = sizes[-1]
    fitting: list[list[str]] = []
    left = height - size * _LINE
    for item in _items(texts, size, bullet):
        lines = item[: max(0, int((left - gap) / (size * _LINE)))]
        left -= len(lines) * size * _LINE + gap
        fitting += [lines] if lines else []
        if lines != item:
            break
    return _events([*fitting, ["…"]], size, bullet)


def _items(texts: Sequence[str], size: int, bullet: str) -> list[list[str]]:
    letter = size * (_LETTER if bullet else _BOLD_LETTER)
    return [_wrapped(text, int(_TEXT_WIDTH / letter) - len(bullet)) for text in texts if text.strip()]


def _events(items: Sequence[Sequence[str]], size: int, bullet: str) -> str:
    indent = "\\h" * 3 if bullet else ""
    paragraphs = [f"\\N{indent}".join(map(_escaped, item)) for item in items]
    between = f"\\N{{\\fs{_GAP}}}\\h\\N{{\\fs{size}}}" if bullet else "\\N"
    return f"{{\\fs{size}}}" + between.join(f"{bullet}{paragraph}" for paragraph in paragraphs)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` letters; a letter of East Asian scripts counts twice, and lines break between such letters."""
    lines, line, used = list[str](), "", 0
    for word in _words(text):
        size = _columns(word)
        if line and used + size > width:
            lines.append(line.strip())
            line, used = "", 0
        line += word
        used += size
    return [each for each in [*lines, line.strip()] if each]


def _words(text: str) -> list[str]:
    words = [""]
    for character in " ".join(text.split()):
        words[-1] += character
        if character == " " or _columns(character) == 2:
            words.append("")
    return [word for word in words if word]


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _escaped(text: str) -> str:
    """A text without commands of the subtitle format: a backslash is followed by a word joiner, and braces are escaped."""
    return text.replace("\\", "\\\u2060").replace("{", "\\{").replace("}", "\\}").replace("\n", " ").replace("\r", " ")


def _clock(second: int) -> str:
    return f"{second // 3600}:{second // 60 % 60:02}:{second % 60:02}.00"
