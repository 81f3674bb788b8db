"""Agents of pydantic-ai."""

import asyncio

import pydantic_ai
from common import MODEL, SECRET, look_up, main
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider


def agent(url, api, **more):
    if api == "messages":
        model = AnthropicModel(MODEL, provider=AnthropicProvider(api_key=SECRET, base_url=url))
    else:
        kind = OpenAIChatModel if api == "chat" else OpenAIResponsesModel
        model = kind(MODEL, provider=OpenAIProvider(api_key=SECRET, base_url=f"{url}/v1"))
    return pydantic_ai.Agent(model, **more)


def run(api, **more):
    return lambda url, prompt: agent(url, api, **more).run_sync(prompt).output


def run_stream(api):
    async def streamed(url, prompt):
        async with agent(url, api).run_stream(prompt) as result:
            return await result.get_output()

    return lambda url, prompt: asyncio.run(streamed(url, prompt))


cases = {}
for api in ("chat", "responses", "messages"):
    cases |= {api: run(api), f"{api}_stream": run_stream(api), f"{api}_tool": run(api, tools=[look_up])}
main(**cases)
