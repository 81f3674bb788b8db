"""Helmdeck: an answer, a typed value, and a stream."""

from pydantic import BaseModel

from helmdeck_core import ChatDelta, Helmdeck


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


question = [{"role": "user", "content": "What is the capital of France?"}]

with Helmdeck(model="openai/gpt-4.1-mini") as deck:
    print(deck.ask(question).value)

    print(deck.ask("Which city has the Eiffel Tower?", type=City).value)

    for chunk in deck.stream(question):
        if isinstance(chunk, ChatDelta):
            print(chunk.text, end="")
