"""A call with nearly every event that sinks receive, with planted words that no sink may show."""

from helmdeck_core import CallFailed, NextModel, RecoveryRule, Retry, Usage, Wait
from helmdeck_testing import Fail, Reply, make_deck, plugin_with, scripted_provider

ASK = "draft a blog post about our PLANTED-REQUEST"
GOOD = (
    '{"steps":[{"order":1,"tool":"blog.draft","args":{"brief":"PLANTED-ARGUMENT"},"rationale":"r"}],'
    '"complexity":"single-action","reasoning":"PLANTED-ANSWER"}'
)
HALF = len(GOOD) // 2
PRICES = {"input_cost_usd_per_mtok": 2.0, "output_cost_usd_per_mtok": 8.0, "cached_input_cost_usd_per_mtok": 0.5}
BUDGETS = {"a/": {"tier": "C", "max_catalog_bytes": 4_000, **PRICES}, "b/": PRICES}

RETRIED = RecoveryRule(name="provider_unavailable", actions=(Retry(wait=Wait.BACKOFF), NextModel()))


def usage(output_tokens=100):
    return Usage(input_tokens=1_000, cached_input_tokens=400, output_tokens=output_tokens, reasoning_tokens=20)


def eventful_deck(*sinks, options=None, beside=(), **more):
    """A deck whose model ``a/one`` fails and does not finish; the fallback ``b/two`` is truncated and continued."""
    first = scripted_provider(
        [
            Fail("provider_unavailable", detail="PLANTED-DETAIL", status=503),
            Reply("PLANTED-PROSE", usage=usage(), stop_reason="stop"),
            Reply("PLANTED-PROSE", usage=usage(), stop_reason="odd_word"),
        ],
        "a",
    )
    second = scripted_provider(
        [
            Reply("<think>PLANTED-THOUGHT</think>" + GOOD[:HALF], stop_reason="length", usage=usage(900)),
            Reply(GOOD[HALF:], usage=usage(), served_model="two-2026"),
        ],
        "b",
    )
    config = {
        "fallback": {"a/": ["b/two"]},
        "budgets": BUDGETS,
        "recovery": {"backoff_s": 0.0},
        "selection": {"filter": False},
        "providers": {"a": {"api_key": "env:PLANTED_KEY"}},
        "events": {"sinks": list(sinks), "options": options or {}},
    }
    return make_deck(
        first,
        second,
        plugin_with(helmdeck_recovery_rules=[RETRIED]),
        *beside,
        config=config | more.pop("config", {}),
        environ={"PLANTED_KEY": "PLANTED-KEY"},
        **more,
    )


def eventful_plan(deck):
    return deck.plan(ASK, model="a/one", context="PLANTED-CONTEXT")


def failing_deck(*sinks, options=None, beside=()):
    """A deck whose only model gives nothing."""
    provider = scripted_provider([Fail("auth_failed", detail="PLANTED-DETAIL", status=401)] * 9, "a")
    config = {"events": {"sinks": list(sinks), "options": options or {}}, "selection": {"filter": False}}
    return make_deck(provider, *beside, config=config)


def failing_plan(deck):
    try:
        deck.plan(ASK, model="a/one")
    except CallFailed as exc:
        return exc
    raise AssertionError("it answered")
