"""Measures a file with ``ffprobe`` and ``ffmpeg``: durations, silence and loudness.

Only the protocol ``file`` is allowed, so that a playlist cannot make the programs connect to a server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from helmdeck_pack_av.process import run_program

MAX_OUTPUT_BYTES: Final = 4_000_000
"""Enough for about 40,000 runs of silence."""

QUIET_LUFS: Final = -69.9
"""EBU R 128 reports -70 for a file without a block above the absolute gate."""

FFMPEG: Final = ("ffmpeg", "-nostdin", "-hide_banner", "-nostats", "-protocol_whitelist", "file,pipe")
_SILENCE = re.compile(r"silence_(start|end): (-?[\d.]+)")
_LOUDNESS = re.compile(r"^\s*I:\s+(-?[\d.]+|-inf|nan) LUFS", re.MULTILINE)
_PEAK = re.compile(r"^\s*Peak:\s+(-?[\d.]+|-inf|nan) dBFS", re.MULTILINE)
_PROGRESS = re.compile(r"^out_time_us=(\d+)", re.MULTILINE)
_CLOCK = re.compile(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)")
_ERROR = re.compile(r"^(?:\[[^\]]*\] )*\[(?:error|fatal)\] (.*)$", re.MULTILINE)


class NotMedia(Exception):
    """The file is not an audio or video file."""


@attrs.frozen
class Measurements:
    """What was measured.

    :ivar audio_s: duration of the first audio stream in seconds; ``None`` without one.
    :ivar video_s: duration of the first video stream in seconds; ``None`` without one. A cover image is not a video.
    :ivar loudness_lufs: integrated loudness (EBU R 128); ``None`` without audio, or if nothing is audible.
    :ivar peak_dbfs: true peak; ``None`` like the loudness.
    :ivar silence: start and end of each run of silence in seconds.
    :ivar errors: what the decoder reported, at most ten messages.
    """

    audio_s: float | None
    video_s: float | None
    loudness_lufs: float | None = None
    peak_dbfs: float | None = None
    silence: tuple[tuple[float, float], ...] = ()
    errors: tuple[str, ...] = ()


@attrs.frozen
class Meter:
    """Measures files.

    :ivar silence_db: samples below this level, in dBFS, are silent.
    :ivar min_silence_s: shorter runs are not reported.
    :ivar timeout_s: limit of each of the at most four programs.
    """

    silence_db: float
    min_silence_s: float
    timeout_s: float

    async def measure(self, path: Path) -> Measurements:
        """Measure a file.

        :param path: absolute, so that it cannot be read as an option.
        :raises NotMedia: it has neither audio nor video.
        :raises FileNotFoundError: ``ffmpeg`` or ``ffprobe`` is not installed.
        :raises TimeoutError: a program took too long.
        """
        source = f"file:{path}"
        streams = await self._streams(source)
        audio = next((each for each in streams if each.get("codec_type") == "audio"), None)
        video = next((each for each in streams if each.get("codec_type") == "video" and not _is_cover(each)), None)
        if audio is None and video is None:
            raise NotMedia("it has neither an audio nor a video stream")
        audio_s = None if audio is None else await self._duration(source, audio)
        video_s = None if video is None else await self._duration(source, video)
        if audio is None:
            return Measurements(None, video_s)
        return await self._decode(source, int(audio["index"]), Measurements(audio_s, video_s))

    async def _streams(self, source: str) -> list[Mapping[str, Any]]:
        command = ["ffprobe", "-v", "error", "-protocol_whitelist", "file", "-of", "json", "-show_streams", source]
        done = await run_program(command, timeout_s=self.timeout_s, max_bytes=MAX_OUTPUT_BYTES)
        try:
            streams = json.loads(done.out)["streams"] if done.code == 0 else []
        except (ValueError, KeyError):
            streams = []
        if not streams:
            reason = done.err.strip().splitlines()[-1:] or ["no stream was found"]
            raise NotMedia(reason[0].replace(source, "the file").removeprefix("the file: "))
        return list(streams)

    async def _duration(self, source: str, stream: Mapping[str, Any]) -> float:
        """The duration that the file declares, or that its packets have."""
        if "duration" in stream:
            return float(stream["duration"])
        if clock := _CLOCK.match(str(stream.get("tags", {}).get("DURATION", ""))):
            hours, minutes, seconds = clock.groups()
            return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        options = ["-map", f"0:{stream['index']}", "-c", "copy", "-f", "null", "-progress", "pipe:1", "-"]
        done = await run_program(
            [*FFMPEG, "-loglevel", "error", "-i", source, *options],
            timeout_s=self.timeout_s,
            max_bytes=MAX_OUTPUT_BYTES,
        )
        times = _PROGRESS.findall(done.out)
        return int(times[-1]) / 1_000_000 if times else 0.0

    async def _decode(self, source: str, index: int, so_far: Measurements) -> Measurements:
        filters = f"silencedetect=noise={self.silence_db}dB:d={self.min_silence_s},ebur128=peak=true:framelog=verbose"
        command = [*FFMPEG, "-loglevel", "level+info", "-i", source, "-map", f"0:{index}", "-af", filters]
        done = await run_program([*command, "-f", "null", "-"], timeout_s=self.timeout_s, max_bytes=MAX_OUTPUT_BYTES)
        errors = tuple(dict.fromkeys(each.strip()[:200] for each in _ERROR.findall(done.err)))[:10]
        if done.code != 0:  # what was measured until then is not that of the whole file
            return attrs.evolve(so_far, errors=errors or (f"ffmpeg ended with code {done.code}",))
        loudness, peak = loudness_in(done.err)
        return attrs.evolve(
            so_far,
            loudness_lufs=loudness,
            peak_dbfs=peak,
            silence=_runs(done.err, so_far.audio_s or 0.0),
            errors=errors,
        )


def loudness_in(log: str) -> tuple[float | None, float | None]:
    """Return the integrated loudness and the true peak of a log of ``ebur128``; ``None`` if nothing is audible or not measured."""
    loudness = _number(_LOUDNESS.findall(log))
    is_audible = loudness is not None and loudness > QUIET_LUFS
    return (loudness, _number(_PEAK.findall(log))) if is_audible else (None, None)


def _is_cover(stream: Mapping[str, Any]) -> bool:
    return bool(stream.get("disposition", {}).get("attached_pic"))


def _number(found: list[str]) -> float | None:
    """The last value, which is that of the summary."""
    return float(found[-1]) if found and found[-1] not in ("-inf", "nan") else None


def _runs(log: str, audio_s: float) -> tuple[tuple[float, float], ...]:
    """The runs of silence; one without an end lasts until the end of the audio."""
    runs: list[tuple[float, float]] = []
    start: float | None = None
    for kind, value in _SILENCE.findall(log):
        if kind == "start":
            start = max(0.0, float(value))
        elif start is not None:
            runs.append((start, float(value)))
            start = None
    if start is not None:
        runs.append((start, max(start, audio_s)))
    return tuple(runs)
