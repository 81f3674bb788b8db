"""The pack ``podcast.generate``: speaks a text or a script with one or two voices, as MP3 at -16 LUFS."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from helmdeck_core import Pack, PackContext, PackError, PackErrorCode, safe_name
from helmdeck_pack_av.options import TABLE, AvOptions
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
from helmdeck_pack_av.sound import ffmpeg, filters_to_target, join
from helmdeck_pack_av.speech import Speaker
from helmdeck_pack_av.spoken_text import clips, plain, turns

NAME: Final = "podcast.generate"
MAX_CHARS: Final = 60_000
"""Longer texts are refused: 60,000 characters are about an hour of speech."""

CLIP_CHARS: Final = 600
"""A clip is what a voice engine speaks at once: about 40 seconds, which a resumed run does not repeat."""

MP3: Final = ("-c:a", "libmp3lame", "-q:a", "5", "-compression_level", "7")
"""About 90 kbit/s. With a constant bit rate, the encoder lowers the loudness by 0.45 LU."""

PAUSE_S: Final = 0.25
TURN_PAUSE_S: Final = 0.5

INPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {
            "type": "string",
            "description": (
                "What is spoken, as plain text or Markdown. A script has one turn per line, each with the label of one of two hosts, "
                "such as 'Ada: Hello.'; labels are not spoken."
            ),
        },
        "hosts": {"type": "integer", "enum": [1, 2], "default": 1, "description": "Number of voices."},
        "language": LANGUAGE,
        "title": {"type": "string", "description": "Title of the episode, for the file and its metadata."},
        "validate": VALIDATE,
    },
    "required": ["text"],
    "additionalProperties": False,
}

OUTPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The MP3 file."},
        "duration_s": {"type": "number"},
        "turns": {"type": "integer", "description": "How often the hosts take turns."},
        "words": {"type": "integer"},
        "engine": {"type": "string", "description": "The voice engine."},
        "voices": {"type": "array", "items": {"type": "string"}},
        "artifacts": ARTIFACTS,
        "validation": VALIDATION,
    },
    "required": ["path", "duration_s", "turns", "words", "engine", "voices", "artifacts"],
    "additionalProperties": False,
}


async def generate(context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Speak an episode.

    :raises PackError: ``invalid_input`` for a text without words or of more than ``MAX_CHARS``, or an unknown language or voice;
        ``handler_failed`` if the voice engine or ``ffmpeg`` fails or is not installed.
    """
    options: AvOptions = context.options
    text, hosts, language = arguments["text"], arguments.get("hosts", 1), arguments.get("language", "en").lower()
    if len(text) > MAX_CHARS:
        detail = f"text has {len(text):,} characters; at most {MAX_CHARS:,} are spoken in one episode"
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, detail)
    found = turns(text, hosts)
    if not found:
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, "text has no words that can be spoken")
    title = " ".join(plain(arguments.get("title", "")).split())[:200].rstrip(".")
    with failures_of(NAME), tempfile.TemporaryDirectory(prefix="helmdeck-podcast-") as folder:
        engine, voices = engine_and_voices(options, language)
        speaker = Speaker(engine, options, language, Path(folder), context.progress)
        parts = [(voices[turn.host], clips(turn.text, CLIP_CHARS)) for turn in found]
        texts = [(clip, voice) for voice, turn in parts for clip in turn]
        pauses = [TURN_PAUSE_S if clip is turn[-1] else PAUSE_S for _, turn in parts for clip in turn]
        spoken = await speaker.speak(texts, share=0.5)
        parts_with_pauses = list(zip(spoken, pauses, strict=True))
        whole = await asyncio.to_thread(join, parts_with_pauses, Path(folder) / "whole.wav")
        context.progress(f"mixing {whole.seconds:,.0f} s of sound", 0.5)
        filters = await filters_to_target(whole, options.timeout_s)
        target = Path(folder) / "episode.mp3"
        form = ["-ar", "44100", *MP3, "-map_metadata", "-1"]
        tags = ["-metadata", f"title={title}"] if title else []
        source = ["-loglevel", "error", "-i", f"file:{whole.path}", "-af", filters]
        await ffmpeg([*source, *form, *tags, f"file:{target}"], options.timeout_s)
        name = safe_name(title or found[0].text, ".mp3", "episode")
        artifact = context.artifacts.write(name, target, "audio/mpeg")
    output = {
        "path": str(artifact.path),
        "duration_s": round(whole.seconds, 3),
        "turns": len(found),
        "words": sum(len(turn.text.split()) for turn in found),
        "engine": engine.name,
        "voices": [voices[host] for host in sorted({turn.host for turn in found})],
        "artifacts": [artifact.to_dict()],
    }
    if arguments.get("validate", True):
        context.progress("measuring the episode", 0.9)
        output["validation"] = await validation(context, str(artifact.path))
    return output


PACK: Final = Pack(
    name=NAME,
    version="0.1.0",
    description=(
        "Produce a spoken episode with one or two hosts from a text. Output is MP3 at -16 LUFS, with the findings of a check of the "
        "sound."
    ),
    run=generate,
    metadata={
        "accepts": ["text"],
        "produces": ["audio", "findings"],
        "intent_keywords": ["make a podcast", "turn it into audio", "read it aloud"],
        "limitations": ["Up to 60,000 characters", "Needs ffmpeg and a voice engine"],
    },
    input_schema=INPUT_SCHEMA,
    output_schema=OUTPUT_SCHEMA,
    options_type=AvOptions,
    options_table=TABLE,
    missing_programs=missing_programs,
)
