"""The provider ``tape``: records the traffic of another provider to a file, and replays it without a network.

A model id is ``tape/`` and the whole id of the model whose traffic is recorded: ``tape/openrouter/openrouter/free``.
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Provider, ProviderContext, ProviderSettings, ProviderSpec, hookimpl

NAME = "tape"


@hookimpl
def helmdeck_providers() -> Sequence[ProviderSpec]:
    """The one provider."""
    return (
        ProviderSpec(
            name=NAME,
            open=_open,
            summary="records the traffic of another provider to a file, and replays it",
            options={"mode": "auto"},
            budget_of=lambda wrapped: wrapped,  # the id under this name is the whole id of the wrapped model
        ),
    )


def _open(settings: ProviderSettings, context: ProviderContext) -> Provider:
    from helmdeck_provider_tape.provider import open_tape

    return open_tape(settings, context)
