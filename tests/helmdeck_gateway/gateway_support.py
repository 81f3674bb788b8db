"""A gateway on a loopback port, and a small client for its tests."""

import asyncio
import contextlib
import http.client
import json
import threading
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from helmdeck_gateway import Gateway, GatewaySettings
from helmdeck_gateway.http_server.live_gateway import LiveGateway
from helmdeck_gateway.http_server.server import Address, http_server
from helmdeck_testing import OPENAI_CHAT, FailingServer, ScriptedAnswer, make_deck


class Answer(NamedTuple):
    """A response of the gateway: its events, where it is a stream."""

    status: int
    headers: dict[str, str]
    body: Any
    events: list[Any]
    raw: bytes = b""


class Running:
    """A running gateway."""

    def __init__(self, gateway: Gateway, url: str) -> None:
        self.gateway = gateway
        self.url = url

    def send(self, path, body=None, *, method="POST", headers=None) -> Answer:
        """Send a request and read the whole response."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        with contextlib.closing(connection):
            connection.request(method, path, data, {"content-type": "application/json", **(headers or {})})
            response = connection.getresponse()
            raw = response.read()
            found = {name.lower(): value for name, value in response.getheaders()}
        if found.get("content-type", "").startswith("text/event-stream"):
            return Answer(response.status, found, None, list(events_of(raw)), raw)
        is_json = found.get("content-type", "").startswith("application/json")
        return Answer(response.status, found, json.loads(raw) if is_json and raw else raw.decode(), [], raw)

    def chat(self, model="up/m", text="say #7", **fields) -> Answer:
        """Send a chat completion request."""
        body = {"model": model, "messages": [{"role": "user", "content": text}], **fields}
        return self.send("/v1/chat/completions", body)


class AppRequest:
    """One request to an ASGI application, without a socket.

    :ivar has_text: is set when the client gets a text that contains ``once``.
    """

    def __init__(self, app, path, body=None, method="POST", headers=()):
        self.scope = {
            "type": "http", "method": method, "path": path, "query_string": b"", "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in dict(headers).items()],
        }  # fmt: skip
        self._app = app
        self._received = [{"type": "http.request", "body": json.dumps(body or {}).encode(), "more_body": False}]
        self._parts = []
        self.has_text = asyncio.Event()

    async def receive(self):
        """Return the request; the client stays."""
        return self._received.pop() if self._received else await asyncio.Event().wait()

    async def send(self, message):
        """Take a part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self._parts.append(message["body"])
            if b"once" in message["body"]:
                self.has_text.set()

    async def sent(self):
        """Wait for the whole response."""
        await self._app(self.scope, self.receive, self.send)
        return self

    @property
    def raw(self):
        """The body of the response."""
        return b"".join(self._parts)


def events_of(raw: bytes):
    """The data of server-sent events; ``[DONE]`` as a string, and comments left out."""
    for block in raw.decode().split("\n\n"):
        data = "\n".join(line[5:].strip() for line in block.split("\n") if line.startswith("data:"))
        if data:
            yield data if data == "[DONE]" else json.loads(data)


@contextlib.contextmanager
def running_gateway(*plugins, config=None, settings=None, authoriser=None, store=None):
    """Run a gateway over a new deck within a ``with`` block."""
    config = {**(config or {}), "events": {"sinks": ["gateway"], **(config or {}).get("events", {})}}
    deck = make_deck(*plugins, config=config)
    options = settings or GatewaySettings.read(deck.runtime.config.gateway)
    gateway = Gateway(deck, options, authoriser=authoriser, store=store)
    listener = Address(port=0).listen()

    async def serve() -> None:
        await server.serve(sockets=[listener])

    server = http_server(LiveGateway(gateway))
    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="gateway")
    thread.start()
    try:
        yield Running(gateway, f"http://127.0.0.1:{listener.getsockname()[1]}")
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def upstream(server, kind="openai-compatible", **fields):
    """The configuration of a provider behind a loopback server."""
    return {"kind": kind, "base_url": server.base_url, **fields}


def text_of_chunks(events):
    """The text of a streamed chat completion."""
    choices = [choice for event in events if event != "[DONE]" for choice in event.get("choices", [])]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def finish_of_chunks(events):
    """The finish reasons of a streamed chat completion."""
    choices = [choice for event in events if event != "[DONE]" for choice in event.get("choices", [])]
    return [choice["finish_reason"] for choice in choices if choice["finish_reason"]]


KINDS = {
    "openai-chat": "openai-compatible",
    "openai-responses": "responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
    "ollama": "ollama",
}
"""The provider for each server format."""


class FormatServer(FailingServer):
    """A server that sends one answer in its format, whole or streamed.

    :ivar answer: the next answer.
    """

    def __init__(self, server_format, answer=None):
        self.answer = answer or ScriptedAnswer(text="hello")
        super().__init__(server_format)

    def respond(self, request):
        """Return the answer."""
        self.arrived.set()
        if not self.server_format.wants_stream(request):
            return self.server_format.whole(self.answer)
        return self._streamed(self.server_format.events(self.answer))


class HeldServer(FormatServer):
    """Sends the first half of every streamed answer to ``long``, and the rest when it is released."""

    def __init__(self):
        super().__init__(OPENAI_CHAT, ScriptedAnswer(text="once upon a time"))
        self.release = threading.Event()

    def respond(self, request):
        """Return the answer."""
        if request.body["model"] != "long":
            return super().respond(request)
        return self._streamed(self._held(list(self.server_format.events(self.answer))))

    def _held(self, events):
        for number, event in enumerate(events):
            if number == len(events) // 2:
                assert self.release.wait(60)
            yield event


