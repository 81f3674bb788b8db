"""``helmdeck plugins``: lists the plugins and what each one contributes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_cli.printing.results import replacement_lines
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import (
    ExitCode,
    UsageError,
    hanging,
    labelled,
    read_config,
    show,
    show_exception,
    show_json,
    table,
)

if TYPE_CHECKING:
    from helmdeck_core import PluginInfo, PluginInventory


def configure_list(parser: argparse.ArgumentParser) -> None:
    """The command has no options of its own."""


def show_list(arguments: argparse.Namespace) -> int:
    """List the plugins in the order of registration. Broken plugins are errors, and the others are listed."""
    import attrs

    inventory = _inventory(arguments)
    infos = inventory.plugins.infos
    code = ExitCode.PLUGIN if inventory.errors else ExitCode.OK
    if arguments.json:
        show_json({"plugins": [attrs.asdict(info) for info in infos], "errors": [str(e) for e in inventory.errors]})
    else:
        rows = [(info.name, info.source, info.distribution or "", _hooks_or_state(info)) for info in infos]
        show(table(rows, ("plugin", "source", "distribution", "hooks (helmdeck_...)")))
        show()
        for line in replacement_lines(each for values in inventory.contributions.values() for each in values):
            show(line)
        show(
            hanging(
                "",
                "Later plugins answer lookups first, and their values replace built-in ones of the same name. "
                "`helmdeck plugins show PLUGIN` shows the values of one.",
            )
        )
    for error in inventory.errors:
        show_exception(error)
    return code


def _inventory(arguments: argparse.Namespace) -> PluginInventory:
    from helmdeck_core import ConfigError, list_plugins

    loaded = read_config(arguments)
    if loaded.mistakes:
        raise ConfigError(loaded.mistakes)
    return list_plugins(loaded)


def _hooks_or_state(info: PluginInfo) -> str:
    if info.is_blocked:
        return "blocked"
    if info.error is not None:
        return "cannot be loaded"
    return ", ".join(hook.removeprefix("helmdeck_") for hook in info.hooks)


def configure_show(parser: argparse.ArgumentParser) -> None:
    """Add the argument."""
    parser.add_argument("name", metavar="PLUGIN", help="the name of the plugin, as in `helmdeck plugins list`")


def show_one(arguments: argparse.Namespace) -> int:
    """Show one plugin: its origin, its contributions by hook, and what they replace."""
    from helmdeck_core import did_you_mean, nearest_names, value_name

    inventory = _inventory(arguments)
    info = next((info for info in inventory.plugins.infos if info.name == arguments.name), None)
    if info is None:
        names = [info.name for info in inventory.plugins.infos]
        meant = did_you_mean(arguments.name, names)
        raise UsageError(
            f"there is no plugin {arguments.name!r}{meant}; plugins: {nearest_names(arguments.name, names)}"
        )
    contributions: list[dict[str, Any]] = [
        {
            "hook": hook,
            "name": value_name(owned.value),
            "order": getattr(owned.value, "order"),
            "summary": _summary(owned.value),
            "replaces": owned.replaced,
        }
        for hook, values in inventory.contributions.items()
        for owned in values
        if owned.plugin == info.name
    ]
    replaced_by = [
        {"hook": hook, "name": value_name(owned.value), "plugin": owned.plugin}
        for hook, values in inventory.contributions.items()
        for owned in values
        if owned.replaced == info.name
    ]
    if arguments.json:
        import attrs

        show_json({**attrs.asdict(info), "contributions": contributions, "replaced_by": replaced_by})
    else:
        _show_info(info, [hook for hook in info.hooks if hook not in inventory.contributions])
        if contributions:
            show()
            rows = [
                (row["hook"].removeprefix("helmdeck_"), row["name"] or "(fallback)", str(row["order"]), _remark(row))
                for row in contributions
            ]
            show(table(rows, ("helmdeck_...", "contributes", "order", ""), right={2}, clipped={3}))
            show("Values of a hook are sorted by order, the lowest first.")
        for each in replaced_by:
            show(labelled("replaced", f"{each['name']!r} of {each['hook']} by plugin {each['plugin']!r}"))
    errors = [error for error in inventory.errors if error.plugin == info.name]
    for error in errors:
        show_exception(error)
    return ExitCode.PLUGIN if errors else ExitCode.OK


def _show_info(info: PluginInfo, look_ups: Sequence[str]) -> None:
    state = "blocked, not loaded" if info.is_blocked else "loaded" if info.is_loaded else "cannot be loaded"
    show(f"{info.name} ({info.source}): {state}")
    show()
    show(labelled("target", info.target))
    origins = {"built-in": "part of helmdeck", "file": "a file of your own"}
    origin = info.distribution or origins.get(info.source, "unknown")
    show(labelled("from", origin))
    if look_ups:
        show(labelled("answers", ", ".join(look_ups)))


def _summary(value: object) -> str:
    text = getattr(value, "summary", "") or getattr(value, "description", "")
    return text if isinstance(text, str) else ""


def _remark(row: dict[str, Any]) -> str:
    replaces = "" if row["replaces"] is None else f"replaces that of plugin {row['replaces']!r}"
    return "; ".join(filter(None, (replaces, row["summary"])))


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands of the group ``plugins``."""
    return (
        Command(
            name="plugins list",
            summary="list all plugins, including blocked and broken ones",
            group_summary="list plugins and their contributions",
            configure=configure_list,
            run=show_list,
            order=80,
        ),
        Command(
            name="plugins show",
            summary="show the contributions of a plugin",
            configure=configure_show,
            run=show_one,
            order=81,
        ),
    )
