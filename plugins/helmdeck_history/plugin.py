"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "history": "helmdeck_history.history",  # the history of plans, its stores and the packs for facts
}

COMMANDS = {
    "command_history": "helmdeck_history.commands.history",
    "command_calibrate": "helmdeck_history.commands.calibrate",
}
