"""Remembers which response schemas a model's provider rejected, so that no later call repeats the rejected request."""

from __future__ import annotations

import attrs

from helmdeck_core.domain.chat import ChatRequest
from helmdeck_core.domain.constraints import Constraint, ResponseFormat, SchemaOffer
from helmdeck_core.errors import SCHEMA_REFUSED, CallFailed, InvalidRequest

MAX_REMEMBERED = 1_000
"""Pairs of model and task that are remembered; a server that rejects schemas under many names must not fill memory."""


class SchemaFallback:
    """Rejected schemas per model and task, for the lifetime of one deck."""

    def __init__(self) -> None:
        self._rejected: dict[tuple[str, str], int] = {}

    def adapt(self, request: ChatRequest) -> ChatRequest:
        """Return the request without the rejected forms: first looser schemas, then JSON mode, then no format."""
        if not self._rejected or (found := _optional_offer(request)) is None:
            return request
        wanted, offer = found
        rejected = self._rejected.get((request.model, wanted.name), 0)
        if rejected > len(offer.forms):
            return attrs.evolve(request, response_format=None)
        return attrs.evolve(request, response_format=attrs.evolve(wanted, schema=offer.without(rejected)))

    def record_failure(self, request: ChatRequest, failure: CallFailed, sent: Constraint | None) -> None:
        """Remember the form of a request that failed because the provider rejects its schema; ignore other failures.

        :param request: the request as ``adapt`` returned it.
        :param sent: the constraint that the provider derived from the offer; ``None`` removes the first form only.
        """
        if not isinstance(failure, InvalidRequest) or failure.sub_cause != SCHEMA_REFUSED:
            return
        if (found := _optional_offer(request)) is None:
            return
        wanted, offer = found
        names = [form.name for form in offer.forms]
        index = 0
        if sent is not None:
            index = names.index(sent.form) if sent.form in names else len(names)
        key = (request.model, wanted.name)
        if key in self._rejected or len(self._rejected) < MAX_REMEMBERED:
            self._rejected[key] = self._rejected.get(key, 0) + index + 1


def _optional_offer(request: ChatRequest) -> tuple[ResponseFormat, SchemaOffer] | None:
    """The response format and its offer, where the deck added them on its own and may drop them."""
    wanted = request.response_format
    if wanted is None or not wanted.is_optional or wanted.offer is None:
        return None
    return wanted, wanted.offer
