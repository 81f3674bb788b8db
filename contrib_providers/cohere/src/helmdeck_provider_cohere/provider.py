"""The connection to Cohere: what is special about its chat, as one deployment uses it."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import ChatRequest, Constraint, Provider, ProviderContext, ProviderSettings
from helmdeck_provider_cohere.answer import MODELS, QUOTA_HEADERS, WORDS, CohereAnswer, read_models
from helmdeck_provider_cohere.request import KINDS, constraint, render
from helmdeck_provider_kit import HttpProvider, WireFormat, refused_setting

WIRE_FORMAT = "cohere-v2"


def open_cohere(settings: ProviderSettings, context: ProviderContext) -> Provider:
    """Open a connection.

    :raises InvalidRequest: a setting cannot be used.
    """
    return HttpProvider(settings, context, interface(kinds_of(settings)))


def interface(kinds: Sequence[str] = KINDS) -> WireFormat:
    """The interface.

    :param kinds: the formats that are taken, the preferred one first.
    """
    return WireFormat(
        name=WIRE_FORMAT,
        words=WORDS,
        quota_headers=QUOTA_HEADERS,
        headers=lambda key: {"authorization": f"Bearer {key}"} if key else {},
        path=lambda _: "/v2/chat",
        render=lambda request: render(request, kinds),
        answer=lambda _, terms: CohereAnswer(terms),
        models_path=MODELS,
        models=read_models,
    )


def kinds_of(settings: ProviderSettings) -> Sequence[str]:
    """The formats that are taken, as a deployment says in its one option.

    :raises InvalidRequest: there is no such option, or it is not a list of formats.
    """
    for name, value in settings.options.items():
        if name != "response_formats":
            raise refused_setting(settings, f"options.{name}", "there is no such option; allowed: response_formats")
        if not isinstance(value, (list, tuple)) or not set(value) <= set(KINDS):
            raise refused_setting(settings, f"options.{name}", f"not a list of {' and '.join(KINDS)}")
        return tuple(value)
    return KINDS


def constrain(settings: ProviderSettings, request: ChatRequest) -> Constraint:
    """How the answer to a request would be held to its form.

    :raises InvalidRequest: a setting cannot be used.
    """
    return constraint(request, kinds_of(settings))
