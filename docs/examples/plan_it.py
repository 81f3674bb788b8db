"""Plan a request and print the steps. Needs no API key and no network."""

from helmdeck_core import Helmdeck

with Helmdeck(model="local/lexical") as deck:
    plan = deck.plan("remember this and draft a blog post about it")

print(plan.outcome, plan.complexity)
for step in plan.steps:
    print(step.order, step.tool, step.problems)
