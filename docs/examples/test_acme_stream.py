"""The provider of ``acme_stream`` passes the provider contract."""

import json

import acme_stream

from helmdeck_testing import ProviderContract, ServerFormat, sse

FINISH_REASONS = {"stop": "done", "length": "limit", "content_filter": "refused", "tool_calls": "call", "error": "oops"}


def end_of(answer):
    """The last event of Acme's servers; empty without a finish reason."""
    if answer.stop is None:
        return {}
    counts = {"read": answer.input_tokens, "cached": answer.cached_input_tokens, "written": answer.output_tokens}
    return {"why": FINISH_REASONS[answer.stop], "model": answer.model, **counts}


def calls_of(answer):
    """The tool calls of an answer."""
    return [{"id": call.id, "name": call.name, "with": json.loads(call.arguments)} for call in answer.tool_calls]


def whole(answer):
    """A whole response."""
    return {"output": answer.text, "thought": answer.reasoning, "calls": calls_of(answer), **end_of(answer)}


def events(answer):
    """The same response as a stream; without a finish reason it ends early."""
    deltas = [{"thought": chunk} for chunk in answer.reasoning_pieces] + [{"output": chunk} for chunk in answer.pieces]
    deltas += [{"calls": [call]} for call in calls_of(answer)]
    return sse(*deltas, *([end_of(answer)] if answer.stop is not None else []))


ACME = ServerFormat(
    name="acme-stream",
    whole=whole,
    events=events,
    error=lambda status, message: {"error": {"message": message, "code": status}},
    error_event=lambda message: sse({"error": {"message": message, "code": 500}})[0],
    limit=lambda body: body.get("limit"),  # the output limit of a request
    wants_stream=lambda request: request.body.get("stream") is True,
    models=lambda names: list(names),
    quota={"acme-left-requests": "17"},
)


class TestAcmeStream(ProviderContract):
    plugin = acme_stream
    name = "acme-stream"
    server_format = ACME
    environ = {"ACME_API_KEY": ProviderContract.SECRET}
