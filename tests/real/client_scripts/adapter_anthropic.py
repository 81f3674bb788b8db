"""The SDK anthropic."""

import base64

from adapter import DESCRIPTION, PARAMETERS, TOOL, Unsupported, call, main, reply
from anthropic import Anthropic, NotFoundError


def client(url, key):
    return Anthropic(base_url=url, api_key=key, max_retries=0, timeout=30)


def to_message(message):
    if "calls" in message:
        calls = [
            {"type": "tool_use", "id": each["id"], "name": each["name"], "input": each["arguments"]}
            for each in message["calls"]
        ]
        return {"role": "assistant", "content": calls}
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["call_id"], "content": message["text"]}
        return {"role": "user", "content": [result]}
    content = [{"type": "text", "text": message["text"]}]
    for name, kind, media in (("image", "image", "image/png"), ("pdf", "document", "application/pdf")):
        if name in message:
            content.append({"type": kind, "source": {"type": "base64", "media_type": media, "data": message[name]}})
    return {"role": message["role"], "content": content}


def read(made, deltas=0):
    text = "".join(block.text for block in made.content if block.type == "text")
    calls = [call(block.id, block.name, block.input) for block in made.content if block.type == "tool_use"]
    usage = (made.usage.input_tokens, made.usage.output_tokens)
    return reply(text, calls=calls, finish=made.stop_reason, usage=usage, deltas=deltas)


def chat(url, key, model, messages, tools=False, choice=None, schema=None, strict=False, stop=None, max_tokens=None,
         stream=False, cancel=False):  # fmt: skip
    system = [each["text"] for each in messages if each["role"] == "system"]
    options = {
        "model": model, "max_tokens": max_tokens or 16_000,
        "messages": [to_message(each) for each in messages if each["role"] != "system"],
    }  # fmt: skip
    if system:
        options["system"] = system[0]
    if tools:
        options["tools"] = [{"name": TOOL, "description": DESCRIPTION, "input_schema": PARAMETERS}]
    if choice:
        options["tool_choice"] = {"type": "tool", "name": choice}
    if stop:
        options["stop_sequences"] = stop
    if schema:
        options["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    api = client(url, key).messages
    if not stream:
        return read(api.create(**options))
    with api.stream(**options) as events:
        if cancel:
            next(iter(events.text_stream))
            return reply()
        deltas = sum(event.type == "content_block_delta" for event in events)
        return read(events.get_final_message(), deltas)


def models(url, key):
    return {"models": [each.id for each in client(url, key).models.list()]}


def stored(url, key, case, model, data="", **_):
    if case != "file":
        raise Unsupported("the API has no such calls")
    api = client(url, key)
    files = api.beta.files
    file = files.upload(file=("a.pdf", base64.b64decode(data), "application/pdf"))
    document = {"type": "document", "source": {"type": "file", "file_id": file.id}}
    messages = [{"role": "user", "content": [document]}]
    made = api.beta.messages.create(model=model, max_tokens=99, messages=messages, betas=["files-api-2025-04-14"])
    content = files.download(file.id).read()
    listed = file.id in [each.id for each in files.list(limit=1)]
    files.delete(file.id)
    try:
        after = files.retrieve_metadata(file.id).id
    except NotFoundError as exc:
        after = exc.status_code
    text = made.content[-1].text
    return {"text": text, "data": base64.b64encode(content).decode(), "listed": listed, "after": after}


main(chat, models=models, stored=stored)
