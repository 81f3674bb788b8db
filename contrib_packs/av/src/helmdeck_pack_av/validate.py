"""The pack: compares the measurements of a file with limits.

A value outside a limit is a finding, which is data: the file exists, and the caller decides. Only ``strict`` turns findings into
a failure, ``ArtifactInvalid``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from helmdeck_core import ArtifactInvalid, Pack, PackContext, PackError, PackErrorCode
from helmdeck_pack_av.measure import Measurements, Meter, NotMedia
from helmdeck_pack_av.process import PROGRAMS, missing

NAME: Final = "av.validate"

DEFAULTS: Final[Mapping[str, float]] = {
    "silence_db": -50.0,
    "max_silence_s": 2.0,
    "min_lufs": -24.0,
    "max_lufs": -14.0,
    "max_duration_gap_s": 0.5,
    "timeout_s": 300.0,
}


def _limit(name: str, description: str, low: float, high: float) -> dict[str, Any]:
    return {
        "type": "number",
        "minimum": low,
        "maximum": high,
        "default": DEFAULTS[name],
        "description": description,
    }


INPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "description": "The audio or video file."},
        "strict": {"type": "boolean", "default": False, "description": "Whether any finding fails the call."},
        "silence_db": _limit("silence_db", "Level in dBFS below which audio is silent.", -120, 0),
        "max_silence_s": _limit("max_silence_s", "Longest silence in seconds without a finding.", 0.1, 3600),
        "min_lufs": _limit("min_lufs", "Lowest integrated loudness in LUFS without a finding.", -70, 0),
        "max_lufs": _limit("max_lufs", "Highest integrated loudness in LUFS without a finding.", -70, 0),
        "max_duration_gap_s": _limit(
            "max_duration_gap_s",
            "Largest difference of audio and video duration in seconds without a finding.",
            0,
            3600,
        ),
        "timeout_s": _limit("timeout_s", "Time limit of each measuring program in seconds.", 1, 3600),
    },
    "required": ["path"],
    "additionalProperties": False,
}

_SECONDS: Final = {"type": ["number", "null"]}

OUTPUT_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "findings": {
            "type": "array",
            "description": "Values outside the limits; empty if there are none.",
            "items": {
                "type": "object",
                "properties": {
                    "check": {"enum": ["silence_runs", "loudness_lufs", "audio_video_duration", "decode_errors"]},
                    "message": {"type": "string"},
                    "start_s": {"type": "number"},
                    "end_s": {"type": "number"},
                    "value": _SECONDS,
                },
                "required": ["check", "message"],
                "additionalProperties": False,
            },
        },
        "measurements": {
            "type": "object",
            "properties": {
                "audio_duration_s": _SECONDS,
                "video_duration_s": _SECONDS,
                "loudness_lufs": _SECONDS,
                "true_peak_dbfs": _SECONDS,
                "silence_s": {"type": "number", "description": "Sum of all reported silence."},
            },
            "required": ["audio_duration_s", "video_duration_s", "loudness_lufs", "true_peak_dbfs", "silence_s"],
            "additionalProperties": False,
        },
    },
    "required": ["path", "findings", "measurements"],
    "additionalProperties": False,
}


async def validate(context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Measure a file and compare it with the limits.

    :raises PackError: ``invalid_input`` for a path that is not an audio or video file, ``timeout`` when measuring takes too
        long, ``handler_failed`` without ``ffmpeg``.
    :raises ArtifactInvalid: there are findings, and ``strict`` is set.
    """
    limits = {**DEFAULTS, **{key: arguments[key] for key in DEFAULTS if key in arguments}}
    if limits["min_lufs"] > limits["max_lufs"]:
        detail = f"min_lufs {limits['min_lufs']:g} is above max_lufs {limits['max_lufs']:g}"
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, detail)
    path = _file(arguments["path"])
    context.progress(f"measuring {path.name}")
    meter = Meter(limits["silence_db"], limits["max_silence_s"], limits["timeout_s"])
    try:
        measured = await meter.measure(path)
    except NotMedia as exc:
        detail = f"path {arguments['path']!r} is not an audio or video file: {exc}"
        raise PackError(NAME, PackErrorCode.INVALID_INPUT, detail) from exc
    except FileNotFoundError as exc:
        detail = f"{exc.filename} is not installed; install ffmpeg, which includes ffprobe"
        raise PackError(NAME, PackErrorCode.HANDLER_FAILED, detail) from None
    except TimeoutError as exc:
        detail = f"measuring took longer than timeout_s, {limits['timeout_s']:g} s"
        raise PackError(NAME, PackErrorCode.TIMEOUT, detail) from exc
    found = findings(measured, limits)
    if found and arguments.get("strict", False):
        messages = "; ".join(each["message"] for each in found[:5])
        more = f"; and {len(found) - 5} more findings" if len(found) > 5 else ""
        raise ArtifactInvalid(f"{NAME} rejected {path.name}", detail=messages + more)
    return {
        "path": arguments["path"],
        "findings": found,
        "measurements": {
            "audio_duration_s": _rounded(measured.audio_s),
            "video_duration_s": _rounded(measured.video_s),
            "loudness_lufs": measured.loudness_lufs,
            "true_peak_dbfs": measured.peak_dbfs,
            "silence_s": round(sum(end - start for start, end in measured.silence), 3),
        },
    }


