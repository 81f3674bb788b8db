"""LangChain's models for OpenAI and Anthropic."""

from common import MODEL, SECRET, look_up, main
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


def openai(url, **more):
    return ChatOpenAI(model=MODEL, base_url=f"{url}/v1", api_key=SECRET, **more)


def anthropic(url):
    return ChatAnthropic(model=MODEL, base_url=url, api_key=SECRET)


def streamed(model, prompt):
    return "".join(chunk.text for chunk in model.stream(prompt))


def with_tools(model, prompt):
    reader = tool(look_up)
    bound, messages = model.bind_tools([reader]), [HumanMessage(prompt)]
    while True:
        answer = bound.invoke(messages)
        if not answer.tool_calls:
            return answer.text
        messages.append(answer)
        messages += [ToolMessage(reader.invoke(call["args"]), tool_call_id=call["id"]) for call in answer.tool_calls]


main(
    chat=lambda url, prompt: openai(url).invoke(prompt).text,
    chat_stream=lambda url, prompt: streamed(openai(url), prompt),
    chat_tool=lambda url, prompt: with_tools(openai(url), prompt),
    responses=lambda url, prompt: openai(url, use_responses_api=True).invoke(prompt).text,
    responses_stream=lambda url, prompt: streamed(openai(url, use_responses_api=True), prompt),
    responses_tool=lambda url, prompt: with_tools(openai(url, use_responses_api=True), prompt),
    messages=lambda url, prompt: anthropic(url).invoke(prompt).text,
    messages_stream=lambda url, prompt: streamed(anthropic(url), prompt),
    messages_tool=lambda url, prompt: with_tools(anthropic(url), prompt),
)
