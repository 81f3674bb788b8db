"""Sound files: brings clips into one form, joins them with pauses, and brings the whole to the target loudness."""

from __future__ import annotations

import re
import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from helmdeck_pack_av.measure import FFMPEG, loudness_in
from helmdeck_pack_av.process import run_program

TARGET_LUFS: Final = -16.0
RATE: Final = 24_000
"""Samples per second of clips that have to be converted; most voice models speak with this rate."""

MAX_LOG_BYTES: Final = 100_000
_LIMIT: Final = 0.75
"""Of the limiter, -2.5 dBFS: the encoder and the peaks between samples add up to 1 dB, and -1 dBFS is what players expect."""

_LIMIT_DBFS: Final = -2.5
_STEREO_LU: Final = 3.01
"""Two equal channels are louder than one by this."""

_TOLERANCE_LU: Final = 0.1
_ROUNDS: Final = 5
_COMPONENT = re.compile(r"^(?:\[[^\]]*\]\s*)*")
_BLOCK_FRAMES: Final = 65_536


class SoundError(Exception):
    """A sound or film file cannot be made; the message contains the reason."""


@attrs.frozen
class Clip:
    """A clip of 16-bit mono sound.

    :ivar frames: samples.
    :ivar rate: samples per second.
    """

    path: Path
    frames: int
    rate: int

    @property
    def seconds(self) -> float:
        """Its duration."""
        return self.frames / self.rate


async def ffmpeg(options: Sequence[str], timeout_s: float, folder: Path | None = None) -> str:
    """Run ``ffmpeg``; return its log. Options that contain text are arguments of their own, never parts of a filter.

    :param folder: the working directory, so that filters can name files without escapes.
    :raises SoundError: it is not installed, failed or took too long.
    """
    try:
        done = await run_program([*FFMPEG, "-y", *options], timeout_s=timeout_s, max_bytes=MAX_LOG_BYTES, folder=folder)
    except FileNotFoundError:
        raise SoundError("ffmpeg is not installed: apt-get install ffmpeg") from None
    except TimeoutError:
        raise SoundError(f"ffmpeg took longer than timeout_s, {timeout_s:g} s") from None
    if done.code != 0:
        raise SoundError(f"ffmpeg failed: {_first_error(done.err) or f'it ended with code {done.code}'}")
    return done.err


def _first_error(log: str) -> str:
    """The first message of a log, which is the cause of the others, without the component that wrote it."""
    marked = [line for line in log.splitlines() if "[error]" in line or "[fatal]" in line]
    lines = marked or [line for line in log.splitlines() if line.strip()]
    return _COMPONENT.sub("", lines[0]).strip()[:200] if lines else ""


async def as_clip(source: Path, timeout_s: float, rate: int | None = None) -> Clip:
    """Return a sound file as a clip; a file of another form is converted in place.

    :param rate: the samples per second that the clip must have.
    :raises SoundError: it is not sound, or has none.
    """
    clip = _pcm(source)
    if clip is None or (rate is not None and clip.rate != rate):
        converted = source.with_name(f"{source.name}.wav")
        form = ["-vn", "-ac", "1", "-ar", str(rate or RATE), "-c:a", "pcm_s16le", "-map_metadata", "-1"]
        await ffmpeg(["-loglevel", "error", "-i", f"file:{source}", *form, f"file:{converted}"], timeout_s)
        converted.replace(source)
        clip = _pcm(source)
    if clip is None or not clip.frames:
        raise SoundError("the voice engine returned no sound")
    return clip


def _pcm(path: Path) -> Clip | None:
    """A WAV file of 16-bit mono samples whose header is right; servers that stream write headers without a length."""
    try:
        with wave.open(str(path), "rb") as file:
            if (file.getnchannels(), file.getsampwidth()) != (1, 2):
                return None
            frames, rate = file.getnframes(), file.getframerate()
    except (wave.Error, EOFError, FileNotFoundError):
        return None
    return Clip(path, frames, rate) if 0 < frames * 2 <= path.stat().st_size and rate > 0 else None


def join(clips: Sequence[tuple[Clip | None, float]], target: Path) -> Clip:
    """Join clips of one rate, each followed by a pause in seconds; without a clip, there is only the pause."""
    rate = next((clip.rate for clip, _ in clips if clip is not None), RATE)
    frames = 0
    with wave.open(str(target), "wb") as out:
        out.setparams((1, 2, rate, 0, "NONE", ""))
        for clip, pause_s in clips:
            if clip is not None:
                with wave.open(str(clip.path), "rb") as file:
                    while block := file.readframes(_BLOCK_FRAMES):
                        out.writeframesraw(block)
                frames += clip.frames
            silence = round(pause_s * rate)
            out.writeframesraw(bytes(2 * silence))
            frames += silence
    return Clip(target, frames, rate)


async def filters_to_target(source: Clip, timeout_s: float) -> str:
    """Return the filters that bring a clip to the target loudness in stereo: a gain, and a limiter where the peaks need one.

    The limiter lowers the loudness by an amount that depends on the voice, so the gain is corrected by what is measured behind it; two or
    three rounds suffice. The two passes of ffmpeg's filter ``loudnorm`` missed the target of the same speech by 0.6 LU, and took ten times
    as long, since it works with 192,000 samples per second.
    """
    to_stereo = "pan=stereo|c0=c0|c1=c0"
    loudness, peak = await _loudness(source, "", timeout_s)
    if loudness is None:
        return to_stereo
    gain = TARGET_LUFS - _STEREO_LU - loudness
    if peak is not None and peak + gain <= _LIMIT_DBFS:
        return f"volume={gain:.3f}dB,{to_stereo}"
    chain = ""
    for _ in range(_ROUNDS):
        chain = f"volume={gain:.3f}dB,alimiter=limit={_LIMIT}:attack=2:release=40:level=disabled"
        reached, _ = await _loudness(source, chain, timeout_s)
        missing = 0.0 if reached is None else TARGET_LUFS - _STEREO_LU - reached
        if abs(missing) <= _TOLERANCE_LU:
            break
        gain += missing
    return f"{chain},{to_stereo}"


async def _loudness(source: Clip, chain: str, timeout_s: float) -> tuple[float | None, float | None]:
    meter = f"{chain},ebur128=framelog=verbose" if chain else "ebur128=peak=true:framelog=verbose"
    options = ["-loglevel", "level+info", "-i", f"file:{source.path}", "-af", meter, "-f", "null", "-"]
    return loudness_in(await ffmpeg(options, timeout_s))
