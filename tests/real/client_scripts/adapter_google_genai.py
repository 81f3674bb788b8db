"""The SDK google-genai."""

import base64

from adapter import DESCRIPTION, PARAMETERS, TOOL, call, main, reply
from google import genai
from google.genai import types


def client(url, key):
    return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=url, timeout=30_000))


def to_content(message):
    if "calls" in message:
        calls = [
            types.FunctionCall(id=each["id"], name=each["name"], args=each["arguments"]) for each in message["calls"]
        ]
        return types.Content(role="model", parts=[types.Part(function_call=each) for each in calls])
    if message["role"] == "tool":
        result = types.FunctionResponse(
            id=message["call_id"], name=message["name"], response={"result": message["text"]}
        )
        return types.Content(role="user", parts=[types.Part(function_response=result)])
    parts = [types.Part(text=message["text"])]
    for name, media in (("image", "image/png"), ("pdf", "application/pdf")):
        if name in message:
            parts.append(types.Part.from_bytes(data=base64.b64decode(message[name]), mime_type=media))
    return types.Content(role="user" if message["role"] == "user" else "model", parts=parts)


def read(answers):
    parts = [
        part
        for answer in answers
        for candidate in answer.candidates or ()
        for part in (candidate.content.parts if candidate.content else None) or ()
    ]
    finishes = [each.finish_reason for answer in answers for each in answer.candidates or () if each.finish_reason]
    blocked = [answer.prompt_feedback.block_reason for answer in answers if answer.prompt_feedback]
    counts = [answer.usage_metadata for answer in answers if answer.usage_metadata]
    usage = (counts[-1].prompt_token_count, counts[-1].candidates_token_count) if counts else (None, None)
    calls = [part.function_call for part in parts if part.function_call]
    return reply(
        "".join(part.text or "" for part in parts if not part.thought),
        calls=[call(each.id, each.name, dict(each.args or {})) for each in calls],
        finish=str((finishes or blocked or [None])[-1].value) if finishes or blocked else None,
        usage=usage, deltas=len(answers),
    )  # fmt: skip


def chat(url, key, model, messages, tools=False, choice=None, schema=None, strict=False, stop=None, max_tokens=None,
         stream=False, cancel=False):  # fmt: skip
    system = [each["text"] for each in messages if each["role"] == "system"]
    contents = [to_content(each) for each in messages if each["role"] != "system"]
    declared = types.FunctionDeclaration(name=TOOL, description=DESCRIPTION, parameters_json_schema=PARAMETERS)
    forced = types.FunctionCallingConfig(mode="ANY", allowed_function_names=[choice]) if choice else None
    config = types.GenerateContentConfig(
        system_instruction=system[0] if system else None, stop_sequences=stop, max_output_tokens=max_tokens,
        tools=[types.Tool(function_declarations=[declared])] if tools else None,
        tool_config=types.ToolConfig(function_calling_config=forced) if forced else None,
        response_mime_type="application/json" if schema else None, response_json_schema=schema,
    )  # fmt: skip
    api = client(url, key)
    if not stream:
        return read([api.models.generate_content(model=model, contents=contents, config=config)])
    chunks = api.models.generate_content_stream(model=model, contents=contents, config=config)
    if cancel:
        next(chunks)
        chunks.close()
        return reply()
    return read(list(chunks))


def embed(url, key, model, texts):
    api = client(url, key)  # it closes its connections when it is garbage
    made = api.models.embed_content(model=model, contents=texts)
    return {"vectors": [each.values for each in made.embeddings]}


def models(url, key):
    api = client(url, key)
    return {"models": [each.name for each in api.models.list()]}


main(chat, embed, models)
