"""The help texts of the whole and of groups, and the commands that plugins bring."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from helmdeck_core.cli import exits, options
from helmdeck_core.cli.tables import table
from helmdeck_core.errors import HelmdeckError

if TYPE_CHECKING:
    from helmdeck_core.domain.packs import Command

DESCRIPTION = "Dependable structured answers from a mixed fleet of models."
EXAMPLES = """\
examples:
  helmdeck plan "remember this and draft a blog post about it" --document notes.txt
  helmdeck plan --model openrouter/openrouter/free --json < request.txt
  helmdeck budgets openrouter/openrouter/free
  helmdeck catalog rank "turn this talk into slides" --why
  helmdeck config sample > helmdeck.toml"""


def global_arguments(rest: Sequence[str]) -> argparse.Namespace:
    """The global options among the words of any command line."""
    parser = options.Parser("helmdeck", add_help=False)
    options.add_global_options(parser)
    return parser.parse_known_args(list(rest))[0]


def plugin_commands(arguments: argparse.Namespace) -> dict[str, Command]:
    """The commands that plugins contribute; only plugins are loaded, nothing is resolved.

    :raises PluginError: a plugin cannot be loaded, or contributes something else.
    :raises ConfigError: the plugins that the configuration names do not exist.
    """
    from helmdeck_core.calling import collect
    from helmdeck_core.domain.packs import Command
    from helmdeck_core.manager import load_plugins

    wanted = options.load(arguments).config.plugins
    plugins = load_plugins(disable=wanted.disable, first=wanted.first, autoload=wanted.autoload)
    return {owned.value.name: owned.value for owned in collect(plugins, "helmdeck_commands", Command)}


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that a mistyped one may mean."""
    import difflib

    words = {word: each for each in known for word in (each.partition(" ")[0], each)}
    close = difflib.get_close_matches(name, list(words), n=1)
    return close[0] if close else None


def no_such_command(name: str, known: Iterable[str]) -> str:
    """What is said to a command that does not exist."""
    names = list(known)
    meant = nearest(name, names)
    hint = f"; did you mean `helmdeck {meant}`?" if meant else ";"
    return f"there is no command {name!r}{hint} commands: {', '.join(names)}"


def group_help(group: str, commands: Mapping[str, str]) -> str:
    """What one group of commands can do."""
    rows = [(f"helmdeck {name}", summary) for name, summary in commands.items() if name.startswith(f"{group} ")]
    return f"usage: helmdeck {group} ACTION [option]...\n\n{_listed(rows)}\n\n`helmdeck {group} ACTION --help` shows the options of one."


def top_help(rest: Sequence[str], commands: Mapping[str, str]) -> str:
    """Everything that the command line can do; a plugin that fails is told, and the rest of the help stands."""
    lines = ["commands:", _listed(list(commands.items()))]
    try:
        found = plugin_commands(global_arguments(rest))
        rows = [(name, command.summary) for name, command in found.items() if name not in commands]
        if rows:
            lines += ["", "commands of plugins:", _listed(rows)]
    except HelmdeckError as exc:
        lines += ["", f"commands of plugins: {exc}"]
    parser = options.Parser("helmdeck", "\n".join([DESCRIPTION, "", *lines]), add_help=False)
    parser.usage = "helmdeck [global option]... COMMAND [option or argument]..."
    options.add_global_options(parser)
    group = parser.add_argument_group("information")
    group.add_argument("-h", "--help", action="store_true", help="show this, or the options of a command")
    group.add_argument("--version", action="store_true", help="show the version")
    parser.epilog = f"{EXAMPLES}\n\nexit codes:\n{exits.table()}\n\nEvery setting can also come from a variable, such as HELMDECK_MODEL or HELMDECK_PLUGINS__DISABLE."
    return parser.format_help().rstrip()


def _listed(rows: Sequence[tuple[str, str]]) -> str:
    width = int(os.environ["COLUMNS"]) if os.environ.get("COLUMNS", "").isdigit() else None
    return "\n".join(f"  {line}" for line in table(rows, width=width).split("\n"))
