"""What other orders of a chain would have saved, from the evidence in the history store of a deck."""

from __future__ import annotations

import time
from collections.abc import Sequence

from helmdeck_chains.adaptive import AdaptivePolicy
from helmdeck_chains.learning import Learning
from helmdeck_chains.posterior import EXPECTED_USABLE
from helmdeck_chains.savings import Advice, estimate_savings
from helmdeck_chains.settings import ChainOptions
from helmdeck_chains.sharing import replay, valid_rows
from helmdeck_core import Helmdeck, HistoryStoreSpec, Usage, read_options
from helmdeck_history import ClosingStore, EvidenceRow, EvidenceStore


def recorded_advice(deck: Helmdeck, models: Sequence[str], days: float) -> Advice | None:
    """Estimate from the recorded attempts of a deck what other orders of a chain would have saved.

    :param models: the chain in its configured order.
    :param days: age of the oldest attempts.
    :returns: advice of 0 calls where no attempts are recorded; ``None`` where no history store is configured.
    :raises PluginError: the store cannot be read.
    """
    rows = _rows(deck, time.time() - days * 86_400)
    if rows is None:
        return None
    runtime = deck.runtime
    options = read_options(runtime.config.chains.options, ChainOptions, "chains", "options")

    def price(model: str, usage: Usage) -> float | None:
        budget = runtime.budgets.find(model, lists_prices=True).budget
        return runtime.pricer.cost_usd(budget, model, usage)

    policy = AdaptivePolicy(options, Learning(options, price, EXPECTED_USABLE))
    replay(policy.learning, rows)
    return estimate_savings(policy, models, rows)


def _rows(deck: Helmdeck, since: float) -> Sequence[EvidenceRow] | None:
    config = deck.runtime.config.history
    if config.is_off or not config.url:
        return None
    scheme, _, target = config.url.partition(":")
    contribution = deck.runtime.contributed(HistoryStoreSpec)[scheme]
    with contribution.faults(f"{scheme}: "):
        store = contribution.value.open(target, config.keep_days)
        try:
            return valid_rows(store.evidence(since)) if isinstance(store, EvidenceStore) else ()
        finally:
            if isinstance(store, ClosingStore):
                store.close()
