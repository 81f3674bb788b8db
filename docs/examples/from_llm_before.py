"""llm: an answer with a system prompt, a typed value, and a conversation."""

import json

import llm
from pydantic import BaseModel


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


model = llm.get_model("gpt-4.1-mini")
print(model.prompt("What is the capital of France?", system="Answer in one word.").text())

print(City(**json.loads(model.prompt("Which city has the Eiffel Tower?", schema=City).text())))

conversation = model.conversation()
conversation.prompt("What is the capital of France?").text()
print(conversation.prompt("And of Italy?").text())
