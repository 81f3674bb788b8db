"""Run a request one step at a time: plan, run the step, plan again with its output."""

from helmdeck_core import CompletedStep, Helmdeck

REQUEST = "remember this, draft a blog post about it, and make an illustration"
MAX_STEPS = 10


def run(step):
    """Run the tool; its output becomes part of the next plan."""
    return f"the output of {step.tool}"


# A tier C model gets a small catalog and plans one step at a time; here the embedded planner acts as one.
with Helmdeck(overrides={("budgets", "local/lexical", "tier"): "C"}) as deck:
    done = []
    while len(done) < MAX_STEPS:
        plan = deck.plan(REQUEST, done=done)
        for step in plan.steps:
            done.append(CompletedStep(step.tool, run(step)))
            print(len(done), step.tool)
        if not plan.more_steps_likely:
            break
