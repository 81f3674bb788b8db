"""Decks whose packs note what they are called with, and plans that a scripted model gives."""

import asyncio
import json

from helmdeck_core import Pack, PackError, PackErrorCode
from helmdeck_testing import make_deck, plugin_with, scripted_provider

READ_ONLY, DESTRUCTIVE = {"readOnlyHint": True}, {"readOnlyHint": False, "destructiveHint": True}
WAITS = object()
"""An output that does not come until the pack is cancelled."""

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def entry(name, annotations=None, schema=TEXT):
    data = {"name": name, "description": f"Does {name}.", "input_schema": schema}
    return {**data, "annotations": annotations} if annotations else data


class Tools:
    """Packs by name that return what ``outputs`` has, in turn; every call is noted."""

    def __init__(self, **outputs):
        self.outputs, self.calls = {name.replace("_", ".", 1): list(value) for name, value in outputs.items()}, []

    def packs(self):
        return [
            Pack(name=name, version="1", description=f"Does {name}.", run=self._handler(name)) for name in self.outputs
        ]

    def _handler(self, name):
        async def handler(context, arguments):
            self.calls.append((name, dict(arguments)))
            outputs = self.outputs[name]
            output = outputs.pop(0) if len(outputs) > 1 else outputs[0]
            if output is WAITS:
                self.started.set()
                await asyncio.Event().wait()
            if isinstance(output, Exception):
                raise output
            return output

        return handler


def failing(name, text="the disk is full"):
    return PackError(name, PackErrorCode.HANDLER_FAILED, text)


def step(tool, **args):
    return {"order": 1, "tool": tool, "args": args, "rationale": f"needed for {tool}"}


def plan(*steps, more=None):
    answer = {"steps": list(steps), "complexity": "pack-chain", "reasoning": "ok"}
    return json.dumps(answer if more is None else {**answer, "more_steps_likely": more})


def agent_deck(tools, replies, entries, tier="A", tmp_path=None, **config):
    """A deck over ``entries``; returns it with the scripted model."""
    model = scripted_provider(replies)
    path = tmp_path / "catalog.json"
    path.write_text(json.dumps({"packs": entries}), encoding="utf-8")
    settings = {
        "model": "scripted/any",
        "catalog": {"sources": [str(path)]},
        "budgets": {"scripted": {"tier": tier}},
        **config,
    }
    return make_deck(plugin_with(helmdeck_packs=tools.packs()), model, config=settings), model


def prompts(model):
    return ["\n".join(message.text for message in request.messages) for request in model.requests]
