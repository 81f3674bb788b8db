"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "recovery": "helmdeck_recovery.rules",  # the action for each failure cause
    "continuation": "helmdeck_recovery.continuation",  # merges the parts of continued answers
}
