"""The reference page of metrics, read from the code that counts them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

Table = Callable[[Sequence[str], Iterable[Sequence[str]]], str]

_HEAD = re.compile(r"^# HELP (?P<name>\S+) (?P<text>.*)\n# TYPE \S+ (?P<kind>\w+)$", re.MULTILINE)


def parts(table: Table) -> list[str]:
    """Return the parts of the page."""
    from helmdeck_gateway.accounts.key_counters import KeyCounters
    from helmdeck_gateway.http_server.counters import Counters

    gateway = f"{Counters().render()}\n{KeyCounters().render()}"
    rows = [(f"`{match['name']}`", match["kind"], match["text"]) for match in _HEAD.finditer(gateway)]
    return [
        (
            "`GET /metrics` of the gateway returns both tables in the text format of Prometheus; see "
            "[Observability](../how-to/observability.md#prometheus). Every name of a counter ends in `_total`. Names of keys are shown only "
            "if `gateway.metrics_key` protects them."
        ),
        "## Calls",
        'The event sink `prometheus` counts [events](events.md); `[events] sinks = ["prometheus"]` enables it.',
        table(("metric", "type", "labels", "description"), _calls()),
        "## Gateway",
        "Counted by `helmdeck serve` itself.",
        table(("metric", "type", "description"), rows),
    ]


def _calls() -> list[Sequence[str]]:
    from prometheus_client.metrics import MetricWrapperBase

    from helmdeck_telemetry.prometheus import PrometheusSink

    collectors = [each for each in vars(PrometheusSink()._metrics).values() if isinstance(each, MetricWrapperBase)]  # noqa: SLF001
    found: list[Sequence[str]] = []
    for collector in collectors:
        (metric,) = collector.describe()
        name = metric.name + ("_total" if metric.type == "counter" else "")
        labels = ", ".join(f"`{label}`" for label in collector._labelnames)  # noqa: SLF001 - it has no public name
        found.append((f"`{name}`", metric.type, labels, metric.documentation))
    return sorted(found)
