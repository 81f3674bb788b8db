"""Corrects stop reasons by the content of the response.

The table alone is not enough: a refusal or a tool call may arrive with ``stop``, and some servers report another reason
for a response truncated at the output limit. A reason is never changed to a clean end.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helmdeck_core import StopReason, ToolCall

_PROSE_CHARS = 200
"""Shorter responses may be whole at the limit: a label, a number, a name, for which callers set low limits."""

_OPENERS = ("{", "[", "```json", "```\n{", "```\n[")


def in_context(
    strict: StopReason,
    *,
    text: str = "",
    tool_calls: Sequence[ToolCall] = (),
    is_refused: bool = False,
    is_at_limit: bool = False,
    is_truncated: bool = False,
) -> StopReason:
    """Return the stop reason of the complete response.

    :param strict: stop reason by the table alone.
    :param text: text without reasoning.
    :param is_refused: the response contains a separate refusal.
    :param is_at_limit: the output limit was reached.
    :param is_truncated: a tool call is incomplete.
    """
    if strict is StopReason.END_TURN and is_refused:
        return StopReason.SAFETY_BLOCKED
    if strict not in (StopReason.END_TURN, StopReason.TOOL_CALL):
        return strict
    if is_truncated or (is_at_limit and (tool_calls or looks_truncated(text))):
        # Some servers report a tool call at the output limit as soon as one call was parsed; this call may be truncated,
        # or further calls may be missing.
        return StopReason.MAX_TOKENS
    return StopReason.TOOL_CALL if tool_calls else strict


def looks_truncated(text: str) -> bool:
    """Whether text at the output limit looks truncated: incomplete JSON, or prose, even if it ends with a sentence.

    Models rarely stop at exactly the limit, and some servers report every end as a regular one. Empty text counts as
    truncated: all output was reasoning.
    """
    text = text.strip()
    if not text:
        return True
    if text.startswith(_OPENERS):
        return not _is_json(text)
    return len(text) > _PROSE_CHARS


def ends_early(text: str) -> bool:
    """Whether text ends in the middle of a sentence: a space, a letter, a digit or a sign that something follows."""
    return bool(text) and (text[-1].isalnum() or text[-1] in " ,;:-([{")


def _is_json(text: str) -> bool:
    if text.startswith("```"):
        return text.endswith("```")
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True
