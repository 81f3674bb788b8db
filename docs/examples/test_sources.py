"""Tests of the catalog source and the price source."""

import acme_sources

from helmdeck_core import PriceSource, Usage
from helmdeck_testing import make_deck


def test_registry_is_a_catalog():
    deck = make_deck(acme_sources, config={"catalog": {"sources": ["acme"]}})
    assert [entry.id for entry in deck.catalog.entries] == ["acme.invoice_find"]


def test_calls_are_priced_by_the_contract():
    deck = make_deck(acme_sources)
    assert next(iter(deck.runtime.contributed(PriceSource))) == "acme", "it is called first"
    usage = Usage(input_tokens=1_000, output_tokens=500)
    assert acme_sources.cost_usd("acme/small", usage) == 0.0006
    assert acme_sources.cost_usd("other/model", usage) is None
