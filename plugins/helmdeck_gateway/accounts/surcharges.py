"""How far the estimates of calls are below their bills, by model, as the ended calls of this process show.

A provider may count what no client sends: a system prompt of its own, the frames of tools, reasoning beyond the output limit. An
estimate that is a hundredth of the bill would let a burst of calls spend many times the limit of its key.
"""

from __future__ import annotations

import collections
from typing import Final

from helmdeck_core import Attempt, Usage

MAX_MODELS: Final = 1_024
"""Models whose surcharge is remembered."""
DECAY: Final = 0.9
"""What an ended call leaves of an earlier, higher surcharge."""
_NO_USAGE: Final = Usage()


class Surcharges:
    """US dollars that calls of a model cost beyond their estimates, and that the dearest one of late cost.

    A model is unproven until the first of its calls has ended.
    """

    def __init__(self) -> None:
        self._usd: collections.OrderedDict[str, tuple[float, float]] = collections.OrderedDict()

    def is_proven(self, model: str) -> bool:
        """Whether a call of the model has shown what its calls cost."""
        return model in self._usd

    def of(self, model: str) -> float:
        """Return what to add to an estimate; 0 for an unproven model."""
        return self._usd.get(model, (0.0, 0.0))[0]

    def hold_usd(self, model: str, estimated_usd: float) -> float:
        """Return what to hold for a call: an exact estimate of one call is no evidence about another without a limit."""
        more_usd, dearest_usd = self._usd.get(model, (0.0, 0.0))
        return max(estimated_usd + more_usd, dearest_usd)

    def end(self, attempt: Attempt, estimated_usd: float) -> None:
        """Take note of an ended attempt.

        :param estimated_usd: what it was expected to cost at most.
        """
        if attempt.cost_usd is not None and attempt.usage != _NO_USAGE and not attempt.is_estimated:
            self.note(attempt.model, attempt.cost_usd - estimated_usd, attempt.cost_usd)
        elif attempt.is_sent and attempt.cause is None:  # the provider reports no usage, so the estimate is the bill
            self.note(attempt.model, 0.0)

    def note(self, model: str, more_usd: float, cost_usd: float = 0.0) -> None:
        """Take note of what a call cost beyond its estimate, less than 0 where it cost less, and of its cost."""
        before_usd, dearest_usd = self._usd.pop(model, (0.0, 0.0))
        self._usd[model] = max(0.0, more_usd, before_usd * DECAY), max(cost_usd, dearest_usd * DECAY)
        while len(self._usd) > MAX_MODELS:
            self._usd.popitem(last=False)
