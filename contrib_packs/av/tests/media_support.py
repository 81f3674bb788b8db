"""Voice engines without a program, and what the tests read from produced files."""

import json
import math
import shutil
import struct
import subprocess
import wave
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from helmdeck_pack_av import Speech, VoiceEngine

PROGRAMS = ("ffmpeg", "ffprobe", "espeak-ng")
needs_programs = pytest.mark.skipif(
    not all(map(shutil.which, PROGRAMS)), reason="run: apt-get install ffmpeg espeak-ng"
)


def tone(path: Path, seconds: float = 0.5, amplitude: int = 8_000, rate: int = 24_000) -> None:
    """Write a tone of 440 Hz."""
    samples = (round(amplitude * math.sin(2764.6 * at / rate)) for at in range(round(seconds * rate)))
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", each) for each in samples))


class Engine:
    """A voice engine that records what it speaks."""

    def __init__(self) -> None:
        self.spoken: list[Speech] = []
        self.amplitude = 8_000
        self.before: Callable[[Speech], Awaitable[None]] | None = None

    async def speak(self, speech: Speech, target: Path) -> None:
        if self.before is not None:
            await self.before(speech)
        self.spoken.append(speech)
        tone(target, amplitude=self.amplitude)

    def contributed(self, name: str = "test") -> VoiceEngine:
        return VoiceEngine(name=name, speak=self.speak, voices=lambda language: (f"{language}-1", f"{language}-2"))


def probed(path: str) -> Any:
    """The format and the streams of a file."""
    command = ["ffprobe", "-v", "error", "-of", "json", "-show_format", "-show_streams", str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def decoded(path: str, *options: str) -> bytes:
    """What ffmpeg writes to its standard output."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-i", str(path), *options, "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout
