"""The provider ``tape``: records the traffic of another provider in a file and replays it offline.

A model id is ``tape/`` and the full id of the recorded model: ``tape/openrouter/openrouter/free``.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Provider, ProviderContext, ProviderSettings, ProviderSpec, hookimpl

NAME = "tape"


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The tape provider."""
    return (
        ProviderSpec(
            name=NAME,
            open=_open,
            summary="records the traffic of another provider in a file and replays it",
            options={"mode": "auto"},
            budget_of=lambda wrapped: wrapped,  # the model name is the full id of the wrapped model
        ),
    )


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    from helmdeck_provider_tape.provider import open_tape

    return open_tape(settings, context)
