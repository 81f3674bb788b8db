"""The SDK openai."""

import json

from common import MODEL, SCHEMA, SECRET, look_up, main
from openai import OpenAI


def client(url):
    return OpenAI(base_url=f"{url}/v1", api_key=SECRET)


def messages_of(prompt):
    return [{"role": "user", "content": prompt}]


def chat(url, prompt):
    return client(url).chat.completions.create(model=MODEL, messages=messages_of(prompt)).choices[0].message.content


def chat_stream(url, prompt):
    with client(url).chat.completions.stream(model=MODEL, messages=messages_of(prompt)) as events:
        for _ in events:
            pass
        return events.get_final_completion().choices[0].message.content


def chat_tool(url, prompt):
    messages = messages_of(prompt)
    tools = [{"type": "function", "function": {"name": "look_up", "description": "read a file", "parameters": SCHEMA}}]
    while True:
        with client(url).chat.completions.stream(model=MODEL, messages=messages, tools=tools) as events:
            message = events.get_final_completion().choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            result = look_up(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def responses(url, prompt):
    return client(url).responses.create(model=MODEL, input=prompt).output_text


def responses_stream(url, prompt):
    with client(url).responses.stream(model=MODEL, input=prompt) as events:
        for _ in events:
            pass
        return events.get_final_response().output_text


def responses_tool(url, prompt):
    sent, previous = prompt, None
    tools = [
        {"type": "function", "name": "look_up", "description": "read a file", "parameters": SCHEMA, "strict": False}
    ]
    while True:
        answer = client(url).responses.create(model=MODEL, input=sent, tools=tools, previous_response_id=previous)
        calls = [item for item in answer.output if item.type == "function_call"]
        if not calls:
            return answer.output_text
        previous = answer.id
        sent = [
            {"type": "function_call_output", "call_id": call.call_id, "output": look_up(**json.loads(call.arguments))}
            for call in calls
        ]


def raw_stream(url, prompt):
    chunks = client(url).chat.completions.create(model=MODEL, messages=messages_of(prompt), stream=True)
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


main(
    chat=chat, chat_stream=chat_stream, chat_tool=chat_tool, raw_stream=raw_stream,
    responses=responses, responses_stream=responses_stream, responses_tool=responses_tool,
)  # fmt: skip
