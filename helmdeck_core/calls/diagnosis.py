"""Diagnoses undecodable responses: the cause from the stop reason, the sub-cause from the text."""

from __future__ import annotations

from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.decode import DecodeFailed
from helmdeck_core.errors import FailureClass

MAX_EXCERPT = 200

_TRUNCATED = frozenset((StopReason.MAX_TOKENS, StopReason.CONTEXT_WINDOW_EXCEEDED))
_FINISHED = frozenset((StopReason.END_TURN, StopReason.TOOL_CALL))

_LOOP_WINDOW = 400
_LONGEST_TOKEN = 24
_MAX_NON_SPACE = 20  # non-whitespace characters in the window: a brace and a key, then only whitespace


def undecodable(stop: StopReason | None, sub_cause: str, text: str | bytes, *, is_empty: bool = False) -> DecodeFailed:
    """Build the failure for a text without a value."""
    return DecodeFailed(cause_of(stop, is_empty=is_empty), sub_cause, is_empty, excerpt=excerpt_of(text))


def cause_of(stop: StopReason | None, *, is_empty: bool) -> FailureClass:
    """One of the four causes; an unknown stop reason counts as ``None``."""
    if stop is StopReason.SAFETY_BLOCKED:
        return FailureClass.SAFETY_FILTERED
    if stop in _TRUNCATED:
        return FailureClass.LENGTH_TRUNCATED
    return FailureClass.LIKELY_TIMEOUT if is_empty else FailureClass.CONSTRAINED_DEADLOCK


def empty_sub_cause(stop: StopReason | None, text: str, *, has_reasoning: bool, is_unclosed: bool) -> str:
    """The sub-cause of a response without visible text."""
    if is_unclosed:
        return "unclosed_reasoning"
    if has_reasoning:
        return "only_reasoning"
    if loop := loop_of(text):
        return loop
    return "empty_though_finished" if stop in _FINISHED else "empty"


def loop_of(text: str) -> str:
    """The sub-cause if the text ends in a repetition, a failure mode of constrained decoding; empty if it does not."""
    if is_blank_loop(text):
        return "whitespace_loop"
    window = text[-_LOOP_WINDOW:]
    if len(window) < _LOOP_WINDOW:
        return ""
    if not any(window[size:] == window[:-size] for size in range(1, _LONGEST_TOKEN + 1)):
        return ""
    return "whitespace_loop" if window.isspace() else "repeated_token"


def is_blank_loop(text: str) -> bool:
    """Whether the text ends in whitespace, apart from at most a brace and a key."""
    window = text[-_LOOP_WINDOW:]
    return len(window) == _LOOP_WINDOW and len(window) - sum(map(window.count, " \t\r\n")) <= _MAX_NON_SPACE


def excerpt_of(text: str | bytes) -> str:
    """The start of the text, with non-printable and invisible characters escaped."""
    head = text[:MAX_EXCERPT]
    if isinstance(head, bytes):
        head = head.decode("utf-8", "replace")
    if head.isprintable():
        return head
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in head)[:MAX_EXCERPT]
