"""LlamaIndex: an answer, a typed value, and a stream."""

from llama_index.core.prompts import PromptTemplate
from llama_index.llms.openai import OpenAI
from pydantic import BaseModel


class City(BaseModel):
    """What the model should return."""

    name: str
    country: str


llm = OpenAI(model="gpt-4.1-mini")
print(llm.complete("What is the capital of France?").text)

print(llm.structured_predict(City, PromptTemplate("Which city has the {building}?"), building="Eiffel Tower"))

for chunk in llm.stream_complete("What is the capital of France?"):
    print(chunk.delta or "", end="")