def findings(measured: Measurements, limits: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return the values outside the limits."""
    found: list[dict[str, Any]] = []
    for start, end in measured.silence:
        message = f"silence of {end - start:.1f} s from {start:.1f} s to {end:.1f} s"
        found.append(
            {
                "check": "silence_runs",
                "message": message,
                "start_s": round(start, 3),
                "end_s": round(end, 3),
                "value": round(end - start, 3),
            }
        )
    loudness = measured.loudness_lufs
    if measured.audio_s is not None and loudness is None:
        found.append({"check": "loudness_lufs", "message": "the audio is too quiet or too short to have a loudness"})
    elif loudness is not None and not limits["min_lufs"] <= loudness <= limits["max_lufs"]:
        allowed = f"{limits['min_lufs']:g} to {limits['max_lufs']:g} LUFS"
        message = f"loudness of {loudness:.1f} LUFS, outside {allowed}"
        found.append({"check": "loudness_lufs", "message": message, "value": loudness})
    if measured.audio_s is not None and measured.video_s is not None:
        gap = measured.audio_s - measured.video_s
        if abs(gap) > limits["max_duration_gap_s"]:
            message = (
                f"the audio of {measured.audio_s:.1f} s is {abs(gap):.1f} s {'longer' if gap > 0 else 'shorter'} than "
                f"the video of {measured.video_s:.1f} s"
            )
            found.append({"check": "audio_video_duration", "message": message, "value": round(gap, 3)})
    if measured.errors:
        found.append({"check": "decode_errors", "message": f"the decoder reported: {'; '.join(measured.errors)}"})
    return found


def _file(argument: str) -> Path:
    try:
        path = Path(argument).resolve()
        if path.is_file():
            return path
    except (OSError, ValueError):  # too long, or with a null character
        pass
    raise PackError(NAME, PackErrorCode.INVALID_INPUT, f"path {argument[:200]!r} is not a file")


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


PACK: Final = Pack(
    name=NAME,
    version="0.1.0",
    description=(
        "Inspect an audio or video file for silence, loudness and length mismatch. Findings are data; with strict set, "
        "any finding fails the call."
    ),
    run=validate,
    metadata={
        "accepts": ["audio", "video"],
        "produces": ["findings"],
        "intent_keywords": ["check the audio", "is the video ok", "loudness"],
        "typical_use": "After generating or cutting media.",
        "limitations": ["Needs ffmpeg", "Checks the first audio and the first video stream"],
    },
    input_schema=INPUT_SCHEMA,
    output_schema=OUTPUT_SCHEMA,
    missing_programs=lambda _: missing(PROGRAMS),
)
