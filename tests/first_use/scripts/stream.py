"""A streamed answer, in blocking and in async code."""
# ruff: noqa: T201
# expect: Paris is the capital of France.
# expect: async: Paris is the capital of France.

import asyncio
import os

from helmdeck_core import ChatDelta, Helmdeck

server = {"kind": "openai-compatible", "base_url": os.environ["SERVER"]}
deck = Helmdeck(model="workshop/good", overrides={"providers.workshop": server})

for chunk in deck.stream("What is the capital of France?"):
    if isinstance(chunk, ChatDelta):
        print(chunk.text, end="", flush=True)


async def main() -> None:
    print("\nasync: ", end="")
    async for chunk in deck.astream("What is the capital of France?"):
        if isinstance(chunk, ChatDelta):
            print(chunk.text, end="", flush=True)


asyncio.run(main())
deck.close()
