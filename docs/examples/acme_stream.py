"""A provider with all optional features: streams, tools, reasoning, a model list. It passes the provider contract."""

import base64
import json

import attrs

from helmdeck_core import (
    ChatDelta,
    ChatResponse,
    ImagePart,
    InvalidRequest,
    ModelInfo,
    ProviderSpec,
    StopReason,
    StopReasonTable,
    ToolCall,
    ToolCallDelta,
    TransientUnknown,
    Usage,
    echoed,
    hookimpl,
)
from helmdeck_providers import (
    ErrorRules,
    EventDecoder,
    HttpConnection,
    arguments,
    count,
    decode_body,
    decode_json,
    failure_of,
    in_context,
    quota,
    read_error,
    request_id,
    string,
)

WIRE_FORMAT = "acme-stream"
ERROR_RULES = ErrorRules()  # the meaning of the server's error codes; without rules, the HTTP status decides


def body_of(request):
    """Return the request body and the downgrades."""
    downgrades = []
    conversation = [
        {
            "by": message.role.value,
            "says": message.text,
            "images": [image_of(part) for part in message.parts if isinstance(part, ImagePart)],
            "calls": [{"id": call.id, "name": call.name, "with": call.arguments} for call in message.tool_calls],
            "answers": message.tool_call_id,
        }
        for message in request.messages
    ]
    body = {"model": request.model.partition("/")[2], "talk": conversation, "stream": request.stream}
    if request.max_tokens is not None:
        body["limit"] = request.max_tokens
    if request.tools:
        tools = [{"name": tool.name, "about": tool.description, "takes": tool.input_schema} for tool in request.tools]
        body["tools"] = tools if request.tool_choice != "none" else []
        if request.tool_choice not in (None, "auto", "none"):
            downgrades.append(f"tool_choice {request.tool_choice} left out")
    if request.response_format is not None and request.response_format.kind == "json_object":
        body["json"] = True
    elif request.response_format is not None:
        downgrades.append(f"response_format {request.response_format.kind} left out")
    for name in ("temperature", "stop"):
        if getattr(request, name):
            downgrades.append(f"{name} left out")
    return json.dumps({**body, **request.extra}).encode(), tuple(downgrades)


def image_of(part):
    """Encode an image for the server."""
    if part.data is None:
        raise InvalidRequest("the server does not fetch images", detail="pass the image data instead of its URL")
    return {"type": part.media_type, "data": base64.b64encode(part.data).decode()}


@attrs.define
class Accumulator:
    """Accumulates a response: a stream event by event, or a whole response as one event."""

    headers: dict
    secrets: tuple
    fields: dict = attrs.Factory(dict)
    text: str = ""
    reasoning: str = ""
    calls: list = attrs.Factory(list)

    def feed(self, event):
        """Process an event; yield its deltas."""
        if (facts := read_error(event)) is not None:  # an error after HTTP 200
            raise failure_of(200, self.headers, facts, rules=ERROR_RULES, secrets=self.secrets)
        if not isinstance(event, dict) or not event.keys() & {"output", "thought", "calls", "why"}:
            raise TransientUnknown("the response is not in Acme's format", status=200, sub_cause="wrong_shape")
        self.fields |= event
        if reasoning := string(event.get("thought")):
            self.reasoning += reasoning
            yield ChatDelta(reasoning_content=reasoning)
        if output := string(event.get("output")):
            self.text += output
            yield ChatDelta(text=output)
        for each in event.get("calls") or ():
            call = ToolCall(string(each.get("id")), string(each.get("name")), arguments(each.get("with")))
            self.calls.append(call)
            yield ChatDelta(tool_call=ToolCallDelta(len(self.calls) - 1, call.id, call.name, call.arguments))

    def response(self, request, context, downgrades):
        """Return the response. Without a finish reason, the stop reason is Unknown."""
        fields, why = self.fields, self.fields.get("why")
        output_tokens = count(fields, "written")
        strict = context.normalise_stop(why, WIRE_FORMAT)
        # in_context detects refusals and tool calls behind a clean end, and with is_at_limit also truncation.
        is_at_limit = request.max_tokens is not None and output_tokens >= request.max_tokens
        return ChatResponse(
            text=self.text,
            reasoning_content=self.reasoning,
            tool_calls=tuple(self.calls),
            stop_reason=in_context(strict, text=self.text, tool_calls=self.calls, is_at_limit=is_at_limit),
            strict_stop_reason=strict,
            raw_stop_reason=None if why is None else echoed(str(why), self.secrets),
            usage=Usage(
                input_tokens=count(fields, "read"),
                cached_input_tokens=count(fields, "cached"),
                output_tokens=output_tokens,
            ),
            served_model=echoed(string(fields.get("model")), self.secrets),
            quota_metadata=quota(self.headers, ("acme-left-",), self.secrets),
            request_id=request_id(self.headers, self.secrets),
            downgrades=downgrades,
        )


class AcmeStream:
    """A client of the server."""

    def __init__(self, settings, context):
        self._context = context
        self._connection = HttpConnection(settings)  # connection pool, limits of time and size, connection errors

    async def complete(self, request):
        """Send one request and return the whole response."""
        body, downgrades = body_of(request)
        headers, secrets = self._headers()
        whole = await self._connection.post("/generate", body, headers, secrets)
        accumulator = Accumulator(whole.headers, secrets)
        for _ in accumulator.feed(decode_body(whole.status, whole.headers, whole.body, ERROR_RULES, secrets)):
            pass
        return accumulator.response(request, self._context, downgrades)

    async def stream(self, request):
        """Send one request; yield the deltas, then the response."""
        body, downgrades = body_of(attrs.evolve(request, stream=True))
        headers, secrets = self._headers()
        decoder = EventDecoder()
        async with self._connection.stream("/generate", body, headers, secrets) as incoming:
            accumulator = Accumulator(incoming.headers, secrets)
            if incoming.is_whole:  # an error, the page of a proxy, or a server that does not stream
                whole = await incoming.received()
                for delta in accumulator.feed(
                    decode_body(whole.status, whole.headers, whole.body, ERROR_RULES, secrets)
                ):
                    yield delta
            async for chunk in incoming:
                for event in decoder.feed(chunk):
                    for delta in accumulator.feed(decode_json(event.data)):
                        yield delta
        yield accumulator.response(request, self._context, downgrades)

    async def models(self):
        """List the models of the server."""
        headers, secrets = self._headers()
        response = await self._connection.get("/models", headers, secrets)
        names = decode_body(response.status, response.headers, response.body, ERROR_RULES, secrets)
        return tuple(ModelInfo(id=name) for name in names)

    async def aclose(self):
        """Close the connections."""
        await self._connection.aclose()

    def _headers(self):
        """Return the request headers, and the secrets to redact from the response. The key is not stored."""
        key = self._connection.key()
        return {"x-acme-key": key} if key else {}, self._connection.secrets(key)


@hookimpl
def helmdeck_providers():
    """Provide the models ``acme-stream/...``."""
    base_url, key = "https://models.acme.example", "env:ACME_API_KEY"
    return [ProviderSpec(name="acme-stream", open=AcmeStream, base_url=base_url, api_key=key)]


@hookimpl
def helmdeck_stop_reasons():
    """Map the finish reasons of the server; an unknown one is never a clean end."""
    reasons = {
        "done": StopReason.END_TURN,
        "limit": StopReason.MAX_TOKENS,
        "call": StopReason.TOOL_CALL,
        "refused": StopReason.SAFETY_BLOCKED,
    }
    return [StopReasonTable(name=WIRE_FORMAT, reasons=reasons)]
