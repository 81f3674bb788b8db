"""Reads responses of OpenAI's Responses API and of compatible servers, whole or streamed.

The status of a response is its stop reason; it never indicates a tool call. Content that the final event repeats is used
only where no delta delivered it before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal
from urllib.parse import quote

import attrs
import msgspec

from helmdeck_core import CallFailed, ChatDelta, ChatResponse, StopReason, TransientUnknown, Usage
from helmdeck_providers.http.bodies import arguments, count, rows, string, table, undelivered, word
from helmdeck_providers.http.failures import ErrorFacts, read_error
from helmdeck_providers.http.partial_tool_call import PartialToolCall
from helmdeck_providers.http.response_reader import ReaderContext, ResponseReader

_CALLS = ("function_call", "custom_tool_call")
_KNOWN_ITEMS = ("message", "reasoning", *_CALLS)
_SERVER_TOOLS = ("x_keyword_search", "x_semantic_search", "x_thread_fetch", "x_user_search")
"""xAI reports its own searches of X as calls of custom tools, which it has executed."""
_END_EVENTS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_PENDING = ("queued", "in_progress")
_ITEM_TYPES = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
}
_WHOLE_ARGUMENTS = {
    "response.function_call_arguments.done": "function_call",
    "response.custom_tool_call_input.done": "custom_tool_call",
}


class _Chunk(msgspec.Struct, gc=False):
    """A text or reasoning delta."""

    type: Literal[
        "response.output_text.delta", "response.reasoning_text.delta", "response.reasoning_summary_text.delta"
    ]
    delta: str
    item_id: str = ""
    output_index: int | None = None


@attrs.define(eq=False)
class _Item:
    """One output item, as far as it was received."""

    kind: str
    chunks: list[str] = attrs.field(factory=list)
    call: PartialToolCall | None = None
    is_refused: bool = False
    is_unread: bool = False
    has_index: bool = False
    data: Mapping[str, Any] = attrs.field(factory=dict)


class ResponsesAnswer(ResponseReader):
    """A response; a whole one is read as the final event alone."""

    fast_decoder: ClassVar[msgspec.json.Decoder[Any] | None] = msgspec.json.Decoder(_Chunk)

    def __init__(self, context: ReaderContext) -> None:
        super().__init__(context)
        self._items: dict[object, _Item] = {}
        self._order: list[_Item] = []
        self._usage: object = None
        self._last: tuple[object, ...] = ()
        self._last_item = _Item("")

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Read a whole response.

        :raises CallFailed: it is an error, failed, still pending, or not a response.
        """
        if read_error(body, self._context.error_rules) is None and not (
            isinstance(body, dict) and ("output" in body or "status" in body)
        ):
            raise self._wrong_format(body, "the Responses interface")
        yield from self._end(table(body))

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Read one decoded event and yield the deltas it adds.

        :raises CallFailed: the event is an error, or the end of a failed response.
        """
        self._last = ()
        data = table(event)
        kind = string(data.get("type"))
        if kind.endswith(".delta"):
            yield from self._read_delta(kind, data)
        elif kind in _WHOLE_ARGUMENTS:
            item = self._item_of_part(_WHOLE_ARGUMENTS[kind], data)
            received = item.call.arguments if item.call else "".join(item.chunks)
            whole = string(data.get("arguments")) or string(data.get("input"))
            yield from self._extend_call(item, undelivered(received, whole))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            found, is_done = table(data.get("item")), kind.endswith(".done")
            item = self._item(
                string(found.get("type")), data.get("output_index"), string(found.get("id")), is_new=not is_done
            )
            yield from self._read_item(item, found, is_done=is_done)
        elif kind in _END_EVENTS:
            yield from self._end(table(data.get("response")), kind.partition(".")[2])
        elif kind == "error" and not data.get("error"):
            self._raise_error({"error": data})
        elif kind == "response.created":
            response = table(data.get("response"))
            self._model = string(response.get("model"))
            self.cancel_path = path_of_pending(response) if response.get("background") is True else ""
        else:
            self._raise_error(event)

    def feed_fast(self, chunk: _Chunk) -> Sequence[ChatDelta] | None:
        """Read a text or reasoning delta."""
        key = (chunk.type, chunk.output_index, chunk.item_id)
        if key != self._last:
            self._last_item = self._item(_ITEM_TYPES[chunk.type], chunk.output_index, chunk.item_id)
            self._last = key
        return self._add(self._last_item, chunk.delta)

    # -- deltas -------------------------------------------------------------------------------------------------

    def _item(self, kind: str, index: object, item_id: str, *, is_new: bool = False) -> _Item:
        """Return the item of an event: the one with its id, else the one of its type at its index."""
        index = index if isinstance(index, int) else None
        item = self._items.get(item_id) if item_id else None
        if (
            item is None
            and (at_index := self._items.get(index))
            and at_index.kind in (kind, "")
            and not (is_new and index is None)
        ):
            item = at_index
        if item is None and not is_new:  # an item whose first event had no such id or index
            unfinished = (each for each in reversed(self._order) if each.kind == kind and not each.data)
            item = next((each for each in unfinished if index is None or not each.has_index), None)
        if item is None:
            item = _Item(kind)
            self._order.append(item)
        item.kind = item.kind or kind
        item.has_index = item.has_index or index is not None
        self._items[index] = item
        if item_id:
            self._items[item_id] = item
        return item

    def _item_of_part(self, kind: str, data: Mapping[str, Any]) -> _Item:
        """Return the item of a part; an unknown index of arguments is that of the only call without them."""
        index, item_id = data.get("output_index"), string(data.get("item_id"))
        if kind in _CALLS and index not in self._items and item_id not in self._items:
            waiting = [each for each in self._order if each.kind == kind and each.call and each.call.is_blank()]
            if len(waiting) == 1 and not waiting[0].data:
                self._items[index] = waiting[0]
        return self._item(kind, index, item_id)

    def _items_of(self, output: list[dict[str, Any]]) -> list[_Item]:
        """Return the items of the final list, which has other indexes or other ids on some servers."""
        known = [self._items.get(string(data.get("id")) or None) if data.get("id") else None for data in output]
        left = [item for item in self._order if not any(item is other for other in known)]
        found = []
        for index, (data, item) in enumerate(zip(output, known, strict=True)):
            kind = string(data.get("type"))
            if item is None:
                at_index = self._items.get(index)
                same = [each for each in left if each.kind == kind]
                item = at_index if any(at_index is each for each in same) else next(iter(same), None)
                left = [each for each in left if each is not item]
            found.append(item or _Item(kind))
        return found

    def _read_delta(self, event: str, data: Mapping[str, Any]) -> Iterator[ChatDelta]:
        kind = _ITEM_TYPES.get(event)
        if kind is None:
            return
        chunk = string(data.get("delta"))
        item = self._item_of_part(kind, data)
        if event == "response.refusal.delta":
            self._refuse(item, chunk)
        elif kind in _CALLS:
            yield from self._extend_call(item, chunk)
        else:
            yield from self._add(item, chunk)

    def _extend_call(self, item: _Item, chunk: str) -> Iterator[ChatDelta]:
        if item.call is None:
            item.chunks.append(chunk)  # the name follows
        else:
            yield from self._add_arguments(item.call, chunk)

    def _add(self, item: _Item, chunk: str) -> Sequence[ChatDelta]:
        item.chunks.append(chunk)
        return self._add_reasoning(chunk) if item.kind == "reasoning" else self._add_text(chunk)

    def _refuse(self, item: _Item, chunk: str) -> None:
        item.is_refused = True
        self._refusal += chunk
        self._is_refused = bool(self._refusal.strip())

    # -- complete items -----------------------------------------------------------------------------------------

    def _read_item(self, item: _Item, data: Mapping[str, Any], *, is_done: bool) -> Iterator[ChatDelta]:
        """Read an item of an added or done event: the content that no delta delivered before."""
        kind = string(data.get("type"))
        item.data = data if is_done else item.data
        if kind not in _KNOWN_ITEMS or data.get("name") in _SERVER_TOOLS:
            item.is_unread = True
            self._note_unread(kind)
            return
        if kind in _CALLS:
            yield from self._read_call(item, data, is_done=is_done)
        if not is_done:
            return
        if kind == "reasoning":
            parts = [*rows(data.get("summary")), *rows(data.get("content"))]
            text = "".join(string(part.get("text")) for part in parts)
            yield from self._add(item, undelivered("".join(item.chunks), text))
        elif kind == "message":
            parts, text = rows(data.get("content")), _text_of(data)
            for part in parts:
                if part.get("type") not in ("output_text", "text", "refusal"):
                    self._note_unread(part.get("type"))
            yield from self._add(item, undelivered("".join(item.chunks), text))
            if not item.is_refused:
                for refusal in (string(part.get("refusal")) for part in parts if part.get("type") == "refusal"):
                    self._refuse(item, refusal)

    def _read_call(self, item: _Item, data: Mapping[str, Any], *, is_done: bool) -> Iterator[ChatDelta]:
        if item.call is None and (name := string(data.get("name"))):
            item.call, delta = self._start_call(string(data.get("call_id")) or string(data.get("id")), name)
            yield delta
            yield from self._add_arguments(item.call, "".join(item.chunks))
        if is_done and item.call is not None:
            found = data.get("arguments") or data.get("input") or ""
            written = found if isinstance(found, str) else arguments(found)
            yield from self._add_arguments(item.call, undelivered(item.call.arguments, written))

    # -- the end ------------------------------------------------------------------------------------------------

    def _end(self, response: Mapping[str, Any], event_status: str | None = None) -> Iterator[ChatDelta]:
        self.cancel_path = ""
        self._model = string(response.get("model")) or self._model
        self._usage = response.get("usage") or self._usage
        status = word(response.get("status")) or event_status  # some servers omit the status in the response
        reason = string(table(response.get("incomplete_details")).get("reason"))
        self._raw = f"{status}:{reason}" if status == "incomplete" and reason else status
        if output := rows(response.get("output")):
            self._order = self._items_of(output)  # the final list decides the order, and may hold items without events
            for item, data in zip(self._order, output, strict=True):
                yield from self._read_item(item, data, is_done=True)
        facts = read_error(response, self._context.error_rules)
        if facts is not None or status == "failed":
            raise self._make_failure(facts or ErrorFacts(message="the response failed without an error message"))
        if status in _PENDING:
            raise self._pending()
        self.done()

    def finish(self) -> ChatResponse:
        """Return the complete response; without a stop reason it is ``UNKNOWN``."""
        for item in self._order:
            if item.kind in _CALLS and item.call is None and not item.is_unread:
                self._note_lost_arguments("".join(item.chunks))
        return super().finish()

    def _pending(self) -> CallFailed:
        return TransientUnknown(
            "the provider has not finished the response",
            status=self._context.status,
            stop_reason=StopReason.UNKNOWN.value,
            raw_stop_reason=self._native(),
            sub_cause="pending",
            detail="the response is created in the background and has no id to poll",
        )

    def usage(self) -> Usage:
        """Token usage reported so far."""
        usage = table(self._usage)
        input_details, output_details = usage.get("input_tokens_details"), usage.get("output_tokens_details")
        return Usage(
            input_tokens=count(usage, "input_tokens"),
            output_tokens=count(usage, "output_tokens"),
            cached_input_tokens=count(input_details, "cached_tokens"),
            cache_write_tokens=count(input_details, "cache_write_tokens"),
            reasoning_tokens=count(output_details, "reasoning_tokens"),
        )

    def opaque(self) -> Mapping[str, Any]:
        """Encrypted reasoning and the phases of texts to send back, and their position among text and calls."""
        items = [_returned(item.data) for item in self._order]
        is_needed = any(item.get("encrypted_content") or item.get("phase") for item in items)
        return {"output": [item for item in items if item]} if is_needed else {}

    def has_truncated_call(self) -> bool:
        """Unknown: a custom tool accepts any string."""
        return False


def path_of_pending(body: object) -> str:
    """Return the path to poll for a pending response, relative to the base URL; empty for one that is finished."""
    response = table(body)
    pending = word(response.get("status")) in _PENDING and read_error(body) is None
    return f"/responses/{quote(string(response.get('id')), safe='')}" if pending and response.get("id") else ""


def _text_of(item: Mapping[str, Any]) -> str:
    """Return the text of a message."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    return "".join(string(part.get("text")) for part in rows(content) if part.get("type") in ("output_text", "text"))


def _returned(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an item to send back: all encrypted content, and placeholders for text and calls.

    The placeholder of a text has its phase, and its length, since the turn has all texts as one.
    """
    kind = item.get("type")
    if kind == "compaction":
        return dict(item)
    if kind == "reasoning" and item.get("encrypted_content"):
        kept = {key: item[key] for key in ("type", "id", "encrypted_content", "content") if item.get(key)}
        return {**kept, "summary": item.get("summary") or []}
    if kind in _CALLS:
        return {"type": "function_call", "call_id": item.get("call_id")}
    if kind != "message":
        return {}
    phase = string(item.get("phase"))
    return {"type": "message", "phase": phase, "chars": len(_text_of(item))} if phase else {"type": "message"}
