"""The connection to Cohere: the wire format and its options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import attrs

from helmdeck_core import ChatRequest, Constraint, Provider, ProviderContext, ProviderSettings
from helmdeck_provider_cohere.answer import ERROR_RULES, MODELS, QUOTA_HEADERS, CohereAnswer, read_models
from helmdeck_provider_cohere.request import KINDS, constraint, render
from helmdeck_providers import HttpProvider, WireFormat, provider_options

WIRE_FORMAT = "cohere-v2"


@attrs.frozen(kw_only=True)
class Options:
    """The options of ``[providers.cohere.options]``.

    :ivar response_formats: supported response formats, the preferred one first.
    """

    response_formats: tuple[Literal["json_schema", "json_object"], ...] = ("json_schema", "json_object")


def open_cohere(settings: ProviderSettings, context: ProviderContext) -> Provider:
    """Open a connection.

    :raises InvalidRequest: invalid settings.
    """
    return HttpProvider(settings, context, make_wire_format(kinds_of(settings)))


def make_wire_format(kinds: Sequence[str] = KINDS) -> WireFormat:
    """Return the wire format.

    :param kinds: supported response formats, the preferred one first.
    """
    return WireFormat(
        name=WIRE_FORMAT,
        error_rules=ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: {"authorization": f"Bearer {key}"} if key else {},
        path=lambda _: "/v2/chat",
        render=lambda request: render(request, kinds),
        answer=lambda _, context: CohereAnswer(context),
        models_path=MODELS,
        models=read_models,
    )


def kinds_of(settings: ProviderSettings) -> Sequence[str]:
    """Read the option ``response_formats``: supported response formats, the preferred one first.

    :raises InvalidRequest: with every mistake in the options.
    """
    return provider_options(settings, Options).response_formats


def constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    """Return how the answer to a request is constrained.

    :raises InvalidRequest: invalid settings.
    """
    return constraint(request, kinds_of(settings))
