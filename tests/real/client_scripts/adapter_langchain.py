"""LangChain's ``ChatOpenAI``."""

from adapter import DESCRIPTION, PARAMETERS, TOOL, call, main, reply
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI, OpenAIEmbeddings


def to_message(message):
    if message["role"] == "system":
        return SystemMessage(message["text"])
    if message["role"] == "tool":
        return ToolMessage(message["text"], tool_call_id=message["call_id"])
    if message["role"] == "assistant":
        calls = [
            {"id": each["id"], "name": each["name"], "args": each["arguments"]} for each in message.get("calls", ())
        ]
        return AIMessage(message["text"], tool_calls=calls)
    content = [{"type": "text", "text": message["text"]}]
    if "image" in message:
        content.append({"type": "image", "base64": message["image"], "mime_type": "image/png"})
    if "pdf" in message:
        content.append({"type": "file", "base64": message["pdf"], "mime_type": "application/pdf", "filename": "a.pdf"})
    return HumanMessage(content if len(content) > 1 else message["text"])


def chat(url, key, model, messages, tools=False, choice=None, schema=None, strict=False, stop=None, max_tokens=None,
         stream=False, cancel=False):  # fmt: skip
    options = {"stop": stop} if stop else {}
    limit = {"max_tokens": max_tokens} if max_tokens else {}
    chat_model = ChatOpenAI(
        model=model, base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=30, stream_usage=True, **limit
    )
    if tools:
        function = {"name": TOOL, "description": DESCRIPTION, "parameters": PARAMETERS}
        chat_model = chat_model.bind_tools([{"type": "function", "function": function}], tool_choice=choice)
    if schema:
        form = {"title": "word", "description": "a word", **schema}
        chat_model = chat_model.with_structured_output(form, method="json_schema", strict=strict, include_raw=True)
    messages = [to_message(each) for each in messages]
    if schema:
        return reply(chat_model.invoke(messages)["raw"].text)
    if not stream:
        return read(chat_model.invoke(messages, **options))
    chunks = chat_model.stream(messages, **options)
    if cancel:
        next(chunk for chunk in chunks if chunk.text)
        chunks.close()
        return reply()
    whole, count = None, 0
    for chunk in chunks:
        whole, count = chunk if whole is None else whole + chunk, count + bool(chunk.text)
    return read(whole, count)


def read(made, deltas=0):
    usage = made.usage_metadata or {}
    return reply(
        made.text, calls=[call(each["id"], each["name"], each["args"]) for each in made.tool_calls],
        finish=made.response_metadata.get("finish_reason"), deltas=deltas,
        usage=(usage.get("input_tokens"), usage.get("output_tokens")),
    )  # fmt: skip


def embed(url, key, model, texts):
    api = OpenAIEmbeddings(
        model=model, base_url=f"{url}/v1", api_key=key, check_embedding_ctx_length=False, max_retries=0
    )
    return {"vectors": api.embed_documents(texts)}


main(chat, embed)
