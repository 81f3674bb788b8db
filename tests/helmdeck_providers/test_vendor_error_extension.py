"""A third party adds the error codes of a vendor whose servers are OpenAI-compatible."""

import pytest

from helmdeck_core import (
    CallFailed,
    ChatRequest,
    InvalidRequest,
    Message,
    QuotaExhausted,
    RateLimited,
    Role,
    SafetyFiltered,
    TextPart,
)
from helmdeck_testing import make_deck

PLUGIN = """
from helmdeck_core import QuotaExhausted, RateLimited, SafetyFiltered, hookimpl
from helmdeck_providers import Cause, ErrorRules

RULES = ErrorRules(
    name="acme",
    providers=("acme",),
    words={"acme_4711": Cause(QuotaExhausted)},
    marks=(("not in our house", Cause(SafetyFiltered)),),
    context_marks=("too much paper",),
    statuses={499: Cause(RateLimited, "acme_queue")},
)


@hookimpl
def helmdeck_error_rules():
    return [RULES]
"""
REFUSALS = {
    "acme_4711": (400, {"error": {"code": "ACME_4711", "message": "contact sales"}}),
    "phrase": (400, {"error": {"message": "Not in our house!"}}),
    "status": (499, {"error": {"message": "busy"}}),
}


def ask(deck, provider="acme", stream=False):
    request = ChatRequest(model=f"{provider}/any", messages=(Message(Role.USER, (TextPart("hello"),)),))
    with pytest.raises(CallFailed) as caught:
        list(deck.stream(request)) if stream else deck.complete(request)
    return caught.value


@pytest.fixture
def deck_for(chat_server, installed_plugin):
    """Return a function that makes a deck with two providers at a server that always returns one error."""

    def make(refusal, *, with_plugin=True):
        status, body = REFUSALS[refusal]
        server = chat_server(lambda _: (status, {}, body))
        if with_plugin:
            installed_plugin("helmdeck-acme-errors", {"acme_errors": "acme_errors"}, {"acme_errors": PLUGIN})
        provider = {"kind": "vllm", "base_url": server.base_url}
        config = {"providers": {"acme": provider, "other": provider}, "recovery": {"max_attempts": 1}}
        return make_deck(autoload=True, config=config)

    return make


def test_plugin_has_fewer_than_30_lines():
    assert len(PLUGIN.strip().splitlines()) < 30


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("refusal", "kind"), [("acme_4711", QuotaExhausted), ("phrase", SafetyFiltered), ("status", RateLimited)]
)
def test_error_of_the_vendor_has_the_failure_class_of_the_rule(deck_for, refusal, kind, stream):
    with deck_for(refusal) as deck:
        assert type(ask(deck, stream=stream)) is kind


def test_rules_apply_to_the_providers_that_they_name(deck_for):
    with deck_for("acme_4711") as deck:
        assert type(ask(deck, "other")) is InvalidRequest


def test_without_the_plugin_the_status_decides(deck_for):
    with deck_for("acme_4711", with_plugin=False) as deck:
        assert type(ask(deck)) is InvalidRequest


def test_rules_can_name_the_kind_of_a_provider(chat_server, installed_plugin):
    source = PLUGIN.replace('providers=("acme",)', 'providers=("vllm",)')
    installed_plugin("helmdeck-acme-errors", {"acme_errors": "acme_errors"}, {"acme_errors": source})
    server = chat_server(lambda _: (400, {}, REFUSALS["acme_4711"][1]))
    provider = {"kind": "vllm", "base_url": server.base_url}
    with make_deck(autoload=True, config={"providers": {"mine": provider}, "recovery": {"max_attempts": 1}}) as deck:
        assert type(ask(deck, "mine")) is QuotaExhausted
