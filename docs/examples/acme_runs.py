"""Packs, a pipeline of them, and a program whose runs are recorded."""

from helmdeck_core import Pack, Pipeline, RunProgram, hookimpl


async def title(_, arguments):
    """The first line of a text."""
    return {"title": arguments["text"].strip().splitlines()[0]}


async def count(_, arguments):
    """The words of a text."""
    return {"words": len(arguments["text"].split())}


TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
STEPS = [{"id": "count", "pack": "acme.count", "with": {"text": "{{inputs.text}}"}}]


@hookimpl
def helmdeck_packs():
    """Two packs."""
    return [
        Pack(name="acme.title", version="1", description="Find the title.", run=title, input_schema=TEXT),
        Pack(name="acme.count", version="1", description="Count words.", run=count, input_schema=TEXT),
    ]


@hookimpl
def helmdeck_pipelines():
    """A pipeline, like the tables of a file."""
    data = {"description": "Count words.", "steps": STEPS, "inputs": {"text": {"type": "string"}}}
    return [Pipeline(name="acme-count", data=data)]


async def count_all(run, steps, context):
    """Count the words of several texts, each in a step of its own."""
    counts = []
    for number, text in enumerate(run.inputs["texts"]):
        counts.append(await steps.run(f"text-{number}", words_of, context, text))
    return {"words": sum(counts)}


async def words_of(context, text):
    """Run a pack; what a step returns is recorded."""
    outcome = await context.run_pack("acme.count", {"text": text})
    if outcome.error is not None:
        raise outcome.error
    return outcome.output["words"]


@hookimpl
def helmdeck_run_programs():
    """What runs of the kind ``count`` execute."""
    return [RunProgram(name="count", run=count_all)]
