"""A dialect of a plugin: a module with a reader and a writer, and an application that serves it."""

import pytest

from helmdeck_core import ChatRequest, GatewayApp, Message, Role, TextPart, hookimpl
from helmdeck_core.cli import main
from helmdeck_gateway import CallEndpoint, FieldMistakes, Gateway, KeyRecord, Parsed, endpoint_names, with_fields
from helmdeck_gateway.accounts.endpoint_names import ENDPOINTS
from helmdeck_testing import make_deck
from tests.helmdeck_gateway.gateway_support import running_gateway, upstream


class LineWriter:
    """Writes a stream as lines of plain text."""

    ping = b""
    content_type = b"text/plain"

    def __init__(self, opening, parsed):
        self.opening = opening

    def start(self):
        return b""

    def feed(self, delta):
        return delta.text.encode()

    def finish(self, reply):
        return b"\n"

    def fail(self, problem):
        return f"error: {problem.message}\n".encode()


class Acme:
    """The dialect and its plugin."""

    FAMILY = ""
    Writer = LineWriter

    def parse(self, body, opaque_of):
        message = Message(Role.USER, (TextPart(body["ask"]),))
        request = ChatRequest(model=body["model"], messages=(message,))
        return Parsed(request=request, is_stream=body.get("stream", False), body=body)

    def whole(self, reply):
        return {"said": reply.response.text}

    def error(self, problem):
        return {"wrong": problem.message}

    @hookimpl
    def helmdeck_gateway_apps(self):
        return [GatewayApp(name="acme", path="/acme", open=lambda gateway: CallEndpoint(gateway.door, self, "acme"))]


def test_plugin_serves_a_dialect_of_its_own(server):
    with running_gateway(Acme(), config={"providers": {"up": upstream(server)}}) as gateway:
        whole = gateway.send("/acme/", {"model": "up/m", "ask": "hi"})
        assert (whole.status, whole.body) == (200, {"said": "hello"})
        streamed = gateway.send("/acme/", {"model": "up/m", "ask": "hi", "stream": True})
        assert (streamed.headers["content-type"], streamed.body) == ("text/plain", "hello\n")
        wrong = gateway.send("/acme/", {"model": "nowhere/m", "ask": "hi"})
        assert wrong.status == 404 and "nowhere" in wrong.body["wrong"]
        assert 'endpoint="acme"' in gateway.send("/metrics", method="GET").body


def test_keys_are_limited_to_endpoints_that_exist(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HELMDECK_DATA_DIR", str(tmp_path))
    deck = make_deck(Acme())
    paths = [route for route in Gateway(deck).app.routes if isinstance(getattr(route, "endpoint", None), CallEndpoint)]
    called = {route.endpoint.name for route in paths} - {"count_tokens"}
    assert called | {"gemini"} == set(ENDPOINTS)  # whose path has the method
    names = endpoint_names(deck.runtime)
    record = with_fields(KeyRecord(name="ann", id="", digest="", caller="ann"), {"dialects": ["chat", "acme"]}, names)
    assert record.dialects == ("chat", "acme")
    with pytest.raises(FieldMistakes, match=r"dialects: unknown endpoint 'acme'; allowed: chat, .*rerank"):
        with_fields(record, {"dialects": ["acme"], "name": "ann"})
    assert main(["keys", "create", "ann", "--dialects", "chat,mesages", "--no-plugins"]) == 2
    assert "--dialects: unknown endpoint 'mesages' (did you mean 'messages'?); allowed: chat" in capsys.readouterr().err
