"""Requests of pydantic-ai over chat completions."""

import asyncio
import base64

import pydantic_ai.direct as direct
from adapter import DESCRIPTION, PARAMETERS, TOOL, Unsupported, call, main, reply
from pydantic_ai import BinaryContent
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)  # fmt: skip
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition


def to_message(message):
    if message["role"] == "assistant":
        calls = [ToolCallPart(each["name"], each["arguments"], each["id"]) for each in message.get("calls", ())]
        return ModelResponse(calls or [TextPart(message["text"])])
    if message["role"] == "tool":
        return ModelRequest([ToolReturnPart(message["name"], message["text"], message["call_id"])])
    if message["role"] == "system":
        return ModelRequest([SystemPromptPart(message["text"])])
    content = [message["text"]]
    for name, media in (("image", "image/png"), ("pdf", "application/pdf")):
        if name in message:
            content.append(BinaryContent(base64.b64decode(message[name]), media_type=media))
    return ModelRequest([UserPromptPart(content if len(content) > 1 else message["text"])])


def chat(url, key, model, messages, tools=False, choice=None, schema=None, strict=False, stop=None, max_tokens=None,
         stream=False, cancel=False):  # fmt: skip
    from openai import AsyncOpenAI

    api = AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=30)
    known = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=api))
    settings = {"stop_sequences": stop, "max_tokens": max_tokens, "tool_choice": [choice] if choice else None}
    settings = {name: value for name, value in settings.items() if value}
    definition = ToolDefinition(name=TOOL, description=DESCRIPTION, parameters_json_schema=PARAMETERS)
    parameters = ModelRequestParameters(function_tools=[definition] if tools else [])
    if schema:
        form = OutputObjectDefinition(json_schema=schema, name="word", strict=strict)
        parameters = ModelRequestParameters(output_mode="native", output_object=form, allow_text_output=True)
    sent = [to_message(each) for each in messages]
    options = {"model_settings": settings, "model_request_parameters": parameters}
    if not stream:
        return read(asyncio.run(direct.model_request(known, sent, **options)))
    return asyncio.run(streamed(known, sent, options, cancel))


async def streamed(known, sent, options, cancel):
    async with direct.model_request_stream(known, sent, **options) as events:
        count = 0
        async for _ in events:
            count += 1
            if cancel:
                return reply()
        return read(events.get() if not hasattr(events, "response") else events.response, count)


def read(made, deltas=0):
    calls = [call(part.tool_call_id, part.tool_name, part.args_as_dict()) for part in made.parts
             if part.part_kind == "tool-call"]  # fmt: skip
    text = "".join(part.content for part in made.parts if part.part_kind == "text")
    usage = (made.usage.input_tokens, made.usage.output_tokens)
    return reply(text, calls=calls, finish=made.finish_reason, usage=usage, deltas=deltas)


def embed(url, key, model, texts):
    try:
        from pydantic_ai import Embedder
        from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
    except ImportError:
        raise Unsupported("no embeddings") from None
    made = OpenAIEmbeddingModel(model, provider=OpenAIProvider(base_url=f"{url}/v1", api_key=key))
    return {"vectors": [list(each) for each in asyncio.run(Embedder(made).embed_documents(texts)).embeddings]}


main(chat, embed)
