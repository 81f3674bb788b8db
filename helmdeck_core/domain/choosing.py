"""Choosing the tool of one step without asking the model for it: the task, the choice, and choosers of plugins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY, present
from helmdeck_core.domain.catalog import Catalog
from helmdeck_core.domain.chat import ChatRequest, ChatResponse
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.ranking import Ranking
from helmdeck_core.domain.tasks import CompletedStep


@attrs.frozen(kw_only=True)
class ChoiceTask:
    """What a chooser is given.

    :ivar request: the request, which may contain a pasted document.
    :ivar done: the steps that were executed already.
    :ivar budget: the budget of the model that would otherwise choose.
    :ivar ranking: the ranking of the whole catalog for the request.
    :ivar rank: ranks the whole catalog for another text, such as a part of the request.
    :ivar send: sends one request to the model, without recovery; raises ``CallFailed``. It is counted and paid for with the
        call that the choice is made for.
    """

    request: str
    catalog: Catalog
    budget: Budget
    ranking: Ranking
    rank: Callable[[str], Ranking]
    send: Callable[[ChatRequest], Awaitable[ChatResponse]]
    done: tuple[CompletedStep, ...] = ()


@attrs.frozen(kw_only=True)
class Choice:
    """The tool of one step.

    :ivar entry_id: the chosen entry; empty if no entry fits, or if nothing is left to do.
    :ivar probabilities: of the candidates by id, the most probable first; what is missing to 1 is that none of them fits.
        Empty if the chooser gives none.
    :ivar part: the words of the request that the step is for; empty for all of them.
    :ivar is_sure: whether the choice needs no second opinion; an unsure one is left to the next model of the chain, and is
        used if there is none.
    :ivar is_complete: whether everything that the request asks for is done.
    :ivar has_more: whether another step is likely after this one.
    :ivar chooser: the name of the chooser; set by the core.
    :ivar reason: how it was chosen, such as why a chooser could not use the model.
    """

    entry_id: str = ""
    probabilities: Mapping[str, float] = EMPTY
    part: str = ""
    is_sure: bool = True
    is_complete: bool = False
    has_more: bool = False
    chooser: str = ""
    reason: str = ""

    @property
    def probability(self) -> float | None:
        """The probability of the choice; ``None`` if it is not known."""
        if not self.probabilities:
            return None
        return self.probabilities.get(self.entry_id, max(0.0, 1.0 - sum(self.probabilities.values())))

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        listed = {entry_id: round(value, 4) for entry_id, value in self.probabilities.items()}
        wire: dict[str, Any] = {"chooser": self.chooser, "id": self.entry_id, "is_sure": self.is_sure}
        return wire | present(reason=self.reason, probabilities=listed)


@attrs.frozen(kw_only=True)
class Chooser:
    """A way to choose the tool of a step.

    :ivar name: the value of ``chooser`` in a budget; not ``model``.
    :ivar choose: chooses one entry of the catalog. Calls of one deck may overlap.
    """

    name: str
    choose: Callable[[ChoiceTask], Awaitable[Choice]]
    summary: str = ""
    order: int = 0
