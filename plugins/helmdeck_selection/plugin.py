"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "trim": "helmdeck_selection.trim_steps",  # the steps of the ladder
    "lexical": "helmdeck_selection.lexical",  # the default ranker
    "vectors": "helmdeck_selection.vectors",  # the ranker with sentence vectors
    "selection": "helmdeck_selection.weights",  # weights of selection
    "prompts": "helmdeck_selection.prompts",  # prompt variants and texts
    "catalogs": "helmdeck_selection.catalogs",  # catalog files, and the example catalog
    "instruction_patterns": "helmdeck_selection.catalogs.instruction_patterns",  # phrases that descriptions should not have
}
