"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

COMMANDS = {
    "command_serve": "helmdeck_gateway.commands.serve",
    "command_keys": "helmdeck_gateway.commands.keys",
    "command_teams": "helmdeck_gateway.commands.teams",
    "command_import": "helmdeck_gateway.commands.import_litellm",
}
