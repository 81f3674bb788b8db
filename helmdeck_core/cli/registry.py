"""Finds commands: those of all plugins, with replacement by name, groups, and the errors of plugins that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from helmdeck_core.cli.exit_codes import UsageError
from helmdeck_core.cli.options import SWITCHES
from helmdeck_core.config.types import PluginsConfig
from helmdeck_core.domain.commands import Command
from helmdeck_core.errors import HelmdeckError, PluginConflictError, PluginError
from helmdeck_core.hooks.calls import Contribution, collect
from helmdeck_core.hooks.manager import Plugins, load_plugins
from helmdeck_core.suggestions import nearest

HOOK = "helmdeck_commands"


@attrs.frozen
class CommandRegistry:
    """All commands of a deployment.

    :ivar commands: the commands by name, in the order of the help.
    :ivar groups: the summaries of the groups by name.
    :ivar plugins: the built-in plugins that contribute commands, and all installed plugins.
    :ivar errors: why commands are missing: plugins that cannot be loaded, commands that were left out.
    :ivar rejected: the errors of commands that were left out, by name.
    """

    commands: Mapping[str, Contribution[Command]]
    groups: Mapping[str, str]
    plugins: Plugins
    errors: tuple[HelmdeckError, ...] = ()
    rejected: Mapping[str, PluginError] = attrs.field(factory=dict)

    @classmethod
    def load(cls, config: PluginsConfig) -> CommandRegistry:
        """Load the plugins that a configuration allows and collect their commands. Nothing is raised for a broken plugin."""
        errors: list[PluginError] = []
        plugins = load_plugins(
            files=config.files,
            disable=config.disable,
            first=config.first,
            autoload=config.autoload,
            commands_only=True,
            errors=errors,
            limit_s=config.load_timeout_s,
        )
        contributed = collect(plugins, HOOK, Command, errors)
        rejected = {error.value_name: error for error in errors if isinstance(error, PluginConflictError)}
        invalid = _invalid(contributed, plugins)
        commands = {owned.value.name: owned for owned in contributed if owned.value.name not in invalid}
        groups: dict[str, str] = {}
        for owned in commands.values():
            words = owned.value.name.split(" ")[:-1]
            for count in range(1, len(words) + 1):
                name = " ".join(words[:count])
                groups[name] = groups.get(name) or (owned.value.group_summary if count == len(words) else "")
        return cls(commands, groups, plugins, (*errors, *invalid.values()), {**rejected, **invalid})

    def is_group(self, name: str, following: Sequence[str]) -> bool:
        """Whether the words that follow a name belong to it: a group that is a command too needs a command of the group.

        :param following: the words behind the name.
        """
        if name not in self.groups or name not in self.commands:
            return name in self.groups
        word = following[0] if following else ""
        return any(each == f"{name} {word}" or each.startswith(f"{name} {word} ") for each in self.commands)

    def is_builtin(self, name: str) -> bool:
        """Whether a built-in plugin contributes the command."""
        return self.plugins.is_builtin(self.commands[name].plugin)

    def find(self, name: str) -> Contribution[Command]:
        """Return the command of this name.

        :raises UsageError: there is none; with the nearest name that exists.
        :raises PluginError: its plugin failed, or there is none and a plugin that may contribute it cannot be loaded.
        """
        if name in self.commands:
            return self.commands[name]
        if name in self.rejected:
            raise self.rejected[name]
        group = name.rpartition(" ")[0]
        known = [each for each in self.commands if not group or each.startswith(f"{group} ")]
        match = f"--{name}" if f"--{name}" in SWITCHES else nearest(name, [*known, *self.groups])
        if match is None and self.errors:
            raise self.errors[0]
        hint = f"; did you mean `helmdeck {match}`?" if match else ";"
        names = f"commands: {', '.join(known)}" if group else "`helmdeck --help` lists all"
        raise UsageError(f"there is no command {name!r}{hint} {names}")


def _invalid(contributed: Sequence[Contribution[Command]], plugins: Plugins) -> dict[str, PluginError]:
    """The commands that cannot be run, by name: their names are invalid, or those of groups."""
    invalid: dict[str, PluginError] = {}
    by_name = {owned.value.name: owned for owned in contributed}
    for name, owned in by_name.items():
        if problem := owned.value.name_problem():
            invalid[name] = owned.fault(f"command {name!r}: {problem}")
            continue
        words = name.split(" ")
        for parent in (" ".join(words[:count]) for count in range(1, len(words))):
            if (other := by_name.get(parent)) is None or _opens(other, contributed):
                continue
            # The command and the group exclude each other. The installed plugin is the one to name, not the built-in.
            if not plugins.is_builtin(other.plugin):
                problem = f"the name is that of a group, to which plugin {owned.plugin!r} adds {name!r}"
                invalid.setdefault(parent, other.fault(f"command {parent!r}: {problem}"))
            if not plugins.is_builtin(owned.plugin):
                problem = f"{parent!r} is a command of plugin {other.plugin!r}, so it cannot be a group"
                invalid[name] = owned.fault(f"command {name!r}: {problem}")
    return invalid


def _opens(command: Contribution[Command], contributed: Sequence[Contribution[Command]]) -> bool:
    """Whether the plugin of a command also adds commands to the group of its name, so that both may exist."""
    start = f"{command.value.name} "
    return any(each.plugin == command.plugin and each.value.name.startswith(start) for each in contributed)
