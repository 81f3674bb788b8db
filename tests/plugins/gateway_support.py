"""A gateway on a loopback port, and a small client for its tests."""

import asyncio
import contextlib
import http.client
import json
import threading
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from helmdeck_gateway import Gateway, GatewaySettings
from helmdeck_gateway.server import Address, http_server
from helmdeck_testing import make_deck


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
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
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


def events_of(raw: bytes):
    """The data of server-sent events; ``[DONE]`` as a string, and comments left out."""
    for block in raw.decode().split("\n\n"):
        data = "\n".join(line[5:].strip() for line in block.split("\n") if line.startswith("data:"))
        if data:
            yield data if data == "[DONE]" else json.loads(data)


@contextlib.contextmanager
def running_gateway(*plugins, config=None, settings=None, authoriser=None):
    """Run a gateway over a new deck within a ``with`` block."""
    config = {**(config or {}), "events": {"sinks": ["gateway"], **(config or {}).get("events", {})}}
    deck = make_deck(*plugins, config=config)
    options = settings or GatewaySettings.read(deck.runtime.config.gateway)
    gateway = Gateway(deck, options, authoriser=authoriser)
    listener = Address(port=0).listen()
    server = http_server(gateway)

    async def serve() -> None:
        async with deck:
            await server.serve(sockets=[listener])

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
