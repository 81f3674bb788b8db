"""``helmdeck config``: shows the effective settings, checks the configuration, prints a sample."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_cli.printing.wording import counted
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, inline_json, note, read_config, show, show_json, show_traceback, table

if TYPE_CHECKING:
    from helmdeck_cli.checks.configuration import ConfigReport
    from helmdeck_core import LoadedConfig


def configure(parser: argparse.ArgumentParser) -> None:
    """The commands have no options of their own."""


def show_settings(arguments: argparse.Namespace) -> int:
    """Print every setting with its value and source.

    :raises ConfigError: with every mistake, after the settings are printed.
    """
    import attrs

    from helmdeck_cli.checks.effective_settings import effective_settings
    from helmdeck_core import ConfigError

    loaded = read_config(arguments)
    settings = effective_settings(loaded)
    if arguments.json:
        mistakes = [attrs.asdict(mistake) for mistake in loaded.mistakes]
        show_json({"file": _file(loaded), "settings": [attrs.asdict(each) for each in settings], "mistakes": mistakes})
        return ExitCode.USAGE if loaded.mistakes else ExitCode.OK
    show(f"file: {loaded.file or 'none found; `helmdeck config sample > helmdeck.toml` writes one'}")
    show()
    rows = [(setting.key, _value_text(setting.value), setting.source) for setting in settings]
    show(table(rows, ("key", "value", "source")))
    if loaded.mistakes:
        show()
        raise ConfigError(loaded.mistakes)
    return ExitCode.OK


def check(arguments: argparse.Namespace) -> int:
    """Check the configuration, the plugins, the catalog and the providers.

    :raises ConfigError: with every mistake.
    """
    from helmdeck_cli.checks.configuration import check_config
    from helmdeck_core import ConfigError

    loaded = read_config(arguments)
    report = check_config(loaded)
    if report.plugin_errors:
        for error in report.plugin_errors:
            show_traceback(error)
        note("A plugin failed; --traceback shows the tracebacks of its errors.")
    if report.mistakes:
        _note_warnings(loaded, report)
        raise ConfigError(report.mistakes)
    model = loaded.config.model
    if arguments.json:
        counts = {"plugins": report.plugins, "catalog_entries": report.catalog_entries}
        show_json({"ok": True, "file": _file(loaded), **counts, "model": model, "warnings": list(report.warnings)})
        return ExitCode.OK
    where = loaded.file or "no file, defaults only"
    show(
        f"ok: {where}; {counted(report.plugins, 'plugin')}, {counted(report.catalog_entries, 'catalog entry', 'catalog entries')}, model {model}"
    )
    _note_warnings(loaded, report)
    if servers := len(loaded.config.catalog.mcp):
        note(f"not started: {counted(servers, 'configured MCP server')}; `helmdeck doctor` starts them")
    return ExitCode.OK


def _note_warnings(loaded: LoadedConfig, report: ConfigReport) -> None:
    for warning in report.warnings:
        if warning not in loaded.warnings:  # those are printed when the configuration is loaded
            note(f"warning: {warning}")


def sample(arguments: argparse.Namespace) -> int:
    """Print the sample; with ``--json``, as a string."""
    if arguments.json:
        show_json({"helmdeck.toml": SAMPLE})
    else:
        show(SAMPLE.rstrip())
    return ExitCode.OK


def _file(loaded: LoadedConfig) -> str | None:
    return str(loaded.file) if loaded.file else None


def _value_text(value: Any) -> str:
    if value is None:
        return "(not set)"
    if value == {}:
        return "(none)"
    return value if isinstance(value, str) else inline_json(value)


SAMPLE = """\
# helmdeck.toml: searched in the current directory and its parents, or set with --config or HELMDECK_CONFIG.
# Every key is optional. `helmdeck config check` finds mistakes, `helmdeck config show` prints the effective settings.

model = "local/lexical"              # the default model; this one works offline
# log_level = "INFO"

[catalog]
sources = ["example", "packs"]       # names, or paths that end in .json or .toml; later ones override by id

# [catalog.mcp.files]                # an MCP server: its tools become entries files__TOOL; needs helmdeck[mcp]
# command = "npx"                    # or url = "https://..." with headers = { Authorization = "Bearer env:TOKEN" }
# args = ["-y", "@modelcontextprotocol/server-filesystem", "."]

[http]
# transport = "aiohttp"              # for many concurrent calls; needs helmdeck-transport-aiohttp; also per provider

[plugins]
# disable = ["example-plugin"]       # `helmdeck plugins list` has the names
# first = ["example-plugin"]         # called before the others

# -- providers: the first part of model ids (PROVIDER/MODEL) -------------------------------------------

[providers.openrouter]
api_key = "env:OPENROUTER_API_KEY"   # or file:PATH; never the key itself
timeout_s = 90

[providers.workshop]                 # your own server with an OpenAI-compatible API
kind = "openai-compatible"
base_url = "http://localhost:8000/v1"

# -- budgets: limits by model id prefix; the longest prefix wins ----------------------------------------

[budgets."workshop/"]
tier = "B"                           # A: reliable; B: up to about 25 KB of catalog; C: small catalogs only
input_tokens = 32_000
output_tokens = 2_000
max_catalog_bytes = 18_000           # 0: no limit
evidence = "18 of 20 plans were valid at 18 KB, measured here"

# -- trimming and ranking of the catalog -----------------------------------------------------------------

[compaction.tiers.C]
drop = []                            # trim steps to skip; `helmdeck catalog compact` shows them

[selection]
confidence = 0.4                     # a ranking below this is unsure
max_entries = { B = 25, C = 12 }     # if the catalog does not fit
"""
"""A valid configuration file."""


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands of the group ``config``."""
    return (
        Command(
            name="config show",
            summary="show the effective settings and their sources",
            group_summary="show and check the configuration",
            configure=configure,
            run=show_settings,
            order=100,
        ),
        Command(
            name="config check",
            summary="check the configuration and report every mistake",
            configure=configure,
            run=check,
            order=101,
        ),
        Command(
            name="config sample", summary="print a sample helmdeck.toml", configure=configure, run=sample, order=102
        ),
    )
