"""Stop reasons of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Mapping

from helmdeck_core import Disposition, StopReason

REASONS: Mapping[str, StopReason] = {
    "completed": StopReason.END_TURN,
    "incomplete:max_output_tokens": StopReason.MAX_TOKENS,
    "max_output_tokens": StopReason.MAX_TOKENS,
    "incomplete:content_filter": StopReason.SAFETY_BLOCKED,
    "content_filter": StopReason.SAFETY_BLOCKED,
    "cancelled": StopReason.CANCELLED,
}
"""The status of a response, and after a colon why it is incomplete. ``incomplete`` alone is ``Unknown``."""

DISPOSITIONS: Mapping[str, Disposition] = {
    "incomplete": Disposition.RETRY,
    "queued": Disposition.RETRY,
    "in_progress": Disposition.RETRY,
}
