"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "scripted": "helmdeck_testing.scripted_plugin",  # the provider scripted
}
