"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "local": "helmdeck_planner.embedded",  # local/lexical, which plans without a model
    "plan": "helmdeck_planner.packs.plan",  # the pack helmdeck.plan
    "route": "helmdeck_planner.packs.route",  # the pack helmdeck.route
}
