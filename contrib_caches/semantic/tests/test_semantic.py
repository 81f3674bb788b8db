"""Similar questions get the answer of an earlier one, if their words and everything else of their requests are equal."""

import asyncio

import attrs
import numpy as np
import pytest

import helmdeck_cache_semantic
from helmdeck_cache_semantic import SemanticOptions
from helmdeck_cache_semantic.cache import SemanticCache
from helmdeck_cache_semantic.facts import facts_of, same_facts
from helmdeck_core import CachedAnswer, CacheQuery, ChatRequest, ChatResponse, ConfigError, StopReason
from helmdeck_testing import make_deck

NOW_S = 2e9
VECTORS = {"near": (1.0, 0.0), "nearer": (0.999, 0.045), "far": (0.6, 0.8)}


def encode(texts):
    """A vector for the last word of each text."""
    return np.array([VECTORS[text.split()[-1]] for text in texts], dtype=np.float32)


def query(text, tenant="t", scope="s", **fields):
    return CacheQuery(
        tenant=tenant, key=text, scope=scope, text=text, request=ChatRequest(model="m", messages=()), **fields
    )


def answer(text="443", stored_s=NOW_S):
    response = ChatResponse(text=text, stop_reason=StopReason.END_TURN)
    return CachedAnswer(response=response, model="m", cost_usd=None, stored_s=stored_s)


@pytest.fixture
def cache(monkeypatch):
    monkeypatch.setattr("helmdeck_cache_semantic.cache.time.time", lambda: NOW_S)
    options = SemanticOptions(max_answers=3, max_chars=40, checks_facts=False)
    made = SemanticCache(encode, options, 60.0, max_entry_bytes=10)
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


def test_answers_that_are_too_large_or_whose_age_is_unknown_are_not_returned(cache):
    asyncio.run(cache.keep(query("is this far"), answer("x" * 11)))
    assert find(cache, "is this far") is None
    asyncio.run(cache.keep(query("is that far"), answer(stored_s=NOW_S + 61)))
    assert find(cache, "is that far") is None, "it was stored before the clock was set back"
    asyncio.run(cache.keep(query("is that far"), answer(stored_s=NOW_S - 59)))
    assert find(cache, "is that far") == "443"


def test_only_questions_with_the_same_words_share_an_answer_by_default(monkeypatch):
    monkeypatch.setattr("helmdeck_cache_semantic.cache.time.time", lambda: NOW_S)
    cache = SemanticCache(encode, SemanticOptions(), 60.0)
    asyncio.run(cache.keep(query("How do I reset the near"), answer()))
    assert find(cache, "please tell me how to reset near") == "443"
    assert find(cache, "How do I set the near") is None


DIFFERENT = [
    ("What is 17 times 24?", "What is 17 times 25?"),
    ("What is 3?", "What is 3!?"),
    ("Go from Rome to Oslo", "Go from Oslo to Rome"),
    ("How do I convert a list to a tuple?", "How do I convert a tuple to a list?"),
    ("Show users with rights", "Show users without rights"),
    ("Is the drug safe?", "Is the drug unsafe?"),
    ("Rezepte mit Milch", "Rezepte ohne Milch"),
    ("Recetas con nueces", "Recetas sin nueces"),
    ("War der Laden offen?", "Ist der Laden offen?"),
    ("Which mushrooms are edible?", "Which mushrooms are poisonous?"),
    ("Did it rain?", "Will it rain?"),
    ("Should I sell?", "Could I sell?"),
    ("How is cheese made?", "Why is cheese made?"),
    ("Can I reset it?", "How do I reset it?"),
    ("How do you use my data?", "How do I use my data?"),
    ("Do all birds fly?", "Do some birds fly?"),
    ("How old is my son?", "How old is her son?"),
    ("What do I owe you?", "What do you owe me?"),
    ("Is it open on Monday?", "Is it open on Sunday?"),
    ("Is milk healthy?", "Is raw milk healthy?"),
    ("What is -5 plus 3?", "What is 5 plus 3?"),
    ("compile c++ code", "compile c# code"),
    ("What does `x -l` print?", "What does `x -L` print?"),
    ("what does foo(a, b) return", "what does foo(b, a) return"),
    ("what does the regex a? match", "what does the regex a match"),
    ("Translate: how do I pay?", "Translate: how can I pay?"),
    ('Translate "the cat"', 'Translate "a cat"'),
    ("Correct this:\nhe go", "Correct this:\nhe goes"),
    ("What does IT do?", "What does it do?"),
    ("Is plan A free?", "Is plan free?"),
    ("What is the way to the station?", "How do I station?"),
    ("Who does Kim report to?", "Who reports to Kim?"),
]
SAME = [
    ("How do I reset my password?", "how can i reset my password"),
    ("How to install Docker?", "Could you please tell me how to install Docker?"),
    ("What's a mutex?", "what is the mutex"),
    ("Hello, where do I find my invoices?", "Where can I find my invoices, please?"),
    ("Why do cats purr?", "why cats purr"),
    ("Which languages are spoken in Chad?", "What languages are spoken in Chad?"),
    ("Как сменить пароль?", "как сменить пароль"),
    ("¿Cuál es la capital?", "cuál es la capital"),
    ('Translate "yes" now', 'please translate "yes" now'),
    ("", " "),
]


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_questions_with_different_words_are_different(first, second):
    assert not same_facts(first, second), (facts_of(first), facts_of(second))


@pytest.mark.parametrize(("first", "second"), SAME)
def test_words_without_a_meaning_of_their_own_may_differ(first, second):
    assert same_facts(first, second), (facts_of(first), facts_of(second))


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
