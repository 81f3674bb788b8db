"""Helmdeck: an answer, a typed value, and a fallback model."""

from pydantic import BaseModel

from helmdeck_core import Helmdeck


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


with Helmdeck(
    model="openai/gpt-4.1-mini",
    overrides={("fallback", "openai/gpt-4.1-nano"): ["openai/gpt-4.1"]},
) as deck:
    print(deck.ask("What is the capital of France?").value)

    print(deck.ask("Which city has the Eiffel Tower?", type=City).value)

    print(deck.ask("What is the capital of France?", model="openai/gpt-4.1-nano").value)
