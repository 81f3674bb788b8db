"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

COMMANDS = {
    "command_init": "helmdeck_cli.commands.init",
    "command_ask": "helmdeck_cli.commands.ask",
    "command_plan": "helmdeck_cli.commands.plan",
    "command_route": "helmdeck_cli.commands.route",
    "command_run": "helmdeck_cli.commands.run",
    "command_explain": "helmdeck_cli.commands.explain",
    "command_models": "helmdeck_cli.commands.models",
    "command_budgets": "helmdeck_cli.commands.budgets",
    "command_catalog": "helmdeck_cli.commands.catalog",
    "command_catalog_check": "helmdeck_cli.commands.catalog_check",
    "command_eval": "helmdeck_cli.commands.eval_selection",
    "command_decode": "helmdeck_cli.commands.decode",
    "command_doctor": "helmdeck_cli.commands.doctor",
    "command_plugins": "helmdeck_cli.commands.plugins",
    "command_plugins_new": "helmdeck_cli.commands.plugins_new",
    "command_hooks": "helmdeck_cli.commands.hooks",
    "command_config": "helmdeck_cli.commands.config",
    "command_completion": "helmdeck_cli.commands.completion",
}
