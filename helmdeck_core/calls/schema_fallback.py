"""Remembers which forms of an answer a model's provider refused, so that no second call pays for the same refusal."""

from __future__ import annotations

import attrs

from helmdeck_core.domain.chat import ChatRequest
from helmdeck_core.domain.constraints import Constraint
from helmdeck_core.errors import SCHEMA_REFUSED, CallFailed, InvalidRequest

MOST_REFUSED = 1_000
"""Models and tasks that are remembered; a server that refuses under many names must not fill the memory."""


class SchemaFallback:
    """What is offered to the models that were asked with one deck; asking again with another deck begins anew."""

    def __init__(self) -> None:
        self._refused: dict[tuple[str, str], int] = {}

    def fitted(self, request: ChatRequest) -> ChatRequest:
        """The request without the forms that were refused: first looser schemas, then any JSON, then nothing."""
        wanted = request.response_format
        if not self._refused or wanted is None or not wanted.is_optional or wanted.offer is None:
            return request
        number = self._refused.get((request.model, wanted.name), 0)
        if number > len(wanted.offer.forms):
            return attrs.evolve(request, response_format=None)
        return attrs.evolve(request, response_format=attrs.evolve(wanted, schema=wanted.offer.without(number)))

    def refused(self, request: ChatRequest, failure: CallFailed, sent: Constraint | None) -> None:
        """Take note of a failure, if it is that the form was refused.

        :param request: as it was fitted.
        :param sent: what was made of the offer, where the provider says it; else one form is taken off it.
        """
        wanted = request.response_format
        if not isinstance(failure, InvalidRequest) or failure.sub_cause != SCHEMA_REFUSED:
            return
        if wanted is None or not wanted.is_optional or wanted.offer is None:
            return
        names = [form.name for form in wanted.offer.forms]
        place = 0
        if sent is not None:
            place = names.index(sent.form) if sent.form in names else len(names)
        key = (request.model, wanted.name)
        if key in self._refused or len(self._refused) < MOST_REFUSED:
            self._refused[key] = self._refused.get(key, 0) + place + 1
