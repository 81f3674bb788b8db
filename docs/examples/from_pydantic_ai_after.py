"""Helmdeck: a typed value, and a model that calls a function."""

import asyncio

from pydantic import BaseModel

from helmdeck_core import Helmdeck, hookimpl
from helmdeck_runs import Agent, pack


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


@pack("get_weather", read_only=True)
async def get_weather(city: str) -> dict[str, str]:
    """Get the weather of a city."""
    return {"weather": f"3 degrees Celsius in {city}"}


class Weather:
    """A plugin with the function as a pack."""

    @hookimpl
    def helmdeck_packs(self):
        """Contribute the pack."""
        return [get_weather]


async def main():
    """Ask for a value, then let the model call the function."""
    async with Helmdeck(model="openai/gpt-4.1-mini", catalog_sources="packs", plugins={"weather": Weather()}) as deck:
        print((await deck.aask("Which city has the Eiffel Tower?", type=City)).value)

        print((await Agent(deck, mode="tools").arun("Is it cold in Oslo?")).text)


asyncio.run(main())
