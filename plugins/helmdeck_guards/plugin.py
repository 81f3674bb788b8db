"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "guards": "helmdeck_guards.kinds",  # the built-in kinds of guards
}
