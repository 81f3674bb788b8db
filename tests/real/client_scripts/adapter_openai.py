"""The SDK openai over chat completions, and over Responses with ``responses`` as second argument."""

import base64
import sys
import threading

from adapter import DESCRIPTION, PARAMETERS, TOOL, call, main, reply
from openai import NotFoundError, OpenAI


def client(url, key):
    return OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=30)


def without_none(**fields):
    return {name: value for name, value in fields.items() if value is not None}


def chat_message(message):
    if "calls" in message:
        calls = [
            {"id": each["id"], "type": "function", "function": {"name": each["name"], "arguments": '{"word": "tide"}'}}
            for each in message["calls"]
        ]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    if message["role"] == "tool":
        return {"role": "tool", "tool_call_id": message["call_id"], "content": message["text"]}
    content = message["text"]
    if "image" in message:
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{message['image']}"}}
        content = [{"type": "text", "text": content}, image]
    if "pdf" in message:
        file = {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{message['pdf']}"}
        content = [{"type": "text", "text": content}, {"type": "file", "file": file}]
    return {"role": message["role"], "content": content}


def read_chat(made, deltas=0):
    choice = made.choices[0]
    calls = [call(each.id, each.function.name, each.function.arguments) for each in choice.message.tool_calls or ()]
    usage = (made.usage.prompt_tokens, made.usage.completion_tokens) if made.usage else (None, None)
    return reply(choice.message.content, calls=calls, finish=choice.finish_reason, usage=usage, deltas=deltas)


def chat(url, key, model, messages, tools=False, choice=None, schema=None, strict=False, stop=None, max_tokens=None,
         stream=False, cancel=False):  # fmt: skip
    function = {"name": TOOL, "description": DESCRIPTION, "parameters": PARAMETERS}
    options = without_none(
        model=model, messages=[chat_message(each) for each in messages], stop=stop, max_tokens=max_tokens,
        tools=[{"type": "function", "function": function}] if tools else None,
        tool_choice={"type": "function", "function": {"name": choice}} if choice else None,
        response_format={"type": "json_schema", "json_schema": {"name": "word", "schema": schema, "strict": strict}}
        if schema else None,
    )  # fmt: skip
    completions = client(url, key).chat.completions
    if not stream:
        return read_chat(completions.create(**options))
    if cancel:
        with completions.create(**options, stream=True) as chunks:
            next(chunks)
        return reply()
    with completions.stream(**options, stream_options={"include_usage": True}) as events:
        deltas = sum(event.type == "content.delta" for event in events)
        return read_chat(events.get_final_completion(), deltas)


def response_items(message):
    if "calls" in message:
        return [
            {"type": "function_call", "call_id": each["id"], "name": each["name"], "arguments": '{"word": "tide"}'}
            for each in message["calls"]
        ]
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["call_id"], "output": message["text"]}]
    content = message["text"]
    text = {"type": "input_text", "text": content}
    if "image" in message:
        url = f"data:image/png;base64,{message['image']}"
        content = [text, {"type": "input_image", "detail": "auto", "image_url": url}]
    if "pdf" in message:
        url = f"data:application/pdf;base64,{message['pdf']}"
        content = [text, {"type": "input_file", "filename": "a.pdf", "file_data": url}]
    return [{"role": message["role"], "content": content}]


def read_response(made, deltas=0):
    calls = [call(each.call_id, each.name, each.arguments) for each in made.output if each.type == "function_call"]
    refused = [
        part for each in made.output if each.type == "message" for part in each.content if part.type == "refusal"
    ]
    finish = made.incomplete_details.reason if made.incomplete_details else "refusal" if refused else made.status
    usage = (made.usage.input_tokens, made.usage.output_tokens) if made.usage else (None, None)
    return reply(made.output_text, calls=calls, finish=finish, usage=usage, deltas=deltas)


