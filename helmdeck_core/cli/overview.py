"""The help texts of the whole and of groups of commands."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from helmdeck_core.cli import exits, options, plugged
from helmdeck_core.cli.tables import table
from helmdeck_core.errors import HelmdeckError

DESCRIPTION = "Dependable structured answers from a mixed fleet of models."
EXAMPLES = """\
examples:
  helmdeck plan "remember this and draft a blog post about it" --document notes.txt
  helmdeck plan --model openrouter/openrouter/free --json < request.txt
  helmdeck budgets openrouter/openrouter/free
  helmdeck catalog rank "turn this talk into slides" --why
  helmdeck config sample > helmdeck.toml"""


def group_help(group: str, commands: Mapping[str, str]) -> str:
    """What one group of commands can do."""
    rows = [(f"helmdeck {name}", summary) for name, summary in commands.items() if name.startswith(f"{group} ")]
    return f"usage: helmdeck {group} ACTION [option]...\n\n{_listed(rows)}\n\n`helmdeck {group} ACTION --help` shows the options of one."


def top_help(rest: Sequence[str], commands: Mapping[str, str]) -> str:
    """Everything that the command line can do; a plugin that fails is told, and the rest of the help stands."""
    lines = ["commands:", _listed(list(commands.items()))]
    try:
        found = plugged.find(rest, commands)
        rows = [(name, owned.value.summary) for name, owned in found.items()]
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
