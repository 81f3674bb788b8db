"""What this package registers: plugin names and the modules with their hooks. Each can be blocked or replaced by name."""

PLUGINS = {
    "local": "helmdeck_planner.embedded",  # local/lexical, which plans without a model
    "choice/ranker": "helmdeck_planner.choosers.ranker",  # the best entry of the ranking
    "choice/logprobs": "helmdeck_planner.choosers.logprobs",  # candidates of the ranker, weighed by a model's probabilities
    "choice/words": "helmdeck_planner.choosers.words",  # the model names one of the ranker's first entries
    "plan": "helmdeck_planner.packs.plan",  # the pack helmdeck.plan
    "route": "helmdeck_planner.packs.route",  # the pack helmdeck.route
}
