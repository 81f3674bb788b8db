"""Reads an answer in the form of OpenAI's chat completions, whole or in pieces, from everybody who speaks like it.

HTTP 200 is not success here: an error in the body, in a choice or in a chunk, a body without choices, a page of HTML and
half a document of JSON all fail. An unknown stop reason never does, and is never taken for a clean end either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import attrs
import msgspec

from helmdeck_core import (
    ChatDelta,
    ChatResponse,
    Disposition,
    ModelInfo,
    StopReason,
    ToolCallDelta,
    TransientUnknown,
    Usage,
)
from helmdeck_provider_kit import (
    ErrorFacts,
    PartialToolCall,
    ReaderContext,
    ResponseReader,
    arguments,
    count,
    quoted,
    read_error,
    rows,
    string,
    table,
    word,
)

REASONS: Mapping[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "eos": StopReason.END_TURN,  # Together
    "eos_token": StopReason.END_TURN,  # Hugging Face TGI
    "stop_sequence": StopReason.END_TURN,  # Hugging Face TGI
    "end_turn": StopReason.END_TURN,  # xAI, older OpenRouter
    "tool_calls": StopReason.TOOL_CALL,
    "function_call": StopReason.TOOL_CALL,
    "length": StopReason.MAX_TOKENS,
    "model_length": StopReason.CONTEXT_WINDOW_EXCEEDED,  # Mistral
    "model_context_window_exceeded": StopReason.CONTEXT_WINDOW_EXCEEDED,  # Z.ai
    "content_filter": StopReason.SAFETY_BLOCKED,
    "sensitive": StopReason.SAFETY_BLOCKED,  # Z.ai
    "abort": StopReason.CANCELLED,  # vLLM
}
"""The dialect. Left out on purpose, and so unknown: ``error`` (Mistral, OpenRouter), ``insufficient_system_resource``
(DeepSeek), ``network_error`` (Z.ai), ``load`` (Ollama) and the empty word: none of them says that the turn is complete."""

DISPOSITIONS: Mapping[str, Disposition] = {
    "abort": Disposition.RETRY,  # the engine was stopped, and not by us: whoever cancels does not wait for a reason
    "error": Disposition.RETRY,
    "insufficient_system_resource": Disposition.RETRY,
    "network_error": Disposition.RETRY,
    "load": Disposition.STOP,  # Ollama: there was no message of a user, and nothing was generated
    "unload": Disposition.STOP,
}


class _Delta(msgspec.Struct, gc=False):
    """What a piece of text or reasoning looks like; a field that holds anything else makes it something else."""

    content: str | None = None
    audio: None = None
    images: None = None
    executed_tools: None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: None = None
    refusal: None = None
    tool_calls: None = None
    function_call: None = None


_OLD = "function_call"
"""In the place of an index, for a call in the form before tools."""


class _Filters(msgspec.Struct, gc=False):
    error: None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta
    content_filter_results: _Filters | None = None
    index: Literal[0] = 0
    finish_reason: None = None
    native_finish_reason: None = None
    error: None = None
    usage: dict[str, Any] | None = None


class _Piece(msgspec.Struct, gc=False):
    choices: tuple[_Choice]
    id: str | None = None
    model: str | None = None
    error: None = None
    usage: dict[str, Any] | None = None
    x_groq: None = None
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"


_OTHER_CONTENT = ("audio", "images", "executed_tools")
"""Fields of a message beside its text: OpenAI's audio, OpenRouter's images, what Groq's compound models ran."""


