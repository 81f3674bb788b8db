"""Shortens a conversation by whole turns, oldest first, so that the rest remains a valid conversation."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core.domain.chat import Message, Role, TextPart

IMAGE_CHARS = 3_000
"""Size of an image or file: most interfaces charge about a thousand tokens for one, whatever its bytes."""


def drop_oldest_turns(messages: Sequence[Message], factor: float) -> tuple[Message, ...]:
    """Drop the oldest turns until the rest is at most this share of the whole, in characters.

    System messages and the newest turn are kept, even if they are larger than that. A turn starts with a user message. A
    tool result is never separated from its call.
    """
    starts = _turn_starts(messages)
    sizes = [_size(message) for message in messages]
    size, limit = sum(sizes), factor * sum(sizes)
    first_kept = 0
    for start in starts[1:]:
        if size <= limit:
            break
        size -= sum(sizes[index] for index in range(first_kept, start) if messages[index].role is not Role.SYSTEM)
        first_kept = start
    return tuple(
        message for index, message in enumerate(messages) if index >= first_kept or message.role is Role.SYSTEM
    )


def _turn_starts(messages: Sequence[Message]) -> list[int]:
    """Indexes at which turns start; messages before the first user message are a turn of their own."""
    results = _last_results(messages)
    starts, last_result, previous = [0], -1, Role.SYSTEM
    for index, message in enumerate(messages):
        if message.role is Role.SYSTEM:
            continue
        if message.role is Role.USER and previous not in (Role.USER, Role.SYSTEM) and last_result < index:
            starts.append(index)
        previous = message.role
        # A turn with tool calls ends after their results, whatever messages come in between.
        last_result = max(last_result, results[index])
    return starts


def _last_results(messages: Sequence[Message]) -> list[int]:
    """For each message the index of the last result of its calls; call ids may be reused, so the next result counts."""
    following: dict[str | None, int] = {}
    last_results = [-1] * len(messages)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role is Role.TOOL:
            following[message.tool_call_id] = index
        last_results[index] = max((following.get(call.id, -1) for call in message.tool_calls), default=-1)
    return last_results


def _size(message: Message) -> int:
    parts = sum(len(part.text) if isinstance(part, TextPart) else IMAGE_CHARS for part in message.parts)
    return parts + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