class Read(NamedTuple):
    """What a client reads from a response."""

    text: str
    reasoning: str
    calls: list[tuple[str, str, Any]]
    finish: str
    tokens: tuple[int, int]


def read_chat(body):
    """Read a chat completion."""
    (choice,) = body["choices"]
    message, usage = choice["message"], body["usage"]
    calls = [
        (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message.get("tool_calls", ())
    ]
    tokens = (usage["prompt_tokens"], usage["completion_tokens"])
    return Read(message["content"] or "", message.get("reasoning_content", ""), calls, choice["finish_reason"], tokens)


def read_chat_events(events):
    """Read a streamed chat completion as its clients do."""
    text, reasoning, calls, finish, usage = "", "", {}, "", None
    assert events[-1] == "[DONE]"
    for chunk in events[:-1]:
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            delta = choice["delta"]
            text += delta.get("content") or ""
            reasoning += delta.get("reasoning_content") or ""
            finish = choice["finish_reason"] or finish
            for call in delta.get("tool_calls", ()):
                known = calls.setdefault(call["index"], [call.get("id"), call["function"].get("name"), ""])
                known[2] += call["function"]["arguments"]
    assert list(calls) == list(range(len(calls)))
    read = [(call[0], call[1], json.loads(call[2])) for call in calls.values()]
    return Read(text, reasoning, read, finish, (usage["prompt_tokens"], usage["completion_tokens"]))


def read_message(body):
    """Read a response of Anthropic's Messages."""
    text = "".join(block["text"] for block in body["content"] if block["type"] == "text")
    thoughts = "".join(block["thinking"] for block in body["content"] if block["type"] == "thinking")
    calls = [(b["id"], b["name"], b["input"]) for b in body["content"] if b["type"] == "tool_use"]
    usage = body["usage"]
    return Read(text, thoughts, calls, body["stop_reason"], (usage["input_tokens"], usage["output_tokens"]))


def read_message_events(events):
    """Read a streamed response of Anthropic's Messages as its clients do."""
    body, is_open = {}, None
    for event in events:
        match event["type"]:
            case "message_start":
                body = {**event["message"], "content": []}
            case "content_block_start":
                assert is_open is None and event["index"] == len(body["content"])
                is_open = event["index"]
                body["content"].append({**event["content_block"], "json": ""})
            case "content_block_delta":
                assert event["index"] == is_open
                block, delta = body["content"][is_open], event["delta"]
                field = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
                if delta["type"] == "input_json_delta":
                    block["json"] += delta["partial_json"]
                else:
                    block[field[delta["type"]]] += delta[field[delta["type"]]]
            case "content_block_stop":
                block = body["content"][is_open]
                if block["type"] == "tool_use":
                    block["input"] = json.loads(block["json"] or "{}")
                is_open = None
            case "message_delta":
                body |= {**event["delta"], "usage": {**body["usage"], **event["usage"]}}
    assert [event["type"] for event in events[-2:]] == ["message_delta", "message_stop"]
    return read_message(body)


def read_response(body):
    """Read a response of OpenAI's Responses."""
    items = body["output"]
    text = "".join(part["text"] for item in items if item["type"] == "message" for part in item["content"])
    thoughts = "".join(part["text"] for item in items if item["type"] == "reasoning" for part in item["summary"])
    calls = [(i["call_id"], i["name"], json.loads(i["arguments"])) for i in items if i["type"] == "function_call"]
    finish = (body["incomplete_details"] or {}).get("reason") or body["status"]
    return Read(text, thoughts, calls, finish, (body["usage"]["input_tokens"], body["usage"]["output_tokens"]))


def read_response_events(events):
    """Read a streamed response of OpenAI's Responses; the deltas must add up to the last event."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    read = read_response(events[-1]["response"])
    deltas = {"response.output_text.delta": "", "response.reasoning_summary_text.delta": ""}
    for event in events:
        if event["type"] in deltas:
            deltas[event["type"]] += event["delta"]
    assert tuple(deltas.values()) == (read.text, read.reasoning)
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == events[-1]["response"]["output"]
    return read


class ClientDialect(NamedTuple):
    """How a client of one dialect sends requests and reads responses.

    :ivar body: takes the conversation as (role, text) rows; returns the payload.
    """

    path: str
    body: Any
    tools: Any
    whole: Any
    streamed: Any
    ends: tuple[str, str, str]


SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}, "most": {"type": "integer"}}}

DIALECTS = {
    "chat": ClientDialect(
        "/v1/chat/completions",
        lambda text: {"messages": [{"role": "user", "content": text}], "stream_options": {"include_usage": True}},
        [{"type": "function", "function": {"name": "look_up", "description": "d", "parameters": SCHEMA}}],
        read_chat,
        read_chat_events,
        ("stop", "tool_calls", "length"),
    ),
    "messages": ClientDialect(
        "/v1/messages",
        lambda text: {"messages": [{"role": "user", "content": text}], "max_tokens": 500},
        [{"name": "look_up", "description": "d", "input_schema": SCHEMA}],
        read_message,
        read_message_events,
        ("end_turn", "tool_use", "max_tokens"),
    ),
    "responses": ClientDialect(
        "/v1/responses",
        lambda text: {"input": text},
        [{"type": "function", "name": "look_up", "description": "d", "parameters": SCHEMA}],
        read_response,
        read_response_events,
        ("completed", "completed", "max_output_tokens"),
    ),
}