class ChatAnswer(ResponseReader):
    """A completion, as far as its chunks have come; one in a single piece is one chunk.

    :param returned_fields: fields of the message that the server wants back with it.
    :param is_final_without_reason: the server names no reason although it is done.
    """

    usual = msgspec.json.Decoder(_Piece)

    def __init__(
        self, terms: ReaderContext, *, returned_fields: Sequence[str] = (), is_final_without_reason: bool = False
    ) -> None:
        super().__init__(terms)
        self._returned_fields = returned_fields
        self._is_final_without_reason = is_final_without_reason
        self._is_whole = False
        self._usage: object = None
        self._native_reason: str | None = None
        self._choice_index: int | None = None
        self._is_unfiltered = False
        self._details: list[dict[str, Any]] = []
        self._open: dict[object, PartialToolCall] = {}
        self._ids: dict[object, str] = {}
        self._last: object = 0

    def read(self, body: object) -> Iterator[ChatDelta]:
        """Take an answer that came in one piece.

        :raises CallFailed: it is an error, or no completion.
        """
        self._is_whole = self._is_done = True
        yield from self.feed(body)
        self._check_shape(body)

    def take_usual(self, piece: _Piece) -> Sequence[ChatDelta] | None:
        """What a piece of text or reasoning adds."""
        if self._choice_index:  # of several choices, another one is read
            return None
        self._choice_index = 0
        self._model = self._model or piece.model or ""
        self._seed = self._seed or piece.id or ""
        (choice,) = piece.choices
        self._usage = choice.usage or piece.usage or self._usage
        delta = choice.delta
        # The same reasoning may come in two fields: the first that holds any counts.
        thought = delta.reasoning_content or delta.reasoning
        if not thought:
            return self._say(delta.content or "")
        return (*self._think(thought), *self._say(delta.content or ""))

    def feed(self, event: object) -> Iterator[ChatDelta]:
        """Take the next chunk; give what it adds.

        :raises CallFailed: it is an error.
        """
        chunk: dict[str, Any] = event if isinstance(event, dict) else {}
        if not self._model:
            self._model = string(chunk.get("model"))
        self._seed = self._seed or string(chunk.get("id"))
        self._usage = chunk.get("usage") or table(chunk.get("x_groq")).get("usage") or self._usage
        failed: object = None
        if (choice := self._one_of(chunk.get("choices"))) is not None:
            yield from self._choice(choice)
            failed = choice.get("error")
        words = self._terms.words
        facts = read_error(event, words) or (read_error({"error": failed}, words) if failed else None)
        if facts is not None:
            raise self._failed(facts)

    # -- a choice ---------------------------------------------------------------------------------------------

    def _one_of(self, choices: object) -> dict[str, Any] | None:
        """The one choice that is read, where several were asked for: the first that came, the same in every chunk."""
        found = rows(choices)
        if found and self._choice_index is None:
            self._choice_index = min(_index(choice) or 0 for choice in found)
        return next((choice for choice in found if _index(choice) in (None, self._choice_index)), None)

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[ChatDelta]:
        # Some send both: the whole message again at the end of a stream, or an empty delta beside it.
        first, second = ("message", "delta") if self._is_whole else ("delta", "message")
        message = choice.get(first)
        message = message if isinstance(message, dict) else table(choice.get(second))
        self._usage = choice.get("usage") or self._usage  # Moonshot
        # Azure says so where its filter failed, and answers all the same.
        self._is_unfiltered |= bool(table(choice.get("content_filter_results")).get("error"))
        for key in ("finish_reason", "native_finish_reason"):
            reason = word(choice.get(key))
            if key == "finish_reason":
                self._raw = reason or (reason if self._raw is None else self._raw)  # the last one that says anything
            else:
                self._native_reason = reason or self._native_reason
        text, thoughts, refusal = self._content(message.get("content"))
        for kind in _OTHER_CONTENT:
            if _holds_anything(message.get(kind)):
                self._pass_over(kind)
        refusal = string(message.get("refusal")) or refusal
        if refusal:
            self._refusal += refusal
            self._is_refused = bool(self._refusal.strip())
        details = message.get("reasoning_details")
        # The same reasoning may come in two fields: the first that holds any counts.
        ways = (
            string(message.get("reasoning_content")),
            string(message.get("reasoning")),
            self._detailed(details),
            thoughts,
        )
        yield from self._think(next((way for way in ways if way), ""))
        yield from self._say(text)
        calls = message.get("tool_calls")
        for item in calls if isinstance(calls, list) else ():
            if isinstance(item, dict):
                yield from self._tool_call(item)
        # The form before tools. Snowflake sends it empty, and llama.cpp's Python server beside the same call in `tool_calls`.
        function = message.get("function_call")
        if isinstance(function, dict) and not calls and (not self._open or _OLD in self._open):
            yield from self._tool_call({"index": _OLD, "function": function})

    def _content(self, content: object) -> tuple[str, str, str]:
        """Text, reasoning and refusal of a content, which is a string or a list of parts."""
        if not isinstance(content, list):
            return string(content), "", ""
        text, thoughts, refusal = [], [], []
        for part in content:
            if isinstance(part, str):
                text.append(part)
            elif isinstance(part, dict):
                kind = part.get("type")
                if kind == "thinking":  # Mistral; its value is a string or again a list of parts
                    thoughts.append(self._content(part.get("thinking"))[0])
                elif kind == "refusal":
                    refusal.append(string(part.get("refusal")))
                elif kind in ("text", "output_text", None):
                    text.append(string(part.get("text")))
                else:
                    self._pass_over(kind)
        return "".join(text), "".join(thoughts), "".join(refusal)

    def _detailed(self, details: object) -> str:
        text = ""
        for item in details if isinstance(details, list) else ():
            if isinstance(item, dict):
                text += string(item.get("text")) or string(item.get("summary"))
                self._keep_detail(item)
        return text

    def _keep_detail(self, item: dict[str, Any]) -> None:
        """Put the pieces of one block together again, since it goes back as a whole."""
        last = self._details[-1] if self._details else {}
        if not last or any(last.get(key) != item.get(key) for key in ("type", "index")):
            self._details.append(dict(item))
            return
        for key, value in item.items():
            if key in ("text", "summary", "data") and isinstance(value, str):
                last[key] = string(last.get(key)) + value
            elif value is not None:
                last[key] = value

    def _tool_call(self, item: Mapping[str, Any]) -> Iterator[ChatDelta]:
        """Read a call or a piece of one; what names no function calls nothing."""
        function, custom = item.get("function"), item.get("custom")
        named, key = (function, "arguments") if isinstance(function, dict) else (custom, "input")
        named = table(named)
        call_id, name, given = string(item.get("id")), string(named.get("name")), named.get(key)
        place = self._place(item.get("index"), call_id, name, given)
        self._last = place
        call = self._open.get(place)
        if call is None and not name and call_id:
            self._ids[place] = call_id  # the name comes with the next piece
        if call is None and name:
            call, delta = self._call(call_id or self._ids.pop(place, ""), name)
            self._open[place] = call
            yield delta
        elif call is not None and call_id and not call.id:
            call.id = call_id
            yield ChatDelta(tool_call=ToolCallDelta(call.number, id=call_id))
        is_repeated = call is not None and name and given == call.written  # the whole call again, at the end
        if call is not None and given not in (None, "") and not is_repeated:
            yield from self._write(call, arguments(given) if not isinstance(given, str) else given)

    def _place(self, index: object, call_id: str, name: str, given: object) -> object:
        """Which call a piece belongs to."""
        if self._is_whole:
            return len(self._calls)
        index = index if isinstance(index, int | str) else None
        place = self._last if index is None else index
        call = self._open.get(place)
        if call is None:
            return place
        is_blank = (
            isinstance(given, str) and not given.strip()
        )  # what a grammar lets a model write behind its arguments
        is_another = (
            (call_id and call.id and call_id != call.id)
            # Some servers send whole calls and give all of them the same index, or none, or the same id.
            or (index is None and name and not call_id)
            or (name and name != call.name)
            or (name and given and not is_blank and given != call.written and call.pieces and not call.is_cut())
        )
        return (place, len(self._calls)) if is_another else place

    # -- the end ----------------------------------------------------------------------------------------------

    def usage(self) -> Usage:
        """The tokens, as far as they are told."""
        return _usage(self._usage)

    def opaque(self) -> Mapping[str, Any]:
        """The fields that the server wants back."""
        found = {"reasoning_details": self._details, "reasoning_content": self._calls and "".join(self._reasoning)}
        return {name: value for name in self._returned_fields if (value := found.get(name))}

    def finish(self) -> ChatResponse:
        """The response that everything comes to; without a stop reason it is ``UNKNOWN``."""
        response, dispose = super().finish(), self._terms.dispose
        if self._is_unfiltered:
            left_out = "content filter left out: the provider's filter failed, and what is here was not checked"
            response = attrs.evolve(response, downgrades=(*response.downgrades, left_out))
        reason, native = response.stop_reason, self._native_reason
        if reason is StopReason.MAX_TOKENS and self._terms.normalise(native) is StopReason.CONTEXT_WINDOW_EXCEEDED:
            # OpenRouter says ``length`` for both; only the upstream's own word tells a full window from a spent budget.
            reason = StopReason.CONTEXT_WINDOW_EXCEEDED
            return attrs.evolve(
                response, stop_reason=reason, raw_stop_reason=native, disposition=dispose(native, reason)
            )
        if not self._raw and self._is_final_without_reason and self._is_done and self._usage:
            disposition = Disposition.TOOLS if response.tool_calls else Disposition.FINAL
            return attrs.evolve(response, disposition=disposition)
        return response

    def visible(self) -> str:
        """The text without reasoning that some models write into it."""
        return "".join(self._text).rpartition("</think>")[2]

    def is_call_cut(self) -> bool:
        """Not known here: a custom tool takes any text."""
        return False

    def _check_shape(self, body: object) -> None:
        choices = body.get("choices") if isinstance(body, dict) else ()
        first = choices[0] if choices and isinstance(choices, list) else None
        if isinstance(first, dict) and isinstance(first.get("message") or {}, dict):
            return
        status = self._terms.status
        if isinstance(body, dict) and choices in (None, []):
            facts = read_error(body, self._terms.words, is_refusal=True) or ErrorFacts()
            detail = quoted(facts.message, self._terms.secrets)
            headline = "the provider's answer has no choices"
            raise TransientUnknown(headline, status=status, sub_cause="no_choices", detail=detail)
        detail = f"it is JSON, but no more than {_shown(body, self._terms.secrets)}; is base_url right"
        headline = "the provider's answer is not a chat completion"
        raise TransientUnknown(headline, status=status, sub_cause="wrong_shape", detail=detail)


