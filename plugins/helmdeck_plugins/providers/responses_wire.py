"""Reads an answer in the form of OpenAI's Responses, whole or as events, from everybody who speaks like it.

The state of a response is its stop reason; a call of a tool never shows in it. What an event at the end repeats is taken
only where no piece of it has come before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import attrs
import msgspec

from helmdeck_core import CallFailed, ChatDelta, Disposition, StopReason, TransientUnknown, Usage
from helmdeck_provider_kit import (
    ErrorFacts,
    PartialToolCall,
    ReaderContext,
    ResponseReader,
    arguments,
    count,
    read_error,
    rows,
    string,
    table,
    word,
)

REASONS: Mapping[str, StopReason] = {
    "completed": StopReason.END_TURN,
    "incomplete:max_output_tokens": StopReason.MAX_TOKENS,
    "max_output_tokens": StopReason.MAX_TOKENS,
    "incomplete:content_filter": StopReason.SAFETY_BLOCKED,
    "content_filter": StopReason.SAFETY_BLOCKED,
    "cancelled": StopReason.CANCELLED,
}
"""The dialect: the state, and after a colon why it is incomplete. ``incomplete`` alone is unknown."""

DISPOSITIONS: Mapping[str, Disposition] = {
    "incomplete": Disposition.RETRY,
    "queued": Disposition.RETRY,
    "in_progress": Disposition.RETRY,
}

_CALLS = ("function_call", "custom_tool_call")
_READ = ("message", "reasoning", *_CALLS)
_RUN_BY_SERVER = ("x_keyword_search", "x_semantic_search", "x_thread_fetch", "x_user_search")
"""xAI tells what its search of X did as calls of custom tools, which it has run."""
_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")
_PENDING = ("queued", "in_progress")
_KIND_OF_PIECE = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
    "response.custom_tool_call_input.delta": "custom_tool_call",
}


class _Piece(msgspec.Struct, gc=False):
    """A piece of text or reasoning."""

    type: Literal[
        "response.output_text.delta", "response.reasoning_text.delta", "response.reasoning_summary_text.delta"
    ]
    delta: str
    item_id: str = ""
    output_index: int | None = None


@attrs.define(eq=False)
class _Item:
    """One item of the output, as far as it has come."""

    kind: str
    pieces: list[str] = attrs.field(factory=list)
    call: PartialToolCall | None = None
    is_refused: bool = False
    has_place: bool = False
    plain: Mapping[str, Any] = attrs.field(factory=dict)


class ResponsesAnswer(ResponseReader):
    """A response, as far as its events have come; one in a single piece is the last event alone."""

    usual = msgspec.json.Decoder(_Piece)

    def __init__(self, terms: ReaderContext) -> None:
        super().__init__(terms)
        self._items: dict[object, _Item] = {}
        self._order: list[_Item] = []
        self._told: object = None
        self._last: tuple[object, ...] = ()
        self._last_item = _Item("")

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Take a response that came in one piece.

        :raises CallFailed: it is an error, failed, not done yet, or no response.
        """
        if read_error(body, self._terms.words) is None and not (
            isinstance(body, dict) and ("output" in body or "status" in body)
        ):
            raise self._alien(body, "the Responses interface")
        yield from self._end(table(body))

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Take the next event; give what it adds.

        :raises CallFailed: it is an error, or the end of a response that failed.
        """
        self._last = ()
        data = table(event)
        kind = string(data.get("type"))
        if kind.endswith(".delta"):
            yield from self._piece(kind, data)
        elif kind in ("response.output_item.added", "response.output_item.done"):
            whole, is_done = table(data.get("item")), kind.endswith(".done")
            named = string(whole.get("type")), data.get("output_index"), string(whole.get("id"))
            yield from self._whole(self._item(*named, is_new=not is_done), whole, is_done=is_done)
        elif kind in _ENDS:
            yield from self._end(table(data.get("response")), kind.partition(".")[2])
        elif kind == "error" and not data.get("error"):
            self._raise_error({"error": data})
        elif kind == "response.created":
            begun = table(data.get("response"))
            self._model = string(begun.get("model"))
            self.goes_on_at = path_of_pending(begun) if begun.get("background") is True else ""
        else:
            self._raise_error(event)

    def take_usual(self, piece: _Piece) -> Sequence[ChatDelta] | None:
        """What a piece of text or reasoning adds."""
        about = (piece.type, piece.output_index, piece.item_id)
        if about != self._last:
            self._last_item = self._item(_KIND_OF_PIECE[piece.type], piece.output_index, piece.item_id)
            self._last = about
        return self._add(self._last_item, piece.delta)

    # -- pieces -------------------------------------------------------------------------------------------------

    def _item(self, kind: str, index: object, item_id: str, *, is_new: bool = False) -> _Item:
        """The item that an event is about: the one of its id, else the one of its place that is of its kind."""
        index = index if isinstance(index, int) else None
        item = self._items.get(item_id) if item_id else None
        if (
            item is None
            and (there := self._items.get(index))
            and there.kind in (kind, "")
            and not (is_new and index is None)
        ):
            item = there
        if item is None and not is_new:  # one that began without what this event names it by
            named = (each for each in reversed(self._order) if each.kind == kind and not each.plain)
            item = next((each for each in named if index is None or not each.has_place), None)
        if item is None:
            item = _Item(kind)
            self._order.append(item)
        item.kind = item.kind or kind
        item.has_place = item.has_place or index is not None
        self._items[index] = item
        if item_id:
            self._items[item_id] = item
        return item

    def _items_of(self, output: list[dict[str, Any]]) -> list[_Item]:
        """The items that the list at the end is about: some servers number them anew there, others give them other ids."""
        known = [self._items.get(string(data.get("id")) or None) if data.get("id") else None for data in output]
        left = [item for item in self._order if not any(item is other for other in known)]
        found = []
        for index, (data, item) in enumerate(zip(output, known, strict=True)):
            kind = string(data.get("type"))
            if item is None:
                there = self._items.get(index)
                same = [each for each in left if each.kind == kind]
                item = there if any(there is each for each in same) else next(iter(same), None)
                left = [each for each in left if each is not item]
            found.append(item or _Item(kind))
        return found

    def _piece(self, event: str, data: Mapping[str, Any]) -> Iterator[ChatDelta]:
        kind = _KIND_OF_PIECE.get(event)
        if kind is None:
            return
        piece = string(data.get("delta"))
        item = self._item(kind, data.get("output_index"), string(data.get("item_id")))
        if event == "response.refusal.delta":
            self._refuse(item, piece)
        elif item.call is not None:
            yield from self._write(item.call, piece)
        elif kind not in _CALLS:
            yield from self._add(item, piece)

    def _add(self, item: _Item, piece: str) -> Sequence[ChatDelta]:
        item.pieces.append(piece)
        return self._think(piece) if item.kind == "reasoning" else self._say(piece)

    def _refuse(self, item: _Item, piece: str) -> None:
        item.is_refused = True
        self._refusal += piece
        self._is_refused = bool(self._refusal.strip())

    # -- what comes whole ---------------------------------------------------------------------------------------

    def _whole(self, item: _Item, data: Mapping[str, Any], *, is_done: bool) -> Iterator[ChatDelta]:
        """Take an item as a whole: what no piece of it has brought yet."""
        kind = string(data.get("type"))
        item.plain = data if is_done else item.plain
        if kind not in _READ or data.get("name") in _RUN_BY_SERVER:
            self._pass_over(kind)
            return
        if kind in _CALLS:
            yield from self._called(item, data, is_done=is_done)
        if not is_done:
            return
        if kind == "reasoning":
            parts = [*rows(data.get("summary")), *rows(data.get("content"))]
            told = "".join(string(part.get("text")) for part in parts)
            yield from self._add(item, _rest("".join(item.pieces), told))
        elif kind == "message":
            content = data.get("content")
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else rows(content)
            told = "".join(string(part.get("text")) for part in parts if part.get("type") in ("output_text", "text"))
            for part in parts:
                if part.get("type") not in ("output_text", "text", "refusal"):
                    self._pass_over(part.get("type"))
            yield from self._add(item, _rest("".join(item.pieces), told))
            if not item.is_refused:
                for refusal in (string(part.get("refusal")) for part in parts if part.get("type") == "refusal"):
                    self._refuse(item, refusal)

    def _called(self, item: _Item, data: Mapping[str, Any], *, is_done: bool) -> Iterator[ChatDelta]:
        if item.call is None and (name := string(data.get("name"))):
            item.call, delta = self._call(string(data.get("call_id")) or string(data.get("id")), name)
            yield delta
        if is_done and item.call is not None:
            given = data.get("arguments") or data.get("input") or ""
            written = given if isinstance(given, str) else arguments(given)
            yield from self._write(item.call, _rest(item.call.written, written))

    # -- the end ------------------------------------------------------------------------------------------------

    def _end(self, response: Mapping[str, Any], named: str | None = None) -> Iterator[ChatDelta]:
        self.goes_on_at = ""
        self._model = string(response.get("model")) or self._model
        self._told = response.get("usage") or self._told
        state = word(response.get("status")) or named  # the event at the end says it as well
        why = string(table(response.get("incomplete_details")).get("reason"))
        self._raw = f"{state}:{why}" if state == "incomplete" and why else state
        if output := rows(response.get("output")):
            self._order = self._items_of(output)  # the order that counts, also where an item was not announced
            for item, data in zip(self._order, output, strict=True):
                yield from self._whole(item, data, is_done=True)
        facts = read_error(response, self._terms.words)
        if facts is not None or state == "failed":
            raise self._failed(facts or ErrorFacts(message="the response failed without saying why"))
        if state in _PENDING:
            raise self._pending()

    def _pending(self) -> CallFailed:
        return TransientUnknown(
            "the provider has not finished the response",
            status=self._terms.status,
            stop_reason=StopReason.UNKNOWN.value,
            raw_stop_reason=self._native(),
            sub_cause="pending",
            detail="it is made in the background there, and has no id to look at it by",
        )

    def usage(self) -> Usage:
        """The tokens, as far as they are told."""
        usage = table(self._told)
        given, made = usage.get("input_tokens_details"), usage.get("output_tokens_details")
        return Usage(
            input_tokens=count(usage, "input_tokens"),
            output_tokens=count(usage, "output_tokens"),
            cached_input_tokens=count(given, "cached_tokens"),
            cache_write_tokens=count(given, "cache_write_tokens"),
            reasoning_tokens=count(made, "reasoning_tokens"),
        )

    def opaque(self) -> Mapping[str, Any]:
        """The encrypted reasoning, and where between the text and the calls it stood."""
        found = [_returned(item.plain) for item in self._order]
        return (
            {"output": [item for item in found if item]} if any(item.get("encrypted_content") for item in found) else {}
        )

    def is_call_cut(self) -> bool:
        """Not known here: a custom tool takes any text."""
        return False


def path_of_pending(body: object) -> str:
    """Where to look at a response that is still being made, from the base URL on; empty for one that is done."""
    response = table(body)
    pending = word(response.get("status")) in _PENDING and read_error(body) is None
    return f"/responses/{quote(string(response.get('id')), safe='')}" if pending and response.get("id") else ""


def _rest(begun: str, whole: str) -> str:
    """What of a whole has not come in pieces; nothing if the pieces were others."""
    return whole[len(begun) :] if whole.startswith(begun) else ""


def _returned(item: Mapping[str, Any]) -> dict[str, Any]:
    """What of an item goes back: all of what is encrypted, and only the place of what the message itself holds."""
    kind = item.get("type")
    if kind == "compaction":
        return dict(item)
    if kind == "reasoning" and item.get("encrypted_content"):
        kept = {key: item[key] for key in ("type", "id", "encrypted_content", "content") if item.get(key)}
        return {**kept, "summary": item.get("summary") or []}
    if kind in _CALLS:
        return {"type": "function_call", "call_id": item.get("call_id")}
    return {"type": "message"} if kind == "message" else {}
