"""Agents of openai-agents over Responses; a run ends with the first tool calls."""

import asyncio

from adapter import DESCRIPTION, PARAMETERS, TOOL, Unsupported, call, main, reply
from adapter_openai import response_items
from agents import (
    Agent,
    AgentOutputSchemaBase,
    FunctionTool,
    ModelSettings,
    OpenAIResponsesModel,
    Runner,
    set_tracing_disabled,
)  # fmt: skip
from openai import AsyncOpenAI

set_tracing_disabled(True)


class Form(AgentOutputSchemaBase):
    def __init__(self, schema, strict):
        self._schema, self._strict = schema, strict

    def is_plain_text(self):
        return False

    def name(self):
        return "word"

    def json_schema(self):
        return self._schema

    def is_strict_json_schema(self):
        return self._strict

    def validate_json(self, json_str):
        return json_str


async def executed(context, arguments):
    return "high"


def chat(url, key, model, messages, tools=False, choice=None, schema=None, strict=False, stop=None, max_tokens=None,
         stream=False, cancel=False):  # fmt: skip
    if stop:
        raise Unsupported("the API has no stop sequences")
    api = AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=30)
    system = [each["text"] for each in messages if each["role"] == "system"]
    tool = FunctionTool(name=TOOL, description=DESCRIPTION, params_json_schema=PARAMETERS, on_invoke_tool=executed)
    agent = Agent(
        name="tide", instructions=system[0] if system else None, model=OpenAIResponsesModel(model, api),
        model_settings=ModelSettings(tool_choice=choice, max_tokens=max_tokens), tools=[tool] if tools else [],
        output_type=Form(schema, strict) if schema else None, tool_use_behavior="stop_on_first_tool",
    )  # fmt: skip
    sent = [item for each in messages if each["role"] != "system" for item in response_items(each)]
    return asyncio.run(streamed(agent, sent, cancel) if stream else whole(agent, sent))


async def whole(agent, sent):
    return read(await Runner.run(agent, sent))


async def streamed(agent, sent, cancel):
    result, count = Runner.run_streamed(agent, sent), 0
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            count += 1
            if cancel:
                result.cancel()
    return reply() if cancel else read(result, count)


def read(result, deltas=0):
    calls = [item.raw_item for item in result.new_items if item.type == "tool_call_item"]
    usage = result.context_wrapper.usage
    return reply(
        str(result.final_output), calls=[call(each.call_id, each.name, each.arguments) for each in calls],
        usage=(usage.input_tokens, usage.output_tokens), deltas=deltas,
    )  # fmt: skip


main(chat)
