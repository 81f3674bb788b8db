"""What a native stop reason means beside the rest of the answer.

The table alone is not enough: a refusal and a tool call may come with a plain ``stop``, and some servers relabel a turn
that ran into its output limit. Nothing is ever promoted to a clean end here.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from helmdeck_core import StopReason, ToolCall

_PROSE_CHARS = 200
"""A shorter answer than this may well end without a full stop: a label, a number, a name."""

_OPENERS = ("{", "[", "```json", "```\n{", "```\n[")


def in_context(
    strict: StopReason,
    *,
    text: str = "",
    tool_calls: Sequence[ToolCall] = (),
    is_refused: bool = False,
    is_at_limit: bool = False,
) -> StopReason:
    """Return what the whole answer means.

    :param strict: the native word alone, by the table.
    :param text: what is visible, without reasoning.
    :param is_refused: the answer holds a refusal beside its text.
    :param is_at_limit: as many tokens were generated as were allowed.
    """
    if strict is StopReason.END_TURN and is_refused:
        return StopReason.SAFETY_BLOCKED
    if strict not in (StopReason.END_TURN, StopReason.TOOL_CALL):
        return strict
    if is_at_limit and (tool_calls or looks_cut(text)):
        # Some servers call a turn that hit its limit a tool call as soon as one call was parsed; the call, or the ones
        # that would have followed, may be cut.
        return StopReason.MAX_TOKENS
    return StopReason.TOOL_CALL if tool_calls else strict


def looks_cut(text: str) -> bool:
    """Whether text that ends at its output limit also looks as if it went on: open JSON, or prose in mid-sentence.

    An empty text at the limit counts: everything went into reasoning.
    """
    text = text.strip()
    if not text:
        return True
    if text.startswith(_OPENERS):
        return not _is_json(text)
    return len(text) > _PROSE_CHARS and (text[-1].isalnum() or text[-1] in ",;:-([{")


def _is_json(text: str) -> bool:
    if text.startswith("```"):
        return text.endswith("```")
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True
