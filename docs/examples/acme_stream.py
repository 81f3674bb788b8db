"""A provider with everything that one can have: streams, tools, reasoning, a list of models. It keeps the contract."""

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
    hookimpl,
)
from helmdeck_provider_kit import (
    ErrorRules,
    EventDecoder,
    HttpConnection,
    arguments,
    checked,
    count,
    decoded,
    echoed,
    failure_of,
    in_context,
    quota,
    read_error,
    request_id,
    string,
)

DIALECT = "acme-stream"
WORDS = ErrorRules()  # what the codes of the server's errors mean; without any, the HTTP status decides


def body_of(request):
    """What is sent, and what could not be."""
    left_out = []
    talk = [
        {
            "by": message.role.value,
            "says": message.text,
            "images": [image_of(part) for part in message.parts if isinstance(part, ImagePart)],
            "calls": [{"id": call.id, "name": call.name, "with": call.arguments} for call in message.tool_calls],
            "answers": message.tool_call_id,
        }
        for message in request.messages
    ]
    body = {"model": request.model.partition("/")[2], "talk": talk, "stream": request.stream}
    if request.max_tokens is not None:
        body["limit"] = request.max_tokens
    if request.tools:
        tools = [{"name": tool.name, "about": tool.description, "takes": tool.input_schema} for tool in request.tools]
        body["tools"] = tools if request.tool_choice != "none" else []
        if request.tool_choice not in (None, "auto", "none"):
            left_out.append(f"tool_choice {request.tool_choice} left out")
    if request.response_format is not None and request.response_format.kind == "json_object":
        body["json"] = True
    elif request.response_format is not None:
        left_out.append(f"response_format {request.response_format.kind} left out")
    for name in ("temperature", "stop"):
        if getattr(request, name):
            left_out.append(f"{name} left out")
    return json.dumps({**body, **request.extra}).encode(), tuple(left_out)


def image_of(part):
    """An image as the server takes it."""
    if part.data is None:
        raise InvalidRequest("the server fetches no images", detail="give the data of an image instead of its url")
    return {"type": part.media_type, "data": base64.b64encode(part.data).decode()}


@attrs.define
class Answer:
    """An answer as far as it has come: a stream event by event, or the whole as one event."""

    headers: dict
    secrets: tuple
    said: dict = attrs.Factory(dict)
    text: str = ""
    thought: str = ""
    calls: list = attrs.Factory(list)

    def feed(self, event):
        """Take an event; give what it adds."""
        if (facts := read_error(event)) is not None:  # an error after HTTP 200
            raise failure_of(200, self.headers, facts, words=WORDS, secrets=self.secrets)
        if not isinstance(event, dict) or not event.keys() & {"output", "thought", "calls", "why"}:
            raise TransientUnknown("the provider's answer is not one of Acme", status=200, sub_cause="wrong_shape")
        self.said |= event  # what is said once, such as why it ends, stays
        if thought := string(event.get("thought")):
            self.thought += thought
            yield ChatDelta(reasoning=thought)
        if output := string(event.get("output")):
            self.text += output
            yield ChatDelta(text=output)
        for each in event.get("calls") or ():
            call = ToolCall(string(each.get("id")), string(each.get("name")), arguments(each.get("with")))
            self.calls.append(call)
            yield ChatDelta(tool_call=ToolCallDelta(len(self.calls) - 1, call.id, call.name, call.arguments))

    def response(self, request, context, left_out):
        """What everything comes to. Without a word for its end, the reason is Unknown."""
        said, why = self.said, self.said.get("why")
        written = count(said, "written")
        strict = context.normalise_stop(why, DIALECT)
        # A refusal, a call or a cut can hide behind the word; is_at_limit tells a cut that calls itself an end.
        is_at_limit = request.max_tokens is not None and written >= request.max_tokens
        return ChatResponse(
            text=self.text,
            reasoning=self.thought,
            tool_calls=tuple(self.calls),
            stop_reason=in_context(strict, text=self.text, tool_calls=self.calls, is_at_limit=is_at_limit),
            strict_stop_reason=strict,
            raw_stop_reason=None if why is None else echoed(str(why), self.secrets),
            usage=Usage(
                input_tokens=count(said, "read"), cached_input_tokens=count(said, "cached"), output_tokens=written
            ),
            served_model=echoed(string(said.get("model")), self.secrets),
            quota=quota(self.headers, ("acme-left-",), self.secrets),
            request_id=request_id(self.headers, self.secrets),
            downgrades=left_out,
        )


class AcmeStream:
    """An open connection to the server."""

    def __init__(self, settings, context):
        self._context = context
        self._connection = HttpConnection(settings)  # the pool, the limits of time and size, and what breaks on the way

    async def complete(self, request):
        """Ask once, for an answer in one piece."""
        body, left_out = body_of(request)
        headers, secrets = self._headers()
        whole = await self._connection.post("/generate", body, headers, secrets)
        answer = Answer(whole.headers, secrets)
        for _ in answer.feed(checked(whole.status, whole.headers, whole.body, WORDS, secrets)):
            pass
        return answer.response(request, self._context, left_out)

    async def stream(self, request):
        """Ask once; give the pieces as they come, and last the response."""
        body, left_out = body_of(attrs.evolve(request, stream=True))
        headers, secrets = self._headers()
        decoder = EventDecoder()
        async with self._connection.stream("/generate", body, headers, secrets) as incoming:
            answer = Answer(incoming.headers, secrets)
            if incoming.is_whole:  # an error, a page of somebody in between, or a server that does not stream
                whole = await incoming.received()
                for delta in answer.feed(checked(whole.status, whole.headers, whole.body, WORDS, secrets)):
                    yield delta
            async for piece in incoming:
                for event in decoder.feed(piece):
                    for delta in answer.feed(decoded(event.data)):
                        yield delta
        yield answer.response(request, self._context, left_out)

    async def models(self):
        """What the server can be asked for."""
        headers, secrets = self._headers()
        answer = await self._connection.get("/models", headers, secrets)
        names = checked(answer.status, answer.headers, answer.body, WORDS, secrets)
        return tuple(ModelInfo(id=name) for name in names)

    async def aclose(self):
        """Close the connections."""
        await self._connection.aclose()

    def _headers(self):
        """What goes with a request, and what must not be quoted of its answer. The key is read now and kept nowhere."""
        key = self._connection.key()
        return {"x-acme-key": key} if key else {}, self._connection.secrets(key)


@hookimpl
def helmdeck_providers():
    """Models called ``acme-stream/...``."""
    address, key = "https://models.acme.example", "env:ACME_API_KEY"
    return [ProviderSpec(name="acme-stream", open=AcmeStream, base_url=address, api_key=key)]


@hookimpl
def helmdeck_stop_reasons():
    """What the server says when it stops; a word that is not here is never a clean end."""
    words = {
        "done": StopReason.END_TURN,
        "limit": StopReason.MAX_TOKENS,
        "call": StopReason.TOOL_CALL,
        "refused": StopReason.SAFETY_BLOCKED,
    }
    return [StopReasonTable(name=DIALECT, reasons=words)]
