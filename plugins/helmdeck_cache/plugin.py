"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "exact_cache": "helmdeck_cache.exact",  # answers to equal requests
}

COMMANDS = {
    "command_cache": "helmdeck_cache.commands.cache",
}
