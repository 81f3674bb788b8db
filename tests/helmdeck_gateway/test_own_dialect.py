"""A dialect of a plugin: a module with a reader and a writer, and an application that serves it."""

from helmdeck_core import ChatRequest, GatewayApp, Message, Role, TextPart, hookimpl
from helmdeck_gateway import CallEndpoint, Parsed
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
