"""The provider passes the provider contract."""

from collections.abc import Mapping, Sequence
from typing import Any

import helmdeck_provider_cohere
from helmdeck_core import FailureClass, ToolCall
from helmdeck_testing import ProviderContract, ScriptedAnswer, ServerFormat, in_chunks, sse

_WORDS = {"stop": "COMPLETE", "length": "MAX_TOKENS", "error": "ERROR", "tool_calls": "TOOL_CALL"}


def _usage(answer: ScriptedAnswer) -> Mapping[str, Any]:
    tokens = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
    return {"tokens": tokens, "cached_tokens": answer.cached_input_tokens}


def _call(call: ToolCall, arguments: str) -> Mapping[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _whole(answer: ScriptedAnswer) -> Mapping[str, Any]:
    blocks = [{"type": "thinking", "thinking": answer.reasoning}, {"type": "text", "text": answer.text}]
    content = [block for block in blocks if block[block["type"]]]
    reason = {} if answer.stop is None else {"finish_reason": _WORDS[answer.stop]}
    message = {"role": "assistant", "content": content}
    if answer.tool_calls:
        message["tool_calls"] = [_call(call, call.arguments) for call in answer.tool_calls]
    return {"id": "r1", "message": message, "usage": _usage(answer), **reason}


def _events(answer: ScriptedAnswer) -> Sequence[bytes]:
    pieces = [("thinking", piece) for piece in answer.reasoning_pieces] + [("text", piece) for piece in answer.pieces]
    found = [
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {kind: piece}}}}
        for kind, piece in pieces
    ]
    for index, call in enumerate(answer.tool_calls):
        delta = {"message": {"tool_calls": _call(call, "")}}
        found.append({"type": "tool-call-start", "index": index, "delta": delta})
        for piece in in_chunks(call.arguments):
            delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
            found.append({"type": "tool-call-delta", "index": index, "delta": delta})
        found.append({"type": "tool-call-end", "index": index})
    if answer.stop is None:
        return sse({"type": "message-start"}, *found, named=True)
    end = {"type": "message-end", "delta": {"finish_reason": _WORDS[answer.stop], "usage": _usage(answer)}}
    return sse({"type": "message-start"}, *found, end, named=True)


COHERE = ServerFormat(
    name="cohere",
    whole=_whole,
    events=_events,
    limit=lambda body: body.get("max_tokens"),
    error=lambda _, message: {"id": "r1", "message": message},
    error_event=lambda message: sse({"type": "message-end", "delta": {"error": message, "finish_reason": "ERROR"}})[0],
    models=lambda names: {"models": [{"name": name, "endpoints": ["chat"]} for name in names]},
    quota={"x-endpoint-monthly-call-limit": "41"},
    lacks=frozenset(("empty_content_filter",)),  # the API has no such stop reason
    causes={"error_in_200": FailureClass.TRANSIENT_UNKNOWN},
)


class TestCohere(ProviderContract):
    plugin = helmdeck_provider_cohere
    name = "cohere"
    server_format = COHERE
    environ = {"CO_API_KEY": ProviderContract.SECRET}
