"""Records finished calls in the request log. ``[events] sinks = ["requests"]`` enables it; ``helmdeck console`` shows the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from helmdeck_core import AttemptTexts, CallTrace, CooldownStarted, Event, EventSink, SecretRef, hookimpl
from helmdeck_telemetry.request_log.batches import Batches, Item
from helmdeck_telemetry.traces import RecordedCall, TraceRecorder

if TYPE_CHECKING:
    from helmdeck_telemetry.request_log.store import RequestLog
    from helmdeck_telemetry.request_log.texts import RecordedTexts

NAME: Final = "requests"
"""The name of the sink in ``[events] sinks``; the gateway enables it for its console."""

PURGE_EVERY: Final = 2_000
"""Recorded calls of a process between two deletions of what has expired, each of which removes up to 5,000 rows of a table."""


TEXT_BYTES: Final = 20_000
"""Bytes of a recorded text of a request, and of an answer."""


@hookimpl
def helmdeck_event_sinks() -> Sequence[EventSink]:
    """The sink for the request log."""
    return (
        EventSink(
            name=NAME,
            open=RequestSink,
            options={"url": "", "days": 30.0, "keep_traces": 50_000, "texts": False, "text_bytes": TEXT_BYTES},
            summary="finished calls with their attempts, for helmdeck console",
        ),
    )


class RequestSink:
    """The request log of one deck, or of all decks that use the same database.

    Calls are written by a thread of their own, so that a call never waits for the database; a killed process loses those of the
    last quarter of a second.

    :param url: ``sqlite:PATH`` or ``postgresql://...``, or a reference to such a URL: ``env:NAME`` or ``file:PATH``; empty:
        ``requests.db`` in the data directory.
    :param days: days that requests and their sums are kept.
    :param keep_traces: number of requests whose attempts are kept in detail.
    :param texts: whether to record the texts of requests and answers, with secrets masked; as long as the attempts.
    :param text_bytes: maximum bytes of each of them.
    :param log: an open log instead of ``url``.
    :ivar records_texts: ``texts``.
    """

    def __init__(
        self, url: str = "", days: float = 30.0, keep_traces: int = 50_000, *, texts: bool = False,
        text_bytes: int = TEXT_BYTES, log: RequestLog | None = None,
    ) -> None:  # fmt: skip
        kind, _, target = url.partition(":")
        resolved = (SecretRef(kind, target).read() or "") if kind in ("env", "file") else url
        self._is_default = log is None and not resolved
        if log is None:
            from helmdeck_telemetry.request_log.store import RequestLog

            log = RequestLog.open(resolved)
        self.log: RequestLog = log
        self._days, self._keep_traces = days, keep_traces
        self._batches = Batches(self._write, "the request log")
        self._recorder = TraceRecorder(self._batches.add)
        self._until_purge = 0
        self.records_texts: bool = texts
        self._text_bytes = max(0, text_bytes)

    @property
    def dropped(self) -> int:
        """Finished calls that could not be recorded."""
        return self._batches.dropped

    def handle(self, event: Event) -> None:
        """Add an event to the trace of its call; record the trace when the call ends."""
        if isinstance(event, CooldownStarted):
            self._batches.add(event)
        else:
            self._recorder.handle(event)

    def handle_texts(self, texts: AttemptTexts) -> None:
        """Record the texts of an attempt; the thread that writes masks them."""
        self._batches.add(texts)

    def traces(self, limit: int = 20) -> tuple[CallTrace, ...]:
        """Return the most recent traces, newest first, without those of helper calls."""
        self.flush()
        return () if self._is_new else self.log.newest_traces(limit)

    def call_trace(self, call_id: str) -> CallTrace | None:
        """Return the trace of one call, or ``None``."""
        self.flush()
        return None if self._is_new else self.log.trace(call_id)

    @property
    def _is_new(self) -> bool:
        """Whether nothing was stored yet in the default file, which reading does not create."""
        from helmdeck_telemetry.request_log.store import default_log_path

        return self._is_default and not default_log_path().exists()

    def flush(self, timeout_s: float = 5.0) -> None:
        """Wait until what is finished is recorded."""
        self._batches.flush(timeout_s)

    def close(self) -> None:
        """Record what is finished, and close the database; a later call opens it again."""
        self._batches.close()
        self.log.close()

    def _write(self, batch: Sequence[Item]) -> None:
        """Write a batch; runs in the thread of the batches."""
        if traces := [each.trace() for each in batch if isinstance(each, RecordedCall)]:
            self.log.add(traces)
        if texts := [self._recorded(each) for each in batch if isinstance(each, AttemptTexts)]:
            self.log.add_texts(texts)
        for each in batch:
            if isinstance(each, CooldownStarted):
                self.log.add_cooldown(each)
        if self._until_purge <= 0:
            self.log.purge(self._days, self._keep_traces)
            self._until_purge = PURGE_EVERY
        self._until_purge -= len(batch)

    def _recorded(self, texts: AttemptTexts) -> RecordedTexts:
        from helmdeck_telemetry.request_log.texts import RecordedTexts

        most = self._text_bytes
        return RecordedTexts(
            call_id=texts.call_id,
            attempt=texts.attempt,
            request=texts.request_text(most),
            answer=texts.answer_text(most),
        )
