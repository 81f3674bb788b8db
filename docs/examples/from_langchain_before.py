"""LangChain: an answer, a typed value, and a fallback model."""

from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


model = ChatOpenAI(model="gpt-4.1-mini")
print(model.invoke("What is the capital of France?").content)

print(model.with_structured_output(City).invoke("Which city has the Eiffel Tower?"))

chain = ChatOpenAI(model="gpt-4.1-nano").with_fallbacks([ChatOpenAI(model="gpt-4.1")])
print(chain.invoke("What is the capital of France?").content)
