"""``helmdeck plugins``: what is loaded, and what each plugin contributes."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

from helmdeck_core.cli import exits, options, printing


def configure_list(parser: argparse.ArgumentParser) -> None:
    """There is nothing to add."""


def list_plugins(arguments: argparse.Namespace) -> int:
    """List the plugins in the order in which they were loaded."""
    from helmdeck_core.cli.tables import table

    infos = options.make_deck(arguments).runtime.plugins.infos
    if arguments.json:
        import attrs

        printing.show_json({"plugins": [attrs.asdict(info) for info in infos]})
        return exits.OK
    rows = [
        (
            info.name,
            info.source,
            info.distribution or "",
            "blocked" if info.is_blocked else ", ".join(hook.removeprefix("helmdeck_") for hook in info.hooks),
        )
        for info in infos
    ]
    printing.show(table(rows, ("plugin", "source", "distribution", "hooks (helmdeck_...)")))
    printing.show()
    printing.show("Later ones answer look-ups first and override built-ins. `helmdeck plugins show NAME` shows one.")
    return exits.OK


def configure_show(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("name", metavar="NAME", help="the plugin")


def show(arguments: argparse.Namespace) -> int:
    """Show one plugin: where it is from, what it contributes by hook, what that replaces."""
    from helmdeck_core.cli.results import fact
    from helmdeck_core.cli.tables import table

    runtime = options.make_deck(arguments).runtime
    found = next((info for info in runtime.plugins.infos if info.name == arguments.name), None)
    if found is None:
        names = [info.name for info in runtime.plugins.infos]
        close = difflib.get_close_matches(arguments.name, names, n=1)
        meant = f"; did you mean {close[0]}?" if close else ";"
        raise exits.UsageError(f"there is no plugin {arguments.name!r}{meant} plugins: {', '.join(names)}")
    rows: list[dict[str, Any]] = [
        {
            "hook": hook,
            "name": str(getattr(owned.value, "name")),
            "order": getattr(owned.value, "order"),
            "summary": _summary(owned.value),
            "replaces": owned.replaced,
        }
        for hook, values in runtime.contributions.items()
        for owned in values
        if owned.plugin == found.name
    ]
    replaced_by = [
        {"hook": hook, "name": str(getattr(owned.value, "name")), "plugin": owned.plugin}
        for hook, values in runtime.contributions.items()
        for owned in values
        if owned.replaced == found.name
    ]
    if arguments.json:
        import attrs

        printing.show_json({**attrs.asdict(found), "contributions": rows, "replaced_by": replaced_by})
        return exits.OK
    state = "blocked: it is not loaded" if found.is_blocked else "loaded"
    printing.show(f"{found.name} ({found.source}): {state}")
    printing.show()
    printing.show(fact("imported", found.target))
    printing.show(
        fact("from", found.distribution or ("ships with helmdeck" if found.source == "built-in" else "unknown"))
    )
    looks_up = [hook for hook in found.hooks if hook not in runtime.contributions]
    if looks_up:
        printing.show(fact("answers", ", ".join(looks_up)))
    if rows:
        printing.show()
        cells = [
            (row["hook"].removeprefix("helmdeck_"), row["name"] or "(fallback)", str(row["order"]), _of(row))
            for row in rows
        ]
        printing.show(table(cells, ("helmdeck_...", "contributes", "order", ""), right={2}, clipped={3}))
    for each in replaced_by:
        printing.show(fact("replaced", f"{each['name']!r} of {each['hook']} by plugin {each['plugin']!r}"))
    return exits.OK


def _summary(value: object) -> str:
    text = getattr(value, "summary", "") or getattr(value, "description", "")
    return text if isinstance(text, str) else ""


def _of(row: dict[str, Any]) -> str:
    replaces = "" if row["replaces"] is None else f"replaces that of {row['replaces']!r}"
    return "; ".join(filter(None, (replaces, row["summary"])))


ACTIONS: options.Actions = {"list": (configure_list, list_plugins), "show": (configure_show, show)}
