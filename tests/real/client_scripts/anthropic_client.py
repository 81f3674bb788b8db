"""The SDK anthropic."""

import anthropic
from common import MODEL, SECRET, look_up, main


def client(url):
    return anthropic.Anthropic(base_url=url, api_key=SECRET)


def body_of(prompt):
    return {"model": MODEL, "max_tokens": 500, "messages": [{"role": "user", "content": prompt}]}


def text_of(message):
    return "".join(block.text for block in message.content if block.type == "text")


def messages(url, prompt):
    return text_of(client(url).messages.create(**body_of(prompt)))


def messages_stream(url, prompt):
    with client(url).messages.stream(**body_of(prompt)) as events:
        return text_of(events.get_final_message())


def messages_tool(url, prompt):
    tool = anthropic.beta_tool(look_up)
    return text_of(client(url).beta.messages.tool_runner(**body_of(prompt), tools=[tool]).until_done())


def count(url, prompt):
    asking = body_of(prompt)
    asking.pop("max_tokens")
    assert client(url).messages.count_tokens(**asking).input_tokens > 0
    return "counted"


main(messages=messages, messages_stream=messages_stream, messages_tool=messages_tool, count=count)
