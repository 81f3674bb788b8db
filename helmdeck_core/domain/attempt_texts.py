"""The texts of an attempt, for sinks that record them. Events hold none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol, runtime_checkable

import attrs

from helmdeck_core.domain.chat import ChatRequest, TextPart, ToolCall

MASKED_AHEAD: Final = 2_000
"""Characters beyond the limit that are masked too, so that the limit cuts no secret."""

CUT: Final = "… (cut)"


@attrs.frozen(kw_only=True)
class AttemptTexts:
    """The request and the answer of one attempt of a call. It is masked and cut when it is read, in the thread of the reader.

    :ivar attempt: number of the attempt, from 1.
    :ivar answer: the text of the response, or what was delivered of it; empty without one.
    :ivar tool_calls: the tool calls of the response.
    :ivar mask: returns a text without secrets of providers, and without what looks like a secret.

    .. versionadded:: 0.2
    """

    call_id: str
    attempt: int
    request: ChatRequest = attrs.field(repr=False)
    answer: str = attrs.field(default="", repr=False)
    tool_calls: tuple[ToolCall, ...] = attrs.field(default=(), repr=False)
    mask: Callable[[str], str] = attrs.field(repr=False)

    def request_text(self, most: int) -> str:
        """Return the messages as text, each under its role; images and files by their type.

        :param most: maximum bytes in UTF-8.
        """
        return self._text(self._messages(), most)

    def answer_text(self, most: int) -> str:
        """Return the answer with its tool calls as text.

        :param most: maximum bytes in UTF-8.
        """
        return self._text((self.answer, *map(_call_text, self.tool_calls)), most)

    def _text(self, parts: Iterable[str], most: int) -> str:
        joined = _joined(parts, most + MASKED_AHEAD)
        shown, is_truncated = self.mask(joined), len(joined) >= most + MASKED_AHEAD
        if is_truncated:  # the end may be a part of a secret
            shown = shown[:-MASKED_AHEAD]
        data = shown.encode("utf-8", "replace")
        return f"{data[:most].decode('utf-8', 'ignore')}{CUT}" if is_truncated or len(data) > most else shown

    def _messages(self) -> Iterator[str]:
        for message in self.request.messages:
            yield f"[{message.role.value}]"
            for part in message.parts:
                yield part.text if isinstance(part, TextPart) else f"({part.media_type or 'a file'})"
            yield from map(_call_text, message.tool_calls)


@runtime_checkable
class TextRecorder(Protocol):
    """An open event sink that also records texts, if ``records_texts`` is true when the deck is made."""

    records_texts: bool

    def handle_texts(self, texts: AttemptTexts) -> None:
        """Take the texts of an attempt when it ends; quick, as ``handle``."""
        ...


def _call_text(call: ToolCall) -> str:
    return f"(tool call {call.name}) {call.arguments}"


def _joined(texts: Iterable[str], most: int) -> str:
    """Join texts up to a length; a request may have megabytes."""
    found: list[str] = []
    for text in filter(None, texts):
        found.append(text[:most])
        most -= len(text) + 1
        if most <= 0:
            break
    return "\n".join(found)
