"""``helmdeck hooks``: shows who implements each hook, and writes the hook reference."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from helmdeck_cli.printing.results import replacement_lines
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import (
    ExitCode,
    UsageError,
    hanging,
    labelled,
    note,
    read_config,
    show,
    show_exception,
    show_json,
    table,
)

if TYPE_CHECKING:
    from helmdeck_cli.printing.hook_reference import HookUse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "hook",
        nargs="?",
        metavar="HOOK",
        help="show each value of one hook and its plugin; default: a summary of all hooks",
    )
    parser.add_argument("--write", metavar="FILE", type=Path, help="write the hook reference as Markdown instead")


def run(arguments: argparse.Namespace) -> int:
    """Print the implementations of all hooks or of one, or write the reference."""
    if arguments.write is not None:
        return _write(arguments.write, is_json=arguments.json)
    from helmdeck_cli.printing.hook_reference import hook_uses
    from helmdeck_core import list_plugins

    inventory = list_plugins(read_config(arguments))
    uses = hook_uses(inventory)
    if arguments.hook is not None:
        uses = (_find(uses, arguments.hook),)
    if arguments.json:
        show_json({"hooks": [use.to_dict() for use in uses], "errors": [str(error) for error in inventory.errors]})
    elif arguments.hook is not None:
        _show_one(uses[0])
    else:
        _show_all(uses)
    for error in inventory.errors:
        show_exception(error)
    return ExitCode.PLUGIN if inventory.errors else ExitCode.OK


def _find(uses: Sequence[HookUse], name: str) -> HookUse:
    from helmdeck_core import did_you_mean, nearest_names

    by_name = {use.hook.name: use for use in uses}
    full_name = name if name in by_name else f"helmdeck_{name}"
    if full_name not in by_name:
        raise UsageError(
            f"there is no hook {name!r}{did_you_mean(full_name, by_name)}; hooks: {nearest_names(full_name, by_name, more='`helmdeck hooks`')}"
        )
    return by_name[full_name]


def _show_all(uses: Sequence[HookUse]) -> None:
    rows = [
        (
            use.hook.name,
            use.hook.kind,
            ", ".join(use.implementations),
            str(len(use.contributions)) if use.hook.kind == "contribution" else "",
        )
        for use in uses
    ]
    show(table(rows, ("hook", "kind", "implemented by", "values"), right={3}))
    show()
    for line in replacement_lines(owned for use in uses for owned in use.contributions):
        show(line)
    legend = (
        "A contribution is a named value, which replaces a built-in value of the same name. A lookup has one answer; the "
        "plugin that was loaded last is called first."
    )
    show(hanging("", f"{legend} `helmdeck hooks HOOK` shows each value."))


def _show_one(use: HookUse) -> None:
    from helmdeck_core import value_name

    show(hanging("", f"{use.hook.name}: {use.hook.summary.replace('``', '`')}"))
    show()
    show(labelled("kind", use.hook.kind))
    show(labelled("plugins", ", ".join(use.implementations) or "none"))
    if use.contributions:
        show()
        rows = [
            (value_name(each.value) or "(fallback)", each.plugin, each.replaced or "") for each in use.contributions
        ]
        show(table(rows, ("value", "plugin", "replaces that of")))


def _write(path: Path, *, is_json: bool) -> int:
    from helmdeck_cli.config_file import replace_text
    from helmdeck_cli.printing.hook_reference import hooks_page

    text = hooks_page()
    try:
        replace_text(path, text)
    except OSError as exc:
        raise UsageError(f"{path}: the file cannot be written ({exc.strerror or exc})") from exc
    if is_json:
        show_json({"file": str(path)})
    else:
        note(f"wrote {path}")
    return ExitCode.OK


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``hooks``."""
    summary = "show the plugins that implement each hook"
    return (Command(name="hooks", summary=summary, configure=configure, run=run, order=90),)
