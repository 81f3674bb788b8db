"""Agents of OpenAI's agents SDK."""

import asyncio

import agents
from common import MODEL, SECRET, look_up, main
from openai import AsyncOpenAI

agents.set_tracing_disabled(True)


def agent(url, api, tools):
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key=SECRET)
    kind = agents.OpenAIChatCompletionsModel if api == "chat" else agents.OpenAIResponsesModel
    tools = [agents.function_tool(look_up)] if tools else []
    return agents.Agent(name="a", instructions="Answer.", model=kind(model=MODEL, openai_client=client), tools=tools)


def run(api, tools=False):
    return lambda url, prompt: asyncio.run(agents.Runner.run(agent(url, api, tools), prompt)).final_output


def run_stream(api, tools=False):
    async def streamed(url, prompt):
        result = agents.Runner.run_streamed(agent(url, api, tools), prompt)
        async for _ in result.stream_events():
            pass
        return result.final_output

    return lambda url, prompt: asyncio.run(streamed(url, prompt))


cases = {}
for api in ("chat", "responses"):
    cases |= {api: run(api), f"{api}_stream": run_stream(api)}
    cases |= {f"{api}_tool": run(api, True), f"{api}_tool_stream": run_stream(api, True)}
main(**cases)
