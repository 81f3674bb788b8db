"""Structured output with instructor."""

import instructor
import openai
from common import MODEL, SECRET, main
from pydantic import BaseModel


class Tide(BaseModel):
    """The answer."""

    answer: str


def ask(mode):
    def run(url, prompt):
        client = instructor.from_openai(openai.OpenAI(base_url=f"{url}/v1", api_key=SECRET), mode=mode)
        messages = [{"role": "user", "content": prompt}]
        return client.chat.completions.create(model=MODEL, response_model=Tide, messages=messages).answer

    return run


def partial(url, prompt):
    client = instructor.from_openai(openai.OpenAI(base_url=f"{url}/v1", api_key=SECRET))
    messages = [{"role": "user", "content": prompt}]
    *_, last = client.chat.completions.create_partial(model=MODEL, response_model=Tide, messages=messages)
    return last.answer


main(
    calls=ask(instructor.Mode.TOOLS),
    calls_stream=partial,
    json=ask(instructor.Mode.JSON),
    json_schema=ask(instructor.Mode.JSON_SCHEMA),
)
