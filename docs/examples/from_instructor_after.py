"""Helmdeck: a typed value; an answer that does not fit the type is requested again."""

from pydantic import BaseModel, Field

from helmdeck_core import Helmdeck


class Invoice(BaseModel):
    """What the model should read."""

    number: int
    total: float = Field(gt=0)


with Helmdeck(model="openai/gpt-4.1-mini") as deck:
    answer = deck.ask("Read this invoice: no. 7, paint, 120.50 euros", type=Invoice)
    print(answer.value)
