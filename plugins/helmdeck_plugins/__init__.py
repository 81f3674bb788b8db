"""The built-in plugins by name. Each can be blocked or replaced like any other plugin."""

COMMANDS = {
    "command_plan": "helmdeck_plugins.commands.plan",
    "command_route": "helmdeck_plugins.commands.route",
    "command_run": "helmdeck_plugins.commands.run",
    "command_explain": "helmdeck_plugins.commands.explain",
    "command_budgets": "helmdeck_plugins.commands.budgets",
    "command_catalog": "helmdeck_plugins.commands.catalog",
    "command_decode": "helmdeck_plugins.commands.decode",
    "command_plugins": "helmdeck_plugins.commands.plugins",
    "command_hooks": "helmdeck_plugins.commands.hooks",
    "command_config": "helmdeck_plugins.commands.config",
}
"""The plugins that contribute commands. To find a command, the command line imports these built-ins only."""

BUILTINS = {
    "budgets": "helmdeck_plugins.budgets",
    "trim": "helmdeck_plugins.trim",
    "lexical": "helmdeck_plugins.lexical",
    "prompts": "helmdeck_plugins.prompts",
    "reasoning": "helmdeck_plugins.reasoning",
    "decode": "helmdeck_plugins.decode",
    "tool_calls": "helmdeck_plugins.tool_calls",
    "stop_reasons": "helmdeck_plugins.stop_reasons",
    "recovery": "helmdeck_plugins.recovery",
    "continuation": "helmdeck_plugins.continuation",
    "prices": "helmdeck_plugins.prices",
    "openai": "helmdeck_plugins.providers.openai",
    "responses": "helmdeck_plugins.providers.responses",
    "anthropic": "helmdeck_plugins.providers.anthropic",
    "gemini": "helmdeck_plugins.providers.gemini",
    "ollama": "helmdeck_plugins.providers.ollama",
    "scripted": "helmdeck_plugins.providers.scripted",
    "plan": "helmdeck_plugins.packs.plan",
    "route": "helmdeck_plugins.packs.route",
    "catalogs": "helmdeck_plugins.catalogs",
    "history": "helmdeck_plugins.history",
    "log": "helmdeck_plugins.log",
    "prometheus": "helmdeck_plugins.prometheus",
    "otel": "helmdeck_plugins.otel",
    "traces": "helmdeck_plugins.traces",
    **COMMANDS,
}
