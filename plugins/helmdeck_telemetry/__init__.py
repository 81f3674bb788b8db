"""Telemetry: events of calls as log lines, metrics, spans, stored traces and recorded requests.

- **In**: the events of ``helmdeck_core`` (``CallStarted``, ``AttemptEnded``, ``CallFinished``, ...).
- **Out**: loguru records, Prometheus metrics, OpenTelemetry spans with GenAI names, traces for ``helmdeck explain --run``, and
  the request log that ``helmdeck console`` shows.
- **Hooks**: ``helmdeck_event_sinks``.
- **Begin** with ``log``, ``prometheus``, ``otel`` and ``traces``: one sink each, enabled by ``[events] sinks``; and with
  ``request_log`` (``facts``: a row, ``rollups``: sums by the minute, ``pages``: filters, ``store``, ``sink``).
"""

from helmdeck_core.public_names import export_from_stub

__getattr__, __dir__ = export_from_stub(__name__, __file__)
