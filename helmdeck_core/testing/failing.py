"""A real HTTP server that fails on demand, by cause, in the dialect of a family, whole and as a stream."""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import attrs

from helmdeck_core.attempts import FailureClass
from helmdeck_core.testing.dialects.base import Dialect, Said
from helmdeck_core.testing.scripted import CUT_JSON, DRAFT
from helmdeck_core.testing.servers import Answer, ChatServer, Ending, Pieces, Recorded

RETRY_AFTER_S = 7
"""What ``rate_limited`` tells to wait."""

FAULT = "upstream error"
"""What errors say, with ``FailingServer.echo`` behind it."""

_LIMIT = 1024
_TICK_S = 0.02


@attrs.frozen(kw_only=True)
class Mode:
    """A way of failing.

    :ivar cause: what it is, for whoever wanted an object of JSON and got this.
    :ivar said: text of a good answer and output limit to what is said instead; ``None`` where the failure lies in how it
        is sent.
    """

    name: str
    cause: FailureClass | None
    said: Callable[[str, int], Said] | None = None


def _empty(stop: str, tokens: int | None = 1) -> Callable[[str, int], Said]:
    return lambda _, limit: Said(stop=stop, output_tokens=limit if tokens is None else tokens)


def _cut(stop: str | None) -> Callable[[str, int], Said]:
    return lambda _, limit: Said(text=CUT_JSON, stop=stop, output_tokens=limit)


def _modes() -> Iterator[Mode]:
    timeout, cut = FailureClass.LIKELY_TIMEOUT, FailureClass.LENGTH_TRUNCATED
    yield Mode(name="good", cause=None, said=lambda text, _: Said(text=text))
    yield Mode(name="empty_stop", cause=timeout, said=_empty("stop"))
    yield Mode(name="empty_content_filter", cause=FailureClass.SAFETY_FILTERED, said=_empty("content_filter"))
    yield Mode(name="empty_length", cause=cut, said=_empty("length", None))
    yield Mode(name="empty_error", cause=timeout, said=_empty("error"))
    yield Mode(name="cut_json_length", cause=cut, said=_cut("length"))
    # The reason lies; that as many tokens came as were allowed tells.
    yield Mode(name="cut_json_stop", cause=cut, said=_cut("stop"))
    yield Mode(
        name="draft_in_reasoning",
        cause=timeout,
        said=lambda _, __: Said(reasoning=f"I could answer {DRAFT} but first", output_tokens=40),
    )
    yield Mode(
        name="whitespace_loop",
        cause=cut,
        said=lambda _, limit: Said(text="{" + "\n  " * 300, stop="length", output_tokens=limit),
    )
    yield Mode(name="error_in_200", cause=FailureClass.PROVIDER_UNAVAILABLE)
    # It ends as if all were said, but does not say so.
    yield Mode(name="no_end", cause=FailureClass.CONSTRAINED_DEADLOCK, said=_cut(None))
    yield Mode(name="cut_body", cause=FailureClass.PROVIDER_UNAVAILABLE)
    yield Mode(name="rate_limited", cause=FailureClass.RATE_LIMITED)
    yield Mode(name="unavailable", cause=FailureClass.PROVIDER_UNAVAILABLE)
    # Nothing but thoughts, or blanks before an answer in one piece, until the client goes.
    yield Mode(name="slow_think", cause=timeout)


MODES: Mapping[str, Mode] = {mode.name: mode for mode in _modes()}
"""Every mode by its name; ``good`` does not fail."""

Choice = str | Callable[[Recorded], str]
"""The name of a mode, or what chooses one for a request."""


class FailingServer(ChatServer):
    """A server that speaks one dialect and fails in the mode that is set.

    :ivar mode: how it answers from now on: the name of a mode, or a function of the request.
    :ivar text: what a good answer says. A mark such as ``#17`` in the request is put in the place of ``#0`` in it.
    :ivar echo: follows every error message, to see what is repeated of it.
    :ivar served: the modes that were answered in, in order.
    :ivar arrived: is set as soon as a request has come.
    """

    def __init__(
        self, dialect: Dialect, mode: Choice = "good", *, text: str = '{"answer": "#0"}', echo: str = ""
    ) -> None:
        self.dialect = dialect
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
        if name in self.dialect.lacks:
            raise ValueError(f"{self.dialect.name} has no words for {name!r}")
        self.served.append(name)
        self.arrived.set()
        streams = self.dialect.wants_stream(request)
        said = MODES[name].said
        if said is None:
            return self._broken(name, streams)
        mark = re.search(r"#\d+", str(request.body))
        text = self.text.replace("#0", mark.group()) if mark else self.text
        answer = said(text, self.dialect.limit(request.body) or _LIMIT)
        if streams:
            return self._streamed(self.dialect.events(answer))
        return self.dialect.whole(answer)

    def _streamed(self, pieces: Iterable[bytes], ending: Ending = Ending.WHOLE) -> Pieces:
        return Pieces(pieces, ending, headers={"content-type": self.dialect.content_type})

    def _broken(self, name: str, streams: bool) -> Answer:
        dialect, message = self.dialect, f"{FAULT} {self.echo}".strip()
        half = dialect.events(Said(text='{"answer": ', stop=None))
        if name == "rate_limited":
            return 429, {"retry-after": str(RETRY_AFTER_S)}, dialect.error(429, message)
        if name == "unavailable":
            return 503, {}, dialect.error(503, message)
        if name == "error_in_200":
            if streams:
                return self._streamed([*half, dialect.error_event(message)])
            return dialect.failed(message) if dialect.failed else dialect.error(500, message)
        if name == "cut_body":
            if streams:
                return self._streamed(half, Ending.CUT)
            return Pieces([b'{"half'], Ending.CUT, headers={"content-type": "application/json"})
        if streams:
            return self._streamed(self._for_ever(*dialect.events(Said(reasoning="Hm. " * 9, stop=None))))
        return Pieces(self._for_ever(b" "), headers={"content-type": "application/json"})

    def _for_ever(self, *pieces: bytes) -> Iterator[bytes]:
        """The pieces, then the last one over and over."""
        for piece in itertools.chain(pieces, itertools.repeat(pieces[-1])):
            yield piece
            if self._closing.wait(_TICK_S):
                return


@contextlib.contextmanager
def failing_server(
    dialect: Dialect, mode: Choice = "good", *, text: str = '{"answer": "#0"}', echo: str = ""
) -> Iterator[FailingServer]:
    """Serve a dialect, failing in one mode or by request, for the length of a ``with`` block."""
    server = FailingServer(dialect, mode, text=text, echo=echo)
    try:
        yield server
    finally:
        server.close()
    server.raise_faults()
