"""Moves images and files of other roles to messages of the user, where every API accepts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from helmdeck_core import Message, Part, Role, TextPart

OF_RESULTS: Final = TextPart("(attached to the results of the tools)")
OF_MESSAGE: Final = TextPart("(attached to an earlier message)")
"""They mark images and files that were moved, and stand for the text of a message that has none."""


def media_in_user_turns(messages: Iterable[Message], *accepted: Role) -> Iterator[Message]:
    """Yield the messages with images and files of other roles in the next message of the user.

    :param accepted: other roles whose images and files the API accepts.

    >>> from helmdeck_core import ImagePart, Message, Role, TextPart
    >>> from helmdeck_providers import media_in_user_turns
    >>> drawn = Message(Role.ASSISTANT, (TextPart("A ship."), ImagePart("image/png", b"example")))
    >>> [(each.role.value, len(each.parts)) for each in media_in_user_turns([drawn])]
    [('assistant', 1), ('user', 2)]
    """
    moved: list[Part] = []
    for each in messages:
        message, found = each, []
        if message.role is not Role.USER and message.role not in accepted:
            found = [part for part in message.parts if not isinstance(part, TextPart)]
        if moved and message.role is Role.USER:
            message = attrs.evolve(message, parts=(*moved, *message.parts))
            moved = []
        elif moved and message.role is Role.ASSISTANT:
            yield Message(Role.USER, tuple(moved))
            moved = []
        if found:
            mark = OF_RESULTS if message.role is Role.TOOL else OF_MESSAGE
            message = attrs.evolve(message, parts=message.texts or (() if message.tool_calls else (mark,)))
            moved += found if mark in moved else [mark, *found]
        yield message
    if moved:
        yield Message(Role.USER, tuple(moved))
