"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "chains": "helmdeck_chains.policies",  # the order of the models of a chain
}

COMMANDS = {
    "command_chain": "helmdeck_chains.commands.chain",
}