def respond(url, key, model, messages, tools=False, choice=None, schema=None, strict=False, stop=None, max_tokens=None,
            stream=False, cancel=False):  # fmt: skip
    if stop:
        return {"unsupported": "the API has no stop sequences"}
    options = without_none(
        model=model, input=[item for each in messages for item in response_items(each)], max_output_tokens=max_tokens,
        tools=[{"type": "function", "name": TOOL, "description": DESCRIPTION, "parameters": PARAMETERS, "strict": True}]
        if tools else None,
        tool_choice={"type": "function", "name": choice} if choice else None,
        text={"format": {"type": "json_schema", "name": "word", "schema": schema, "strict": strict}} if schema else None,
    )  # fmt: skip
    responses = client(url, key).responses
    if not stream:
        return read_response(responses.create(**options))
    if cancel:
        with responses.create(**options, stream=True) as events:
            next(event for event in events if event.type == "response.output_text.delta")
        return reply()
    with responses.stream(**options) as events:
        deltas = sum(event.type == "response.output_text.delta" for event in events)
        return read_response(events.get_final_response(), deltas)


def embed(url, key, model, texts):
    return {"vectors": [row.embedding for row in client(url, key).embeddings.create(model=model, input=texts).data]}


def models(url, key):
    return {"models": [each.id for each in client(url, key).models.list()]}


def user(text):
    return {"type": "message", "role": "user", "content": text}


def stored(url, key, case, model, text="", texts=(), events=0, id="", data=""):
    api = client(url, key)
    if case == "background":
        made = api.responses.create(model=model, input=text, background=True)
        first = made.status
        while made.status in ("queued", "in_progress"):
            threading.Event().wait(0.05)
            made = api.responses.retrieve(made.id)
        return {"first": first, "last": made.status, "text": made.output_text}
    if case == "resumed":
        stream = api.responses.create(model=model, input=text, background=True, stream=True)
        found = [next(stream) for _ in range(events)]
        stream.close()
        found += api.responses.retrieve(found[0].response.id, stream=True, starting_after=found[-1].sequence_number)
        return {"numbers": [event.sequence_number for event in found], "text": found[-1].response.output_text}
    if case == "cancelled":
        stream = api.responses.create(model=model, input=text, background=True, stream=True)
        name = next(stream).response.id
        next(event for event in stream if event.type == "response.output_text.delta")
        api.responses.cancel(name)
        return {"last": api.responses.retrieve(name).status}
    if case in ("previous", "conversation", "input_items"):
        talk = api.conversations.create() if case == "conversation" else None
        made = None
        for each in texts:
            place = without_none(
                conversation=talk and talk.id, previous_response_id=made.id if made and not talk else None
            )
            made = api.responses.create(model=model, input=each, **place)
        if case == "input_items":
            items = api.responses.input_items.list(made.id, order="asc", limit=2)
            return {"texts": [each.content[0].text for each in items]}
        items = api.conversations.items.list(talk.id, order="asc", limit=3) if talk else ()
        return {"text": made.output_text, "roles": [each.role for each in items]}
    if case == "references":
        first = api.responses.create(model=model, input=text)
        ids = [each.id for each in (*api.responses.input_items.list(first.id, order="asc"), *first.output)]
        named = [{"type": "item_reference", "id": each} for each in ids]
        return {"text": api.responses.create(model=model, input=[*named, user(text)]).output_text}
    if case == "unknown_reference":
        return read_response(api.responses.create(model=model, input=[{"type": "item_reference", "id": id}]))
    assert case == "file"
    file = api.files.create(file=("a.pdf", base64.b64decode(data)), purpose="user_data")
    item = {"role": "user", "content": [{"type": "input_file", "file_id": file.id}]}
    made = api.responses.create(model=model, input=[item])
    content = api.files.content(file.id).read()
    listed = file.id in [each.id for each in api.files.list(limit=1)]
    api.files.delete(file.id)
    try:
        after = api.files.retrieve(file.id).id
    except NotFoundError as exc:
        after = exc.status_code
    return {"text": made.output_text, "data": base64.b64encode(content).decode(), "listed": listed, "after": after}


if __name__ == "__main__":
    is_responses = "responses" in sys.argv
    main(respond if is_responses else chat, embed, models, stored if is_responses else None)
