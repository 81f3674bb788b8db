"""An open provider of one preset against a server of the test's own."""

import asyncio
import json

from helmdeck_core import DISPOSITIONS, ChatRequest, Message, Role, StopReason, TextPart
from helmdeck_providers import EventFeed, ReaderContext, decode_body
from helmdeck_providers.wire_formats import openai_chat, openai_responses
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES, QUOTA_HEADERS
from helmdeck_providers.wire_formats.openai_chat.response import ChatAnswer
from helmdeck_providers.wire_formats.openai_responses.error_rules import ERROR_RULES as RESPONSES_ERROR_RULES
from helmdeck_testing import provider_settings

PRESETS = {spec.name: spec for spec in (*openai_chat.PRESETS, *openai_responses.PRESETS)}
REQUEST = ChatRequest(model="vllm/tiny", messages=(Message(Role.USER, (TextPart("say hello"),)),))


class Context:
    def normalise_stop(self, raw, wire_format):
        assert wire_format in TABLES
        return look_up(raw, wire_format)

    def disposition_of(self, raw, reason, wire_format):
        _, found = TABLES[wire_format]
        return found.get((raw or "").casefold(), DISPOSITIONS[reason])


TABLES = {
    "openai": (openai_chat.REASONS, openai_chat.DISPOSITIONS),
    "openai-responses": (openai_responses.REASONS, openai_responses.DISPOSITIONS),
}


def look_up(raw, wire_format="openai"):
    reasons, _ = TABLES[wire_format]
    return reasons.get((raw or "").strip().casefold(), StopReason.UNKNOWN)


def terms(*, wire_format="openai", headers=None, secrets=(), **options):
    """What an answer is read with when no deck is there."""
    return ReaderContext(
        error_rules=RESPONSES_ERROR_RULES if wire_format == "openai-responses" else ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        normalise=lambda raw: look_up(raw, wire_format),
        dispose=lambda raw, reason: Context().disposition_of(raw, reason, wire_format),
        headers={name.lower(): value for name, value in (headers or {}).items()},
        secrets=tuple(secrets),
        **options,
    )


def parse_response(status, headers, body, **options):
    """Parse a whole response."""
    read_with = terms(status=status, headers=headers, **options)
    answer = ChatAnswer(read_with)
    for _ in answer.read(decode_body(status, read_with.headers, body, ERROR_RULES, read_with.secrets)):
        pass
    return answer.finish()


def opened(base_url, preset="vllm", options=None, **settings):
    """An open provider of a preset."""
    spec = PRESETS[preset]
    options = {**spec.options, **(options or {})}
    return spec.open(provider_settings(preset, base_url=base_url, options=options, **settings), Context())


def ask(base_url, *requests, preset="vllm", options=None, **settings):
    """Send the requests, or one of no importance, over one connection; return the responses."""

    async def run():
        provider = opened(base_url, preset, options, **settings)
        try:
            return [await provider.complete(request) for request in requests or (REQUEST,)]
        finally:
            await provider.aclose()

    return asyncio.run(run())


def streamed(base_url, request=REQUEST, **options):
    """Ask for a stream; return its deltas and its response."""

    async def run():
        provider = opened(base_url, **options)
        try:
            *deltas, response = [each async for each in provider.stream(request)]
            return deltas, response
        finally:
            await provider.aclose()

    return asyncio.run(run())


def events(*data, done=True, name=None):
    """The bytes of a stream."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in (*data, *(["[DONE]"] if done else []))]
    return "".join(f"{f'event: {name}' + chr(10) if name else ''}data: {line}\n\n" for line in lines).encode()


def read_stream(answer, *pieces):
    """Feed a stream to an answer as a provider does; return the deltas."""
    reader = EventFeed(answer, has_lines=False)
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    return [*deltas, *reader.finish()]


def joined(deltas):
    """What deltas come to: text, reasoning, and (id, name, arguments) of each call."""
    calls = {}
    for delta in deltas:
        if (call := delta.tool_call) is not None:
            old = calls.get(call.index, ("", "", ""))
            calls[call.index] = (old[0] + call.id, old[1] + call.name, old[2] + call.arguments)
    text, reasoning = ("".join(getattr(delta, name) for delta in deltas) for name in ("text", "reasoning_content"))
    return text, reasoning, [calls[index] for index in sorted(calls)]
