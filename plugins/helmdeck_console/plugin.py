"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "console": "helmdeck_console.mount",  # /console of the gateway
}
COMMANDS = {
    "command_console": "helmdeck_console.commands.console",
    "command_usage": "helmdeck_console.commands.usage",
}
