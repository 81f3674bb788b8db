"""The pack ``slides.narrate``: slides and their spoken notes as MP4, with captions. Each slide is shown as long as its words."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from helmdeck_core import HelmdeckError, Pack, PackContext, PackError, PackErrorCode, safe_name
from helmdeck_pack_av.captions import Cue, cues, web_vtt
from helmdeck_pack_av.options import TABLE, AvOptions
from helmdeck_pack_av.plain_slides import HEIGHT, WIDTH, PlainSlide, draw
from helmdeck_pack_av.production import (
    ARTIFACTS,
    LANGUAGE,
    VALIDATE,
    VALIDATION,
    engine_and_voices,
    failures_of,
    missing_programs,
    validation,
)
from helmdeck_pack_av.slide_input import Deck, NarratedSlide, read_outline, read_slides
from helmdeck_pack_av.sound import Clip, SoundError, ffmpeg, filters_to_target, join
from helmdeck_pack_av.speech import Speaker
from helmdeck_pack_av.spoken_text import clips, plain

NAME: Final = "slides.narrate"
RENDER: Final = "slides.render"
MAX_SLIDES: Final = 60
MAX_CHARS: Final = 60_000
MAX_PIXELS: Final = 50_000_000
"""Of a picture: a small file may unpack to one that fills the memory."""

CLIP_CHARS: Final = 200
"""Short clips, since captions are timed by them."""

PAUSE_S: Final = 0.15
SLIDE_PAUSE_S: Final = 1.0
SILENT_SLIDE_S: Final = 3.0
FRAMES_PER_S: Final = 5
"""Pictures do not move; a slide changes within 0.2 s of its words."""

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
INPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "outline": {
            "description": "An outline of slides.outline: its Markdown, or its title and slides as data. Notes are spoken.",
            "anyOf": [
                _TEXT,
                {
                    "type": "object",
                    "properties": {
                        "title": _TEXT,
                        "slides": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "properties": {"message": _TEXT, "bullets": _TEXTS, "notes": _TEXT},
                                "required": ["message"],
                            },
                        },
                    },
                    "required": ["slides"],
                },
            ],
        },
        "slides": {
            "type": "array",
            "description": "Slides of slides.render in place of an outline; picture is the path of a PNG or JPEG file.",
            "items": {
                "type": "object",
                "properties": {"title": _TEXT, "text": _TEXTS, "notes": _TEXT, "picture": _TEXT},
            },
        },
        "title": {"type": "string", "description": "Title of the film; default: that of the outline."},
        "language": LANGUAGE,
        "validate": VALIDATE,
    },
    "required": [],
    "additionalProperties": False,
}

OUTPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The MP4 file; captions are a track of it."},
        "captions": {"type": "string", "description": "The captions as a WebVTT file."},
        "duration_s": {"type": "number"},
        "slides": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"title": _TEXT, "start_s": {"type": "number"}, "end_s": {"type": "number"}},
            },
        },
        "engine": {"type": "string", "description": "The voice engine."},
        "voice": {"type": "string"},
        "findings": {**_TEXTS, "description": "What could not be done as requested; left out if there is nothing."},
        "artifacts": ARTIFACTS,
        "validation": VALIDATION,
    },
    "required": ["path", "captions", "duration_s", "slides", "engine", "voice", "artifacts"],
    "additionalProperties": False,
}


async def narrate(context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Make a film of slides.

    :raises PackError: ``invalid_input`` for neither or both of ``outline`` and ``slides``, more than ``MAX_SLIDES`` slides, a picture
        that is not a file, or an unknown language; ``handler_failed`` if the voice engine or ``ffmpeg`` fails.
    """
    options: AvOptions = context.options
    language = arguments.get("language", "en").lower()
    findings: list[str] = []
    deck = _checked(_read(arguments))
    with failures_of(NAME), tempfile.TemporaryDirectory(prefix="helmdeck-narrate-") as name:
        folder = Path(name)
        engine, voices = engine_and_voices(options, language)
        if arguments.get("outline"):
            deck = await _rendered(context, arguments["outline"], deck, findings)
        deck = attrs.evolve(deck, slides=await _with_pictures(deck, folder, options.timeout_s))
        texts = [clips(plain(slide.words), CLIP_CHARS) for slide in deck.slides]
        speaker = Speaker(engine, options, language, folder, context.progress)
        spoken = await speaker.speak([(text, voices[0]) for slide in texts for text in slide], share=0.5)
        whole, times, captions = await asyncio.to_thread(_timed, texts, spoken, folder / "whole.wav")
        context.progress(f"encoding {whole.seconds:,.0f} s of film", 0.6)
        vtt = folder / "captions.vtt"
        vtt.write_text(web_vtt(captions), encoding="utf-8")
        film = await _encode(deck, whole, times, folder, options.timeout_s)
        film_file = context.artifacts.write(safe_name(deck.title, ".mp4", "slides"), film, "video/mp4")
        vtt_file = context.artifacts.write(safe_name(deck.title, ".vtt", "slides"), vtt, "text/vtt")
    output: dict[str, Any] = {
        "path": str(film_file.path),
        "captions": str(vtt_file.path),
        "duration_s": round(whole.seconds, 3),
        "slides": [
            {"title": slide.title, "start_s": round(start, 3), "end_s": round(end, 3)}
            for slide, (start, end) in zip(deck.slides, times, strict=True)
        ],
        "engine": engine.name,
        "voice": voices[0],
        "artifacts": [film_file.to_dict(), vtt_file.to_dict()],
    }
    if findings:
        output["findings"] = findings
    if arguments.get("validate", True):
        context.progress("measuring the film", 0.9)
        output["validation"] = await validation(context, str(film_file.path))
    return output


