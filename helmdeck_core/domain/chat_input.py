"""Chat input as callers write it; plugins read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from helmdeck_core.domain.chat import ImagePart, Message

ChatInput = str | Sequence[Message | Mapping[str, Any]]
"""A user message, or a conversation: ``Message`` objects, or messages as dicts."""

ImageInput = str | bytes | Path | ImagePart
"""An image: the path of a file, its bytes, or an ``https`` or ``data`` URL."""


@attrs.frozen(kw_only=True)
class ChatInputReader:
    """Reads the input of ``ask``, ``complete`` and ``stream``; the reader with the lowest ``order`` is used.

    :ivar messages: returns the messages of a string or a conversation, at least one. It raises ``TypeError`` or ``ValueError``
        with the place of the mistake. Text of messages may come from elsewhere, so it must not name files.
    :ivar images: returns the parts of one image or several; it also raises ``OSError``.
    """

    name: str
    messages: Callable[[ChatInput], tuple[Message, ...]]
    images: Callable[[ImageInput | Iterable[ImageInput]], tuple[ImagePart, ...]]
    order: int = 0
