"""The cache key routes requests with the same prefix to the same cache."""

from __future__ import annotations

import json

from helmdeck_core import ChatRequest, Message, ProviderSettings, Role, TextPart
from helmdeck_providers.wire_formats.openai_chat import request as openai_request
from helmdeck_providers.wire_formats.openai_responses import request as responses_request
from helmdeck_testing import completion, make_deck
from tests.case_support import each_case
from tests.helmdeck_providers.openai_support import PRESETS

TAKERS = {"openai", "azure", "mistral", "fireworks", "openai-responses", "azure-responses", "xai-responses"}
RULES = "the rules of the house, and the catalog"


def key_of(preset="openai", prefix=(RULES,), text="hello", **more):
    """Return the cache key of a request."""
    system = [*(TextPart(text) for text in prefix[:-1]), TextPart(prefix[-1], ends_prefix=True)] if prefix else []
    messages = (Message(Role.SYSTEM, (*system, TextPart("behind"))), Message(Role.USER, (TextPart(text),)))
    request = ChatRequest(model=f"{preset}/m", messages=messages, **more)
    settings = ProviderSettings(name=preset, options=PRESETS[preset].options)
    if preset.endswith("responses"):
        written = responses_request.render(request, responses_request.Options.read(settings))
    else:
        written = openai_request.render(request, openai_request.Options.read(settings))
    assert written.downgrades == ()
    return json.loads(written.body).get("prompt_cache_key")


@each_case("preset", sorted(PRESETS))
def test_cache_key_is_sent_only_where_documented(preset):
    assert (key_of(preset) is not None) == (preset in TAKERS)


def test_cache_key_depends_on_the_prefix_only():
    assert key_of() == key_of(text="something else", max_tokens=7) == key_of("azure-responses")
    assert key_of() != key_of(prefix=("other rules",))
    assert key_of(prefix=("a", "b")) != key_of(prefix=("a", "c")) and key_of(prefix=("a\ud800",))
    assert key_of(prefix=()) is None, "nothing is marked"


def test_cache_key_reveals_nothing_and_fits_every_limit():
    key = key_of()
    assert len(key) == 32 and set(key) <= set("0123456789abcdef")


def test_caller_can_set_the_cache_key():
    assert key_of(extra={"prompt_cache_key": "mine"}) == "mine"


def test_plans_of_different_requests_share_the_cache_key(chat_server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    answer = '{"steps": [{"tool": "blog.draft", "args": {"brief": "b"}}]}'
    server = chat_server(lambda body: completion(answer))
    config = {"providers": {"openai": {"base_url": server.base_url, "api_key": "env:OPENAI_API_KEY"}}}
    with make_deck(config=config) as deck:
        for intent in ("draft a blog post", "translate this page into French"):
            deck.plan(intent, model="openai/gpt-4o")
    first, second = (request.body["prompt_cache_key"] for request in server.requests)
    assert first == second
