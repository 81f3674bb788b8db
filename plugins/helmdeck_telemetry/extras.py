"""The error of a sink whose libraries are not installed."""

from __future__ import annotations

from helmdeck_core import ConfigError, Mistake


def missing_extra(sink: str, distribution: str, extra: str) -> ConfigError:
    """Return the mistake of a configuration that enables a sink without its extra.

    >>> from helmdeck_telemetry.extras import missing_extra
    >>> print(missing_extra("prometheus", "prometheus-client", "prometheus"))
    the configuration cannot be used: events.sinks: the sink 'prometheus' needs prometheus-client; pip install 'helmdeck[prometheus]'
    """
    problem = f"the sink {sink!r} needs {distribution}; pip install 'helmdeck[{extra}]'"
    return ConfigError((Mistake("events.sinks", problem),))
