"""Packs and pipelines for tests of runs."""

from helmdeck_core import Pack, Pipeline
from helmdeck_testing import make_deck, plugin_with

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def pack_of(name, run, inputs=None, required=(), **extra):
    schema = {"type": "object", "properties": inputs or {}, "required": list(required), "additionalProperties": False}
    return Pack(
        name=name, version="1", description="For tests.", run=run, input_schema=schema if inputs else {}, **extra
    )


async def add(_, arguments):
    return {"sum": arguments["a"] + arguments["b"], "parts": [{"n": arguments["a"]}, {"n": arguments["b"]}]}


async def shout(_, arguments):
    return {"text": arguments["text"].upper()}


PACKS = (
    pack_of("test.add", add, {"a": NUMBER, "b": NUMBER}, ("a", "b")),
    pack_of("test.shout", shout, {"text": TEXT, "tags": {"type": "array"}}, ("text",)),
)

CHAIN = {
    "description": "Add, then shout.",
    "steps": [
        {"id": "first", "pack": "test.add", "with": {"a": "{{inputs.x}}", "b": 2}},
        {"id": "second", "pack": "test.add", "with": {"a": "{{steps.first.sum}}", "b": "{{steps.first.parts[1].n}}"}},
        {"id": "last", "pack": "test.shout", "with": {"text": "sum: {{steps.second.sum}}"}},
    ],
    "inputs": {"x": NUMBER},
    "outputs": {"text": {"type": "string", "from": "{{steps.last.text}}"}, "sum": "{{steps.second.sum}}"},
}


def deck_of(pipelines, *packs, url=None, engine="local", plugins=(), **overrides):
    """A deck with pipelines by id, and packs besides those of this module."""
    declared = [Pipeline(name=name, data=data) for name, data in pipelines.items()]
    plugin = plugin_with(helmdeck_packs=[*PACKS, *packs], helmdeck_pipelines=declared)
    config = {"runs": {"engine": engine, **({"url": url} if url else {})}, **overrides}
    return make_deck(plugin, *plugins, config=config)
