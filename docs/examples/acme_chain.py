"""A chain policy: the models take turns at being the first one."""

import collections
import itertools

from helmdeck_core import ChainOrder, ChainPolicySpec, hookimpl


class TakingTurns:
    """Counts failures, and shows them in the details of each order."""

    def __init__(self, _):
        self._turns = itertools.count()
        self._failures = collections.Counter()

    def order(self, request):
        """Return the chain, starting at the next model."""
        place = next(self._turns) % len(request.models)
        models = request.models[place:] + request.models[:place]
        return ChainOrder(models=models, reason="turn", details=lambda: {"failures": dict(self._failures)})

    explain = order

    def record(self, _, attempts):
        """Count the failed attempts of each model."""
        self._failures.update(attempt.model for attempt in attempts if attempt.cause is not None)

    def close(self):
        """Nothing waits."""


@hookimpl
def helmdeck_chain_policies():
    """Contribute the policy ``policy = "turns"``."""
    return [ChainPolicySpec(name="turns", open=TakingTurns, order=100)]
