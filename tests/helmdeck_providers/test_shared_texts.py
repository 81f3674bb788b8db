"""Texts that requests share are encoded as JSON once; the request body is identical to the byte."""

from __future__ import annotations

import attrs
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import ChatRequest, ImagePart, Message, Role, SharedText, TextPart, Tier
from helmdeck_core.context.composer import Composer
from helmdeck_core.domain.questions import Question
from helmdeck_providers.wire_formats.anthropic import request as anthropic_request
from helmdeck_providers.wire_formats.gemini import request as gemini_request
from helmdeck_providers.wire_formats.ollama import request as ollama_request
from helmdeck_providers.wire_formats.openai_chat import request as openai_request
from helmdeck_providers.wire_formats.openai_responses import request as responses_request
from helmdeck_testing import make_deck
from tests.case_support import each_case

RENDERS = {
    "openai": lambda request: openai_request.render(request, openai_request.Options()),
    "openai with marks": lambda request: openai_request.render(
        request, openai_request.Options(cache_marker_models=("",))
    ),
    "responses": lambda request: responses_request.render(request, responses_request.Options()),
    "anthropic": lambda request: anthropic_request.render(request, anthropic_request.Options()),
    "gemini": lambda request: gemini_request.render(request, gemini_request.Options()),
    "ollama": lambda request: ollama_request.render(request, ollama_request.Options()),
}
HARD = 'a "quoted" \\ back\\slash,\ttabs,\nlines, …, \x00, \U0001f600 and é'
IMAGE = ImagePart("image/png", b"png")


@pytest.fixture(scope="module")
def composer():
    with make_deck() as deck:
        yield Composer(deck.runtime, deck._engine.library, {})


def messages(composer, request="draft a post", **fields):
    budget = attrs.evolve(composer.runtime.budgets.find("vllm/any").budget, **fields)
    asked = Question(caller="test", task="plan", type=dict, request=request)
    return composer.compose(asked, budget).messages


def without_sharing(message):
    parts = [attrs.evolve(part, shared=None) if isinstance(part, TextPart) else part for part in message.parts]
    return attrs.evolve(message, parts=tuple(parts))


@given(st.text(), st.text(), st.text())
def test_shared_text_is_encoded_like_plain_text(shared, rest, other):
    plain = msgspec.json.encode(shared + rest)[1:-1]
    assert TextPart(shared + rest, shared=SharedText(shared)).json == plain
    assert TextPart(shared + rest).json == plain
    assert TextPart(shared + rest, shared=SharedText(other)).json == plain, "what is shared no longer fits the text"


def test_shared_and_plain_texts_are_equal():
    assert TextPart("ab", shared=SharedText("a")) == TextPart("ab")
    assert "shared" not in repr(TextPart("ab", shared=SharedText("a")))


@each_case("image", [(), (IMAGE,)], ids=["words", "words and an image"])
@each_case("render", RENDERS.values(), ids=RENDERS)
def test_every_format_sends_the_same_bytes_with_shared_texts(render, image):
    parts = (TextPart(f"{HARD}{HARD}", shared=SharedText(HARD)), TextPart(HARD), *image)
    system = Message(Role.SYSTEM, (TextPart(HARD, ends_prefix=True, shared=SharedText(HARD)),))
    request = ChatRequest(model="acme/any", messages=(system, Message(Role.USER, parts)), max_tokens=9)
    plain = attrs.evolve(request, messages=tuple(map(without_sharing, request.messages)))
    assert render(request).body == render(plain).body
    assert msgspec.json.encode(HARD)[1:-1] in render(request).body


@each_case("render", RENDERS.values(), ids=RENDERS)
@each_case("where", ["shared", "rest", "another part"])
def test_lone_surrogate_is_replaced_anywhere(render, where):
    half = {where: "\ud800"}
    shared = SharedText(f"a{half.get('shared', '')}")
    part = TextPart(f"{shared.text} b{half.get('rest', '')}", shared=shared)
    other = TextPart(f" c{half.get('another part', '')}")
    body = msgspec.json.decode(
        render(ChatRequest(model="acme/any", messages=(Message(Role.USER, (part, other)),), max_tokens=9)).body
    )
    said = "".join(text for text in texts(body) if text != "text")  # the kind of a part
    assert said.replace("?", "").endswith("a b c")
    assert "?" in said


def texts(value):
    """All texts in a body, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


@pytest.mark.parametrize("caches", [True, False])
def test_requests_with_one_catalog_share_its_text(composer, caches):
    fields = {"tier": Tier.A, "input_tokens": 100_000, "max_catalog_bytes": None, "supports_prefix_cache": caches}
    first, second = messages(composer, "draft a post", **fields), messages(composer, "translate it", **fields)
    shared = [part.shared for message in first for part in message.parts]
    assert [part.shared for message in second for part in message.parts] == shared
    catalog = shared[0 if caches else 1]
    assert catalog is not None
    assert '"packs":[' in catalog.text
    assert catalog.json is catalog.json
    for message in (*first, *second):
        for part in message.parts:
            assert part.shared is None or part.text.startswith(part.shared.text)
    assert first[1].text.endswith("draft a post\n</request>")


def test_selected_catalog_is_not_cached(composer):
    _, user = messages(composer, tier=Tier.C, max_catalog_bytes=4_000, supports_prefix_cache=False)
    assert '"packs":[' in user.text
    assert user.parts[0].shared is None


def test_lone_surrogate_in_instructions_never_reaches_a_message(composer):
    budget = composer.runtime.budgets.find("vllm/any").budget
    asked = Question(
        caller="test", task="x", type=dict, request="go", instructions="be \ud800 kind", needs_catalog=False
    )
    assert composer.compose(asked, budget).messages[0].text == "be ? kind"
