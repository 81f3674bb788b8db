"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "log": "helmdeck_telemetry.log",  # events as log lines
    "prometheus": "helmdeck_telemetry.prometheus",  # events as metrics
    "otel": "helmdeck_telemetry.otel",  # events as OpenTelemetry spans
    "traces": "helmdeck_telemetry.traces",  # stored traces of recent calls
    "jsonl": "helmdeck_telemetry.request_log.json_lines",  # finished calls as lines of JSON
    "requests": "helmdeck_telemetry.request_log.sink",  # finished calls and their sums, for the console
}
