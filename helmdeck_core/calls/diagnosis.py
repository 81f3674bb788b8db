"""Diagnoses undecodable responses: the cause from the stop reason, the sub-cause from the text."""

from __future__ import annotations

from helmdeck_core.calls.model_text import excerpt_of, loop_of
from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.decode import DecodeFailed
from helmdeck_core.errors import FailureClass

_TRUNCATED = frozenset((StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW_EXCEEDED))
_FINISHED = frozenset((StopReason.END_TURN, StopReason.TOOL_CALL))


def undecodable(stop: StopReason | None, sub_cause: str, text: str | bytes, *, is_empty: bool = False) -> DecodeFailed:
    """Build the failure for a text without a value.

    >>> from helmdeck_core import StopReason, undecodable
    >>> failure = undecodable(StopReason.MAX_TOKENS, "cut", '{"steps": [')
    >>> type(failure).__name__, failure.sub_cause, failure.excerpt
    ('DecodeFailed', 'cut', '{"steps": [')
    """
    return DecodeFailed(cause_of(stop, is_empty=is_empty), sub_cause, is_empty, excerpt=excerpt_of(text))


def cause_of(stop: StopReason | None, *, is_empty: bool) -> FailureClass:
    """One of the four causes; an unknown stop reason counts as ``None``."""
    if stop is StopReason.SAFETY_BLOCKED:
        return FailureClass.SAFETY_FILTERED
    if stop in _TRUNCATED:
        return FailureClass.LENGTH_TRUNCATED
    return FailureClass.LIKELY_TIMEOUT if is_empty else FailureClass.CONSTRAINED_DEADLOCK


def empty_sub_cause(stop: StopReason | None, text: str, *, has_reasoning: bool, is_unclosed: bool) -> str:
    """The sub-cause of a response without visible text.

    >>> from helmdeck_core import StopReason, empty_sub_cause
    >>> empty_sub_cause(StopReason.MAX_TOKENS, "", has_reasoning=True, is_unclosed=False)
    'only_reasoning'
    """
    if is_unclosed:
        return "unclosed_reasoning"
    if has_reasoning:
        return "only_reasoning"
    if loop := loop_of(text):
        return loop
    return "empty_though_finished" if stop in _FINISHED else "empty"
