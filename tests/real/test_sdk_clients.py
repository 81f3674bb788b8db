"""The servers that fail on demand use their wire formats: the vendors' own clients read them, and fail as they do.

An SDK that is not installed is skipped: ``pip install openai anthropic google-genai ollama cohere boto3``.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import pytest

from contrib_providers.bedrock.tests.test_contract import CONVERSE
from contrib_providers.cohere.tests.test_contract import COHERE
from helmdeck_testing import ANTHROPIC, GEMINI, OLLAMA, OPENAI_CHAT, OPENAI_RESPONSES, ServerFormat, failing_server

pytestmark = pytest.mark.filterwarnings("default")  # deprecations inside the SDKs

ASK = [{"role": "user", "content": "say #7"}]
TIMEOUT_S = 5.0


class Read(NamedTuple):
    """A response as the client returned it, with token usage if available."""

    text: str
    reasoning: str
    stop: str | None
    tokens: tuple[int, int] | None


class Sdk(NamedTuple):
    """A vendor's client.

    :ivar connect: takes the client and a base URL; returns functions for a whole and a streamed request.
    :ivar refused: exception names for status 429, status 503 and an error within a stream.
    :ivar stops: native stop reasons of a finished, a truncated and a filtered response.
    """

    server_format: ServerFormat
    package: str
    connect: Callable[[Any, str], tuple[Callable[[], Read], Callable[[], Read]]]
    refused: tuple[str, str, str]
    stops: tuple[str, str, str]


def openai_chat(openai, url):
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=TIMEOUT_S)
    fields = {"model": "m", "messages": ASK, "max_completion_tokens": 50}

    def counted(usage):
        return usage and (usage.prompt_tokens, usage.completion_tokens)

    def whole():
        answer = client.chat.completions.create(**fields)
        (choice,), message = answer.choices, answer.choices[0].message
        thought = getattr(message, "reasoning_content", "")
        return Read(message.content, thought, choice.finish_reason, counted(answer.usage))

    def streamed():
        chunks = client.chat.completions.create(**fields, stream=True, stream_options={"include_usage": True})
        text, thought, stop, usage = "", "", None, None
        for chunk in chunks:
            for choice in chunk.choices:
                text += choice.delta.content or ""
                thought += getattr(choice.delta, "reasoning_content", "")
                stop = choice.finish_reason or stop
            usage = chunk.usage or usage
        return Read(text, thought, stop, counted(usage))

    return whole, streamed


def openai_responses(openai, url):
    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=TIMEOUT_S)
    fields = {"model": "m", "input": "say #7", "max_output_tokens": 50}

    def read(answer):
        thoughts = [part.text for item in answer.output if item.type == "reasoning" for part in item.summary]
        stop = answer.incomplete_details.reason if answer.incomplete_details else answer.status
        tokens = (answer.usage.input_tokens, answer.usage.output_tokens)
        return Read(answer.output_text, "".join(thoughts), stop, tokens)

    def streamed():
        text, thought, last = "", "", None
        # The helper accumulates the events and fails on an inconsistent one.
        with contextlib.suppress(RuntimeError), client.responses.stream(**fields) as events:
            for event in events:
                if event.type == "error":
                    raise openai.APIError(event.message, request=None, body=None)
                text += event.delta if event.type == "response.output_text.delta" else ""
                thought += event.delta if event.type == "response.reasoning_summary_text.delta" else ""
                last = getattr(event, "response", None) or last
        if last is None or last.status == "in_progress":
            return Read(text, thought, None, None)
        assert read(last)[:2] == (text, thought)
        return read(last)

    return lambda: read(client.responses.create(**fields)), streamed


def anthropic(package, url):
    client = package.Anthropic(
        base_url=url.removesuffix("/v1"), api_key="none", max_retries=0, timeout=TIMEOUT_S
    ).messages
    fields = {"model": "m", "messages": ASK, "max_tokens": 50}

    def read(message):
        blocks = {block.type: getattr(block, block.type) for block in message.content}
        tokens = (message.usage.input_tokens, message.usage.output_tokens)
        return Read(blocks.get("text", ""), blocks.get("thinking", ""), message.stop_reason, tokens)

    def streamed():
        with client.stream(**fields) as events:
            return read(events.get_final_message())

    return lambda: read(client.create(**fields)), streamed


def gemini(genai, url):
    options = genai.types.HttpOptions(base_url=url.removesuffix("/v1"), timeout=int(TIMEOUT_S * 1000))
    client = genai.Client(api_key="none", http_options=options)  # it closes when it is garbage collected
    fields = {"model": "m", "contents": "say #7", "config": genai.types.GenerateContentConfig(max_output_tokens=50)}

    def read(chunks):
        parts = [part for chunk in chunks for part in chunk.parts or ()]
        stop, usage = chunks[-1].candidates[0].finish_reason, chunks[-1].usage_metadata
        return Read(
            "".join(part.text for part in parts if not part.thought),
            "".join(part.text for part in parts if part.thought),
            stop and stop.value,
            usage and (usage.prompt_token_count, usage.candidates_token_count),
        )

    return (
        lambda: read([client.models.generate_content(**fields)]),
        lambda: read([*client.models.generate_content_stream(**fields)]),
    )


def ollama(package, url):
    client = package.Client(host=url.removesuffix("/v1"), timeout=TIMEOUT_S)
    fields = {"model": "m", "messages": ASK, "options": {"num_predict": 50}}

    def read(lines):
        last = lines[-1]
        return Read(
            "".join(line.message.content for line in lines),
            "".join(line.message.thinking or "" for line in lines),
            last.done_reason,
            (last.prompt_eval_count, last.eval_count) if last.done else None,
        )

    return lambda: read([client.chat(**fields)]), lambda: read([*client.chat(**fields, stream=True)])


def cohere(package, url):
    client = package.ClientV2(api_key="none", base_url=url.removesuffix("/v1"), timeout=TIMEOUT_S)
    fields = {"model": "m", "messages": ASK, "max_tokens": 50, "request_options": {"max_retries": 0}}

    def counted(usage):
        return usage and (usage.tokens.input_tokens, usage.tokens.output_tokens)

    def whole():
        answer = client.chat(**fields)
        blocks = {block.type: getattr(block, block.type) for block in answer.message.content}
        return Read(blocks.get("text", ""), blocks.get("thinking", ""), answer.finish_reason, counted(answer.usage))

    def streamed():
        text, thought, end = "", "", None
        for event in client.chat_stream(**fields):
            if event.type == "content-delta":
                text += event.delta.message.content.text or ""
                thought += event.delta.message.content.thinking or ""
            end = event.delta if event.type == "message-end" else None
        if end and end.error:
            raise RuntimeError(end.error)  # the client does not raise it
        return Read(text, thought, end and end.finish_reason, end and counted(end.usage))

    return whole, streamed


def bedrock(boto3, url):
    from botocore.config import Config

    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=url.removesuffix("/v1"),
        region_name="eu-north-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=Config(retries={"max_attempts": 0}, read_timeout=TIMEOUT_S),
    )
    message = {"role": "user", "content": [{"text": "say #7"}]}
    fields = {"modelId": "m", "messages": [message], "inferenceConfig": {"maxTokens": 50}}

    def counted(usage):
        return usage and (usage["inputTokens"], usage["outputTokens"])

    def whole():
        answer = client.converse(**fields)
        text = thought = ""
        for block in answer["output"]["message"]["content"]:
            text += block.get("text", "")
            thought += block.get("reasoningContent", {}).get("reasoningText", {}).get("text", "")
        return Read(text, thought, answer.get("stopReason"), counted(answer["usage"]))

    def streamed():
        text = thought = ""
        found: dict[str, Any] = {}
        for event in client.converse_stream(**fields)["stream"]:
            found |= event
            delta = event.get("contentBlockDelta", {}).get("delta", {})
            text += delta.get("text", "")
            thought += delta.get("reasoningContent", {}).get("text", "")
        usage = found.get("metadata", {}).get("usage")
        return Read(text, thought, found.get("messageStop", {}).get("stopReason"), counted(usage))

    return whole, streamed


def is_installed(package):
    try:
        import_module(package)
    except ImportError:
        return False
    return True


SDKS = {
    "openai": Sdk(
        OPENAI_CHAT,
        "openai",
        openai_chat,
        ("RateLimitError", "InternalServerError", "APIError"),
        ("stop", "length", "content_filter"),
    ),
    "openai-responses": Sdk(
        OPENAI_RESPONSES,
        "openai",
        openai_responses,
        ("RateLimitError", "InternalServerError", "APIError"),
        ("completed", "max_output_tokens", "content_filter"),
    ),
    "anthropic": Sdk(
        ANTHROPIC,
        "anthropic",
        anthropic,
        ("RateLimitError", "ServiceUnavailableError", "APIStatusError"),
        ("end_turn", "max_tokens", "refusal"),
    ),
    "google-genai": Sdk(
        GEMINI,
        "google.genai",
        gemini,
        ("ClientError", "ServerError", "ServerError"),
        ("STOP", "MAX_TOKENS", "SAFETY"),
    ),
    "ollama": Sdk(
        OLLAMA,
        "ollama",
        ollama,
        ("ResponseError", "ResponseError", "ResponseError"),
        ("stop", "length", ""),
    ),
    "cohere": Sdk(
        COHERE,
        "cohere",
        cohere,
        ("TooManyRequestsError", "ServiceUnavailableError", "RuntimeError"),
        ("COMPLETE", "MAX_TOKENS", ""),
    ),
    "boto3": Sdk(
        CONVERSE,
        "boto3",
        bedrock,
        ("ThrottlingException", "ServiceUnavailableException", "EventStreamError"),
        ("end_turn", "max_tokens", "content_filtered"),
    ),
}
STREAM = {"whole": 0, "streamed": 1}
INSTALLED = [name for name, each in SDKS.items() if is_installed(each.package)]
if not INSTALLED:
    pytest.skip(f"none of these SDKs is installed: {', '.join(SDKS)}", allow_module_level=True)


@pytest.mark.parametrize("name", [name for name in SDKS if name not in INSTALLED] or ["none"])
def test_sdk_is_installed(name):
    pytest.skip(f"the SDKs that are not installed: {name}")


@pytest.fixture(params=INSTALLED)
def sdk(request):
    each = SDKS[request.param]
    package = import_module(each.package)
    return each._replace(connect=lambda url: each.connect(package, url))


@pytest.fixture(params=STREAM)
def asking(request, sdk) -> Callable[[str], contextlib.AbstractContextManager[Callable[[], Read]]]:
    """Return a function that calls a server in a mode, streamed or not."""

    @contextlib.contextmanager
    def start(mode: str) -> Iterator[Callable[[], Read]]:
        with failing_server(sdk.server_format, mode) as server:
            yield sdk.connect(server.base_url)[STREAM[request.param]]

    return start


def test_response_has_text_stop_reason_and_usage(sdk, asking):
    with asking("good") as ask:
        assert ask() == Read(json.dumps({"answer": "#7"}), "", sdk.stops[0], (5, 2))


def test_reasoning_is_separate_from_text(sdk, asking):
    with asking("draft_in_reasoning") as ask:
        answer = ask()
    assert (answer.text, answer.stop) == ("", sdk.stops[0])
    assert answer.reasoning.startswith("I could answer {") and answer.reasoning.endswith("but first")


def test_truncated_response_has_its_stop_reason(sdk, asking):
    with asking("cut_json_length") as ask:
        answer = ask()
    assert answer.text.startswith('{"steps"') and answer[2:] == (sdk.stops[1], (5, 50))


def test_filtered_response_has_its_stop_reason(sdk, asking):
    if "empty_content_filter" in sdk.server_format.lacks:
        pytest.skip(f"{sdk.server_format.name} has no words for it")
    with asking("empty_content_filter") as ask:
        assert ask()[:3] == ("", "", sdk.stops[2])


def test_incomplete_response_has_no_stop_reason(asking):
    with asking("no_end") as ask:
        answer = ask()
    assert answer.text.startswith('{"steps"') and answer.stop is None


@pytest.mark.parametrize(("mode", "place"), [("rate_limited", 0), ("unavailable", 1)])
def test_error_has_the_vendors_class_and_message(sdk, asking, mode, place):
    with asking(mode) as ask, pytest.raises(Exception, match="upstream error") as caught:
        ask()
    assert type(caught.value).__name__ == sdk.refused[place]


def test_error_within_a_stream_is_raised_with_its_message(sdk):
    with (
        failing_server(sdk.server_format, "error_in_200") as server,
        pytest.raises(Exception, match="upstream error") as caught,
    ):
        sdk.connect(server.base_url)[1]()
    assert type(caught.value).__name__ == sdk.refused[2]


def test_truncated_body_is_an_error(asking):
    with asking("cut_body") as ask, pytest.raises(Exception, match=r"(?i)connection|prematurely"):
        ask()
