"""Stop reasons of Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Mapping

from helmdeck_core import Disposition, StopReason

_BLOCK_REASONS = (
    "safety",
    "other",
    "blocklist",
    "prohibited_content",
    "image_safety",
    "model_armor",
    "jailbreak",
    "1",
    "2",
    "3",
    "4",
)
"""Why a prompt was blocked before anything was generated; there, ``OTHER`` is a verdict and not a server problem."""

REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "max_tokens": StopReason.MAX_TOKENS,
    "continuation": StopReason.MAX_TOKENS,  # a limit per request: the rest can be requested
    "safety": StopReason.SAFETY_BLOCKED,
    "blocklist": StopReason.SAFETY_BLOCKED,
    "prohibited_content": StopReason.SAFETY_BLOCKED,
    "spii": StopReason.SAFETY_BLOCKED,
    "recitation": StopReason.SAFETY_BLOCKED,
    "image_safety": StopReason.SAFETY_BLOCKED,
    "image_prohibited_content": StopReason.SAFETY_BLOCKED,
    "image_recitation": StopReason.SAFETY_BLOCKED,
    "model_armor": StopReason.SAFETY_BLOCKED,
    "escalation": StopReason.SAFETY_BLOCKED,
    # An older Vertex client requests enums as numbers; from 5 on, the two APIs number them differently.
    "1": StopReason.END_TURN,
    "2": StopReason.MAX_TOKENS,
    "3": StopReason.SAFETY_BLOCKED,
    "4": StopReason.SAFETY_BLOCKED,
    **{f"promptfeedback:{reason}": StopReason.SAFETY_BLOCKED for reason in _BLOCK_REASONS},
}
DISPOSITIONS: Mapping[str, Disposition] = {
    "continuation": Disposition.RESUME,
    "language": Disposition.STOP,  # a language that the model does not support
    "missing_thought_signature": Disposition.STOP,  # the request lost a signature
    "pup_limited_disabled": Disposition.ACCOUNT,
}
"""Every other reason that is ``Unknown``, such as ``MALFORMED_FUNCTION_CALL``, may not occur again on a retry."""
