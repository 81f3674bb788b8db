"""A real HTTP server that fails on demand, by cause, in the wire format of a family, whole and as a stream."""

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
"""What ``rate_limited`` tells to wait."""

CALL = ToolCall("call_1", "look_up", '{"word": "tide", "most": 3}')
"""What is called in the modes with a tool call."""

STATUSES: Mapping[str, int] = {"rate_limited": 429, "unavailable": 503, "unauthorized": 401, "bad_request": 400}
"""The modes that are a status of HTTP."""

FAULT = "upstream error"
"""What errors say, with ``FailingServer.echo`` behind it."""

MODELS = ("loopback", "other/second")
"""The models that a server lists."""

_LIMIT = 1024
_TICK_S = 0.02


@attrs.frozen
class Mode:
    """A way of failing.

    :ivar what: what the server does, in a few words.
    :ivar cause: what it is, for whoever wanted an object of JSON and got this; ``None`` for no failure.
    :ivar said: text of a good answer and output limit to what is said instead; ``None`` where the failure lies in how it
        is sent.
    """

    name: str
    what: str
    cause: FailureClass | None
    said: Callable[[str, int], ScriptedAnswer] | None = None


def _empty(stop: str, tokens: int | None = 1) -> Callable[[str, int], ScriptedAnswer]:
    return lambda _, limit: ScriptedAnswer(stop=stop, output_tokens=limit if tokens is None else tokens)


def _cut(stop: str | None) -> Callable[[str, int], ScriptedAnswer]:
    return lambda _, limit: ScriptedAnswer(text=CUT_JSON, stop=stop, output_tokens=limit)


_TIMEOUT, _LENGTH = FailureClass.LIKELY_TIMEOUT, FailureClass.LENGTH_TRUNCATED
_DOWN = FailureClass.PROVIDER_UNAVAILABLE

_MODES = (
    Mode("good", "it answers", None, lambda text, _: ScriptedAnswer(text=text)),
    Mode(
        "cached",
        "it answers, with input from a cache",
        None,
        lambda text, _: ScriptedAnswer(text=text, cached_input_tokens=3),
    ),
    Mode("tool_call", "it calls a tool", None, lambda _, __: ScriptedAnswer(stop="tool_calls", tool_calls=(CALL,))),
    Mode("empty_stop", "nothing, and it calls itself finished", _TIMEOUT, _empty("stop")),
    Mode("empty_content_filter", "a filter withholds all", FailureClass.SAFETY_FILTERED, _empty("content_filter")),
    Mode("empty_length", "the whole limit is used up, and nothing is to be seen", _LENGTH, _empty("length", None)),
    Mode("empty_error", "nothing, with a word that nobody knows", _TIMEOUT, _empty("error")),
    Mode("cut_json_length", "JSON that breaks off at the limit", _LENGTH, _cut("length")),
    Mode("cut_json_stop", "JSON that breaks off at the limit and calls itself finished", _LENGTH, _cut("stop")),
    Mode(
        "draft_in_reasoning",
        "a draft of the answer in the reasoning, and no answer",
        _TIMEOUT,
        lambda _, __: ScriptedAnswer(reasoning=f"I could answer {DRAFT} but first", output_tokens=40),
    ),
    Mode(
        "whitespace_loop",
        "a brace and then blanks up to the limit",
        _LENGTH,
        lambda _, limit: ScriptedAnswer(text="{" + "\n  " * 300, stop="length", output_tokens=limit),
    ),
    Mode(
        "tool_call_at_limit",
        "a whole call of a tool in a turn that was cut, so that others may be missing",
        _LENGTH,
        lambda _, limit: ScriptedAnswer(stop="length", tool_calls=(CALL,), output_tokens=limit),
    ),
    Mode("error_in_200", "an error with HTTP 200, in a stream after the first piece", _DOWN),
    Mode("no_end", "half an answer without a word of why it ends", FailureClass.CONSTRAINED_DEADLOCK, _cut(None)),
    Mode("cut_body", "the connection is closed in the middle of the body", _DOWN),
    Mode("rate_limited", f"HTTP 429 with Retry-After: {RETRY_AFTER_S}", FailureClass.RATE_LIMITED),
    Mode("unavailable", "HTTP 503", _DOWN),
    Mode("unauthorized", "HTTP 401", FailureClass.AUTH_FAILED),
    Mode("bad_request", "HTTP 400", FailureClass.INVALID_REQUEST),
    Mode("redirect", "HTTP 302", FailureClass.INVALID_REQUEST),
    Mode("html_page", "HTTP 200 with a login page", _DOWN),
    Mode("alien_json", "HTTP 200 with JSON of somebody else", FailureClass.TRANSIENT_UNKNOWN),
    Mode("slow_think", "thoughts without end; blanks without end before an answer in one piece", _TIMEOUT),
)

