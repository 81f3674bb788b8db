"""Similar questions get the answer of an earlier one, if their facts and everything else of their requests are equal."""

import asyncio

import attrs
import numpy as np
import pytest

import helmdeck_cache_semantic
from helmdeck_cache_semantic import SemanticOptions
from helmdeck_cache_semantic.cache import SemanticCache
from helmdeck_cache_semantic.facts import same_facts
from helmdeck_core import CachedAnswer, CacheQuery, ChatRequest, ChatResponse, ConfigError, StopReason
from helmdeck_testing import make_deck

VECTORS = {"near": (1.0, 0.0), "nearer": (0.999, 0.045), "far": (0.6, 0.8)}


def encode(texts):
    """A vector for the last word of each text."""
    return np.array([VECTORS[text.split()[-1]] for text in texts], dtype=np.float32)


def query(text, tenant="t", scope="s", **fields):
    return CacheQuery(
        tenant=tenant, key=text, scope=scope, text=text, request=ChatRequest(model="m", messages=()), **fields
    )


def answer(text="443", stored_s=2e9):
    response = ChatResponse(text=text, stop_reason=StopReason.END_TURN)
    return CachedAnswer(response=response, model="m", cost_usd=None, stored_s=stored_s)


@pytest.fixture
def cache():
    made = SemanticCache(encode, SemanticOptions(max_answers=3, max_chars=40), 60.0)
    asyncio.run(made.keep(query("is it near"), answer()))
    return made


def find(cache, text, **fields):
    found = asyncio.run(cache.find(query(text, **fields)))
    return found and found.response.text


def test_a_similar_question_gets_the_answer_within_its_tenant_and_scope(cache):
    assert find(cache, "is it nearer") == "443"
    assert find(cache, "is it far") is None
    assert find(cache, "is it nearer", tenant="u") is None
    assert find(cache, "is it nearer", scope="r") is None
    assert find(cache, "is it not nearer") is None
    assert find(cache, "x" * 40 + " nearer") is None
    assert find(cache, "is it nearer", max_age_s=-1e10) is None


def test_the_least_recently_used_answers_are_removed_and_tenants_can_be_cleared(cache):
    async def fill():
        for number in range(3):
            await cache.keep(query(f"{number} far", tenant=f"u{number % 2}"), answer())
        return await cache.stats(), await cache.clear("u0"), await cache.clear(), await cache.stats()

    stats, cleared, rest, last = asyncio.run(fill())
    assert (stats, cleared, rest, last) == ({"answers": 3, "tenants": 2}, 2, 1, {"answers": 0, "tenants": 0})


def test_answers_with_tool_calls_are_not_shared_among_similar_questions(cache):
    from helmdeck_core import ToolCall

    calling = answer()
    calling = attrs.evolve(calling, response=attrs.evolve(calling.response, tool_calls=(ToolCall("1", "f", "{}"),)))
    asyncio.run(cache.keep(query("call it far"), calling))
    assert find(cache, "call it far") is None


def test_facts_are_numbers_names_units_and_words_of_negation_direction_and_time():
    different = [
        ("What is 17 times 24?", "What is 17 times 25?"),
        ("Go from Rome to Oslo", "Go from Oslo to Rome"),
        ("Show users with rights", "Show users without rights"),
        ("Is it open on Monday?", "Is it open on Sunday?"),
        ("The price in euros", "The price in dollars"),
        ("Why doesn't it run?", "Why does it run?"),
        ("Is it safe?", "Is it $5?"),
        ("What is -5 plus 3?", "What is 5 plus 3?"),
        ("Is 3 > 2?", "Is 3 < 2?"),
        ("compute 10 - 4", "compute 10 + 4"),
        ("compile c++ code", "compile c# code"),
        ("Wann fährt der Zug nach Hamburg?", "Wann fährt der Zug nach Bremen?"),
    ]
    assert [pair for pair in different if same_facts(*pair)] == []
    assert same_facts("How tall is Mount Everest?", "What is the height of Mount Everest?")
    assert same_facts("", "")


def test_it_is_off_by_default_and_its_options_are_checked():
    deck = make_deck(helmdeck_cache_semantic)
    from helmdeck_cache import CacheSettings

    assert CacheSettings.read(deck.runtime).caches == ("exact",)
    wrong = make_deck(helmdeck_cache_semantic, config={"cache": {"options": {"semantic": {"treshold": 0.9}}}})
    with pytest.raises(ConfigError, match=r"cache\.options\.semantic\.treshold.*threshold"):
        CacheSettings.read(wrong.runtime)
    for option, value, problem in (
        ("threshold", 5, "not between 0 and 1, found 5"),
        ("max_answers", 0, "not above 0"),
        ("max_chars", 0, "not above 0"),
    ):
        wrong = make_deck(helmdeck_cache_semantic, config={"cache": {"options": {"semantic": {option: value}}}})
        with pytest.raises(ConfigError, match=rf"cache\.options\.semantic\.{option}: {problem}"):
            CacheSettings.read(wrong.runtime)
