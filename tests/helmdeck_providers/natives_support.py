"""The native adapters against payloads and servers of the tests' own."""

import asyncio
import contextlib
import itertools
import json

from hypothesis import strategies as st

from helmdeck_core import ChatDelta, ChatRequest, Message, Role, TextPart
from helmdeck_providers import ReaderContext
from helmdeck_providers.wire_formats import anthropic, gemini, ollama
from helmdeck_providers.wire_formats.anthropic.response import MessageAnswer
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES, QUOTA_HEADERS
from helmdeck_providers.wire_formats.gemini.response import GeminiAnswer
from helmdeck_providers.wire_formats.ollama.response import OllamaAnswer
from helmdeck_testing import provider_settings
from helmdeck_testing.deck_factory import make_deck

RUNTIME = make_deck().runtime
SPECS = {spec.name: spec for plugin in (anthropic, gemini, ollama) for spec in plugin.helmdeck_providers()}
ANSWERS = {"anthropic": MessageAnswer, "gemini": GeminiAnswer, "ollama": OllamaAnswer}
KEY = "sk-native-0123456789abcdef"


class Context:
    """The context that a deck passes to a provider."""

    normalise_stop = staticmethod(RUNTIME.normalise_stop)
    disposition_of = staticmethod(RUNTIME.disposition_of)


def message(role, *parts, **fields):
    return Message(role, tuple(TextPart(part) if isinstance(part, str) else part for part in parts), **fields)


def user(*parts):
    return message(Role.USER, *parts)


def asking(model, *messages, **fields):
    return ChatRequest(model=model, messages=messages or (user("say hello"),), **fields)


def body_of(rendered):
    return json.loads(rendered.body)


def terms(wire_format, **fields):
    return ReaderContext(
        error_rules=ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        normalise=lambda raw: RUNTIME.normalise_stop(raw, wire_format),
        dispose=lambda raw, reason: RUNTIME.disposition_of(raw, reason, wire_format),
        **fields,
    )


def read(wire_format, *events, **fields):
    """Feed the events; return the deltas and the response."""
    answer = ANSWERS[wire_format](terms(wire_format, **fields))
    deltas = [delta for event in events for delta in answer.feed(event)]
    return deltas, answer.finish()


def answered(wire_format, *events, **fields):
    return read(wire_format, *events, **fields)[1]


def summed(deltas):
    """Text, reasoning and calls that deltas come to."""
    calls = {}
    for delta in deltas:
        if (piece := delta.tool_call) is not None:
            call = calls.setdefault(piece.index, ["", "", ""])
            call[0] += piece.id
            call[1] += piece.name
            call[2] += piece.arguments
    text, reasoning = ("".join(getattr(delta, name) for delta in deltas) for name in ("text", "reasoning_content"))
    return text, reasoning, [tuple(calls[index]) for index in sorted(calls)]


def spoken(response):
    """The same of a response."""
    calls = [(call.id, call.name, call.arguments) for call in response.tool_calls]
    return response.text, response.reasoning_content, calls


# -- over the wire --------------------------------------------------------------------------------------------


def opened(name, base_url, **settings):
    spec = SPECS[name]
    options = {**spec.options, **settings.pop("options", {})}
    given = provider_settings(name, base_url=base_url, options=options, **{"api_key": lambda: KEY, **settings})
    return spec.open(given, Context())


@contextlib.contextmanager
def connected(name, base_url, **settings):
    """An open provider, and what runs something on its event loop."""
    with asyncio.Runner() as runner:
        provider = opened(name, base_url, **settings)
        try:
            yield provider, runner.run
        finally:
            runner.run(provider.aclose())


def over(name, base_url, act, **settings):
    """Open a provider, let ``act`` use it, close it."""
    with connected(name, base_url, **settings) as (provider, run):
        return run(act(provider))


def complete(name, base_url, request, **settings):
    return over(name, base_url, lambda provider: provider.complete(request), **settings)


async def collected(provider, request):
    """The deltas and the response."""
    *deltas, response = [item async for item in provider.stream(request)]
    assert all(isinstance(delta, ChatDelta) for delta in deltas)
    return deltas, response


def streamed(name, base_url, request, **settings):
    return over(name, base_url, lambda provider: collected(provider, request), **settings)


def sse(*events, named=True):
    """Server-sent events as bytes."""
    lines = []
    for event in events:
        name = f"event: {event['type']}\n" if named and isinstance(event, dict) and "type" in event else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join(lines).encode()


def ndjson(*events):
    return "".join(json.dumps(event) + "\n" for event in events).encode()


def cut(data, places):
    """The bytes in chunks, split at several positions."""
    edges = [0, *sorted({place % (len(data) + 1) for place in places}), len(data)]
    return [data[start:stop] for start, stop in itertools.pairwise(edges) if start < stop]


# -- hostile payloads -----------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def paths(value, here=()):
    yield here
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths(inner, (*here, key))


def replaced(value, path, new):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def spoiled(payload):
    """Payloads with wrong values in one or two places."""
    places = st.sampled_from(list(paths(payload)))
    return st.lists(st.tuples(places, JUNK), min_size=1, max_size=2).map(lambda changes: _changed(payload, changes))


def _changed(payload, changes):
    for place, value in changes:
        with contextlib.suppress(KeyError, IndexError, TypeError):  # the other change took the place away
            payload = replaced(payload, place, value)
    return payload
