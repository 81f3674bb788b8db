"""A chain of models: the first is down, the second answers."""
# ruff: noqa: T201
# expect: Paris is the capital of France. from workshop/good
# expect: 1. workshop/down: provider_unavailable

import os

from helmdeck_core import Helmdeck

overrides = {
    ("providers", "workshop"): {"kind": "openai-compatible", "base_url": os.environ["SERVER"]},
    ("fallback", "workshop/down"): ["workshop/good"],
    ("recovery", "backoff_s"): 0,
}
with Helmdeck(model="workshop/down", overrides=overrides) as deck:
    answer = deck.ask("What is the capital of France?")
print(answer.value, "from", answer.model)
print(answer.attempts[0])
