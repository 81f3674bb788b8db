"""What the packs that make sound and film share: their voices, their failures, and the validation of what they made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from helmdeck_core import HelmdeckError, PackContext, PackError, PackErrorCode
from helmdeck_pack_av import validate
from helmdeck_pack_av.options import AvOptions
from helmdeck_pack_av.process import PROGRAMS, missing
from helmdeck_pack_av.sound import SoundError
from helmdeck_pack_av.voices import VoiceEngine, VoiceError, find_engine

LANGUAGE: Final[Mapping[str, Any]] = {
    "type": "string",
    "pattern": r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$",
    "description": "Language of the text as a tag, such as en or pt-br; default: en.",
}
VALIDATE: Final[Mapping[str, Any]] = {
    "type": "boolean",
    "default": True,
    "description": "Whether the file is measured and the output contains the findings of av.validate.",
}
VALIDATION: Final[Mapping[str, Any]] = {
    "type": "object",
    "description": "Findings and measurements of av.validate; left out with validate = false.",
    "properties": {"findings": {"type": "array", "items": {"type": "object"}}, "measurements": {"type": "object"}},
    "required": ["findings"],
}
ARTIFACTS: Final[Mapping[str, Any]] = {"type": "array", "items": {"type": "object"}}


@contextlib.contextmanager
def failures_of(pack: str) -> Iterator[None]:
    """Turn failures of engines and programs into those of a pack."""
    try:
        yield
    except VoiceError as exc:
        code = PackErrorCode.INVALID_INPUT if exc.is_invalid else PackErrorCode.HANDLER_FAILED
        raise PackError(pack, code, str(exc)) from None
    except SoundError as exc:
        raise PackError(pack, PackErrorCode.HANDLER_FAILED, str(exc)) from None


def engine_and_voices(options: AvOptions, language: str) -> tuple[VoiceEngine, tuple[str, str]]:
    """Return the configured engine and the voices of two hosts.

    :raises VoiceError: the engine is unknown.
    """
    engine = find_engine(options.engine)
    first, second = engine.voices(language)
    chosen = options.voices
    return engine, (chosen[0] if chosen else first, chosen[1] if len(chosen) > 1 else second)


def missing_programs(options: AvOptions) -> Sequence[tuple[str, str]]:
    """Return the programs that are not installed, those of the configured voice engine included."""
    programs = dict(PROGRAMS)
    with contextlib.suppress(VoiceError):  # the pack reports it
        programs |= find_engine(options.engine).programs
    return missing(programs)


async def validation(context: PackContext, path: str) -> dict[str, Any]:
    """Return the findings and measurements of ``av.validate``. Findings, and a failure to measure, never fail the pack."""
    try:
        output = await context.run(validate.NAME, {"path": path})
    except HelmdeckError as exc:
        return {"findings": [{"check": "not_measured", "message": str(exc)}]}
    return {name: output[name] for name in ("findings", "measurements") if name in output}
