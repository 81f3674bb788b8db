"""The provider of ``acme_stream`` keeps the contract of providers."""

import json

import acme_stream

from helmdeck_testing import ProviderContract, ServerFormat, sse

WORDS = {"stop": "done", "length": "limit", "content_filter": "refused", "tool_calls": "call", "error": "oops"}


def end_of(said):
    """What Acme's servers say last; nothing, where they do not say why they stop."""
    if said.stop is None:
        return {}
    counts = {"read": said.input_tokens, "cached": said.cached_input_tokens, "written": said.output_tokens}
    return {"why": WORDS[said.stop], "model": said.model, **counts}


def calls_of(said):
    """The calls of tools in an answer."""
    return [{"id": call.id, "name": call.name, "with": json.loads(call.arguments)} for call in said.tool_calls]


def whole(said):
    """An answer in one piece."""
    return {"output": said.text, "thought": said.reasoning, "calls": calls_of(said), **end_of(said)}


def events(said):
    """The same as a stream: without a reason it just ends, as if more followed."""
    found = [{"thought": piece} for piece in said.thoughts] + [{"output": piece} for piece in said.pieces]
    found += [{"calls": [call]} for call in calls_of(said)]
    return sse(*found, *([end_of(said)] if said.stop is not None else []))


ACME = ServerFormat(
    name="acme-stream",
    whole=whole,
    events=events,
    error=lambda status, message: {"error": {"message": message, "code": status}},
    error_event=lambda message: sse({"error": {"message": message, "code": 500}})[0],
    limit=lambda body: body.get("limit"),  # the output limit that a request names
    wants_stream=lambda request: request.body.get("stream") is True,
    models=lambda names: list(names),
    quota={"acme-left-requests": "17"},
)


class TestAcmeStream(ProviderContract):
    plugin = acme_stream
    name = "acme-stream"
    server_format = ACME
    environ = {"ACME_API_KEY": ProviderContract.SECRET}
