"""The help of the command line as a whole and of groups of commands."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core.cli import options
from helmdeck_core.cli.exit_codes import MEANINGS, error_message
from helmdeck_core.cli.registry import CommandRegistry
from helmdeck_core.cli.terminal import table, terminal_width

DESCRIPTION = "Dependable structured answers from a mixed fleet of models."
EXAMPLES = """\
examples:
  helmdeck plan "draft a blog post about it" --document notes.txt
  helmdeck plan --model local/lexical --json < request.txt
  helmdeck budgets local/lexical
  helmdeck catalog rank "turn this talk into slides" --why
  helmdeck config sample > helmdeck.toml"""


def group_help(group: str, registry: CommandRegistry) -> str:
    """The help of one group of commands."""
    names = [name for name in registry.commands if name.startswith(f"{group} ")]
    rows = [(f"helmdeck {name}", _summary(name, registry)) for name in names]
    lines = [f"usage: helmdeck {group} COMMAND [option]...", ""]
    if registry.groups[group]:
        lines += [registry.groups[group], ""]
    return "\n".join([*lines, _listed(rows), "", f"`helmdeck {group} COMMAND --help` shows the options of a command."])


def top_help(registry: CommandRegistry) -> str:
    """The help of the command line. It lists the commands of all plugins that can be loaded, and reports the others."""
    builtin = [name for name in registry.commands if registry.is_builtin(name)]
    others = [name for name in registry.commands if name not in builtin]
    lines = ["commands:", _listed([(name, _summary(name, registry)) for name in builtin])]
    if others:
        lines += ["", "commands of installed plugins:", _listed([(name, _summary(name, registry)) for name in others])]
    if registry.errors:
        lines += ["", "errors:", *(f"  {error_message(error)}" for error in registry.errors)]
    parser = options.Parser("helmdeck", "\n".join([DESCRIPTION, "", *lines]), add_help=False)
    parser.usage = "helmdeck [global option]... COMMAND [option or argument]..."
    options.add_global_options(parser)
    group = parser.add_argument_group("information")
    group.add_argument("-h", "--help", action="store_true", help="show this help, or that of a command")
    group.add_argument("--version", action="store_true", help="show the version")
    codes = _listed([(f"{code:>3}", meaning) for code, meaning in sorted(MEANINGS.items())])
    variables = "Each setting also has an environment variable, such as HELMDECK_MODEL or HELMDECK_PLUGINS__DISABLE."
    parser.epilog = f"{EXAMPLES}\n\nexit codes:\n{codes}\n\n{variables}"
    return parser.format_help().rstrip()


def _summary(name: str, registry: CommandRegistry) -> str:
    owned = registry.commands[name]
    if registry.is_builtin(name):
        return owned.value.summary
    replaced = ", replaces the built-in command" if owned.replaced else ""
    return f"{owned.value.summary} (plugin {owned.plugin}{replaced})"


def _listed(rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join(f"  {line}" for line in table(rows, width=terminal_width() - 2).split("\n"))
