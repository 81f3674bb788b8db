"""A catalog source and a price source: our tools come from a registry, and our prices from a contract."""

from helmdeck_core import CatalogSource, PriceSource, hookimpl
from helmdeck_selection import read_catalog

REGISTRY = [{"name": "acme.invoice_find", "description": "Find an invoice by number, customer or date."}]
"""Stands for the response of a registry."""

USD_PER_MTOK = {"acme/small": (0.2, 0.8)}
"""Input and output prices by model id, in US dollars per million tokens."""


def load():
    """Load the catalog; called once per deck, at the first use of the catalog."""
    return read_catalog(REGISTRY, "acme")


def cost_usd(model, usage):
    """Return the cost of one call, or ``None`` for a model of others."""
    if model not in USD_PER_MTOK:
        return None
    by_input, by_output = USD_PER_MTOK[model]
    return (usage.input_tokens * by_input + usage.output_tokens * by_output) / 1_000_000


@hookimpl
def helmdeck_catalog_sources():
    """The registry, as ``acme`` in ``[catalog] sources``."""
    return [CatalogSource(name="acme", load=load, summary="tools of Acme's registry")]


@hookimpl
def helmdeck_prices():
    """The contract; it has precedence over the built-in source, whose order is 0."""
    return [PriceSource(name="acme", cost_usd=cost_usd, order=-1)]
