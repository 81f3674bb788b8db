"""Helmdeck: an answer, a typed value, and a stream."""

from pydantic import BaseModel

from helmdeck_core import ChatDelta, Helmdeck


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


with Helmdeck(model="openai/gpt-4.1-mini") as deck:
    print(deck.ask("What is the capital of France?").value)

    building = "Eiffel Tower"
    print(deck.ask(f"Which city has the {building}?", type=City).value)

    for chunk in deck.stream("What is the capital of France?"):
        if isinstance(chunk, ChatDelta):
            print(chunk.text, end="")
