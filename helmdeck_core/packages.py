"""The packages of the project that build on the core, by name; none of them is imported here."""

LIBRARIES = ("helmdeck_language", "helmdeck_storage")
"""Packages without plugins, for the packages below."""

CAPABILITIES = (
    "helmdeck_reading",
    "helmdeck_recovery",
    "helmdeck_providers",
    "helmdeck_selection",
    "helmdeck_planner",
    "helmdeck_cli",
    "helmdeck_history",
    "helmdeck_chains",
    "helmdeck_telemetry",
    "helmdeck_runs",
    "helmdeck_mcp",
    "helmdeck_guards",
    "helmdeck_cache",
    "helmdeck_gateway",
    "helmdeck_console",
    "helmdeck_testing",
)
"""The packages with built-in plugins in the order of registration; lower layers first."""
