"""Stop reasons of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Mapping

from helmdeck_core import Disposition, StopReason

REASONS: Mapping[str, StopReason] = {
    "end_turn": StopReason.END_TURN,
    "stop_sequence": StopReason.END_TURN,
    "tool_use": StopReason.TOOL_CALL,
    "max_tokens": StopReason.MAX_TOKENS,
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW_EXCEEDED,
    "refusal": StopReason.SAFETY_BLOCKED,
}
DISPOSITIONS: Mapping[str, Disposition] = {
    "pause_turn": Disposition.RESUME,  # a server-side tool loop was paused
    "compaction": Disposition.RESUME,  # the history was compacted
}
"""Both reasons are ``Unknown``: the turn has neither ended nor failed."""