MODES: Mapping[str, Mode] = {mode.name: mode for mode in _MODES}
"""Every mode by its name; ``good``, ``cached`` and ``tool_call`` do not fail."""

Choice = str | Callable[[Recorded], str]
"""The name of a mode, or what chooses one for a request."""


class FailingServer(ChatServer):
    """A server that uses one wire format and fails in the mode that is set.

    :ivar mode: how it answers from now on: the name of a mode, or a function of the request.
    :ivar text: what a good answer says. A mark such as ``#17`` in the request is put in the place of ``#0`` in it.
    :ivar echo: follows every error message, to see what is repeated of it.
    :ivar served: the modes that were answered in, in order.
    :ivar arrived: is set as soon as a request has come.
    """

    def __init__(
        self, server_format: ServerFormat, mode: Choice = "good", *, text: str = '{"answer": "#0"}', echo: str = ""
    ) -> None:
        self.server_format = server_format
        self.mode = mode
        self.text = text
        self.echo = echo
        self.served: list[str] = []
        self.arrived = threading.Event()
        self._closing = threading.Event()
        super().__init__(lambda _: {})

    def close(self) -> None:
        """Stop; what is still being answered is broken off."""
        self._closing.set()
        super().close()

    def respond(self, request: Recorded) -> Answer:
        """Answer in the mode that is set."""
        name = self.mode if isinstance(self.mode, str) else self.mode(request)
        if name not in MODES:
            raise ValueError(f"there is no mode {name!r}; modes: {', '.join(MODES)}")
        if name in self.server_format.lacks:
            raise ValueError(f"{self.server_format.name} has no words for {name!r}")
        self.served.append(name)
        self.arrived.set()
        answer = self._answered(name, request)
        headers = {**self.server_format.headers, **self.server_format.quota}
        if isinstance(answer, Chunks):
            return attrs.evolve(answer, headers={**headers, **answer.headers})
        status, given, body = answer if isinstance(answer, tuple) else (200, {}, answer)
        return status, {**headers, **given}, body

    def _answered(self, name: str, request: Recorded) -> Answer:
        streams = self.server_format.wants_stream(request)
        said = MODES[name].said
        if said is None:
            return self._broken(name, streams)
        if request.method == "GET" and self.server_format.models is not None:
            return 200, {}, self.server_format.models(MODELS)
        mark = re.search(r"#\d+", str(request.body))
        text = self.text.replace("#0", mark.group()) if mark else self.text
        answer = said(text, self.server_format.limit(request.body) or _LIMIT)
        if streams:
            return self._streamed(self.server_format.events(answer))
        return self.server_format.whole(answer)

    def _streamed(self, pieces: Iterable[bytes], ending: Ending = Ending.WHOLE) -> Chunks:
        return Chunks(pieces, ending, headers={"content-type": self.server_format.content_type})

    def _broken(self, name: str, streams: bool) -> Answer:
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
                self._for_ever(*server_format.events(ScriptedAnswer(reasoning="Hm. " * 9, stop=None)))
            )
        return Chunks(self._for_ever(b" "), headers={"content-type": "application/json"})

    def _for_ever(self, *pieces: bytes) -> Iterator[bytes]:
        """The pieces, then the last one over and over."""
        for piece in itertools.chain(pieces, itertools.repeat(pieces[-1])):
            yield piece
            if self._closing.wait(_TICK_S):
                return


@contextlib.contextmanager
def failing_server(
    server_format: ServerFormat, mode: Choice = "good", *, text: str = '{"answer": "#0"}', echo: str = ""
) -> Iterator[FailingServer]:
    """Serve one wire format, failing in one mode or by request, for the length of a ``with`` block."""
    server = FailingServer(server_format, mode, text=text, echo=echo)
    try:
        yield server
    finally:
        server.close()
    server.raise_faults()
