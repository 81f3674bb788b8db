"""LlamaIndex's ``OpenAILike``."""

import base64

from adapter import TOOL, Unsupported, call, look_up, main, reply
from llama_index.core.base.llms.types import ChatMessage, DocumentBlock, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike


def to_message(message):
    if "calls" in message:
        calls = [
            {"id": each["id"], "type": "function", "function": {"name": each["name"], "arguments": '{"word": "tide"}'}}
            for each in message["calls"]
        ]
        return ChatMessage(role="assistant", content=None, additional_kwargs={"tool_calls": calls})
    if message["role"] == "tool":
        return ChatMessage(role="tool", content=message["text"], additional_kwargs={"tool_call_id": message["call_id"]})
    blocks = [TextBlock(text=message["text"])]
    if "image" in message:
        blocks.append(ImageBlock(image=base64.b64decode(message["image"]), image_mimetype="image/png"))
    if "pdf" in message:
        data = base64.b64decode(message["pdf"])
        blocks.append(DocumentBlock(data=data, document_mimetype="application/pdf", title="a.pdf"))
    return ChatMessage(role=message["role"], blocks=blocks)


def llm(url, key, model, **more):
    return OpenAILike(
        model=model, api_base=f"{url}/v1", api_key=key, is_chat_model=True, is_function_calling_model=True,
        max_retries=0, timeout=30, context_window=128_000, **more,
    )  # fmt: skip


def chat(url, key, model, messages, tools=False, choice=None, schema=None, strict=False, stop=None, max_tokens=None,
         stream=False, cancel=False):  # fmt: skip
    more = {"max_tokens": max_tokens} if max_tokens else {}
    options = {"stop": stop} if stop else {}
    if schema:
        form = {"name": "word", "schema": schema, "strict": strict}
        options["response_format"] = {"type": "json_schema", "json_schema": form}
    model_client, messages = llm(url, key, model, **more), [to_message(each) for each in messages]
    if tools:
        known = {"tools": [FunctionTool.from_defaults(look_up, name=TOOL)], "chat_history": messages}
        known |= {"tool_choice": choice} if choice else {}
        if not stream:
            return read(model_client.chat_with_tools(**known), model_client)
        *_, last = model_client.stream_chat_with_tools(**known, allow_parallel_tool_calls=True)
        return read(last, model_client)
    if not stream:
        return read(model_client.chat(messages, **options), model_client)
    if cancel:
        raise Unsupported("closing the generator leaves the connection open, without the gateway too")
    chunks = model_client.stream_chat(messages, stream_options={"include_usage": True})
    all_chunks = list(chunks)
    return read(all_chunks[-1], model_client, sum(bool(chunk.delta) for chunk in all_chunks))


def read(made, model_client, deltas=0):
    calls = model_client.get_tool_calls_from_response(made, error_on_no_tool_call=False)
    raw = made.raw
    usage = getattr(raw, "usage", None)
    choices = getattr(raw, "choices", None) or ()
    return reply(
        made.message.content, calls=[call(each.tool_id, each.tool_name, each.tool_kwargs) for each in calls],
        usage=(usage.prompt_tokens, usage.completion_tokens) if usage else (None, None), deltas=deltas,
        finish=choices[0].finish_reason if choices else None,
    )  # fmt: skip


def embed(url, key, model, texts):
    api = OpenAILikeEmbedding(model_name=model, api_base=f"{url}/v1", api_key=key, max_retries=0)
    return {"vectors": api.get_text_embedding_batch(texts)}


main(chat, embed)
