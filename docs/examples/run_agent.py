"""Run a request; a function confirms what changes something."""

import asyncio

from helmdeck_core import Helmdeck, Pack, hookimpl
from helmdeck_runs import Agent

NOTES = ["buy bread"]
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Notes:
    """A plugin with two packs."""

    async def list_notes(self, context, arguments):
        """Return all notes."""
        return {"notes": list(NOTES)}

    async def save(self, context, arguments):
        """Add a note."""
        NOTES.append(arguments["text"])
        return {"count": len(NOTES)}

    @hookimpl
    def helmdeck_packs(self):
        """Contribute the packs."""
        return [
            Pack(name="notes.list", version="1", description="List all notes.", run=self.list_notes),
            Pack(name="notes.save", version="1", description="Save a note.", run=self.save, input_schema=TEXT),
        ]


def confirm(step):
    """Decide about one step; its arguments are final."""
    print("confirm", step.entry_id, step.arguments)
    return step.entry_id == "notes.save"


async def main():
    """Run a request and print what happened."""
    async with Helmdeck(catalog_sources="packs", plugins={"notes": Notes()}) as deck:
        agent = Agent(deck, confirm=confirm, policy={"notes.list": "allow"})
        run = await agent.arun('list all notes and save the note "buy milk"')
        for step in run.steps:
            print(step.number, step.entry_id, step.output)
        print(run.outcome.value, run.reason)


asyncio.run(main())
