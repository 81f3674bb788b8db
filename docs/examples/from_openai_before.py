"""The OpenAI SDK: an answer, a typed value, and a stream."""

from openai import OpenAI
from pydantic import BaseModel


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


client = OpenAI()
question = [{"role": "user", "content": "What is the capital of France?"}]

completion = client.chat.completions.create(model="gpt-4.1-mini", messages=question)
print(completion.choices[0].message.content)

completion = client.chat.completions.parse(
    model="gpt-4.1-mini",
    messages=[{"role": "user", "content": "Which city has the Eiffel Tower?"}],
    response_format=City,
)
print(completion.choices[0].message.parsed)

for chunk in client.chat.completions.create(model="gpt-4.1-mini", messages=question, stream=True):
    print(chunk.choices[0].delta.content or "", end="")
