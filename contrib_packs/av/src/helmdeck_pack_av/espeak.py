"""The default voice engine: the program ``espeak-ng``, which needs no key, no network and no model."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from helmdeck_pack_av.process import run_program
from helmdeck_pack_av.voices import Speech, VoiceEngine, VoiceError, voice_hookimpl

NAME: Final = "espeak-ng"
INSTALL: Final = "apt-get install espeak-ng"
WORDS_PER_MINUTE: Final = 160
_VOICE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\+[A-Za-z0-9_]+)?")
_HOSTS: Final = ("", "+f3")
"""Suffixes of the voices of two hosts: the voice of the language, and a variant of it that differs clearly."""


def voices(language: str) -> tuple[str, str]:
    """Return the voices of the two hosts."""
    name = "en-us" if language == "en" else language
    return f"{name}{_HOSTS[0]}", f"{name}{_HOSTS[1]}"


async def speak(speech: Speech, target: Path) -> None:
    """Speak a text to a WAV file.

    :raises VoiceError: the voice is unknown, the program is not installed, or it failed.
    """
    if not _VOICE.fullmatch(speech.voice):  # a voice may otherwise be the path of a file
        raise VoiceError(f"{speech.voice[:80]!r} is not the name of a voice of espeak-ng", is_invalid=True)
    # The program takes [[...]] for phonemes, even without markup; a file keeps the text out of the options.
    text = speech.text.replace("[[", "[ [")
    with tempfile.TemporaryDirectory(prefix="helmdeck-voice-") as folder:
        source = Path(folder) / "text.txt"
        source.write_text(text, encoding="utf-8")
        command = [
            NAME,
            "-b",
            "1",
            "-s",
            str(WORDS_PER_MINUTE),
            "-v",
            speech.voice,
            "-w",
            str(target),
            "-f",
            str(source),
        ]
        try:
            done = await run_program(command, timeout_s=speech.timeout_s, max_bytes=10_000)
        except FileNotFoundError:
            raise VoiceError(f"espeak-ng is not installed: {INSTALL}") from None
    if done.code != 0:
        reason = done.err.strip().splitlines()[-1:] or [f"it ended with code {done.code}"]
        if "voice does not exist" in done.err:
            raise VoiceError(f"espeak-ng has no voice {speech.voice!r}; espeak-ng --voices lists them", is_invalid=True)
        raise VoiceError(f"espeak-ng failed: {reason[0][:200]}")


@voice_hookimpl
def voice_engines() -> Sequence[VoiceEngine]:
    """The engine."""
    return (VoiceEngine(name=NAME, speak=speak, voices=voices, programs={NAME: INSTALL}),)