def _read(arguments: Mapping[str, Any]) -> Deck:
    outline, slides = arguments.get("outline"), arguments.get("slides")
    if (outline is None) == (slides is None):
        raise _invalid("exactly one of outline and slides is needed")
    title = " ".join(arguments.get("title", "").split())
    if slides is not None:
        return read_slides(title, slides)
    deck = read_outline(outline or "")
    return attrs.evolve(deck, title=title or deck.title)


def _checked(deck: Deck) -> Deck:
    if not deck.slides:
        raise _invalid("there are no slides; in Markdown, a line that starts with '## ' begins one")
    if len(deck.slides) > MAX_SLIDES:
        raise _invalid(f"{len(deck.slides)} slides; at most {MAX_SLIDES} are narrated")
    size = sum(len(slide.words) for slide in deck.slides)
    if size > MAX_CHARS:
        raise _invalid(f"the slides have {size:,} characters to speak; at most {MAX_CHARS:,} are spoken")
    for number, slide in enumerate(deck.slides, 1):
        if slide.picture is not None and not _is_picture(slide.picture):
            raise _invalid(f"slide {number}: {str(slide.picture)[:200]!r} is not a PNG or JPEG file")
    return deck


def _is_picture(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(8).startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"))
    except (OSError, ValueError):  # too long, or with a null character
        return False


async def _rendered(context: PackContext, outline: Any, deck: Deck, findings: list[str]) -> Deck:
    """The slides as ``slides.render`` draws them; without it, they are as they were, and a finding reports it."""
    context.progress("drawing the slides")
    try:
        output = await context.run(RENDER, {"outline": outline, "formats": ["png"]})
        return _checked(read_slides(deck.title, output["slides"]))
    except HelmdeckError as exc:
        findings.append(f"plain slides were drawn, since {RENDER} made no pictures: {exc}")
        return deck


async def _with_pictures(deck: Deck, folder: Path, timeout_s: float) -> tuple[NarratedSlide, ...]:
    missing = [
        (number, PlainSlide(slide.title or deck.title, slide.texts, f"{number + 1} / {len(deck.slides)}"))
        for number, slide in enumerate(deck.slides)
        if slide.picture is None
    ]
    if not missing:
        return deck.slides
    drawn = await draw([slide for _, slide in missing], folder, timeout_s)
    pictures = {number: picture for (number, _), picture in zip(missing, drawn, strict=True)}
    return tuple(
        attrs.evolve(slide, picture=pictures.get(number, slide.picture)) for number, slide in enumerate(deck.slides)
    )


def _timed(
    texts: Sequence[Sequence[str]], spoken: Sequence[Clip], target: Path
) -> tuple[Clip, list[tuple[float, float]], list[Cue]]:
    """Join the clips of the slides; return the sound, the start and end of each slide, and the captions."""
    parts: list[tuple[Clip | None, float]] = []
    times: list[tuple[float, float]] = []
    captions: list[Cue] = []
    left, now = iter(spoken), 0.0
    for slide in texts:
        start = now
        for place, text in enumerate(slide):
            clip = next(left)
            pause = SLIDE_PAUSE_S if place == len(slide) - 1 else PAUSE_S
            captions += cues(text, now, now + clip.seconds)
            parts.append((clip, pause))
            now += clip.seconds + pause
        if not slide:
            parts.append((None, SILENT_SLIDE_S))
            now += SILENT_SLIDE_S
        times.append((start, now))
    return join(parts, target), times, captions


async def _encode(
    deck: Deck, whole: Clip, times: Sequence[tuple[float, float]], folder: Path, timeout_s: float
) -> Path:
    """Encode pictures, sound and captions; lists and captions are files with names of ours."""
    lines = ["ffconcat version 1.0"]
    for number, (slide, (start, end)) in enumerate(zip(deck.slides, times, strict=True)):
        assert slide.picture is not None
        name = slide.picture.name
        if slide.picture.parent != folder:
            name = f"picture-{number}.png"
            source = ["-loglevel", "error", "-max_pixels", str(MAX_PIXELS), "-i", f"file:{slide.picture}"]
            try:
                await ffmpeg([*source, *_fitted_to_film(), name], timeout_s, folder)
            except SoundError as exc:
                raise _invalid(f"slide {number + 1}: the picture cannot be used: {exc}") from None
        lines += [f"file {name}", f"duration {end - start:.3f}"]
    lines.append(lines[-2])
    (folder / "pictures.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    filters = await filters_to_target(whole, timeout_s)
    inputs = ["-f", "concat", "-safe", "1", "-i", "pictures.txt", "-i", whole.path.name, "-i", "captions.vtt"]
    streams = ["-map", "0:v", "-map", "1:a", "-map", "2:s", "-af", filters, "-vf", f"fps={FRAMES_PER_S}"]
    video = ["-c:v", "libx264", "-preset", "veryfast", "-tune", "stillimage", "-pix_fmt", "yuv420p"]
    sound = [
        "-c:a",
        "aac",
        "-aac_coder",
        "fast",
        "-b:a",
        "96k",
        "-ar",
        "48000",
        "-c:s",
        "mov_text",
        "-movflags",
        "+faststart",
    ]
    tags = ["-map_metadata", "-1", "-metadata", f"title={plain(deck.title).rstrip('.')[:200]}"]
    form = ["-t", f"{whole.seconds:.3f}", "-f", "mp4", "film.mp4"]
    command = ["-loglevel", "error", *inputs, *streams, *video, *sound, *tags, *form]
    await ffmpeg(command, timeout_s, folder)
    return folder / "film.mp4"


def _fitted_to_film() -> list[str]:
    size = f"{WIDTH}:{HEIGHT}"
    filters = f"scale={size}:force_original_aspect_ratio=decrease,pad={size}:-1:-1,setsar=1"
    return ["-vf", filters, "-frames:v", "1", "-update", "1", "-pix_fmt", "rgb24"]


def _invalid(detail: str) -> PackError:
    return PackError(NAME, PackErrorCode.INVALID_INPUT, detail)


PACK: Final = Pack(
    name=NAME,
    version="0.1.0",
    description=(
        "Make a narrated film of slides: MP4 with captions, each slide as long as its spoken notes. The output has the findings of a "
        "check of the file."
    ),
    run=narrate,
    metadata={
        "accepts": ["outline", "slides", "images"],
        "produces": ["video", "captions", "findings"],
        "intent_keywords": ["narrate the slides", "video of the presentation", "turn the deck into a video"],
        "typical_use": "After slides.outline or slides.render.",
        "limitations": ["Up to 60 slides", "Needs ffmpeg and a voice engine"],
    },
    input_schema=INPUT_SCHEMA,
    output_schema=OUTPUT_SCHEMA,
    options_type=AvOptions,
    options_table=TABLE,
    missing_programs=missing_programs,
)