def _shown(body: object, secrets: Iterable[str]) -> str:
    if isinstance(body, dict | list):
        return f"a {type(body).__name__} of other things"
    return quoted(json.dumps(body), secrets, 120)


def _index(choice: Mapping[str, Any]) -> int | None:
    index = choice.get("index")
    return index if isinstance(index, int) else None


def _holds_anything(value: object) -> bool:
    """Whether a field is more than a form without entries, as Snowflake sends it."""
    return any(value.values()) if isinstance(value, dict) else bool(value)


def _usage(told: object) -> Usage:
    usage = table(told)
    prompt, completion = (usage.get(f"{side}_tokens_details") for side in ("prompt", "completion"))
    given, written = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    thought = count(completion, "reasoning_tokens") or count(usage, "reasoning_tokens")
    if thought and count(usage, "total_tokens") == given + written + thought:
        written += thought  # xAI counts thoughts beside the completion, everybody else as a part of it
    return Usage(
        input_tokens=given,
        output_tokens=written,
        cached_input_tokens=count(prompt, "cached_tokens")
        or count(usage, "prompt_cache_hit_tokens", "cached_tokens", "num_cached_tokens"),
        cache_write_tokens=count(prompt, "cache_write_tokens"),
        reasoning_tokens=thought,
    )


def models(page: Mapping[str, Any]) -> tuple[Sequence[ModelInfo], str]:
    """Read a list of models; the limits have a name per server."""
    found = []
    for model in rows(page.get("data")):
        top, meta = table(model.get("top_provider")), table(model.get("meta"))  # OpenRouter; llama.cpp
        limit = count(
            model, "context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens"
        ) or count(meta, "n_ctx", "n_ctx_train")
        output = count(model, "max_completion_tokens", "max_output_tokens") or count(top, "max_completion_tokens")
        info = ModelInfo(id=string(model.get("id")), input_tokens=limit or None, output_tokens=output or None)
        found += [info] if info.id else []
    return found, ""
