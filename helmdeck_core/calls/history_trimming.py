"""Makes a conversation shorter from its beginning, in whole turns, so that what is left is still one."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core.domain.chat import ImagePart, Message, Role

IMAGE_CHARS = 3_000
"""What an image counts for: most interfaces charge about a thousand tokens for one, whatever its bytes."""


def without_oldest(messages: Sequence[Message], factor: float) -> tuple[Message, ...]:
    """Leave the oldest turns out until the rest is at most this part of the whole, by characters.

    What the system says stays, and so does the newest turn, even if they are larger than that. A turn begins with what the
    user says. The result of a tool never goes without its call, nor the call without its result.
    """
    starts = _starts(messages)
    sizes = [_size(message) for message in messages]
    size, most = sum(sizes), factor * sum(sizes)
    kept_from = 0
    for start in starts[1:]:
        if size <= most:
            break
        size -= sum(sizes[index] for index in range(kept_from, start) if messages[index].role is not Role.SYSTEM)
        kept_from = start
    return tuple(message for index, message in enumerate(messages) if index >= kept_from or message.role is Role.SYSTEM)


def _starts(messages: Sequence[Message]) -> list[int]:
    """Where turns begin; what stands before the first word of the user is a turn of its own."""
    results = _last_results(messages)
    starts, last, before = [0], -1, Role.SYSTEM
    for index, message in enumerate(messages):
        if message.role is Role.SYSTEM:
            continue
        if message.role is Role.USER and before not in (Role.USER, Role.SYSTEM) and last < index:
            starts.append(index)
        before = message.role
        # Until the results of a call have come, its turn goes on, whoever speaks in between.
        last = max(last, results[index])
    return starts


def _last_results(messages: Sequence[Message]) -> list[int]:
    """For each message where the last result of its calls stands; ids may come up again, so the next one counts."""
    following: dict[str | None, int] = {}
    found = [-1] * len(messages)
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role is Role.TOOL:
            following[message.tool_call_id] = index
        found[index] = max((following.get(call.id, -1) for call in message.tool_calls), default=-1)
    return found


def _size(message: Message) -> int:
    parts = sum(IMAGE_CHARS if isinstance(part, ImagePart) else len(part.text) for part in message.parts)
    return parts + sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
