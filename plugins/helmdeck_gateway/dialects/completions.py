"""OpenAI's text completions, the API before chat completions: the prompt is sent as a message of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from helmdeck_core import ChatDelta, ChatRequest, Message, Role, TextPart
from helmdeck_gateway.dialects.chat import error as error
from helmdeck_gateway.dialects.chat import finish_reason, usage_of
from helmdeck_gateway.dialects.parsed import OpaqueOf, Parsed, field, max_tokens, temperature
from helmdeck_gateway.dialects.reply import EVENT_STREAM, Opening, Reply
from helmdeck_gateway.problems import Problem, invalid

FAMILY: str = "openai"
"""The plugin whose providers take the other fields of a request."""

_READ = frozenset(
    (
        "model", "prompt", "max_tokens", "temperature", "stop", "stream", "stream_options", "n", "best_of", "suffix", "echo",
        "logprobs",
    )
)  # fmt: skip

_UNSUPPORTED: Final = {
    "suffix": "text cannot be inserted before a suffix, since models are called by their chat APIs; leave it out",
    "logprobs": "log-probabilities of a text completion are not available over chat APIs; leave it out",
}
_encode = msgspec.json.Encoder().encode


def parse(body: Mapping[str, Any], opaque_of: OpaqueOf) -> Parsed:  # noqa: ARG001 - no turn before the prompt
    """Read a request.

    :raises Problem: it is not a valid request, or uses a part that chat APIs do not have.
    """
    for name, reason in _UNSUPPORTED.items():
        if body.get(name, "") not in (None, "") and body[name] is not False:  # 0 asks for the chosen tokens
            raise invalid(reason, name)
    for name in ("n", "best_of"):
        if (count := field(body, name, int)) not in (None, 1):
            raise invalid(f"one completion per request is supported, found {count}", name)
    stop = field(body, "stop", (str, list))
    native = {name: value for name, value in body.items() if name not in _READ and value is not None}
    request = ChatRequest(
        model=field(body, "model", str) or "",
        messages=(Message(Role.USER, (TextPart(prompt_of(body)),)),),
        max_tokens=max_tokens(body, "max_tokens"),
        temperature=temperature(body),
        stop=(stop,) if isinstance(stop, str) else tuple(map(str, stop or ())),
    )
    field(body, "echo", bool)
    return Parsed(
        request=request,
        is_stream=bool(field(body, "stream", bool)),
        has_usage=bool((field(body, "stream_options", dict) or {}).get("include_usage")),
        native=native,
        shared={name: native[name] for name in ("top_p", "prompt_cache_key") if name in native},
        body=body,
    )


def prompt_of(body: Mapping[str, Any]) -> str:
    """Return the prompt of a request.

    :raises Problem: it is missing, consists of tokens, or is more than one.
    """
    prompt = field(body, "prompt", (str, list))
    if isinstance(prompt, list) and len(prompt) == 1:
        (prompt,) = prompt
    if isinstance(prompt, str) and prompt:
        return prompt
    if not prompt:
        raise invalid("this field is required", "prompt")
    if not isinstance(prompt, list) or all(isinstance(each, int | list) for each in prompt):
        raise invalid("a prompt of tokens is not supported; send a string", "prompt")
    raise invalid(f"one prompt per request is supported, found {len(prompt):,}; send a request for each", "prompt")


def _echo(parsed: Parsed) -> str:
    return prompt_of(parsed.body) if parsed.body.get("echo") else ""


def whole(reply: Reply) -> dict[str, Any]:
    """Return a whole response."""
    response = reply.response
    text = _echo(reply.parsed) + (response.text or response.refusal)
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish_reason(response)}
    return {**_head(reply.opening, reply.model), "choices": [choice], "usage": usage_of(response.usage)}


def _head(opening: Opening, model: str) -> dict[str, Any]:
    return {"id": f"cmpl-{opening.id}", "object": "text_completion", "created": opening.created, "model": model}


class Writer:
    """Writes a streamed response."""

    ping = b": keep-alive\n\n"
    content_type = EVENT_STREAM

    def __init__(self, opening: Opening, parsed: Parsed) -> None:
        self.opening = opening
        self._echo = _echo(parsed)
        self._has_usage = parsed.has_usage
        self._has_text = False

    def start(self) -> bytes:
        """Return the prompt, if it is part of the response."""
        return self._chunk(self._echo) if self._echo else b""

    def feed(self, delta: ChatDelta) -> bytes:
        """Return the chunks for a delta; text completions have no reasoning."""
        if not delta.text:
            return b""
        self._has_text = True
        return self._chunk(delta.text)

    def finish(self, reply: Reply) -> bytes:
        """Return the chunks that complete the stream."""
        response = reply.response
        text = "" if self._has_text else response.text or response.refusal
        self.opening.model = reply.model
        out = self._chunk(text, finish_reason(response))
        if self._has_usage:
            out += self._event({**_head(self.opening, reply.model), "choices": [], "usage": usage_of(response.usage)})
        return out + b"data: [DONE]\n\n"

    def fail(self, problem: Problem) -> bytes:
        """Return the events that end the stream with an error."""
        return self._event(error(problem)) + b"data: [DONE]\n\n"

    def _chunk(self, text: str, reason: str | None = None) -> bytes:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason}
        return self._event({**_head(self.opening, self.opening.model), "choices": [choice]})

    @staticmethod
    def _event(data: Mapping[str, Any]) -> bytes:
        return b"data: %b\n\n" % _encode(data)
