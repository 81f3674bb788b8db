"""Threaded HTTP servers on a free loopback port, for tests of providers.

A response is one write, or, as ``Chunks``, one write per chunk.
"""

from __future__ import annotations

import contextlib
import enum
import json
import re
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attrs

from helmdeck_core import PIPELINE_RUN

Body = bytes | str | Mapping[str, Any] | list[Any]


class Ending(enum.Enum):
    """How a chunked response ends."""

    WHOLE = "whole"
    CUT = "cut"
    """The connection is closed before the body is complete."""
    RESET = "reset"
    """The connection is reset."""


@attrs.frozen
class Chunks:
    """A chunked response.

    :ivar pieces: the body; each chunk is sent separately, and a generator may wait between chunks.
    """

    pieces: Iterable[bytes]
    ending: Ending = Ending.WHOLE
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=lambda: {"content-type": "text/event-stream"})


Answer = Mapping[str, Any] | tuple[int, Mapping[str, str], Body] | Chunks
Answerer = Callable[[dict[str, Any]], Answer]
"""Takes a request body; returns a JSON body, or status, headers and body, or chunks."""


@attrs.frozen
class Recorded:
    """A received request; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class _Listener(ThreadingHTTPServer):
    request_queue_size = 128  # the default of five refuses concurrent clients

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore disconnected clients, which many tests cause on purpose."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class ChatServer:
    """A running server.

    :ivar base_url: value for a provider's ``base_url``.
    :ivar requests: received requests, in order of arrival.
    :ivar connections: number of connections opened so far.
    :ivar dropped: set when a client disconnects before the end of a chunked response.
    """

    def __init__(self, answer: Answerer) -> None:
        self.requests: list[Recorded] = []
        self.connections = 0
        self.dropped: threading.Event = threading.Event()
        self._answer = answer
        self._faults: list[BaseException] = []
        self._sockets: set[socket.socket] = set()
        self._http = _Listener(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = False  # closing waits for them
        # The default poll interval of half a second would delay the end of every test.
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), name="chat-server")
        self._thread.start()
        self.base_url: str = f"http://127.0.0.1:{self._http.server_port}/v1"

    def close(self) -> None:
        """Stop, and wait for all threads."""
        self._http.shutdown()
        self._thread.join()
        for each in list(self._sockets):
            # Clients keep connections alive; without this their threads would wait for another request.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._http.server_close()

    def respond(self, request: Recorded) -> Answer:
        """Return the response to a request; subclasses may use more than its body."""
        return self._answer(request.body)

    def raise_faults(self) -> None:
        """Raise the first exception of ``answer``, which the client received as a status 500."""
        if self._faults:
            raise self._faults[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # send each chunk immediately

            def setup(self) -> None:
                super().setup()
                server.connections += 1
                server._sockets.add(self.connection)

            def finish(self) -> None:
                server._sockets.discard(self.connection)
                with contextlib.suppress(OSError):  # the client may have disconnected
                    super().finish()

            def do_GET(self) -> None:
                self._serve()

            def do_POST(self) -> None:
                self._serve()

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def _serve(self) -> None:
                sent = self.rfile.read(int(self.headers.get("content-length") or 0))
                answer = server._reply(self.command, self.path, dict(self.headers.items()), sent)
                if isinstance(answer, Chunks):
                    self._send(answer)
                    return
                with contextlib.suppress(OSError):
                    self.wfile.write(answer)

            def _send(self, answer: Chunks) -> None:
                try:
                    self.wfile.write(_head(answer.status, {"transfer-encoding": "chunked", **answer.headers}))
                    for piece in answer.pieces:
                        if piece:  # an empty chunk would end the response
                            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    if answer.ending is Ending.WHOLE:
                        self.wfile.write(b"0\r\n\r\n")
                        return
                except OSError:
                    server.dropped.set()
                except BaseException as exc:
                    server._faults.append(exc)
                self.close_connection = True
                if answer.ending is Ending.RESET:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()

        return Handler

    def _reply(self, method: str, path: str, headers: Mapping[str, str], sent: bytes) -> bytes | Chunks:
        body = json.loads(sent) if sent else {}
        request = Recorded(method, path, {name.lower(): value for name, value in headers.items()}, body)
        self.requests.append(request)
        try:
            answer = self.respond(request)
            return answer if isinstance(answer, Chunks) else _encoded(answer)
        except BaseException as exc:  # raised in the test's thread by raise_faults
            self._faults.append(exc)
            return _encoded((500, {}, {"error": {"message": f"the test server failed: {type(exc).__name__}"}}))


def _encoded(answer: Mapping[str, Any] | tuple[int, Mapping[str, str], Body]) -> bytes:
    """Return the whole response as bytes, so that headers are never split."""
    status, headers, body = answer if isinstance(answer, tuple) else (200, {}, answer)
    if isinstance(body, (Mapping, list)):
        headers = {"content-type": "application/json", **headers}
        body = json.dumps(body)
    data = body.encode() if isinstance(body, str) else body
    return _head(status, {"content-length": str(len(data)), **headers}) + data


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    named = {name.lower(): value for name, value in headers.items()}
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


@contextlib.contextmanager
def chat_server(answer: Answerer) -> Iterator[ChatServer]:
    """Serve ``answer`` within a ``with`` block.

    :raises Exception: the exception of ``answer``, at the end of a successful block.
    """
    server = ChatServer(answer)
    try:
        yield server
    finally:
        server.close()
    server.raise_faults()


def completion(text: str, stop_reason: str | None = "stop", **usage: int) -> dict[str, Any]:
    """Return a chat completion body."""
    return {
        "object": "chat.completion",
        "model": "loopback",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": stop_reason}],
        "usage": usage or {"prompt_tokens": 1, "completion_tokens": 1},
    }


# -- a weak free model ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def weak_model_server(
    expected: Iterable[str] = (), *, max_prompt_bytes: int = 14_000, answer: Callable[[str], str] | None = None
) -> Iterator[ChatServer]:
    """Imitate a weak free model, which answers small prompts and returns nothing for large ones.

    A large prompt gets an empty response with a clean stop reason, as from real models.

    :param expected: names of packs and ids of pipelines, in the order in which the model plans them.
    :param max_prompt_bytes: maximum size of all message texts in UTF-8 bytes.
    :param answer: function of the prompt; by default ``next_step`` with ``expected``.

    >>> from helmdeck_testing import weak_model_server
    >>> with weak_model_server(["blog.draft"]) as server:
    ...     print(server.base_url.startswith("http://127.0.0.1:"))
    True
    """
    names = tuple(expected)
    reply_to = answer or (lambda prompt: next_step(prompt, names))

    def reply(body: dict[str, Any]) -> Answer:
        prompt = prompt_text(body)
        is_too_large = len(prompt.encode()) > max_prompt_bytes
        return completion("" if is_too_large else reply_to(prompt))

    with chat_server(reply) as server:
        yield server


def prompt_text(body: Mapping[str, Any]) -> str:
    """Return the text of all messages of a request, joined by line breaks."""
    return "\n".join(_text(message.get("content")) for message in body.get("messages", ()))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def next_step(prompt: str, expected: Sequence[str]) -> str:
    """Plan the first expected name that is in the prompt's catalog and not listed as done."""
    kinds, rest = _catalog_names(prompt)
    left = _without_done([name for name in expected if name in kinds], kinds, rest)
    if not left:
        return json.dumps({"steps": [], "complexity": "single-action", "reasoning": "done", "more_steps_likely": False})
    is_pipeline = kinds[left[0]] == "pipelines"
    step = {
        "order": 1,
        "tool": PIPELINE_RUN if is_pipeline else left[0],
        "args": {"id": left[0]} if is_pipeline else {},
        "rationale": "requested and not done yet",
    }
    answer = {
        "steps": [step],
        "complexity": "single-action",
        "reasoning": f"{left[0]} comes next",
        "more_steps_likely": len(left) > 1,
    }
    return json.dumps(answer)


def _catalog_names(prompt: str) -> tuple[dict[str, str], str]:
    """Return the names in the prompt's catalog with their kinds, and the text after the catalog."""
    for match in re.finditer(r'\{\s*"(?:packs|pipelines)"', prompt):
        with contextlib.suppress(ValueError):
            catalog, end = json.JSONDecoder().raw_decode(prompt, match.start())
            names = {
                str(entry.get(key)): kind
                for kind, key in (("packs", "name"), ("pipelines", "id"))
                for entry in catalog.get(kind, ())
            }
            return names, prompt[end:]
    return {}, prompt


def _without_done(names: Sequence[str], kinds: Mapping[str, str], prompt: str) -> list[str]:
    """Leave out names that the prompt lists as done; a pipeline may be listed by id or as ``pipeline.run``."""
    # A pasted document may contain the same heading, so only the text before the request counts.
    section = prompt.partition("<request>")[0].partition("\nDONE")[2]
    done = re.findall(r"(?m)^\d+\. (\S+)", section)
    left = []
    for name in names:
        listed = name if name in done else PIPELINE_RUN if kinds[name] == "pipelines" else ""
        if listed in done:
            done.remove(listed)
        else:
            left.append(name)
    return left
