"""A real HTTP server that fails on demand in a given response format, whole and streamed."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import attrs

from helmdeck_core import FailureClass, ToolCall
from helmdeck_testing.scripted import CUT_JSON, DRAFT
from helmdeck_testing.server_formats.base import ScriptedAnswer, ServerFormat
from helmdeck_testing.servers import Answer, ChatServer, Chunks, Ending, Recorded

RETRY_AFTER_S = 7
"""``Retry-After`` of the mode ``rate_limited``, in seconds."""

CALL = ToolCall("call_1", "look_up", '{"word": "tide", "most": 3}')
"""The call in the modes with a tool call."""

STATUSES: Mapping[str, int] = {"rate_limited": 429, "unavailable": 503, "unauthorized": 401, "bad_request": 400}
"""HTTP status of the modes that have one."""

FAULT = "upstream error"
"""Message of all errors, followed by ``FailingServer.echo``."""

MODELS = ("loopback", "other/second")
"""The listed models."""

_LIMIT = 1024
_TICK_S = 0.02


@attrs.frozen
class Mode:
    """A failure mode.

    :ivar summary: short description of the server's behaviour.
    :ivar cause: expected failure class for a caller that requested a JSON object; ``None`` for no failure.
    :ivar answer: function of the good text and the output limit that returns the answer; ``None`` if the failure is not in
        the answer itself.
    """

    name: str
    summary: str
    cause: FailureClass | None
    answer: Callable[[str, int], ScriptedAnswer] | None = None


def _empty(stop: str, tokens: int | None = 1) -> Callable[[str, int], ScriptedAnswer]:
    return lambda _, limit: ScriptedAnswer(stop=stop, output_tokens=limit if tokens is None else tokens)


def _truncated(stop: str | None) -> Callable[[str, int], ScriptedAnswer]:
    return lambda _, limit: ScriptedAnswer(text=CUT_JSON, stop=stop, output_tokens=limit)


_TIMEOUT, _LENGTH = FailureClass.LIKELY_TIMEOUT, FailureClass.LENGTH_TRUNCATED
_DOWN = FailureClass.PROVIDER_UNAVAILABLE

_MODES = (
    Mode("good", "complete answer", None, lambda text, _: ScriptedAnswer(text=text)),
    Mode(
        "cached",
        "complete answer with cached input",
        None,
        lambda text, _: ScriptedAnswer(text=text, cached_input_tokens=3),
    ),
    Mode("tool_call", "tool call", None, lambda _, __: ScriptedAnswer(stop="tool_calls", tool_calls=(CALL,))),
    Mode("empty_stop", "empty answer with a clean stop reason", _TIMEOUT, _empty("stop")),
    Mode(
        "empty_content_filter",
        "empty answer from a content filter",
        FailureClass.SAFETY_FILTERED,
        _empty("content_filter"),
    ),
    Mode("empty_length", "output limit used up without visible text", _LENGTH, _empty("length", None)),
    Mode("empty_error", "empty answer with an unknown stop reason", _TIMEOUT, _empty("error")),
    Mode("cut_json_length", "JSON truncated at the output limit", _LENGTH, _truncated("length")),
    Mode("cut_json_stop", "JSON truncated at the output limit with a clean stop reason", _LENGTH, _truncated("stop")),
    Mode(
        "draft_in_reasoning",
        "draft in the reasoning without an answer",
        _TIMEOUT,
        lambda _, __: ScriptedAnswer(reasoning=f"I could answer {DRAFT} but first", output_tokens=40),
    ),
    Mode(
        "whitespace_loop",
        "a brace followed by whitespace up to the output limit",
        _LENGTH,
        lambda _, limit: ScriptedAnswer(text="{" + "\n  " * 300, stop="length", output_tokens=limit),
    ),
    Mode(
        "tool_call_at_limit",
        "complete tool call in a truncated turn, so that others may be missing",
        _LENGTH,
        lambda _, limit: ScriptedAnswer(stop="length", tool_calls=(CALL,), output_tokens=limit),
    ),
    Mode("error_in_200", "error with HTTP 200, in a stream after the first chunk", _DOWN),
    Mode("no_end", "truncated answer without a stop reason", FailureClass.CONSTRAINED_DEADLOCK, _truncated(None)),
    Mode("cut_body", "connection closed within the body", _DOWN),
    Mode("rate_limited", f"HTTP 429 with Retry-After: {RETRY_AFTER_S}", FailureClass.RATE_LIMITED),
    Mode("unavailable", "HTTP 503", _DOWN),
    Mode("unauthorized", "HTTP 401", FailureClass.AUTH_FAILED),
    Mode("bad_request", "HTTP 400", FailureClass.INVALID_REQUEST),
    Mode("redirect", "HTTP 302", FailureClass.INVALID_REQUEST),
    Mode("html_page", "HTTP 200 with a login page", _DOWN),
    Mode("alien_json", "HTTP 200 with unrelated JSON", FailureClass.TRANSIENT_UNKNOWN),
    Mode("slow_think", "endless reasoning in a stream, endless whitespace in a whole response", _TIMEOUT),
)

MODES: Mapping[str, Mode] = {mode.name: mode for mode in _MODES}
"""All modes by name; ``good``, ``cached`` and ``tool_call`` do not fail."""

Choice = str | Callable[[Recorded], str]
"""The name of a mode, or a function of the request that returns one."""


class FailingServer(ChatServer):
    """A server with one response format that fails in the current mode.

    :ivar mode: mode of the next responses: a name, or a function of the request.
    :ivar text: text of a good answer. A mark such as ``#17`` in the request replaces ``#0`` in it.
    :ivar echo: appended to every error message, to test redaction.
    :ivar served: names of the modes served so far, in order.
    :ivar arrived: set when a request arrives.
    """

    def __init__(
        self, server_format: ServerFormat, mode: Choice = "good", *, text: str = '{"answer": "#0"}', echo: str = ""
    ) -> None:
        self.server_format = server_format
        self.mode = mode
        self.text = text
        self.echo = echo
        self.served: list[str] = []
        self.arrived: threading.Event = threading.Event()
        self._closing = threading.Event()
        super().__init__(lambda _: {})

    def close(self) -> None:
        """Stop, and abort running responses."""
        self._closing.set()
        super().close()

    def respond(self, request: Recorded) -> Answer:
        """Return a response in the current mode."""
        name = self.mode if isinstance(self.mode, str) else self.mode(request)
        if name not in MODES:
            raise ValueError(f"unknown mode {name!r}; modes: {', '.join(MODES)}")
        if name in self.server_format.lacks:
            raise ValueError(f"{self.server_format.name} does not support the mode {name!r}")
        self.served.append(name)
        self.arrived.set()
        answer = self._response(name, request)
        headers = {**self.server_format.headers, **self.server_format.quota}
        if isinstance(answer, Chunks):
            return attrs.evolve(answer, headers={**headers, **answer.headers})
        status, more, body = answer if isinstance(answer, tuple) else (200, {}, answer)
        return status, {**headers, **more}, body

    def _response(self, name: str, request: Recorded) -> Answer:
        streams = self.server_format.wants_stream(request)
        make_answer = MODES[name].answer
        if make_answer is None:
            return self._failure(name, streams)
        if request.method == "GET" and self.server_format.models is not None:
            return 200, {}, self.server_format.models(MODELS)
        mark = re.search(r"#\d+", str(request.body))
        text = self.text.replace("#0", mark.group()) if mark else self.text
        answer = make_answer(text, self.server_format.limit(request.body) or _LIMIT)
        if streams:
            return self._streamed(self.server_format.events(answer))
        return self.server_format.whole(answer)

    def _streamed(self, pieces: Iterable[bytes], ending: Ending = Ending.WHOLE) -> Chunks:
        return Chunks(pieces, ending, headers={"content-type": self.server_format.content_type})

    def _failure(self, name: str, streams: bool) -> Answer:
        server_format, message = self.server_format, f"{FAULT} {self.echo}".strip()
        half = server_format.events(ScriptedAnswer(text='{"answer": ', stop=None))
        if status := STATUSES.get(name):
            wait = {"retry-after": str(RETRY_AFTER_S)} if status == 429 else {}
            return status, wait, server_format.error(status, message)
        if name == "redirect":
            return 302, {"location": f"{self.base_url}/elsewhere"}, ""
        if name == "html_page":
            return 200, {"content-type": "text/html"}, "<html><title>Log in</title><p>Who are you?</p></html>"
        if name == "alien_json":
            return {"hello": "world"}
        if name == "error_in_200":
            if streams:
                return self._streamed([*half, server_format.error_event(message)])
            return server_format.failed(message) if server_format.failed else server_format.error(500, message)
        if name == "cut_body":
            if streams:
                return self._streamed(half, Ending.CUT)
            return Chunks([b'{"half'], Ending.CUT, headers={"content-type": "application/json"})
        if streams:
            return self._streamed(
                self._repeat_last(*server_format.events(ScriptedAnswer(reasoning="Hm. " * 9, stop=None)))
            )
        return Chunks(self._repeat_last(b" "), headers={"content-type": "application/json"})

    def _repeat_last(self, *pieces: bytes) -> Iterator[bytes]:
        """Yield the chunks, then repeat the last one until the server stops."""
        for piece in itertools.chain(pieces, itertools.repeat(pieces[-1])):
            yield piece
            if self._closing.wait(_TICK_S):
                return


@contextlib.contextmanager
def failing_server(
    server_format: ServerFormat, mode: Choice = "good", *, text: str = '{"answer": "#0"}', echo: str = ""
) -> Iterator[FailingServer]:
    """Run a ``FailingServer`` within a ``with`` block."""
    server = FailingServer(server_format, mode, text=text, echo=echo)
    try:
        yield server
    finally:
        server.close()
    server.raise_faults()
