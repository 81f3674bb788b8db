"""Runs a request one step at a time: plan, run the step, plan again with what it gave."""

from helmdeck_core import CompletedStep, Helmdeck

REQUEST = "remember this, draft a blog post about it, and make an illustration"
MOST_STEPS = 10


def run(step):
    """Here the tool would run; what it gives goes into the next plan."""
    return f"the output of {step.tool}"


# A tier C model gets a small catalog and is asked for one step only; here the embedded planner plays one.
with Helmdeck(overrides={("budgets", "local/lexical", "tier"): "C"}) as deck:
    done = []
    while len(done) < MOST_STEPS:
        plan = deck.plan(REQUEST, done=done)
        for step in plan.steps:
            done.append(CompletedStep(step.tool, run(step)))
            print(len(done), step.tool)
        if not plan.more_steps_likely:
            break
