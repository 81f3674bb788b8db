"""Helmdeck: an answer with a system prompt, a typed value, and a conversation."""

from pydantic import BaseModel

from helmdeck_core import Helmdeck


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


with Helmdeck(model="openai/gpt-4.1-mini") as deck:
    print(deck.ask("What is the capital of France?", system="Answer in one word.").value)

    print(deck.ask("Which city has the Eiffel Tower?", type=City).value)

    talk = [{"role": "user", "content": "What is the capital of France?"}]
    talk.append({"role": "assistant", "content": deck.ask(talk).value})
    talk.append({"role": "user", "content": "And of Italy?"})
    print(deck.ask(talk).value)
