"""The screen *Plugins and configuration*: what is registered, settings with their origin, findings, and reload."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
from starlette.responses import Response

from helmdeck_cli import check_config, effective_settings, toml_lines
from helmdeck_console.web.access import Refused
from helmdeck_console.web.page_request import PageRequest
from helmdeck_core import LoadedConfig, dotted, list_plugins, value_name


@attrs.frozen(kw_only=True)
class FindingRow:
    """A mistake or warning of the configuration.

    :ivar place: the file and line, or the setting.
    """

    kind: str
    place: str
    text: str


async def show(page: PageRequest) -> Response:
    """Show the screen. Teams see no configuration, which is that of the whole gateway."""
    if page.team:
        raise Refused("The configuration is that of all teams; an operator of one team does not see it.", 403)
    loaded = page.sources.effective
    # The check opens sources of catalogs, which run on a loop of their own.
    findings = await asyncio.to_thread(findings_of, loaded) if loaded is not None and page.query("check") else None
    return await page.read(_shown, page, loaded, findings)


def _shown(page: PageRequest, loaded: LoadedConfig | None, findings: Sequence[FindingRow] | None) -> Response:
    inventory = list_plugins(loaded)
    by_plugin: dict[str, dict[str, list[str]]] = {}
    for hook, values in inventory.contributions.items():
        for owned in values:
            text = value_name(owned.value) or "(fallback)"
            text += f" (replaces that of {owned.replaced})" if owned.replaced else ""
            by_plugin.setdefault(owned.plugin, {}).setdefault(hook.removeprefix("helmdeck_"), []).append(text)
    settings = effective_settings(loaded) if loaded is not None else ()
    state = page.sources.config
    only_set = page.query("settings", "set") == "set"
    return page.shown(
        "plugins.html",
        infos=[(number, info, by_plugin.get(info.name, {})) for number, info in enumerate(inventory.plugins.infos, 1)],
        errors=[str(each) for each in inventory.errors],
        settings=[each for each in settings if not only_set or each.source != "default"],
        only_set=only_set,
        total=len(settings),
        file=str(loaded.file) if loaded is not None and loaded.file else "",
        findings=findings,
        state=state,
        changes=changes_of(state.former, loaded)
        if state is not None and state.former is not None and loaded is not None
        else None,
        done=page.query("done"),
    )


def changes_of(before: LoadedConfig, after: LoadedConfig) -> list[tuple[str, Any, Any]]:
    """Return the settings that a reload changed: key, former value, value."""
    old, new = ({each.key: each.value for each in effective_settings(loaded)} for loaded in (before, after))
    changes = [(key, old.get(key), new.get(key)) for key in dict.fromkeys((*old, *new))]
    # An empty section stands for all its settings, until one of them is set.
    return [(key, a, b) for key, a, b in changes if a != b and not ({} in (a, b) and None in (a, b))]


def findings_of(loaded: LoadedConfig) -> list[FindingRow]:
    """Return what is wrong with a configuration, with the line of each mistake."""
    report = check_config(loaded)
    lines = _lines(loaded.file)
    rows = [
        FindingRow(kind="mistake", place=_place(each.where, lines, loaded.file), text=str(each))
        for each in report.mistakes
    ]
    return [*rows, *(FindingRow(kind="warning", place="", text=each) for each in report.warnings)]


def _lines(file: Path | None) -> dict[str, int]:
    if file is None:
        return {}
    try:
        found = toml_lines(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {dotted(tuple(map(str, path))): line for path, line in found.items()}


def _place(where: str, lines: dict[str, int], file: Path | None) -> str:
    # "helmdeck.toml: gateway.port"
    named = where.split(": ")
    near = [key for key in lines if any(each == key or each.startswith((f"{key}.", f"{key}[")) for each in named)]
    return f"{file.name}, line {lines[max(near, key=len)]}" if near and file is not None else where


async def reload(page: PageRequest) -> Response:
    """Reload the configuration."""
    state = page.sources.config
    if page.team:
        raise Refused("The configuration is that of all teams; an operator of one team does not reload it.", 403)
    if state is None or state.reload is None:
        raise Refused("This console has no configuration to reload; start the command again.", 409)
    is_done = await state.reload()
    await page.record_action(
        "configuration reloaded", detail="" if is_done else "failed: the former one stays in effect"
    )
    return page.redirect(f"/plugins?done={'reloaded' if is_done else 'failed'}")
