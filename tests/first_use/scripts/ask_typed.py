"""Typed answers: a dataclass, a Pydantic model, a list, and an answer of the wrong shape."""
# ruff: noqa: T201
# expect: Country(capital='Paris')
# expect: PydanticCountry(capital='Paris')
# expect: ConstrainedDeadlock

import os
from dataclasses import dataclass

from pydantic import BaseModel

from helmdeck_core import CallFailed, Helmdeck


@dataclass
class Country:
    capital: str


class PydanticCountry(BaseModel):
    capital: str


@dataclass
class Person:
    age: int


server = {"kind": "openai-compatible", "base_url": os.environ["SERVER"]}
with Helmdeck(model="workshop/json", overrides={"providers.workshop": server, "recovery.max_attempts": 2}) as deck:
    print(deck.ask("What is the capital of France?", type=Country).value)
    print(repr(deck.ask("What is the capital of France?", type=PydanticCountry).value))
    try:
        deck.ask("How old is Ada?", type=Person)
    except CallFailed as failure:
        print(type(failure).__name__, failure.next_action)
